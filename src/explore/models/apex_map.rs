//! Apex-Map's surface from levels of memory and a network.
//!
//! SOURCE: Apex-Map paper, Section 2 (the power law and the remote share); the sum over levels is this program's, in the
//!   paper's terms.
//!
//! A rank's accesses fall on the first c words of its address order with probability (c/M)^alpha. A cache of C bytes is
//! taken to hold the hottest C bytes of the rank's own memory, so that a level serves the accesses between the cache below it and
//! itself, main memory those of the rest of the rank's memory, and the network all beyond: 1 - P^(-alpha).

use super::{About, Domain, Model, Parameter, Prediction, RANKS, Variable, array, bound, variable};
use crate::error::Result;
use crate::explore::machine::Card;
use crate::source;
use crate::units::{Unit, WORD_BYTES};

/// Bandwidth of a process: 8 L / (sum over levels of share x (latency + gap x 8 (L - 1)) + start-up of prefetching), where the
/// start-up costs the first words of every block from L2, L3 or memory: measured surfaces rise more steeply beyond it.
pub struct Surface;

const ALPHA: Variable = Variable { domain: Domain::Share, ..variable("alpha", Unit::None, "temporal locality", None) };
const BLOCK: Variable = variable("L", Unit::Words, "spatial locality: consecutive words per access", None);
const MEMORY: Variable = variable("M", Unit::Words, "global memory", None);

/// Words of a block before prefetching runs.
const STARTUP_WORDS: f64 = 64.0;

/// Names of the levels, from the nearest: the possible bottlenecks.
const LEVELS: [&str; 5] = ["L1", "L2", "L3", "memory", "network"];

impl Model for Surface {
    fn about(&self) -> &'static About {
        const LATENCY: (f64, f64) = (1e-11, 1.0);
        const GAP: (f64, f64) = (1e-13, 1e-5);
        const ABOUT: About = About {
            id: "apex_map.surface",
            summary: "bandwidth over alpha, L, M and P from levels of memory and a network",
            source: &source::APEX_MAP,
            place: "Section 2",
            variables: &[ALPHA, BLOCK, MEMORY, RANKS],
            parameters: &[
                Parameter::given("l1_bytes", "C1", 1.0, 1e12, 32768.0),
                Parameter::given("l2_bytes", "C2", 1.0, 1e12, 1e6),
                Parameter::given("l3_bytes", "C3", 1.0, 1e12, 3e7),
                Parameter::fitted("l1_access_seconds", "l1", LATENCY.0, LATENCY.1, 1e-9),
                Parameter::fitted("l2_access_seconds", "l2", LATENCY.0, LATENCY.1, 4e-9),
                Parameter::fitted("l3_access_seconds", "l3", LATENCY.0, LATENCY.1, 10e-9),
                Parameter::fitted("memory_access_seconds", "l4", LATENCY.0, LATENCY.1, 30e-9),
                Parameter::fitted("network_access_seconds", "l5", LATENCY.0, LATENCY.1, 1e-6),
                Parameter::fitted("l1_seconds_per_byte", "g1", GAP.0, GAP.1, 2e-11),
                Parameter::fitted("l2_seconds_per_byte", "g2", GAP.0, GAP.1, 4e-11),
                Parameter::fitted("l3_seconds_per_byte", "g3", GAP.0, GAP.1, 8e-11),
                Parameter::fitted("memory_seconds_per_byte", "g4", GAP.0, GAP.1, 1e-10),
                Parameter::fitted("network_seconds_per_byte", "g5", GAP.0, GAP.1, 2e-10),
                Parameter::fitted("startup_seconds_per_byte", "s", GAP.0, GAP.1, 5e-11),
            ],
            explains: &["apex_map.sequential", "apex_map.two_sided", "apex_map.one_sided"],
            column: "bytes_per_second_per_rank",
            unit: Unit::BytesPerSecond,
            linear: true,
            design: "alpha from 0.001 to 1 and L from 1 to thousands, with M several times the last cache, and smaller M that fit each cache; P = 1 beside several P for the network",
            assumes: "caches hold the hottest bytes; levels do not overlap; latencies and gaps are those of many accesses in \
                      flight; no contention between ranks",
        };
        &ABOUT
    }

    /// Where a card has no access time, as a calibration has none, it is the latency over the outstanding lines; where a
    /// machine has no third level, that level holds what the second does, and serves nothing.
    fn parameters(&self, card: &Card) -> Result<Vec<f64>> {
        let flat = card.get("l3_bytes").is_none();
        let value = |parameter: &Parameter| {
            let number = parameter.number;
            let number = if flat { number.replace("l3", "l2") } else { number.to_owned() };
            let latency = || card.get(&number.replace("_access_", "_latency_"));
            let in_flight = if number.starts_with("network") { Some(1.0) } else { card.get("lines_in_flight") };
            let derived = || number.contains("_access_").then(|| Some(latency()? / in_flight?)).flatten();
            // A single rank needs no network, what caches hold no memory; calibrations know no start-up.
            let absent = || match number.split('_').next() {
                Some("network" | "memory") => Some(f64::NAN),
                Some("startup") => Some(0.0),
                _ => None,
            };
            card.get(&number).or_else(derived).or_else(absent).map_or_else(|| card.require(&number), Ok)
        };
        self.about().parameters.iter().map(value).collect()
    }

    fn ascending(&self) -> &'static [&'static [&'static str]] {
        &[
            &[
                "l1_access_seconds",
                "l2_access_seconds",
                "l3_access_seconds",
                "memory_access_seconds",
                "network_access_seconds",
            ],
            &[
                "l1_seconds_per_byte",
                "l2_seconds_per_byte",
                "l3_seconds_per_byte",
                "memory_seconds_per_byte",
                "network_seconds_per_byte",
            ],
        ]
    }

    fn predict(&self, x: &[f64], p: &[f64]) -> Prediction {
        let [_, block, _, _] = array(x);
        let (sizes, costs) = p.split_at(3);
        let (latency, rest) = costs.split_at(5);
        let (gap, startup) = rest.split_at(5);
        let word = WORD_BYTES as f64;
        let (mut total, mut longest) = (0.0, bound(0.0, LEVELS[0]));
        for (at, share) in shares(x, sizes).into_iter().enumerate() {
            if share == 0.0 {
                continue;
            }
            let mut time = share * (latency[at] + gap[at] * word * (block - 1.0));
            if (1..4).contains(&at) {
                time += share * startup[0] * word * (block.min(STARTUP_WORDS) - 1.0);
            }
            total += time;
            if time > longest.value {
                longest = bound(time, LEVELS[at]);
            }
        }
        bound(word * block / total, longest.bottleneck)
    }
}

/// The share of accesses that each level serves, for caches of `sizes` bytes; they sum to 1.
pub fn shares(x: &[f64], sizes: &[f64]) -> [f64; 5] {
    let [alpha, block, memory, ranks] = array(x);
    let own = memory / ranks;
    // A block is in a cache whole or, as here, not at all.
    let below = |words: f64| if words < block { 0.0 } else { (words.min(own) / memory).powf(alpha) };
    let word = WORD_BYTES as f64;
    let ends = [below(sizes[0] / word), below(sizes[1] / word), below(sizes[2] / word), below(own), 1.0];
    let mut shares = [0.0; 5];
    let mut before: f64 = 0.0;
    for (share, end) in shares.iter_mut().zip(ends) {
        *share = (end - before).max(0.0);
        before = before.max(end);
    }
    shares
}
