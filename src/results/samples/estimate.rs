//! Estimates a value and its 95 % confidence interval from samples. Tables, figures, machine cards, shares of limits and
//! comparisons use only these estimates.
//!
//! Samples of one launch share pages, placement and neighbours. With several launches, each therefore contributes one value,
//! the median of its samples. The estimate is the geometric mean of these medians, with Student's t interval of their
//! logarithms, or of the medians if one is not positive: how much another run with as many launches would differ by chance.
//!
//! With a single launch, the estimate is the median of its samples, and the interval comes from order statistics
//! ([`median_interval_rank`](apexmap_theory::statistics::median_interval_rank)), widened if successive samples are correlated
//! ([`autocorrelation`](apexmap_theory::statistics::autocorrelation)). It does not include differences between launches.
//!
//! Intervals and tests include steps of the clock and trends within launches ([`remarks`](crate::samples::remarks)). Sides of
//! one run are compared block by block, all others by Welch's t (B. L. Welch, Biometrika 34, 1947).

use crate::samples::Samples;
use crate::table::columns::{IMPORTED_FROM, NODE_TYPE, STATISTIC};
use apexmap_base::units::{is_informative, plural};
pub use apexmap_theory::statistics::Basis;
use apexmap_theory::statistics::autocorrelation::Autocorrelation;
use apexmap_theory::statistics::distributions::{t_above, t_quantile_at as t_quantile};
use apexmap_theory::statistics::{Summary, median};
use foldhash::fast::RandomState;
use std::collections::{BTreeMap, HashSet};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct LaunchValues {
    /// Block of the launch: its index among the launches of its rank count.
    pub block: Option<u64>,
    pub values: Vec<f64>,
    /// Error of the logarithms that more values do not reduce ([`Samples::systematic_error`]).
    pub systematic: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mean {
    pub value: f64,
    /// Squared standard error.
    pub variance: f64,
    /// Degrees of freedom of that variance; infinite for an exact value.
    pub freedom: f64,
    /// Error that more values do not reduce.
    pub systematic: f64,
}

impl Mean {
    /// Computes the mean. Returns `None` for fewer than two values, because one value has no variance.
    pub fn from_values(values: &[f64]) -> Option<Self> {
        let n = values.len() as f64;
        if values.len() < 2 {
            return None;
        }
        let value = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|v| (v - value).powi(2)).sum();
        Some(Self { value, variance: squares / (n - 1.0) / n, freedom: n - 1.0, systematic: 0.0 })
    }

    pub fn from_exact(value: f64) -> Self {
        Self { value, variance: 0.0, freedom: f64::INFINITY, systematic: 0.0 }
    }

    /// Computes the mean of the logarithms of the launches' medians. Returns `None` for fewer than two launches.
    pub fn from_launches(launches: &[LaunchValues]) -> Option<Self> {
        Some(Self { systematic: systematic(launches), ..Self::from_values(&log_medians(launches))? })
    }

    /// Returns a weighted sum of independent means, with degrees of freedom after Welch and Satterthwaite.
    pub fn sum(parts: &[(f64, Mean)]) -> Self {
        let value = parts.iter().map(|(weight, mean)| weight * mean.value).sum();
        let variance: f64 = parts.iter().map(|(weight, mean)| weight * weight * mean.variance).sum();
        let share = |(weight, mean): &(f64, Mean)| (weight * weight * mean.variance).powi(2) / mean.freedom;
        let shares: f64 = parts.iter().map(share).sum();
        let freedom = if shares > 0.0 { variance * variance / shares } else { f64::INFINITY };
        let systematic = parts.iter().map(|(weight, mean)| weight.abs() * mean.systematic).sum();
        Self { value, variance, freedom, systematic }
    }

    pub fn subtract(&self, other: &Mean) -> Self {
        Self::sum(&[(1.0, *self), (-1.0, *other)])
    }

    pub fn interval(&self) -> (f64, f64) {
        let random = if self.variance > 0.0 { t_quantile(self.freedom, 0.975) * self.variance.sqrt() } else { 0.0 };
        let half = random + self.systematic;
        (self.value - half, self.value + half)
    }

    /// Returns the probability of a value of at least this size if the true mean is `limit`.
    pub fn p_above(&self, limit: f64) -> f64 {
        let distance = self.value - limit - self.systematic;
        // A division by 0 would give infinity or NaN.
        if self.variance == 0.0 {
            return if distance > 0.0 { 0.0 } else { 1.0 };
        }
        t_above(self.freedom, distance / self.variance.sqrt())
    }

    /// Returns the probability of a value at least this far from 0 if the true mean is 0.
    pub fn p_two_sided(&self) -> f64 {
        let other = Self { value: -self.value, ..*self };
        (2.0 * self.p_above(0.0).min(other.p_above(0.0))).min(1.0)
    }
}

