//! Decides from the samples which causes cost time.
//!
//! A cause above its limit need not make a run slower, such as a turbo clock that steps down, or another program on an idle
//! core. It counts as a disturbance unless the samples show that it costs no time:
//!
//! * A sample with the cause is paired with one of the same point that has the same other causes, and of this one at most
//!   half of the limit. Each sample is in at most one pair, so the pairs are independent.
//! * The cause costs no time if the 95 % interval of the median logarithm of their ratios ([`Summary`]) ends below
//!   [`NO_COST`], unless it begins above [`SOME_COST`].
//! * Points that wait for memory do not feel a clock step. If the ratios differ between kernels, numbers of ranks or values
//!   of a parameter (one-way analysis of variance), each of these is judged separately.
//! * Large amounts are judged apart from small ones, in steps of a factor of two.
//! * Causes that are too rare to judge each cost no time if all disturbed samples together were not slower.

use crate::table::Table;
use crate::table::column::Column;
use crate::table::columns::{self, NODE_TYPE};
use crate::table::quietness::{Amounts, Cause, Quietness, overall_verdict};
use apexmap_base::sample::Status;
use apexmap_theory::statistics::distributions::f_quantile_beyond;
use apexmap_theory::statistics::outliers::median_deviation;
use apexmap_theory::statistics::{Summary, median};
use foldhash::fast::RandomState;
use std::collections::{BTreeMap, HashMap};

const CAUSES: usize = Cause::ALL.len();

/// A flag for each cause, in the order of [`Cause::ALL`].
pub type CauseFlags = [bool; CAUSES];

/// Slowdown that a cause must be shown to stay below. It is the limit of the core clock.
const NO_COST: f64 = 1.05;
/// Slowdown that no user notices. A cause that certainly costs more is a disturbance.
const SOME_COST: f64 = 1.02;
/// Probability of separating points that do not differ.
const FALSE_SPLITS: f64 = 0.01;
/// Number of steps of amounts. The last one has no upper end.
const STEPS: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    CostsTime,
    CostsNothing,
    Undecided,
}

/// Judges logarithms of ratios of times: of samples with a cause to samples without it.
pub fn judge(log_ratios: &[f64]) -> Verdict {
    match Summary::from_samples(log_ratios).and_then(|summary| summary.interval) {
        Some((low, _)) if low > SOME_COST.ln() => Verdict::CostsTime,
        Some((_, high)) if high < NO_COST.ln() => Verdict::CostsNothing,
        _ => Verdict::Undecided,
    }
}

#[derive(Clone, Copy)]
pub struct Signs {
    /// Step of each cause: 0 up to its limit, 1 up to twice the limit, 2 up to four times.
    levels: [u8; CAUSES],
    absent: CauseFlags,
}

impl Signs {
    pub fn from_amounts(amounts: &Amounts) -> Self {
        let level = |cause: Cause| match amounts[cause as usize] {
            Some(amount) if amount > cause.limit() => (1.0 + (amount / cause.limit()).log2()).min(STEPS as f64) as u8,
            _ => 0,
        };
        // Between half of the limit and the limit, a cause may be present and hard to see.
        let is_absent = |cause: Cause| amounts[cause as usize].is_some_and(|amount| amount <= cause.limit() / 2.0);
        Self { levels: Cause::ALL.map(level), absent: Cause::ALL.map(is_absent) }
    }

    pub fn present(&self) -> CauseFlags {
        self.levels.map(|level| level > 0)
    }
}

/// A sample with a cause, and the logarithm of its time relative to a sample without it.
#[derive(Clone, Copy)]
struct Pair {
    row: usize,
    log_ratio: f64,
}

