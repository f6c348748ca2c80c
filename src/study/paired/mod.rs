//! Paired comparison of sides with the first, A, and its result: samples with the parameter [`SIDE`], whose `block` is the number of
//! their pair: one run of each side.
//!
//! A block is the sides in random order and then in the reverse order, such as ABBA or CABBAC, so that a drift that is linear over a
//! block cancels in the mean of its two pairs. The pair is the unit: the estimate is the mean of the logarithms of the pairs' ratios,
//! and its interval Student's t ([`Mean`]).
//!
//! The run ends when the interval is narrow, which depends on the spread alone and not on the ratio. An end by a spread that is small
//! by chance still costs coverage: 95 % become 94 %. The two pairs of a block are neighbours, and times of programs are skewed, which
//! costs more. The interval is therefore that of 97.5 % with the degrees of freedom of the blocks, and covers at least 95 %.

pub mod commands;
pub mod launches;
pub mod result;
pub mod sides;

use apexmap_base::error::Result;
use apexmap_base::units::{NumberStyle, Unit, number, plural};
use apexmap_results::samples::{Samples, estimate::Mean};
use apexmap_results::table::columns;
use apexmap_theory::statistics::distributions::t_quantile_at;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;
use serde::Serialize;
use std::collections::BTreeMap;

/// Each has a letter.
pub const MAX_SIDES: usize = 26;

pub fn side_name(side: usize) -> String {
    char::from(b'A' + side as u8).to_string()
}

fn side_number(name: &str) -> Option<usize> {
    (0..MAX_SIDES).find(|side| side_name(*side) == name)
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Run {
    /// Its speed, in any unit: the reciprocal of a time.
    pub speed: f64,
    pub is_disturbed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    pub side: usize,
    pub pair: u32,
    /// How often the block of the pair was begun before.
    pub repetition: u32,
}

/// By the width of each interval relative to its ratio or the time of all runs in seconds, or only by the runs of each side.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    pub width: f64,
    pub budget: f64,
    pub runs: Option<usize>,
    pub seed: u64,
}

/// Fewest pairs of a comparison that its width ends. With fewer, the spread is so uncertain that a small one may be chance.
const MIN_PAIRS: usize = 12;
/// The share of Student's t below the upper end of the interval.
const SHARE_BELOW: f64 = 0.9875;
const MAX_PAIRS: usize = 10_000;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pairs {
    /// Logarithms of the speed relative to A: a list for B, one for C, and so on.
    pub logarithms: Vec<Vec<f64>>,
    /// The number of the next pair, which is even.
    pub next: u32,
    /// Blocks that were measured again because something else took time from a run.
    pub repeated: usize,
    /// Blocks that count although something else took time from a run.
    pub disturbed: usize,
    /// Whether the budget ended the comparison before its intervals were narrow.
    pub is_budget_spent: bool,
}

/// The speed of a side relative to A.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Ratio {
    pub value: f64,
    /// The interval, which covers at least 95 %.
    pub low: f64,
    pub high: f64,
    pub pairs: usize,
}

