//! The text format of Extra-P, a tool that models scaling behaviour.
//!
//! <https://github.com/extra-p/extrap>, docs/file-formats.md: parameters, points, and for each metric and region the samples
//! of each point in one `DATA` line. All regions and metrics need the same points, with at most four parameters.

use crate::samples::Samples;
use crate::samples::cells::single_points;
use crate::table::columns::{self, NODE_TYPE};
use apexmap_base::error::{Error, Result};
use apexmap_base::point::Value;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Maximum number of parameters in the text format.
const MAX_PARAMETERS: usize = 4;
/// Minimum number of values that Extra-P needs to model a parameter.
const MIN_VALUES: usize = 5;

/// Input of Extra-P.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    /// Columns of the parameters.
    pub parameters: Vec<String>,
    /// Columns of the metrics.
    pub metrics: Vec<String>,
    /// Points in ascending order, each with one value per parameter.
    pub points: Vec<Vec<f64>>,
    /// Name of each region, and its samples by metric and point.
    pub regions: Vec<(String, Vec<Vec<Vec<f64>>>)>,
    /// Number of points without samples in some region or metric. Extra-P needs all or none.
    pub left_out: usize,
}

/// Orders the good samples. Numbers among `by` become parameters. Words become regions, after the kernel.
///
/// # Errors
/// If a column is missing, no common point remains, no parameter varies, there are too many parameters, or points would be
/// mixed.
pub fn input(samples: &Samples, by: &[&str], metrics: &[&str]) -> Result<Input> {
    let mut parameters = Vec::new();
    let mut words = vec!["kernel"];
    // Samples of unlike nodes are separate regions.
    words.extend(Some(NODE_TYPE).filter(|_| !samples.is_constant(NODE_TYPE)));
    for &name in by {
        let column = samples.require(name)?;
        // A new seed is a repetition.
        if name == "seed" || words.contains(&name) {
            continue;
        }
        if column.is_words() { words.push(name) } else { parameters.push(name) }
    }
    if parameters.is_empty() || parameters.len() > MAX_PARAMETERS {
        let shown: Vec<&str> = parameters.iter().map(|name| columns::short(name)).collect();
        let message = format!(
            "Extra-P accepts one to {MAX_PARAMETERS} parameters, but {} are given: {}",
            shown.len(),
            shown.join(", ")
        );
        return Err(Error::input(message, "select some with --parameters and fix the others with --where"));
    }
    let grouping: Vec<&str> = words.iter().chain(&parameters).copied().collect();
    let mut regions: BTreeMap<String, BTreeMap<Vec<u64>, Vec<Vec<f64>>>> = BTreeMap::new();
    metrics.iter().try_for_each(|name| samples.require_numbers(name).map(|_| ()))?;
    let cells = samples.cells(&grouping)?;
    // Seeds may differ.
    single_points(&cells, &[&grouping[..], &["seed"]].concat()).map_err(|mixed| {
        Error::input(
            format!("one Extra-P point would mix points that differ in {}", mixed.name),
            format!("add {} to --parameters, or select one value with --where '{}'", mixed.name, mixed.choice),
        )
    })?;
    let mut all_points = std::collections::BTreeSet::new();
    for cell in &cells {
        let point: Vec<u64> =
            cell.by[words.len()..].iter().map(|value| to_ordered_bits(value.as_f64().unwrap_or(0.0))).collect();
        all_points.insert(point.clone());
        let samples = |metric: &&str| -> Vec<f64> {
            cell.samples.numbers(metric).into_iter().filter(|value| value.is_finite()).collect()
        };
        let samples: Vec<Vec<f64>> = metrics.iter().map(samples).collect();
        let region = regions.entry(region_name(&words, &cell.by)).or_default();
        if samples.iter().all(|samples| !samples.is_empty()) {
            region.insert(point, samples);
        }
    }
    let common: Vec<Vec<u64>> =
        all_points.iter().filter(|point| regions.values().all(|region| region.contains_key(*point))).cloned().collect();
    if common.is_empty() {
        let message = "no point has valid samples of every metric in every region";
        return Err(Error::input(message, "select one kernel with --where, or other metrics with --select"));
    }
    let by_metric = |mut region: BTreeMap<Vec<u64>, Vec<Vec<f64>>>| {
        let mut sorted = vec![Vec::new(); metrics.len()];
        for point in &common {
            for (metric, samples) in sorted.iter_mut().zip(region.remove(point).unwrap_or_default()) {
                metric.push(samples);
            }
        }
        sorted
    };
    Ok(Input {
        parameters: parameters.iter().map(|&name| name.to_owned()).collect(),
        metrics: metrics.iter().map(|&name| name.to_owned()).collect(),
        left_out: all_points.len() - common.len(),
        points: common.iter().map(|point| point.iter().map(|&bits| from_ordered_bits(bits)).collect()).collect(),
        regions: regions.into_iter().map(|(name, region)| (name, by_metric(region))).collect(),
    })
}