/// Returns for each row the causes that cost no time there. `signs`: the causes of each row, if known.
pub fn free_causes(table: &Table, signs: &[Option<Signs>]) -> Vec<CauseFlags> {
    let axes: Vec<&Column> = columns::point_columns(table).into_iter().filter_map(|name| table.column(name)).collect();
    let mut free = vec![[false; CAUSES]; table.rows];
    for cause in Cause::ALL.map(|cause| cause as usize) {
        let mut rows: [Vec<usize>; STEPS] = Default::default();
        for (row, signs) in signs.iter().enumerate() {
            if let Some(step) = signs.and_then(|signs| signs.levels[cause].checked_sub(1)) {
                rows[usize::from(step)].push(row);
            }
        }
        if rows.iter().all(Vec::is_empty) {
            continue;
        }
        for (rows, pairs) in rows.into_iter().zip(pair_samples(table, signs, cause)) {
            judge_apart(&axes, rows, pairs, &mut |row| free[row][cause] = true);
        }
    }
    free_together(table, signs, &mut free);
    free
}

/// Frees the causes of all disturbed samples if they are too rare to judge each, and together not slower than quiet samples.
fn free_together(table: &Table, signs: &[Option<Signs>], free: &mut [CauseFlags]) {
    let Some(keys) = table.column("key") else { return };
    let node_types = table.column(NODE_TYPE);
    let is_costly = |signs: &Signs, free: &CauseFlags| signs.present().iter().zip(free).any(|(is, free)| *is && !free);
    let verdicts: Vec<Quietness> = signs
        .iter()
        .zip(&*free)
        .map(|(signs, free)| match signs {
            None => Quietness::Unknown,
            Some(signs) if is_costly(signs, free) => Quietness::Disturbed,
            Some(_) => Quietness::Quiet,
        })
        .collect();
    if overall_verdict(&verdicts) != Quietness::Disturbed {
        return;
    }
    let mut points: HashMap<_, [Vec<f64>; 2], RandomState> = HashMap::default();
    for (row, verdict) in verdicts.iter().enumerate() {
        let seconds = table.number("seconds", row);
        if *verdict != Quietness::Unknown && table.word("status", row) == Status::Ok.name() && seconds > 0.0 {
            let point = (keys.bits(row), node_types.and_then(|column| column.bits(row)));
            points.entry(point).or_default()[usize::from(*verdict == Quietness::Disturbed)].push(seconds);
        }
    }
    let pairs = points.values().flat_map(|[quiet, disturbed]| disturbed.iter().zip(quiet));
    if cost_nothing_together(&pairs.map(|(disturbed, quiet)| f64::ln(disturbed / quiet)).collect::<Vec<_>>()) {
        let disturbed = free.iter_mut().zip(&verdicts).filter(|(_, verdict)| **verdict == Quietness::Disturbed);
        disturbed.for_each(|(free, _)| *free = [true; CAUSES]);
    }
}

/// Returns whether samples together were not slower than quiet ones. The mean, unlike the median, shows a few very slow ones.
fn cost_nothing_together(log_ratios: &[f64]) -> bool {
    let mean = log_ratios.iter().sum::<f64>() / log_ratios.len() as f64;
    let squares: f64 = log_ratios.iter().map(|ratio| (ratio - mean).powi(2)).sum();
    let error = (squares / (log_ratios.len() as f64 - 1.0) / log_ratios.len() as f64).sqrt();
    judge(log_ratios) == Verdict::CostsNothing && mean + 2.0 * error < NO_COST.ln()
}

fn pair_samples(table: &Table, signs: &[Option<Signs>], cause: usize) -> [Vec<Pair>; STEPS] {
    let mut pairs: [Vec<Pair>; STEPS] = Default::default();
    let seconds = |row: usize| table.number("seconds", row);
    let (Some(keys), node_types) = (table.column("key"), table.column(NODE_TYPE)) else { return pairs };
    // Samples of one point with the same other causes: those without this cause, then those with it by step.
    let mut strata: HashMap<_, [Vec<usize>; STEPS + 1], RandomState> = HashMap::default();
    for (row, signs) in signs.iter().enumerate() {
        let Some(signs) = signs.filter(|signs| signs.levels[cause] > 0 || signs.absent[cause]) else { continue };
        let mut others = signs.levels.map(|level| level > 0);
        others[cause] = false;
        if table.word("status", row) == Status::Ok.name() && seconds(row) > 0.0 {
            let stratum = (keys.bits(row), node_types.and_then(|column| column.bits(row)), others);
            strata.entry(stratum).or_default()[usize::from(signs.levels[cause])].push(row);
        }
    }
    for [without, with @ ..] in strata.values() {
        for (pairs, with) in pairs.iter_mut().zip(with) {
            let pair = |(&row, &other)| Pair { row, log_ratio: f64::ln(seconds(row) / seconds(other)) };
            pairs.extend(with.iter().zip(without).map(pair));
        }
    }
    pairs
}

