//! RandomAccess in rounds: every rank generates Q updates, all exchange them, and each applies those that it received.
//!
//! SOURCE: hypercube paper, Section 3 (T_P = T_1 + T_C log2 P) and Section 2 (volume and messages of a d-dimensional exchange).

use crate::models::prelude::*;
use apexmap_measure::kernels::random_access::{alltoallv, exchange, hypercube};

/// T_P = T_1 + T_C log2 P for rounds of Q updates; P Q / T_P updates per second. If P is not a power of two, log2 P is
/// replaced by the number of stages plus 7/33 for each stage that halves an odd number of ranks.
///
/// T_1 and T_C hold for one Q only.
pub struct Hypercube;

/// Extra cost of halving an odd number of ranks, as a fraction of T_C: one more latency, 7 us (paper, Section 1), of T_C = 33
/// us (Section 3), "due to the extra messages required" (Section 3). The value is not tuned: with the paper's T_1 and T_C,
/// the three rows of its Table 2 without a power of two are predicted to within 5 %.
const ODD_STAGE: f64 = 7.0 / 33.0;

/// Stages that halve a set of ranks until each rank is alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stages {
    pub total: f64,
    /// Number of stages of odd sets, where all ranks but two send two messages.
    pub odd: f64,
}

impl Stages {
    fn times(self) -> f64 {
        self.total + ODD_STAGE * self.odd
    }
}

/// Returns the stages of the slowest ranks. 2 n + 1 ranks are split into n and n + 1 (paper, Section 2).
pub fn stages(ranks: f64) -> Stages {
    // After any number of halvings, sets of at most two sizes are left.
    let mut sets = vec![(ranks.max(1.0), Stages { total: 0.0, odd: 0.0 })];
    let mut longest = sets[0].1;
    while !sets.is_empty() {
        let mut halves: Vec<(f64, Stages)> = Vec::new();
        for (size, before) in sets {
            if size < 2.0 {
                longest = if before.times() > longest.times() { before } else { longest };
                continue;
            }
            let upper = (size / 2.0).floor();
            let now = Stages { total: before.total + 1.0, odd: before.odd + f64::from(u8::from(2.0 * upper < size)) };
            for half in [upper, size - upper] {
                match halves.iter_mut().find(|(other, _)| *other == half) {
                    Some((_, best)) if best.times() < now.times() => *best = now,
                    Some(_) => {}
                    None => halves.push((half, now)),
                }
            }
        }
        sets = halves;
    }
    longest
}

impl Model for Hypercube {
    fn about(&self) -> &'static About {
        const ABOUT: About = About {
            id: "random_access.hypercube",
            summary: "rounds in a hypercube: T_P = T_1 + T_C log2 P; plus 0.21 T_C for each stage of an odd number of ranks",
            source: &source::HYPERCUBE_RANDOM_ACCESS,
            place: "Section 3 and Table 2",
            variables: &[RANKS, LOOK_AHEAD],
            parameters: &[
                Parameter::new_fitted(catalogue::ROUND_SECONDS.name, "T_1", 1e-9, 10.0, 50e-6),
                Parameter::new_fitted(catalogue::STAGE_SECONDS.name, "T_C", 1e-9, 10.0, 30e-6),
            ],
            explains: &[hypercube::KERNEL.id],
            linear: true,
            design: "at least three rank counts, starting with 1 (P = 1, 2, 4), at one Q",
            assumes: "every stage costs the same on any number of ranks: no contention, enough bisection bandwidth",
            ..RATES
        };
        &ABOUT
    }

    fn fixed_variables(&self) -> &'static [&'static str] {
        &["Q"]
    }

    fn predict(&self, x: &[f64], p: &[f64]) -> Prediction {
        let [ranks, look_ahead] = array(x);
        let [compute, stage] = array(p);
        let exchange = stage * stages(ranks).times();
        let bottleneck = if compute >= exchange { "computation" } else { "exchange" };
        bound(ranks * look_ahead / (compute + exchange), bottleneck)
    }
}

/// Returns the messages that a rank sends in an exchange of P = k^d ranks in d dimensions: d (k - 1) (paper, Section 2).
pub fn messages(ranks: f64, dimensions: f64) -> f64 {
    dimensions * (ranks.powf(1.0 / dimensions) - 1.0)
}

