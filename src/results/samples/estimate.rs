//! What values measured in launches say: one estimate, its 95 % interval, and by what that interval is known. Tables, figures,
//! machine cards, shares of limits and comparisons conclude here and nowhere else.
//!
//! Samples of one launch share what that launch was given: pages, placement, neighbours. So launches are the unit wherever there
//! are several: a launch counts by the median of its samples, the estimate is the geometric mean of these medians, and its
//! interval is Student's t on their logarithms (on the medians themselves where one is not positive). The interval is of what a
//! launch gives: another run of as many launches differs by chance as it says.
//!
//! Within a single launch samples are the unit: the median, and the interval of order statistics
//! ([`median_interval_rank`](apexmap_theory::statistics::median_interval_rank)), widened where successive samples are
//! alike ([`autocorrelation`](apexmap_theory::statistics::autocorrelation)). Such an interval does not know how launches differ.
//!
//! Two sides that were measured in the same run are compared block by block: what a block of launches had in common cancels.
//! Others are compared by Welch's t (B. L. Welch, Biometrika 34, 1947).

use crate::samples::Samples;
use apexmap_base::units::{is_known, plural};
pub use apexmap_theory::statistics::Basis;
use apexmap_theory::statistics::autocorrelation::Autocorrelation;
use apexmap_theory::statistics::distributions::{t_above, t_quantile_at as t_quantile};
use apexmap_theory::statistics::{Summary, median};
use foldhash::fast::RandomState;
use std::collections::{BTreeMap, HashSet};

/// The values of one launch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LaunchValues {
    /// Its name in its result.
    pub launch: String,
    /// The block it belongs to: which launch of its rank count it is.
    pub block: Option<u64>,
    /// At least one.
    pub values: Vec<f64>,
}

/// A mean and how well it is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mean {
    pub value: f64,
    /// Squared standard error.
    pub variance: f64,
    /// Degrees of freedom of that variance; infinite for an exact value.
    pub freedom: f64,
}

impl Mean {
    /// `None` below two values: one tells nothing about the next.
    pub fn of(values: &[f64]) -> Option<Self> {
        let n = values.len() as f64;
        if values.len() < 2 {
            return None;
        }
        let value = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|v| (v - value).powi(2)).sum();
        Some(Self { value, variance: squares / (n - 1.0) / n, freedom: n - 1.0 })
    }

    pub fn exact(value: f64) -> Self {
        Self { value, variance: 0.0, freedom: f64::INFINITY }
    }

    /// A sum of independent means with weights, its degrees of freedom by Welch and Satterthwaite.
    pub fn sum(parts: &[(f64, Mean)]) -> Self {
        let value = parts.iter().map(|(weight, mean)| weight * mean.value).sum();
        let variance: f64 = parts.iter().map(|(weight, mean)| weight * weight * mean.variance).sum();
        let share = |(weight, mean): &(f64, Mean)| (weight * weight * mean.variance).powi(2) / mean.freedom;
        let shares: f64 = parts.iter().map(share).sum();
        let freedom = if shares > 0.0 { variance * variance / shares } else { f64::INFINITY };
        Self { value, variance, freedom }
    }

    /// `self - other`.
    pub fn minus(&self, other: &Mean) -> Self {
        Self::sum(&[(1.0, *self), (-1.0, *other)])
    }

    /// The 95 % interval.
    pub fn interval(&self) -> (f64, f64) {
        let half = if self.variance > 0.0 { t_quantile(self.freedom, 0.975) * self.variance.sqrt() } else { 0.0 };
        (self.value - half, self.value + half)
    }

    /// The probability of a value as large as this one or larger, if the truth is `limit`.
    pub fn p_above(&self, limit: f64) -> f64 {
        let distance = self.value - limit;
        if self.variance == 0.0 {
            return if distance > 0.0 { 0.0 } else { 1.0 };
        }
        t_above(self.freedom, distance / self.variance.sqrt())
    }

    /// The probability of a value as far from 0 as this one or farther, if the truth is 0.
    pub fn p_apart(&self) -> f64 {
        let other = Self { value: -self.value, ..*self };
        (2.0 * self.p_above(0.0).min(other.p_above(0.0))).min(1.0)
    }
}

