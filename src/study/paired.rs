//! Paired comparison of two sides, A and B, in blocks of four runs, and its result: samples with the parameter [`SIDE`], whose `block` is
//! the number of their pair.
//!
//! A block is ABBA or BAAB, at random. Its two pairs have both orders, so that a drift that is linear over a block cancels in their
//! mean. The pair is the unit: the estimate is the mean of the logarithms of the pairs' ratios, and its interval Student's t ([`Mean`]).
//!
//! The run ends when the interval is narrow, which depends on the spread alone and not on the ratio. Still, an end by a spread that is
//! small by chance costs coverage: 95 % become 94 %. The two pairs of a block are neighbours, and times of programs are skewed, which
//! costs more. The interval is therefore that of 97.5 % with the degrees of freedom of the blocks, and covers at least 95 %.

use apexmap_base::error::Result;
use apexmap_base::units::{NumberStyle, number, plural};
use apexmap_results::samples::Samples;
use apexmap_results::samples::estimate::Mean;
use apexmap_theory::statistics::distributions::t_quantile_at;
use rand::RngExt;
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;
use serde::Serialize;
use std::collections::BTreeMap;

/// A side of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Side {
    A,
    B,
}

/// One run of a side.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Run {
    /// Its speed, in any unit: the reciprocal of a time.
    pub speed: f64,
    /// Whether something else took time from it.
    pub is_disturbed: bool,
}

/// When a comparison ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Width of the ratio's interval relative to the ratio.
    pub width: f64,
    /// Time of all runs, in seconds.
    pub budget: f64,
    pub seed: u64,
}

/// Fewest pairs of a comparison that its width ends. With fewer, the spread is so uncertain that a small one may be chance.
const MIN_PAIRS: usize = 12;
/// The share of Student's t below the upper end of the interval.
const SHARE_BELOW: f64 = 0.9875;
/// Most pairs.
const MAX_PAIRS: usize = 10_000;

/// The pairs of a comparison.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pairs {
    /// Logarithms of the speed of B relative to A.
    pub logarithms: Vec<f64>,
    /// The numbers of the runs of each pair, of A and of B, from 0 in their order.
    pub runs: Vec<[usize; 2]>,
    /// Blocks that were measured again because something else took time from a run.
    pub repeated: usize,
    /// Blocks that count although something else took time from a run.
    pub disturbed: usize,
    /// Whether the budget ended the comparison before its interval was narrow.
    pub is_budget_spent: bool,
}

/// The speed of B relative to A.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Ratio {
    pub value: f64,
    /// The interval, which covers at least 95 %.
    pub low: f64,
    pub high: f64,
    pub pairs: usize,
}

/// Measures blocks of pairs until the interval is narrow or the budget is spent. `elapsed` returns the seconds since the start.
///
/// # Errors
/// If `run` fails.
pub fn measure(
    limits: &Limits,
    elapsed: &mut dyn FnMut() -> f64,
    run: &mut dyn FnMut(Side) -> Result<Run>,
) -> Result<Pairs> {
    let mut random = Pcg64Mcg::seed_from_u64(limits.seed);
    let (mut pairs, mut blocks, mut disturbed_blocks) = (Pairs::default(), 0, 0);
    loop {
        let (outer, inner) = if random.random::<bool>() { (Side::A, Side::B) } else { (Side::B, Side::A) };
        let block = [run(outer)?, run(inner)?, run(inner)?, run(outer)?];
        let is_disturbed = block.iter().any(|run| run.is_disturbed);
        blocks += 1;
        disturbed_blocks += usize::from(is_disturbed);
        // On a machine that is never quiet, a repeated block is disturbed again.
        if is_disturbed && 2 * disturbed_blocks <= blocks && elapsed() < limits.budget {
            pairs.repeated += 1;
            continue;
        }
        pairs.disturbed += usize::from(is_disturbed);
        let [first, second, third, fourth] = block.map(|run| run.speed.ln());
        let sign = if outer == Side::A { 1.0 } else { -1.0 };
        pairs.logarithms.extend([sign * (second - first), sign * (third - fourth)]);
        let run = 4 * (blocks - 1);
        let runs = [[run, run + 1], [run + 3, run + 2]];
        pairs.runs.extend(if outer == Side::A { runs } else { runs.map(|[outer, inner]| [inner, outer]) });
        let ratio = pairs.ratio();
        let is_narrow = ratio.is_some_and(|ratio| (ratio.high - ratio.low) / ratio.value <= limits.width);
        if pairs.logarithms.len() >= MIN_PAIRS && is_narrow || pairs.logarithms.len() >= MAX_PAIRS {
            return Ok(pairs);
        }
        if elapsed() >= limits.budget {
            pairs.is_budget_spent = true;
            return Ok(pairs);
        }
    }
}