/// Returns the updates that a rank sends in such an exchange: d Q (k - 1) / k (paper, Section 2).
pub fn volume(ranks: f64, dimensions: f64, look_ahead: f64) -> f64 {
    let side = ranks.powf(1.0 / dimensions);
    dimensions * look_ahead * (side - 1.0) / side
}

/// The round split into parts, so that Q and the number of dimensions d are variables too: T = Q t + L latency + 8 V /
/// bandwidth + 8 d Q copy, with L messages and V updates sent per rank.
///
/// In the hypercube of a number of ranks that is not a power of two, d is the number of [`stages`], and an odd stage sends
/// two messages.
pub struct AllToAll;

const DIMENSIONS: Variable = Variable {
    valid: ValidNumbers::CountOrZero,
    ..variable("d", Unit::None, "dimensions of the exchange, 1 to log2 P; 0 is log2 P, the hypercube", Some(0.0))
};

impl Model for AllToAll {
    fn about(&self) -> &'static About {
        const ABOUT: About = About {
            id: "random_access.all_to_all",
            summary: "rounds of a d-dimensional exchange in parts: updates, latency, bandwidth, copying",
            source: &source::HYPERCUBE_RANDOM_ACCESS,
            place: "Section 2, V and L; Section 3",
            variables: &[RANKS, LOOK_AHEAD, DIMENSIONS],
            parameters: &[
                Parameter::new_fitted(catalogue::LOCAL_SECONDS.name, "t_g + t_u", 1e-10, 1e-3, 50e-9),
                Parameter::new_fitted(catalogue::NETWORK_LATENCY_SECONDS.name, "latency", 1e-9, 1.0, 5e-6)
                    .preferring("network_latency_seconds--exchange"),
                Parameter::new_given(catalogue::NETWORK_BANDWIDTH_BYTES_PER_SECOND.name, "bandwidth", 1e5, 1e13, 1e9),
                Parameter::new_fitted(catalogue::COPY_SECONDS_PER_BYTE.name, "copy", 1e-13, 1e-6, 1e-9)
                    .preferring("copy_seconds_per_byte--exchange"),
            ],
            explains: &[hypercube::KERNEL.id, exchange::KERNEL.id, alltoallv::KERNEL.id],
            linear: true,
            design: "rank counts, starting with 1 (P = 1, 2, 4, 8), and several Q (such as 16, 128, 1024, 8192) at more than one of them",
            assumes: "no contention; every rank scans its Q updates once in each of the d stages; updates travel as messages of the card, \
                      also between ranks of a node, which over MPI exchange them through memory by default (message_way)",
            ..RATES
        };
        &ABOUT
    }

    /// An all-to-all is an exchange in one dimension.
    fn kernel_value(&self, kernel: &str, variable: &str) -> Option<f64> {
        let dimensions = [(alltoallv::KERNEL.id, 1.0), (hypercube::KERNEL.id, 0.0)];
        dimensions.into_iter().find(|(id, _)| variable == DIMENSIONS.name && *id == kernel).map(|(_, value)| value)
    }

    fn predict(&self, x: &[f64], p: &[f64]) -> Prediction {
        let [ranks, look_ahead, dimensions] = array(x);
        let [local, latency, bandwidth, copy] = array(p);
        // The hypercube has the largest number of dimensions.
        let (dimensions, messages, volume) = if dimensions == 0.0 || dimensions >= ranks.log2() {
            let Stages { total, odd } = stages(ranks);
            (total, total + odd, total * look_ahead / 2.0)
        } else {
            (dimensions, messages(ranks, dimensions), volume(ranks, dimensions, look_ahead))
        };
        let word = WORD_BYTES as f64;
        // One rank exchanges nothing, and its log2 P is not a number of dimensions.
        let exchange = |seconds: f64| if ranks > 1.0 { seconds } else { 0.0 };
        let parts = [
            bound(look_ahead * local, "computation"),
            bound(exchange(messages * latency), "latency"),
            bound(exchange(volume * word / bandwidth), "bandwidth"),
            bound(exchange(dimensions * look_ahead * word * copy), "copying"),
        ];
        let round = sum(&parts);
        bound(ranks * look_ahead / round.value, round.bottleneck)
    }
}
