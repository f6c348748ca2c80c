//! The text format of Extra-P, the modeller of scaling behaviour.
//!
//! <https://github.com/extra-p/extrap>, docs/file-formats.md: parameters, points, and for each metric and region the
//! samples of every point in one `DATA` line. All regions and metrics need the same points, and there are at most four
//! parameters.

use crate::samples::Samples;
use crate::samples::cells::single_points;
use crate::table::columns;
use apexmap_base::error::{Error, Result};
use apexmap_base::point::Value;
use std::collections::BTreeMap;
use std::fmt::Write;

/// The text format allows no more.
const MOST_PARAMETERS: usize = 4;
/// Extra-P needs this many values to model a parameter.
const FEWEST_VALUES: usize = 5;

/// What Extra-P is given.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    /// Columns of the parameters and metrics.
    pub parameters: Vec<String>,
    pub metrics: Vec<String>,
    /// One value a parameter, in ascending order of the points.
    pub points: Vec<Vec<f64>>,
    /// Of each region, by metric and point, the samples.
    pub regions: Vec<(String, Vec<Vec<Vec<f64>>>)>,
    /// Points that some region or metric lacks: Extra-P wants all or none.
    pub left_out: usize,
}

/// Puts the good ones of these samples in order. Numbers among `by` are parameters; words make regions, after the kernel.
///
/// # Errors
/// If a column is missing, nothing is left, no parameter varies, there are too many, or points would be mixed.
pub fn input(samples: &Samples, by: &[&str], metrics: &[&str]) -> Result<Input> {
    let mut parameters = Vec::new();
    let mut words = vec!["kernel"];
    for &name in by {
        let column = samples.require(name)?;
        // A new seed is a repetition.
        if name == "seed" || words.contains(&name) {
            continue;
        }
        if column.is_words() { words.push(name) } else { parameters.push(name) }
    }
    if parameters.is_empty() || parameters.len() > MOST_PARAMETERS {
        let shown: Vec<&str> = parameters.iter().map(|name| columns::short(name)).collect();
        let what = format!(
            "Extra-P accepts one to {MOST_PARAMETERS} parameters, but there are {}: {}",
            shown.len(),
            shown.join(", ")
        );
        return Err(Error::input(what, "choose some with --parameters and fix the others with --where"));
    }
    let grouping: Vec<&str> = words.iter().chain(&parameters).copied().collect();
    let mut regions: BTreeMap<String, BTreeMap<Vec<u64>, Vec<Vec<f64>>>> = BTreeMap::new();
    metrics.iter().try_for_each(|name| samples.require_numbers(name).map(|_| ()))?;
    let found = samples.cells(&grouping)?;
    // Seeds may differ.
    single_points(&found, &[&grouping[..], &["seed"]].concat()).map_err(|mixed| {
        Error::input(
            format!("one Extra-P point would mix points that differ in {}", mixed.name),
            format!("add {} to --parameters, or choose one value with --where '{}'", mixed.name, mixed.choice),
        )
    })?;
    let mut all = std::collections::BTreeSet::new();
    for cell in &found {
        let point: Vec<u64> = cell.by[words.len()..].iter().map(|value| order(value.as_f64().unwrap_or(0.0))).collect();
        all.insert(point.clone());
        let samples = |metric: &&str| -> Vec<f64> {
            cell.samples.numbers(metric).into_iter().filter(|value| value.is_finite()).collect()
        };
        let samples: Vec<Vec<f64>> = metrics.iter().map(samples).collect();
        let region = regions.entry(region(&words, &cell.by)).or_default();
        if samples.iter().all(|samples| !samples.is_empty()) {
            region.insert(point, samples);
        }
    }
    let common: Vec<Vec<u64>> =
        all.iter().filter(|point| regions.values().all(|region| region.contains_key(*point))).cloned().collect();
    if common.is_empty() {
        let what = "no point has valid samples of every metric in every region";
        return Err(Error::input(what, "choose one kernel with --where, or other metrics with --select"));
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
        left_out: all.len() - common.len(),
        points: common.iter().map(|point| point.iter().map(|&bits| number(bits)).collect()).collect(),
        regions: regions.into_iter().map(|(name, region)| (name, by_metric(region))).collect(),
    })
}

/// Numbers in an order that is theirs, negative ones included, and exact.
fn order(number: f64) -> u64 {
    let bits = number.to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

fn number(order: u64) -> f64 {
    f64::from_bits(if order >> 63 == 1 { order & !(1 << 63) } else { !order })
}

/// `apex_map.two_sided pages=huge`, without what the format reads as its own: line ends and `->`.
fn region(words: &[&str], values: &[Value]) -> String {
    let parts = words.iter().zip(values).map(|(&name, value)| match name {
        "kernel" => value.to_string(),
        name => format!("{}={value}", columns::short(name)),
    });
    parts.collect::<Vec<_>>().join(" ").replace("->", "-").split_whitespace().collect::<Vec<_>>().join(" ")
}

impl Input {
    /// The file.
    pub fn text(&self, title: &str) -> String {
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
        for (at, metric) in self.metrics.iter().enumerate() {
            let _ = writeln!(text, "METRIC {metric}");
            for (region, metrics) in &self.regions {
                let _ = writeln!(text, "REGION {region}");
                for samples in &metrics[at] {
                    let samples: Vec<String> = samples.iter().map(|sample| format!("{sample:?}")).collect();
                    let _ = writeln!(text, "DATA {}", samples.join(" "));
                }
            }
        }
        text
    }

    /// What its user should know.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.left_out > 0 {
            notes.push(format!(
                "{} points are left out: Extra-P needs every metric of every region at each point",
                self.left_out
            ));
        }
        for (at, name) in self.parameters.iter().enumerate() {
            let mut values: Vec<u64> = self.points.iter().map(|point| point[at].to_bits()).collect();
            values.sort_unstable();
            values.dedup();
            if values.len() < FEWEST_VALUES {
                let name = columns::short(name);
                notes.push(format!("{name} has {} values; Extra-P needs at least {FEWEST_VALUES}", values.len()));
            }
        }
        notes
    }
}