/// Judges rows together, or apart if their pairs differ along an axis. Passes rows where the cause is free to `mark_free`.
fn judge_apart(axes: &[&Column], rows: Vec<usize>, pairs: Vec<Pair>, mark_free: &mut dyn FnMut(usize)) {
    let Some(axis) = dividing_axis(axes, &pairs) else {
        let log_ratios: Vec<f64> = pairs.iter().map(|pair| pair.log_ratio).collect();
        if judge(&log_ratios) == Verdict::CostsNothing {
            rows.into_iter().for_each(mark_free);
        }
        return;
    };
    let mut parts: BTreeMap<Option<u64>, (Vec<usize>, Vec<Pair>)> = BTreeMap::new();
    rows.into_iter().for_each(|row| parts.entry(axis.bits(row)).or_default().0.push(row));
    pairs.into_iter().for_each(|pair| parts.entry(axis.bits(pair.row)).or_default().1.push(pair));
    // The recursion ends because the pairs of a part have one value on this axis.
    parts.into_values().for_each(|(rows, pairs)| judge_apart(axes, rows, pairs, mark_free));
}

/// Returns the axis along which the ratios differ most; `None` if they differ along none.
fn dividing_axis<'a>(axes: &[&'a Column], pairs: &[Pair]) -> Option<&'a Column> {
    let log_ratios: Vec<f64> = pairs.iter().map(|pair| pair.log_ratio).collect();
    let middle = median(&log_ratios)?;
    // An outlier is limited to three standard deviations, so that it does not decide.
    // A normal distribution has a standard deviation of 1.4826 median deviations.
    let most = 3.0 * 1.4826 * median_deviation(&log_ratios.iter().map(|ratio| ratio - middle).collect::<Vec<_>>());
    // The deviation is 0 if more than half of the ratios are equal.
    let most = if most > 0.0 { most } else { f64::INFINITY };
    let values: Vec<f64> = log_ratios.iter().map(|ratio| (ratio - middle).clamp(-most, most)).collect();
    // Bonferroni's correction: one of several axes may differ by chance.
    let excess = |axis: &Column| excess_variance(axis, pairs, &values, FALSE_SPLITS / axes.len() as f64);
    let excesses = axes.iter().map(|axis| (excess(axis), *axis)).filter(|(excess, _)| *excess > 1.0);
    excesses.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, axis)| axis)
}

/// Returns Fisher's F between the values of an axis, relative to the F that equal points exceed with probability `tail`.
fn excess_variance(axis: &Column, pairs: &[Pair], values: &[f64], tail: f64) -> f64 {
    let mut parts: BTreeMap<Option<u64>, (f64, f64)> = BTreeMap::new();
    for (pair, value) in pairs.iter().zip(values) {
        let (count, sum) = parts.entry(axis.bits(pair.row)).or_default();
        (*count, *sum) = (*count + 1.0, *sum + value);
    }
    let (above, total) = (parts.len().saturating_sub(1), values.len());
    let below = total.saturating_sub(parts.len());
    if above == 0 || below == 0 {
        return 0.0;
    }
    let mean = values.iter().sum::<f64>() / total as f64;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let between: f64 = parts.values().map(|(count, sum)| count * (sum / count - mean).powi(2)).sum();
    // Equal values would give 0 / 0.
    if between <= 0.0 {
        return 0.0;
    }
    // Rounding may make the difference negative.
    let within = (squares - between).max(0.0);
    (between / above as f64) / (within / below as f64) / f_quantile_beyond(above, below, tail)
}