/// Returns median, interval and extremes over launches. `widening`, at least 1, moves the logarithms of the ends of an interval
/// within a single launch away from the median; `None` omits such an interval.
pub fn summarise(launches: &[LaunchValues], widening: Option<f64>) -> Option<Summary> {
    let values: Vec<f64> = launches.iter().flat_map(|launch| &launch.values).copied().collect();
    let pooled = Summary::from_samples(&values)?;
    let factor = systematic(launches).exp();
    let include_systematic = |summary: Summary| Summary {
        interval: summary
            .interval
            .map(|(low, high)| if low > 0.0 { (low / factor, high * factor) } else { (low, high) }),
        ..summary
    };
    if launches.len() < 2 {
        return Some(include_systematic(widen_interval(pooled, widening)));
    }
    let medians = medians(launches);
    let positive = medians.iter().all(|median| *median > 0.0);
    let scaled: Vec<f64> = if positive { medians.iter().map(|median| median.ln()).collect() } else { medians };
    let back = |value: f64| if positive { value.exp() } else { value };
    let mean = Mean::from_values(&scaled)?;
    let (low, high) = mean.interval();
    Some(include_systematic(Summary {
        median: back(mean.value),
        interval: Some((back(low), back(high))),
        launches: launches.len(),
        basis: Basis::Launches,
        ..pooled
    }))
}

pub fn systematic(launches: &[LaunchValues]) -> f64 {
    launches.iter().map(|launch| launch.systematic).fold(0.0, f64::max)
}

/// Returns the number of launches or samples of an interval that is too wide to be useful: `2 launches`.
pub fn unknown_interval_basis(summary: &Summary) -> Option<String> {
    let over = if summary.launches > 1 { plural(summary.launches, "launch") } else { plural(summary.n, "sample") };
    summary.interval.filter(|ends| !is_informative(*ends)).map(|_| over)
}

fn widen_interval(summary: Summary, widening: Option<f64>) -> Summary {
    let Some((low, high)) = summary.interval else { return summary };
    let Some(times) = widening else { return Summary { interval: None, basis: Basis::Nothing, ..summary } };
    let middle = summary.median;
    let end = |end: f64| match low > 0.0 {
        true => middle * (end / middle).powf(times),
        false => middle + (end - middle) * times,
    };
    let interval = if times > 1.0 { (end(low), end(high)) } else { (low, high) };
    Summary { interval: Some(interval), ..summary }
}

pub fn medians(launches: &[LaunchValues]) -> Vec<f64> {
    launches.iter().filter_map(|launch| median(&launch.values)).collect()
}

pub fn log_medians(launches: &[LaunchValues]) -> Vec<f64> {
    medians(launches).into_iter().map(f64::ln).collect()
}

/// Returns the logarithms of the medians of blocks of launches; `None` if the block of a launch is unknown.
fn block_log_medians(launches: &[LaunchValues]) -> Option<BTreeMap<u64, f64>> {
    let mut blocks: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for launch in launches {
        blocks.entry(launch.block?).or_default().extend(&launch.values);
    }
    blocks.into_iter().map(|(block, values)| Some((block, median(&values)?.ln()))).collect()
}

