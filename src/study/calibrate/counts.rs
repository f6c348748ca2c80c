//! The number of messages of a run, from a first timing: thousands take almost no time between cores, but seconds on a network.

use super::Probe;
use apexmap_base::point::Value;
use apexmap_base::units::WORD_BYTES;
use apexmap_measure::kernels::calibrate::network::pair::{RECEIVE, SEND};
use apexmap_measure::kernels::calibrate::network::{barrier, bisection, get, mailbox, request};
use apexmap_measure::kernels::message_rate::patterns::{BIDIRECTIONAL, STREAMING};
use apexmap_measure::kernels::{Kernel, message_rate::ping_pong};
use apexmap_results::samples::Samples;
use apexmap_theory::machine::catalogue;

/// Target in seconds for the longest run of messages between nodes.
const MAX_SECONDS: f64 = 0.03;
/// Remote accesses of a run that would otherwise exceed that time: the maximum, and the minimum for accesses of many bytes.
const REMOTE_LIMITS: (f64, f64) = (100.0, 32.0);
/// Bytes of the longer messages of the first timing.
const LONG_BYTES: u64 = 16 << 10;

/// Short runs from which the others are estimated.
pub fn first_probes() -> Vec<Probe> {
    let probe = |kernel, bytes: u64, messages: u64| {
        Probe::new(catalogue::MESSAGE_SECONDS, kernel, 2).set("message_bytes", bytes).set("messages", messages)
    };
    vec![probe(&ping_pong::KERNEL, 8, 32), probe(&STREAMING, 8, 512), probe(&STREAMING, LONG_BYTES, 64)]
}

/// Of messages, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Costs {
    /// Latency from one rank to another.
    pub latency: f64,
    /// Time from one message to the next.
    pub gap: f64,
    pub per_byte: f64,
}

impl Costs {
    /// Takes the samples of [`first_probes`]; `None` if some are missing.
    pub fn from_samples(samples: &Samples) -> Option<Self> {
        let seconds = |probe: &Probe| Some(1.0 / probe.select(samples).good().median("operations_per_second")?);
        let [latency, gap, long] = [0, 1, 2].map(|index| seconds(&first_probes()[index]));
        let (gap, long) = (gap?, long?);
        Some(Self { latency: latency?, gap, per_byte: ((long - gap) / LONG_BYTES as f64).max(0.0) })
    }
}

pub fn shorten(probe: Probe, costs: Costs) -> Probe {
    let number = |name: &str| setting(&probe, name);
    let bytes = number("message_bytes").unwrap_or(0.0) * costs.per_byte;
    let window = number("window").unwrap_or(1.0);
    let round_trip = 2.0 * costs.latency;
    let kernels: [(&[&Kernel], _, _); 6] = [
        (&[&STREAMING, &BIDIRECTIONAL, &mailbox::KERNEL], "messages", costs.gap + bytes),
        (&[&ping_pong::KERNEL], "messages", round_trip + bytes),
        (&[&get::KERNEL], "messages", round_trip / window + bytes),
        (&[&bisection::KERNEL], "messages", bytes),
        (&[&SEND, &RECEIVE], "rounds", round_trip + window * (costs.gap + bytes)),
        (&[&barrier::KERNEL], "barriers", round_trip),
    ];
    if *probe.kernel == request::KERNEL {
        return shorten_accesses(probe, costs);
    }
    let Some((_, name, seconds_each)) = kernels.into_iter().find(|(kernels, ..)| kernels.contains(&probe.kernel))
    else {
        return probe;
    };
    let Some(count) = number(name) else { return probe };
    let fits = 2f64.powf((MAX_SECONDS / seconds_each).log2().floor()).max(8.0);
    if fits >= count {
        return probe;
    }
    let fewer = replace_setting(probe, name, fits as u64);
    // The kernel rejects a window of more messages than the run sends.
    match name {
        "messages" if window > fits => replace_setting(fewer, "window", fits as u64),
        _ => fewer,
    }
}

fn shorten_accesses(probe: Probe, costs: Costs) -> Probe {
    let number = |name: &str| setting(&probe, name);
    let (Some(indices), Some(block)) = (number("I"), number("L")) else { return probe };
    let seconds_each = 2.0 * costs.latency + WORD_BYTES as f64 * block * costs.per_byte;
    if REMOTE_LIMITS.0 * seconds_each <= MAX_SECONDS {
        return probe;
    }
    let remote = (MAX_SECONDS / seconds_each).clamp(REMOTE_LIMITS.1, REMOTE_LIMITS.0);
    let accesses = (remote / number("given_remote_share").unwrap_or(1.0)).ceil();
    let arrays = (accesses / indices).ceil();
    replace_setting(replace_setting(probe, "I", accesses.min(indices) as u64), "N", arrays as u64)
}

fn setting(probe: &Probe, name: &str) -> Option<f64> {
    let set = probe.settings.iter().find(|(key, _)| *key == name).map(|(_, value)| value.clone());
    let default = || probe.kernel.parameters.iter().find(|parameter| parameter.name == name)?.default_value();
    set.or_else(default).and_then(|value| value.as_f64())
}

fn replace_setting(mut probe: Probe, name: &'static str, value: u64) -> Probe {
    probe.settings.retain(|(key, _)| *key != name);
    probe.settings.push((name, Value::Integer(value)));
    probe
}