/// Maps a number to an integer with the same order, also for negative numbers, and without loss.
fn to_ordered_bits(number: f64) -> u64 {
    let bits = number.to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

/// Inverts [`to_ordered_bits`].
fn from_ordered_bits(order: u64) -> f64 {
    f64::from_bits(if order >> 63 == 1 { order & !(1 << 63) } else { !order })
}

/// Returns the name of a region: `apex_map.two_sided pages=huge`. Removes line ends and `->`, which the format would
/// interpret.
fn region_name(words: &[&str], values: &[Value]) -> String {
    let parts = words.iter().zip(values).map(|(&name, value)| match name {
        "kernel" => value.to_string(),
        name => format!("{}={value}", columns::short(name)),
    });
    parts.collect::<Vec<_>>().join(" ").replace("->", "-").split_whitespace().collect::<Vec<_>>().join(" ")
}

impl Input {
    /// Returns the text of the file.
    pub fn text(&self, title: &str) -> String {
        // A line end would end the comment.
        let mut text = format!("# {}\n", title.replace(['\n', '\r'], " "));
        for name in self.parameters.iter().chain(&self.metrics) {
            let described = columns::describe(name);
            let unit = match described.unit.symbol() {
                "" => String::new(),
                symbol => format!(", in {symbol}"),
            };
            let _ = writeln!(text, "# {}: {}{unit}", columns::short(name), described.label);
        }
        let names: Vec<&str> = self.parameters.iter().map(|name| columns::short(name)).collect();
        let _ = writeln!(text, "PARAMETER {}", names.join(" "));
        text.push_str("POINTS");
        for point in &self.points {
            let point: Vec<String> = point.iter().map(f64::to_string).collect();
            let _ = write!(text, " ({})", point.join(" "));
        }
        text.push('\n');
        for (index, metric) in self.metrics.iter().enumerate() {
            let _ = writeln!(text, "METRIC {metric}");
            for (region, metrics) in &self.regions {
                let _ = writeln!(text, "REGION {region}");
                for samples in &metrics[index] {
                    let samples: Vec<String> = samples.iter().map(|sample| format!("{sample:?}")).collect();
                    let _ = writeln!(text, "DATA {}", samples.join(" "));
                }
            }
        }
        text
    }

    /// Returns notes for the user.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.left_out > 0 {
            notes.push(format!(
                "{} points are left out: Extra-P needs every metric of every region at each point",
                self.left_out
            ));
        }
        for (index, name) in self.parameters.iter().enumerate() {
            let mut values: Vec<u64> = self.points.iter().map(|point| point[index].to_bits()).collect();
            values.sort_unstable();
            values.dedup();
            if values.len() < MIN_VALUES {
                let name = columns::short(name);
                notes.push(format!("{name} has {} values; Extra-P needs at least {MIN_VALUES}", values.len()));
            }
        }
        notes
    }
}