/// Returns the logarithms of the ratio of two sides of a run by block; `None` if fewer than two blocks have both sides.
pub fn pairs(side: &[LaunchValues], base: &[LaunchValues]) -> Option<BTreeMap<u64, f64>> {
    let (side, base) = (block_log_medians(side)?, block_log_medians(base)?);
    let difference = |(block, side): (u64, f64)| Some((block, side - base.get(&block)?));
    Some(side.into_iter().filter_map(difference).collect()).filter(|pairs: &BTreeMap<u64, f64>| pairs.len() > 1)
}

/// Returns the logarithm of the ratio of two sides; `None` if the difference between launches is unknown. With `same_run`,
/// blocks share time and machine, and are compared one by one if at least two have both sides.
pub fn log_ratio(side: &[LaunchValues], base: &[LaunchValues], same_run: bool) -> Option<(Mean, Basis)> {
    if let Some(pairs) = same_run.then(|| pairs(side, base)).flatten() {
        let mean = Mean::from_values(&pairs.into_values().collect::<Vec<_>>())?;
        return Some((Mean { systematic: systematic(side) + systematic(base), ..mean }, Basis::Pairs));
    }
    Some((Mean::from_launches(side)?.subtract(&Mean::from_launches(base)?), Basis::Launches))
}

/// Columns that [`Samples::method`] needs, of samples that are current and good, besides [`PLANNED_LAUNCH`](super::PLANNED_LAUNCH).
pub const METHOD_COLUMNS: [&str; 9] =
    ["key", "kernel", "launch", "seconds", "stale", "status", "unix_seconds", IMPORTED_FROM, STATISTIC];

impl Samples {
    /// Returns median, interval and extremes of a column, for all tables and figures. Samples of unlike nodes have no
    /// summary. With several launches, launches are the unit; if they measured different points, there is no interval.
    pub fn summary(&self, name: &str) -> Option<Summary> {
        if !self.is_constant(NODE_TYPE) {
            return None;
        }
        if let Some(summary) = self.simulated_summary(name) {
            return Some(summary);
        }
        let widening = self.widening();
        if self.is_constant("key") || have_same_points(self.launches().values()) {
            return summarise(&self.launch_values(name), widening);
        }
        // Launches of one rank count measure the same points. Over several rank counts, blocks of launches do.
        let block_values = |block: Samples| LaunchValues { values: block.numbers(name), ..LaunchValues::default() };
        let blocks = if self.has("block") { self.group_by(&["block"]) } else { Vec::new() };
        if !blocks.is_empty() && have_same_points(&blocks) {
            return summarise(&blocks.into_iter().map(block_values).collect::<Vec<_>>(), widening);
        }
        summarise(&[block_values(self.clone())], None)
    }

    /// Returns the summary of the one simulated sample of a point, with Student's t interval of the logarithms of the times
    /// with numbers drawn from the card.
    fn simulated_summary(&self, name: &str) -> Option<Summary> {
        let ([value], [spread], [draws]) =
            (&self.numbers(name)[..], &self.numbers("card_spread")[..], &self.numbers("card_draws")[..])
        else {
            return None;
        };
        let factor = (t_quantile(draws - 1.0, 0.975) * spread).exp();
        let interval = is_rate_or_time(name).then_some((value / factor, value * factor));
        let basis = if interval.is_some() { Basis::Card } else { Basis::Nothing };
        Some(Summary { interval, basis, ..Summary::from_samples(&[*value])? })
    }

    /// Returns the correlation of successive samples of the whole table; `None` with too few samples.
    pub fn autocorrelation(&self) -> Option<Autocorrelation> {
        *self.whole.correlation.get_or_init(|| correlation(&self.with_rows((0..self.table().rows).collect())))
    }

    /// Returns the factor that widens intervals within single launches; `None` omits them.
    pub fn widening(&self) -> Option<f64> {
        self.autocorrelation().map_or(Some(1.0), |correlation| correlation.widening())
    }

