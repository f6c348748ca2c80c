//! Data of each machine at a point: speeds by launch, and the measurement conditions.

use super::machine::Source;
use apexmap_base::distinct::distinct;
use apexmap_base::point::Value;
use apexmap_base::sample::Status;
use apexmap_results::samples::design::Design;
use apexmap_results::samples::estimate::{self, LaunchValues};
use apexmap_results::samples::health::Slowing;
use apexmap_results::samples::{Samples, ascending, cells};
use apexmap_results::table::columns::{ALPHA, BLOCK, label};
use apexmap_theory::statistics::Summary;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

#[derive(Clone, Debug, PartialEq)]
pub struct PointData {
    pub launches: Vec<LaunchValues>,
    /// `None` if unknown. Results of one run share their launches.
    pub run: Option<Arc<str>>,
    /// Widens intervals within single launches; `None` if such intervals are not allowed.
    pub widening: Option<f64>,
    pub failures: Vec<Status>,
    pub facts: Facts,
    /// Simulated, predicted or published, so without a known uncertainty.
    pub exact: bool,
    pub slowing: Slowing,
    /// NaN if unknown.
    pub ranks: f64,
    /// The first good sample in the machine's table.
    pub row: Option<usize>,
    /// Whether the speed is that of all ranks together or per rank; `None` for a reciprocal time.
    pub total: Option<bool>,
}

impl PointData {
    pub fn summary(&self) -> Option<Summary> {
        estimate::summarise(&self.launches, self.widening)
    }

    pub fn speed(&self) -> Option<f64> {
        self.summary().map(|summary| summary.median)
    }

    pub fn samples(&self) -> usize {
        self.launches.iter().map(|launch| launch.values.len()).sum()
    }

    pub fn log_speeds(&self) -> Vec<f64> {
        let mut logs: Vec<f64> =
            self.launches.iter().flat_map(|launch| &launch.values).map(|speed| speed.ln()).collect();
        logs.sort_by(f64::total_cmp);
        logs
    }

    pub fn medians(&self) -> Vec<f64> {
        estimate::log_medians(&self.launches)
    }

    pub fn systematic(&self) -> f64 {
        estimate::systematic(&self.launches)
    }

    /// Simulated or predicted, not printed in a paper.
    pub fn is_of_card(&self) -> bool {
        self.exact && self.facts.sources.iter().all(|source| *source == Source::Predicted)
    }

    pub fn same_run(&self, other: &Self) -> bool {
        self.run.is_some() && self.run == other.run
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// A kernel, or a family if kernels may differ.
    pub class: String,
    pub values: Vec<(String, Value)>,
    pub by_machine: Vec<Option<PointData>>,
}

impl Point {
    pub fn value(&self, column: &str) -> Option<&Value> {
        self.values.iter().find(|(name, _)| name == column).map(|(_, value)| value)
    }

    pub fn number(&self, column: &str) -> Option<f64> {
        self.value(column)?.as_f64()
    }

    /// With matching by role, rank counts differ between machines.
    pub fn number_on(&self, machine: usize, column: &str) -> Option<f64> {
        let ranks = || self.by_machine[machine].as_ref().map(|data| data.ranks).filter(|ranks| !ranks.is_nan());
        if column == "ranks" { ranks() } else { self.number(column) }
    }

    pub fn short(&self, varying: &HashSet<&str>) -> String {
        let named = self.values.iter().filter(|(column, _)| varying.contains(column.as_str()));
        let words: Vec<String> = named.map(|(column, value)| label(column, value)).collect();
        match varying.contains("kernel") {
            true => std::iter::once(self.class.clone()).chain(words).collect::<Vec<_>>().join(", "),
            false => words.join(", "),
        }
    }

    pub fn row(&self, columns: &[&str]) -> Vec<String> {
        let value = |column: &&str| self.value(column).map(Value::to_string).unwrap_or_default();
        std::iter::once(self.class.clone()).chain(columns.iter().map(value)).collect()
    }

    /// Finished or not.
    pub fn has_both(&self, machine: usize, base: usize) -> bool {
        self.by_machine[machine].is_some() && self.by_machine[base].is_some()
    }

    pub fn is_matched(&self) -> bool {
        self.by_machine.iter().flatten().count() > 1
    }

    pub fn is_in_all(&self) -> bool {
        self.by_machine.iter().all(Option::is_some)
    }
}

#[derive(Clone, Debug, Default)]
pub struct Points {
    /// Sorted by class and values.
    pub points: Vec<Point>,
    pub classes: BTreeMap<String, &'static str>,
    pub headlines: BTreeMap<String, &'static str>,
    /// Machine, class and the parameters that it does not report, so that matching ignores them.
    pub unreported: Vec<(String, String, Vec<String>)>,
    /// Samples by machine whose rate is not positive and finite.
    pub unusable: Vec<usize>,
    pub roles: Option<Roles>,
    /// Parameters that matching ignores because each machine has its own size.
    pub own_sizes: BTreeSet<String>,
    /// If others are processors.
    pub devices: Vec<usize>,
}

impl Points {
    pub fn headline(&self, class: &str) -> &'static str {
        self.headlines.get(class).copied().unwrap_or("seconds")
    }

    pub fn columns(&self) -> Vec<&str> {
        distinct(self.points.iter().flat_map(|point| &point.values).map(|(column, _)| column.as_str()))
    }