/// The parameter of a result's samples that says their side: `A` or `B`.
pub const SIDE: &str = "side";

/// Returns the logarithm of the speed of these samples: the mean over points, of the values that figures show. `None` without samples.
pub fn log_speed(samples: &Samples) -> Option<f64> {
    let mut logarithms = Vec::new();
    for (kernel, samples) in samples.good().kernels() {
        let column = samples.headline(kernel);
        let sign = if samples.is_smaller_better(column) { -1.0 } else { 1.0 };
        logarithms.extend(samples.numbers(column).into_iter().map(|value| sign * value.ln()));
    }
    (!logarithms.is_empty()).then(|| logarithms.iter().sum::<f64>() / logarithms.len() as f64)
}

/// Returns the pairs of a result; `None` if it is none of a paired comparison.
pub fn pairs_of(samples: &Samples) -> Option<Pairs> {
    let mut speeds: BTreeMap<u64, [Option<f64>; 2]> = BTreeMap::new();
    if samples.column(SIDE).is_none() || samples.column("block").is_none() {
        return None;
    }
    for run in samples.group_by(&["block", SIDE]) {
        let pair = run.first_value("block")?.as_f64()? as u64;
        let side = [Side::A, Side::B].into_iter().find(|side| run.first_word(SIDE) == side.name())?;
        speeds.entry(pair).or_default()[side as usize] = log_speed(&run);
    }
    let logarithms = speeds.values().filter_map(|[a, b]| Some((*b)? - (*a)?)).collect();
    Some(Pairs { logarithms, ..Pairs::default() }).filter(|pairs| pairs.ratio().is_some())
}

impl Side {
    /// Returns its name in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::A => "A",
            Self::B => "B",
        }
    }
}

impl Pairs {
    /// Returns the ratio with its interval; `None` before the second pair, or if the pairs allow any ratio.
    pub fn ratio(&self) -> Option<Ratio> {
        let mean = Mean::from_values(&self.logarithms)?;
        let blocks = self.logarithms.len() as f64 / 2.0;
        let half = t_quantile_at(blocks - 1.0, SHARE_BELOW) * mean.variance.sqrt();
        let (low, high) = (mean.value - half, mean.value + half);
        let [value, low, high] = [mean.value, low, high].map(f64::exp);
        // Few pairs that differ much have an interval beyond the range of numbers.
        let is_finite = value.is_finite() && value > 0.0 && high.is_finite();
        is_finite.then_some(Ratio { value, low, high, pairs: self.logarithms.len() })
    }
}

impl Ratio {
    /// Returns whether the interval excludes 1.
    pub fn is_decided(&self) -> bool {
        self.low > 1.0 || self.high < 1.0
    }

    /// Returns the ratio in one sentence: `B is 1.043 times as fast as A (1.031 to 1.055), 24 pairs`.
    pub fn sentence(&self) -> String {
        let [value, low, high] = [self.value, self.low, self.high].map(|ratio| number(ratio, NumberStyle::Fixed(4)));
        format!("B is {value} times as fast as A ({low} to {high}), {}", plural(self.pairs, "pair"))
    }
}