    /// Explains the estimates and intervals of these samples in one or two sentences.
    pub fn method(&self) -> String {
        if self.describe_simulation().is_some() {
            let card = match self.column("card_spread") {
                Some(_) => " Intervals come from those of the card: each point ran again with numbers drawn from them.",
                None => " No interval of the card is included: it has none, or resamples is 0 in [launch].",
            };
            let method =
                "Ranks are simulated: each point has one sample in virtual time, because equal runs give equal times.";
            return format!("{method}{card}");
        }
        if let Some(import) = self.describe_import() {
            let origin = import.replacen("imported", "Imported", 1);
            return format!(
                "{origin}. Each run of the program counts as one launch. No interval is known from one value per point."
            );
        }
        let good = self.good();
        let launches = |point: Samples| point.launches().len();
        let counts: Vec<usize> = good.group_by(&["key", NODE_TYPE]).into_iter().map(launches).collect();
        let (least, most) = (counts.iter().min().copied().unwrap_or(0), counts.iter().max().copied().unwrap_or(0));
        let several = match least == most {
            true => format!("{most} launches"),
            false => format!("{} to {most} launches", least.max(2)),
        };
        let over = format!(
            "Launches are the unit: a median is the geometric mean of the medians of {several}, and its 95 % interval is \
             Student's t on their logarithms."
        );
        let within = "within one launch: they are order statistics of its samples and do not include differences between \
                      launches (apexmap run ... --launches 3)";
        let mut text = match (least, most) {
            (_, 0..=1) => format!("All 95 % intervals are {within}."),
            (0..=1, _) => format!("{over} Intervals of points of a single launch are {within}."),
            _ => over,
        };
        if good.words("launch").len() > good.launches().len() {
            text += " A launch that was interrupted and resumed counts as one.";
        }
        if let Some(correlation) = self.autocorrelation() {
            text += &format!(" Autocorrelation: {}.", correlation.sentence());
        }
        text
    }

    pub fn launch_values(&self, name: &str) -> Vec<LaunchValues> {
        let systematic = if is_rate_or_time(name) { self.systematic_error() } else { 0.0 };
        let launch_values = |samples: Samples| LaunchValues {
            block: samples.first_value("block").and_then(|block| block.as_f64()).map(|block| block as u64),
            values: samples.numbers(name),
            systematic,
        };
        self.launches().into_values().map(launch_values).filter(|launch| !launch.values.is_empty()).collect()
    }

    /// Returns the median of a column, as in its [`summary`](Self::summary); `None` if no sample has a value.
    pub fn median(&self, name: &str) -> Option<f64> {
        self.summary(name).map(|summary| summary.median)
    }
}

fn is_rate_or_time(name: &str) -> bool {
    (name.ends_with("seconds") || name.contains("_per_")) && !name.starts_with("simulation_")
}

/// Returns whether all launches, or all blocks of launches, hold the same points.
fn have_same_points<'a>(parts: impl IntoIterator<Item = &'a Samples>) -> bool {
    let points =
        |part: &Samples| part.column("key").map(|key| part.rows().iter().filter_map(|&row| key.bits(row)).collect());
    let parts: Vec<Option<HashSet<u64, RandomState>>> = parts.into_iter().map(points).collect();
    parts.windows(2).all(|pair| pair[0] == pair[1])
}

fn correlation(samples: &Samples) -> Option<Autocorrelation> {
    let good = samples.current().good();
    let time = good.column("seconds")?;
    // Without keys, samples of different points look alike.
    good.column("key")?;
    let (mut series, mut order) = (Vec::new(), Vec::new());
    for launch in good.launches().into_values() {
        let mut moments: Vec<(f64, usize, usize)> = Vec::new();
        for point in launch.group_by(&["key"]) {
            let when = |row: usize| point.column("unix_seconds").map_or(f64::NAN, |column| column.number(row));
            let mut rows: Vec<usize> = point.rows().iter().copied().filter(|&row| time.number(row) > 0.0).collect();
            rows.sort_by(|a, b| when(*a).total_cmp(&when(*b)));
            moments.extend(rows.iter().enumerate().map(|(position, &row)| (when(row), series.len(), position)));
            series.push(rows.into_iter().map(|row| time.number(row)).collect());
        }
        moments.sort_by(|a, b| a.0.total_cmp(&b.0));
        order.push(moments.into_iter().map(|(_, series_index, position)| (series_index, position)).collect());
    }
    Autocorrelation::from_series(&series, &order)
}