/// `elapsed` returns the seconds since the start, and `show` gets the pairs before each block. Complete pairs stay if `run` fails.
pub fn measure(
    pairs: &mut Pairs,
    limits: &Limits,
    elapsed: &mut dyn FnMut() -> f64,
    run: &mut dyn FnMut(Turn) -> Result<Run>,
    show: &mut dyn FnMut(&Pairs),
) -> Result<()> {
    let mut random = Pcg64Mcg::seed_from_u64(limits.seed);
    let (mut repetition, mut blocks, mut disturbed_blocks) = (0, 0, 0);
    pairs.is_budget_spent = false;
    while !pairs.are_enough(limits) {
        show(pairs);
        let is_timed = limits.runs.is_none();
        if is_timed && blocks > 0 && repetition == 0 && elapsed() >= limits.budget {
            pairs.is_budget_spent = true;
            break;
        }
        let mut order: Vec<usize> = (0..=pairs.logarithms.len()).collect();
        order.shuffle(&mut random);
        let reverse = order.iter().copied().rev().collect();
        let orders = [order, reverse].into_iter().take(limits.runs.map_or(2, |runs| runs - pairs.count()));
        let mut block = Vec::new();
        let measured = (pairs.next..).zip(orders).try_for_each(|(pair, order)| {
            let runs = order.into_iter().map(|side| Ok((side, run(Turn { side, pair, repetition })?)));
            runs.collect::<Result<BTreeMap<usize, Run>>>().map(|runs| block.push(runs))
        });
        let is_disturbed = block.iter().flat_map(BTreeMap::values).any(|run| run.is_disturbed);
        (blocks, disturbed_blocks) = (blocks + 1, disturbed_blocks + usize::from(is_disturbed));
        // On a machine that is never quiet, a repeated block is disturbed again.
        let is_rare = is_timed && 2 * disturbed_blocks <= blocks && elapsed() < limits.budget;
        if measured.is_ok() && is_disturbed && is_rare {
            (pairs.repeated, repetition) = (pairs.repeated + 1, repetition + 1);
            continue;
        }
        block.iter().for_each(|runs| pairs.add(runs.values().map(|run| run.speed.ln())));
        (pairs.next, repetition) = (pairs.next + 2, 0);
        measured?;
        pairs.disturbed += usize::from(is_disturbed);
    }
    Ok(())
}

/// The parameter of a sample's side: `A`, `B` or a further letter.
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
    let last_side = samples.words(SIDE).into_iter().filter_map(side_number).max()?;
    pairs_of_sides(samples, last_side + 1)
}

fn pairs_of_sides(samples: &Samples, sides: usize) -> Option<Pairs> {
    samples.column("block")?;
    let mut speeds: BTreeMap<(u32, u32), BTreeMap<usize, f64>> = BTreeMap::new();
    for run in samples.group_by(&["block", "repetition", SIDE]) {
        let [pair, repetition] = ["block", "repetition"].map(|column| run.first_value(column)?.as_f64());
        let runs = speeds.entry((pair? as u32, repetition? as u32)).or_default();
        runs.extend(side_number(run.first_word(SIDE)).zip(log_speed(&run)));
    }
    let last = speeds.keys().last().map_or(0, |(pair, _)| pair + 1);
    let complete = speeds.into_iter().filter(|(_, runs)| runs.len() == sides).map(|((pair, _), runs)| (pair, runs));
    let mut pairs = Pairs { next: last.next_multiple_of(2), ..Pairs::new(sides) };
    complete.collect::<BTreeMap<u32, _>>().into_values().for_each(|runs| pairs.add(runs.into_values()));
    Some(pairs)
}

/// The unit of a compared value; none of the mean over the points of a sweep.
pub fn compared_unit(column: Option<&str>) -> Unit {
    column.map_or(Unit::None, |column| columns::describe(column).unit)
}

impl Pairs {
    pub fn new(sides: usize) -> Self {
        Self { logarithms: vec![Vec::new(); sides.saturating_sub(1)], ..Self::default() }
    }

    /// Adds the logarithms of the speeds of all sides in a pair.
    fn add(&mut self, mut speeds: impl Iterator<Item = f64>) {
        let base = speeds.next().unwrap_or(f64::NAN);
        self.logarithms.iter_mut().zip(speeds).for_each(|(list, speed)| list.push(speed - base));
    }

    pub fn count(&self) -> usize {
        self.logarithms.first().map_or(0, Vec::len)
    }

    fn are_enough(&self, limits: &Limits) -> bool {
        let is_narrow = |ratio: Option<Ratio>| ratio.is_some_and(|ratio| ratio.relative_width() <= limits.width);
        match (self.count(), limits.runs) {
            (pairs, Some(runs)) => pairs >= runs,
            (pairs, None) => pairs >= MAX_PAIRS || pairs >= MIN_PAIRS && self.ratios().into_iter().all(is_narrow),
        }
    }