/// Median, interval and extremes of the values of some launches; `None` without values.
///
/// `widening`: by what the logarithmic ends of an interval within a single launch are moved away from the median, at least 1;
/// `None` refuses such an interval.
pub fn summary(launches: &[LaunchValues], widening: Option<f64>) -> Option<Summary> {
    let all: Vec<f64> = launches.iter().flat_map(|launch| &launch.values).copied().collect();
    let pooled = Summary::of(&all)?;
    if launches.len() < 2 {
        return Some(widened(pooled, widening));
    }
    let medians = medians(launches);
    let positive = medians.iter().all(|median| *median > 0.0);
    let scaled: Vec<f64> = if positive { medians.iter().map(|median| median.ln()).collect() } else { medians };
    let back = |value: f64| if positive { value.exp() } else { value };
    let mean = Mean::of(&scaled)?;
    let (low, high) = mean.interval();
    Some(Summary {
        median: back(mean.value),
        interval: Some((back(low), back(high))),
        launches: launches.len(),
        basis: Basis::Launches,
        ..pooled
    })
}

/// Of an interval that says nothing of its value, what it is over: `2 launches`; `None` where it says something, and without one.
pub fn unknown_over(summary: &Summary) -> Option<String> {
    let over = if summary.launches > 1 { plural(summary.launches, "launch") } else { plural(summary.n, "sample") };
    summary.interval.filter(|ends| !is_known(*ends)).map(|_| over)
}

