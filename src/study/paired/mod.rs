//! Paired comparison of two sides, A and B, in blocks of four runs, and its result: samples with the parameter [`SIDE`], whose `block`
//! is the number of their pair.
//!
//! A block is ABBA or BAAB, at random, so that a drift that is linear over a block cancels in the mean of its two pairs. The pair is
//! the unit: the estimate is the mean of the logarithms of the pairs' ratios, and its interval Student's t ([`Mean`]).
//!
//! The run ends when the interval is narrow, which depends on the spread alone and not on the ratio. An end by a spread that is small
//! by chance still costs coverage: 95 % become 94 %. The two pairs of a block are neighbours, and times of programs are skewed, which
//! costs more. The interval is therefore that of 97.5 % with the degrees of freedom of the blocks, and covers at least 95 %.

pub mod commands;
pub mod launches;
pub mod result;
pub mod sides;

use apexmap_base::error::Result;
use apexmap_base::units::{NumberStyle, number, plural};
use apexmap_results::samples::Samples;
use apexmap_results::samples::estimate::Mean;
use apexmap_theory::statistics::distributions::t_quantile_at;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use serde::Serialize;
use std::collections::BTreeMap;

apexmap_base::words! {
    pub enum Side {
        A = "A",
        B = "B",
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Run {
    /// Its speed, in any unit: the reciprocal of a time.
    pub speed: f64,
    pub is_disturbed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    pub side: Side,
    pub pair: u32,
    /// How often the block of the pair was begun before.
    pub repetition: u32,
}

/// When a comparison ends: by the width of the ratio's interval relative to the ratio, or the time of all runs in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    pub width: f64,
    pub budget: f64,
    pub seed: u64,
}

/// Fewest pairs of a comparison that its width ends. With fewer, the spread is so uncertain that a small one may be chance.
const MIN_PAIRS: usize = 12;
/// The share of Student's t below the upper end of the interval.
const SHARE_BELOW: f64 = 0.9875;
const MAX_PAIRS: usize = 10_000;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pairs {
    /// Logarithms of the speed of B relative to A.
    pub logarithms: Vec<f64>,
    /// The number of the next pair, which is even.
    pub next: u32,
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

/// Measures further blocks of pairs until the interval is narrow or the budget is spent. `elapsed` returns the seconds since the
/// start. The complete pairs stay if `run` fails.
pub fn measure(
    pairs: &mut Pairs,
    limits: &Limits,
    elapsed: &mut dyn FnMut() -> f64,
    run: &mut dyn FnMut(Turn) -> Result<Run>,
) -> Result<()> {
    let mut random = Pcg64Mcg::seed_from_u64(limits.seed);
    let (mut repetition, mut blocks, mut disturbed_blocks) = (0, 0, 0);
    pairs.is_budget_spent = false;
    while !pairs.are_enough(limits) {
        if blocks > 0 && repetition == 0 && elapsed() >= limits.budget {
            pairs.is_budget_spent = true;
            break;
        }
        let (outer, inner) = if random.random::<bool>() { (Side::A, Side::B) } else { (Side::B, Side::A) };
        let mut block = Vec::new();
        let measured = (pairs.next..).zip([[outer, inner], [inner, outer]]).try_for_each(|(pair, sides)| {
            sides.into_iter().try_for_each(|side| run(Turn { side, pair, repetition }).map(|run| block.push(run)))
        });
        let logarithm = |first: &Run, second: &Run, is_swapped: bool| {
            let logarithm = second.speed.ln() - first.speed.ln();
            if is_swapped == (outer == Side::A) { -logarithm } else { logarithm }
        };
        let is_disturbed = block.iter().any(|run| run.is_disturbed);
        (blocks, disturbed_blocks) = (blocks + 1, disturbed_blocks + usize::from(is_disturbed));
        // On a machine that is never quiet, a repeated block is disturbed again.
        if measured.is_ok() && is_disturbed && 2 * disturbed_blocks <= blocks && elapsed() < limits.budget {
            (pairs.repeated, repetition) = (pairs.repeated + 1, repetition + 1);
            continue;
        }
        let in_block = block.chunks_exact(2).zip([false, true]);
        pairs.logarithms.extend(in_block.map(|(pair, is_swapped)| logarithm(&pair[0], &pair[1], is_swapped)));
        (pairs.next, repetition) = (pairs.next + 2, 0);
        measured?;
        pairs.disturbed += usize::from(is_disturbed);
    }
    Ok(())
}

/// The parameter of a sample's side: `A` or `B`.
pub const SIDE: &str = "side";

/// The logarithm of the speed of these samples: the mean over points, of the values that figures show.
pub fn log_speed(samples: &Samples) -> Option<f64> {
    let mut logarithms = Vec::new();
    for (kernel, samples) in samples.good().kernels() {
        let column = samples.headline(kernel);
        let sign = if samples.is_smaller_better(column) { -1.0 } else { 1.0 };
        logarithms.extend(samples.numbers(column).into_iter().map(|value| sign * value.ln()));
    }
    (!logarithms.is_empty()).then(|| logarithms.iter().sum::<f64>() / logarithms.len() as f64)
}

/// The pairs of a paired comparison; `None` of another result. A pair that was measured again counts once, by its last runs.
pub fn pairs_of(samples: &Samples) -> Option<Pairs> {
    if samples.column(SIDE).is_none() || samples.column("block").is_none() {
        return None;
    }
    let mut speeds: BTreeMap<(u32, u32), [Option<f64>; 2]> = BTreeMap::new();
    for run in samples.group_by(&["block", "repetition", SIDE]) {
        let [pair, repetition] = ["block", "repetition"].map(|column| run.first_value(column)?.as_f64());
        let side = Side::from_name(run.first_word(SIDE))?;
        speeds.entry((pair? as u32, repetition? as u32)).or_default()[side as usize] = log_speed(&run);
    }
    let last = speeds.keys().last().map_or(0, |(pair, _)| pair + 1);
    let complete = speeds.into_iter().filter_map(|((pair, _), [a, b])| Some((pair, b? - a?)));
    let logarithms = complete.collect::<BTreeMap<u32, f64>>().into_values().collect();
    Some(Pairs { logarithms, next: last.next_multiple_of(2), ..Pairs::default() })
}

impl Pairs {
    fn are_enough(&self, limits: &Limits) -> bool {
        let is_narrow = |ratio: Ratio| (ratio.high - ratio.low) / ratio.value <= limits.width;
        let pairs = self.logarithms.len();
        pairs >= MIN_PAIRS && self.ratio().is_some_and(is_narrow) || pairs >= MAX_PAIRS
    }

    /// The ratio with its interval; `None` before the second pair, or if the pairs allow any ratio.
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
    /// Whether the interval excludes 1.
    pub fn is_decided(&self) -> bool {
        self.low > 1.0 || self.high < 1.0
    }

    /// `B is 1.043 times as fast as A (1.031 to 1.055), 24 pairs`.
    pub fn sentence(&self) -> String {
        let [value, low, high] = [self.value, self.low, self.high].map(|ratio| number(ratio, NumberStyle::Fixed(4)));
        format!("B is {value} times as fast as A ({low} to {high}), {}", plural(self.pairs, "pair"))
    }
}