    /// For each side after A, the ratio with its interval; `None` before the second pair, or if the pairs allow any ratio.
    pub fn ratios(&self) -> Vec<Option<Ratio>> {
        self.logarithms.iter().map(|logarithms| ratio(logarithms)).collect()
    }

    pub fn sentences(&self, unit: Unit) -> Vec<String> {
        let sentence = |(side, ratio): (usize, Option<Ratio>)| Some(ratio?.sentence(&side_name(side), unit));
        (1..).zip(self.ratios()).filter_map(sentence).collect()
    }

    /// About how long the comparison takes, after `elapsed` seconds that began with `earlier` pairs.
    pub fn seconds_left(&self, earlier: usize, limits: &Limits, elapsed: f64) -> f64 {
        let (pairs, budget) = (self.count() as f64, limits.budget - elapsed);
        // The width of an interval falls with the root of the number of pairs.
        let wanted = |ratio: Option<Ratio>| ratio.map_or(f64::INFINITY, |ratio| ratio.relative_width() / limits.width);
        let wanted = self.ratios().into_iter().map(wanted).fold(0.0, f64::max).powi(2) * pairs;
        let (wanted, longest) = match limits.runs {
            Some(runs) => (runs as f64, f64::INFINITY),
            None => (wanted.max(MIN_PAIRS as f64), budget),
        };
        (elapsed / (pairs - earlier as f64) * (wanted - pairs)).min(longest).max(0.0)
    }
}

fn ratio(logarithms: &[f64]) -> Option<Ratio> {
    let mean = Mean::from_values(logarithms)?;
    let blocks = logarithms.len() as f64 / 2.0;
    let half = t_quantile_at(blocks - 1.0, SHARE_BELOW) * mean.variance.sqrt();
    let (low, high) = (mean.value - half, mean.value + half);
    let [value, low, high] = [mean.value, low, high].map(f64::exp);
    // Few pairs that differ much have an interval beyond the range of numbers.
    (low > 0.0 && high.is_finite()).then_some(Ratio { value, low, high, pairs: logarithms.len() })
}

impl Ratio {
    /// Whether the interval excludes 1.
    pub fn is_decided(&self) -> bool {
        self.low > 1.0 || self.high < 1.0
    }

    fn relative_width(&self) -> f64 {
        (self.high - self.low) / self.value
    }

    fn numbers(&self) -> [String; 2] {
        let style = if self.relative_width() < 0.01 { NumberStyle::Fixed(4) } else { NumberStyle::Ratio };
        let [value, low, high] = [self.value, self.low, self.high].map(|ratio| number(ratio, style));
        [value, format!("({low} to {high}), {}", plural(self.pairs, "pair"))]
    }

    /// A against itself.
    pub fn null_sentence(&self) -> String {
        format!("A against itself: {}", self.numbers().join(" "))
    }

    /// `B takes 1.49 times as long as A (1.43 to 1.54), 24 pairs`: a factor above 1. Values that are neither times nor bytes are rates.
    pub fn sentence(&self, side: &str, unit: Unit) -> String {
        let is_slower = self.value < 1.0;
        let (slow, fast) = if is_slower { (side, "A") } else { ("A", side) };
        let inverse = Self { value: 1.0 / self.value, low: 1.0 / self.high, high: 1.0 / self.low, ..*self };
        let [factor, interval] = if is_slower { inverse.numbers() } else { self.numbers() };
        let relation = match unit {
            Unit::Bytes => format!("{slow} needs {factor} times the memory of {fast}"),
            Unit::Seconds if is_slower => format!("{slow} takes {factor} times as long as {fast}"),
            _ => format!("{fast} is {factor} times as fast as {slow}"),
        };
        format!("{}{relation} {interval}", if self.is_decided() { "" } else { "Undecided: " })
    }
}