/// With the interval within one launch moved apart.
fn widened(summary: Summary, widening: Option<f64>) -> Summary {
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

/// The medians of launches.
pub fn medians(launches: &[LaunchValues]) -> Vec<f64> {
    launches.iter().filter_map(|launch| median(&launch.values)).collect()
}

/// Logarithms of the medians of launches.
pub fn log_medians(launches: &[LaunchValues]) -> Vec<f64> {
    medians(launches).into_iter().map(f64::ln).collect()
}

/// Logarithms of the medians of blocks of launches; `None` if it is not known to which block a launch belongs.
fn by_block(launches: &[LaunchValues]) -> Option<BTreeMap<u64, f64>> {
    let mut blocks: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for launch in launches {
        blocks.entry(launch.block?).or_default().extend(&launch.values);
    }
    blocks.into_iter().map(|(block, values)| Some((block, median(&values)?.ln()))).collect()
}

/// Logarithms of the ratio of two sides of one run, block by block; `None` with fewer than two blocks that have both.
pub fn pairs(of: &[LaunchValues], to: &[LaunchValues]) -> Option<BTreeMap<u64, f64>> {
    let (of, to) = (by_block(of)?, by_block(to)?);
    let difference = |(block, of): (u64, f64)| Some((block, of - to.get(&block)?));
    Some(of.into_iter().filter_map(difference).collect()).filter(|pairs: &BTreeMap<u64, f64>| pairs.len() > 1)
}

/// The logarithm of the ratio of one side to another, both positive; `None` where it is not known how launches differ.
///
/// `same_run`: both were measured in one run, so that their blocks are the same times on the same machine. They are then
/// compared block by block if at least two blocks have both.
pub fn shift(of: &[LaunchValues], to: &[LaunchValues], same_run: bool) -> Option<(Mean, Basis)> {
    if let Some(pairs) = same_run.then(|| pairs(of, to)).flatten() {
        return Some((Mean::of(&pairs.into_values().collect::<Vec<_>>())?, Basis::Pairs));
    }
    let (of, to) = (Mean::of(&log_medians(of))?, Mean::of(&log_medians(to))?);
    Some((of.minus(&to), Basis::Launches))
}

/// The columns that [`Samples::method`] looks at, of samples that are current and good.
pub const METHOD_COLUMNS: [&str; 7] = ["key", "kernel", "launch", "seconds", "stale", "status", "unix_seconds"];

/// What samples say.
impl Samples {
    /// Median, interval and extremes of a column; `None` where none has a value. All tables and figures summarise here.
    ///
    /// Launches are the unit where there are several. Samples of several points whose launches did not measure the same points
    /// have no interval.
    pub fn summary(&self, name: &str) -> Option<Summary> {
        let widening = self.widening();
        if self.constant("key") || self.same_in_all("launch") {
            return summary(&self.by_launch(name), widening);
        }
        // Launches of one size measure the same points; over several sizes blocks of launches do.
        let of_block = |block: Samples| LaunchValues { values: block.numbers(name), ..LaunchValues::default() };
        if self.has("block") && self.same_in_all("block") {
            let blocks: Vec<LaunchValues> = self.alike(&["block"]).into_iter().map(of_block).collect();
            return summary(&blocks, widening);
        }
        summary(&[of_block(self.clone())], None)
    }

    /// How alike successive samples of the whole table are; `None` with too few to tell.
    pub fn autocorrelation(&self) -> Option<Autocorrelation> {
        *self.correlation.get_or_init(|| correlation(&self.at((0..self.table().rows).collect())))
    }

    /// By what intervals within single launches are widened; `None` refuses them.
    pub fn widening(&self) -> Option<f64> {
        self.autocorrelation().map_or(Some(1.0), |found| found.widening())
    }

    /// How estimates and intervals of these samples come about, in a sentence or two.
    pub fn method(&self) -> String {
        let good = self.good();
        let launches = |point: Samples| point.alike(&["launch"]).len();
        let counts: Vec<usize> = good.alike(&["key"]).into_iter().map(launches).collect();
        let (least, most) = (counts.iter().min().copied().unwrap_or(0), counts.iter().max().copied().unwrap_or(0));
        let several = match least == most {
            true => format!("{most} launches"),
            false => format!("{} to {most} launches", least.max(2)),
        };
        let over = format!(
            "Launches are the unit: a median is the geometric mean of the medians of {several}, its 95 % interval Student's t \
             on their logarithms."
        );
        let within = "within one launch: they are of order statistics of its samples, and do not include how launches differ \
                      (launches = 3 in the sweep's [launch])";
        let mut text = match (least, most) {
            (_, 0..=1) => format!("All 95 % intervals are {within}."),
            (0..=1, _) => format!("{over} Intervals of points of a single launch are {within}."),
            _ => over,
        };
        if let Some(found) = self.autocorrelation() {
            text += &format!(" Autocorrelation: {}.", found.sentence());
        }
        text
    }

    /// Whether all launches, or blocks, of these samples hold the same points.
    fn same_in_all(&self, column: &str) -> bool {
        let points = |part: &Samples| {
            part.column("key").map(|key| part.rows().iter().filter_map(|&row| key.bits(row)).collect())
        };
        let parts: Vec<Option<HashSet<u64, RandomState>>> = self.alike(&[column]).iter().map(points).collect();
        parts.windows(2).all(|pair| pair[0] == pair[1])
    }

    /// The numbers of a column by launch.
    pub fn by_launch(&self, name: &str) -> Vec<LaunchValues> {
        let of = |(launch, samples): (&str, Samples)| LaunchValues {
            launch: launch.to_owned(),
            block: samples.first("block").and_then(|block| block.as_f64()).map(|block| block as u64),
            values: samples.numbers(name),
        };
        self.launches().into_iter().map(of).filter(|launch| !launch.values.is_empty()).collect()
    }

    /// Median of a column over them, as in their [`summary`](Self::summary); `None` where none has a value.
    pub fn median(&self, name: &str) -> Option<f64> {
        self.summary(name).map(|summary| summary.median)
    }
}

/// Of the current good samples of a table.
fn correlation(samples: &Samples) -> Option<Autocorrelation> {
    let good = samples.current().good();
    let time = good.column("seconds")?;
    good.column("key")?;
    let (mut series, mut order) = (Vec::new(), Vec::new());
    for launch in good.launches().into_values() {
        let mut moments: Vec<(f64, usize, usize)> = Vec::new();
        for point in launch.alike(&["key"]) {
            let when = |row: usize| point.column("unix_seconds").map_or(f64::NAN, |column| column.number(row));
            let mut rows: Vec<usize> = point.rows().iter().copied().filter(|&row| time.number(row) > 0.0).collect();
            rows.sort_by(|a, b| when(*a).total_cmp(&when(*b)));
            moments.extend(rows.iter().enumerate().map(|(at, &row)| (when(row), series.len(), at)));
            series.push(rows.into_iter().map(|row| time.number(row)).collect());
        }
        moments.sort_by(|a, b| a.0.total_cmp(&b.0));
        order.push(moments.into_iter().map(|(_, of, at)| (of, at)).collect());
    }
    Autocorrelation::of(&series, &order)
}
