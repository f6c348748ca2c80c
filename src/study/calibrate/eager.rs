//! The length up to which MPI sends messages without a rendezvous, from ping-pongs of closely spaced lengths.

use super::Probe;
use apexmap_base::error::Result;
use apexmap_measure::kernels::message_rate::ping_pong;
use apexmap_results::samples::Samples;
use apexmap_theory::fit::{self, Observation, Options, Role};
use apexmap_theory::machine::{Card, Number, catalogue, unit_of};
use apexmap_theory::models::point_to_point::PointToPoint;

/// Like those of the sweep `eager-limit`, without lengths of other ping-pongs of a calibration.
const SIZES: [u64; 16] =
    [16, 64, 256, 512, 1024, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152, 65536];

/// For ranks that send messages of MPI. Threads have no such limit.
pub fn probes() -> Vec<Probe> {
    let probe = |bytes| Probe::new(catalogue::EAGER_BYTES, &ping_pong::KERNEL, 2).set("message_bytes", bytes);
    SIZES.map(|bytes| probe(bytes).set("messages", 1024u64)).into()
}

/// Adds the limit and its costs to the card if the times have a step. If they were measured, returns why the numbers are absent.
pub fn add(card: &mut Card, samples: &Samples) -> Result<Option<String>> {
    let mut data = Vec::new();
    for (launch, samples) in
        (0..).zip(samples.with_word("kernel", &[ping_pong::KERNEL.id]).good().launches().into_values())
    {
        let table = samples.table();
        for bytes in SIZES.map(|bytes| bytes as f64) {
            let is_message =
                |row| table.word("operation", row) == "send" && table.number("message_bytes", row) == bytes;
            // Single interruptions of a busy machine do not change the median of a run.
            let seconds = samples.filter_rows(is_message).median("message_seconds_p50");
            data.extend(seconds.map(|seconds| Observation { x: vec![bytes], y: 1.0 / seconds, launch }));
        }
    }
    if data.is_empty() {
        return Ok(None);
    }
    let options = Options { resamples: 0, leave_out: false, most_points: usize::MAX, ..Options::default() };
    let fit = fit::fit(&PointToPoint, &data, &[Role::Fit; 5], options);
    let fit = match fit {
        Ok(fit) => fit,
        Err(refusal) => return Ok(Some(format!("eager_bytes: {}", refusal.message))),
    };
    for estimate in fit.estimates.iter().filter(|estimate| NUMBERS.contains(&estimate.number)) {
        let how = format!("point_to_point.switch fitted to messages of {} lengths", SIZES.len());
        let unit = unit_of(estimate.number).map_or("", |unit| unit.symbol());
        let number = Number::new(estimate.value, unit, how).with_interval(estimate.low, estimate.high);
        card.set(estimate.number, number)?;
    }
    let is_absent = card.get(catalogue::EAGER_BYTES.name).is_none();
    Ok(is_absent.then(|| "eager_bytes: the times of messages up to 64 KiB have no step".into()))
}

const NUMBERS: [&str; 3] =
    [catalogue::EAGER_BYTES.name, catalogue::EAGER_SECONDS_PER_BYTE.name, catalogue::RENDEZVOUS_SECONDS.name];