    pub fn head(&self) -> Vec<String> {
        ["kernel"].into_iter().chain(self.columns()).map(str::to_owned).collect()
    }

    /// Columns that distinguish points, with `kernel` if there are several classes, without those that follow from others.
    pub fn varying(&self) -> HashSet<&str> {
        const FIRST: [&str; 6] = ["kernel", ALPHA, BLOCK, "ranks", "look_ahead", "message_bytes"];
        let indices: Vec<usize> = (0..self.points.len()).collect();
        let design = self.design(&indices);
        let mut names = design.varying_columns();
        // The first of several columns that follow from each other is kept.
        names.sort_by_key(|name| FIRST.iter().position(|first| first == name).unwrap_or(FIRST.len()));
        let mut kept: HashSet<&str> = design.independent_columns(&names).into_iter().collect();
        kept.extend((self.classes.len() > 1).then_some("kernel"));
        kept
    }

    pub fn design(&self, members: &[usize]) -> Design<'_> {
        let values = members.iter().flat_map(|&index| &self.points[index].values);
        let mut design = Design::default();
        for name in distinct(values.map(|(name, _)| name.as_str())) {
            let mut codes: HashMap<Part, u64> = HashMap::new();
            let mut code = |value: &Value| {
                let next = codes.len() as u64;
                *codes.entry(Part::from_value(value)).or_insert(next)
            };
            design.add(name, members.iter().map(|&index| self.points[index].value(name).map(&mut code)).collect());
        }
        let class = |index: &usize| self.classes.keys().position(|class| *class == self.points[*index].class);
        design.add("kernel", members.iter().map(|index| class(index).map(|class| class as u64)).collect());
        design
    }

    pub fn numbers(&self, members: impl IntoIterator<Item = usize>, column: &str) -> Vec<f64> {
        ascending(members.into_iter().filter_map(|index| self.points[index].number(column)))
    }

    pub fn split_by(&self, members: &[usize], names: &[&str]) -> Vec<(Vec<Value>, Vec<usize>)> {
        let mut places: HashMap<Vec<Part>, usize> = HashMap::new();
        let mut parts: Vec<(Vec<Value>, Vec<usize>)> = Vec::new();
        for &index in members {
            let values: Vec<Value> = names.iter().filter_map(|name| self.points[index].value(name).cloned()).collect();
            let place = *places.entry(values.iter().map(Part::from_value).collect()).or_insert(parts.len());
            if place == parts.len() {
                parts.push((values, Vec::new()));
            }
            parts[place].1.push(index);
        }
        parts.sort_by(|a, b| cells::compare(&a.0, &b.0));
        parts
    }
}

/// Equal parameters are equal regardless of type and rounding.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    Number(u64),
    Word(String),
}

impl Part {
    pub fn from_value(value: &Value) -> Self {
        match value {
            Value::Text(word) => Part::Word(word.clone()),
            // Compare twelve digits, because another program may have rounded 0.1 differently.
            value => {
                let number = value.as_f64().unwrap_or(f64::NAN);
                Part::Number(format!("{number:.11e}").parse().unwrap_or(number).to_bits())
            }
        }
    }
}

/// For matching rank counts by role.
#[derive(Clone, Debug, PartialEq)]
pub struct Roles {
    pub cores: Vec<u64>,
}

impl Roles {
    pub fn role(&self, machine: usize, ranks: &Value) -> Value {
        match ranks.as_f64() {
            Some(1.0) => ONE_CORE.into(),
            Some(number) if number == self.cores[machine] as f64 => ALL_CORES.into(),
            _ => ranks.clone(),
        }
    }
}

pub const ONE_CORE: &str = "one core";
pub const ALL_CORES: &str = "all cores";

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// Granted, in bytes; empty if unknown.
    pub pages: BTreeSet<u64>,
    pub pages_asked: BTreeSet<String>,
    pub oversubscribed: Option<bool>,
    pub transports: BTreeSet<String>,
    pub builds: BTreeSet<String>,
    pub kernels: BTreeSet<String>,
    pub sources: BTreeSet<Source>,
}

impl Facts {
    pub fn from_samples(samples: &Samples) -> Self {
        let words = |name: &str| samples.words(name).into_iter().map(str::to_owned).collect();
        if samples.describe_simulation().is_some() {
            // Simulated ranks have no pages, no processors and no measuring code. The page says that they are simulated.
            return Self { kernels: words("kernel"), ..Self::default() };
        }
        let pages = samples.numbers("page_bytes").into_iter().filter(|bytes| *bytes > 0.0);
        Self {
            pages: pages.map(|bytes| bytes as u64).collect(),
            pages_asked: words("pages"),
            oversubscribed: samples.column("oversubscribed").map(|_| samples.is_oversubscribed()),
            transports: words("transport"),
            builds: words("build"),
            kernels: words("kernel"),
            sources: Source::of_samples(samples),
        }
    }
}

pub fn list_first(points: &[String]) -> String {
    let more = if points.len() > MAX_LISTED { "; ..." } else { "" };
    let first: Vec<&str> =
        points.iter().take(MAX_LISTED).map(String::as_str).filter(|point| !point.is_empty()).collect();
    format!("{}{more}", first.join("; "))
}

const MAX_LISTED: usize = 4;
