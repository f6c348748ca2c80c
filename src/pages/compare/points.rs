//! What machines hold of each point: speeds by launch, and the circumstances in which they were measured.

use apexmap_base::point::Value;
use apexmap_base::sample::Status;
use apexmap_measure::kernels;
use apexmap_results::samples::Samples;
use apexmap_results::samples::cells;
use apexmap_results::samples::design::Design;
use apexmap_results::samples::estimate::{self, LaunchValues};
use apexmap_results::table::columns::{ALPHA, BLOCK, label};
use apexmap_theory::statistics::Summary;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

/// What a machine holds of one point.
#[derive(Clone, Debug, PartialEq)]
pub struct PointData {
    /// The speeds of its good samples, by launch. A speed is a rate, or one over a time: more is better.
    pub launches: Vec<LaunchValues>,
    /// The run that they are of: results of the same run share their launches. `None` if unknown.
    pub run: Option<Arc<str>>,
    /// By what intervals within single launches are widened; `None` refuses them.
    pub widening: Option<f64>,
    /// Status of the samples that gave no number.
    pub failures: Vec<Status>,
    pub facts: Facts,
    /// Published: a value without uncertainty.
    pub exact: bool,
    /// On how many ranks it was measured; NaN if unknown.
    pub ranks: f64,
    /// The first row of its good samples, of the machine's; `None` if there is none.
    pub row: Option<usize>,
    /// Whether the speed is of all ranks together, `Some(false)` of each; `None` if it is one over a time.
    pub total: Option<bool>,
}

impl PointData {
    /// Median, interval and extremes of its speed; `None` if no sample is good.
    pub fn summary(&self) -> Option<Summary> {
        estimate::summary(&self.launches, self.widening)
    }

    /// The median speed; `None` if no sample is good.
    pub fn speed(&self) -> Option<f64> {
        self.summary().map(|summary| summary.median)
    }

    pub fn samples(&self) -> usize {
        self.launches.iter().map(|launch| launch.values.len()).sum()
    }

    /// Logarithms of the speeds of all samples, ascending.
    pub fn all(&self) -> Vec<f64> {
        let mut all: Vec<f64> =
            self.launches.iter().flat_map(|launch| &launch.values).map(|speed| speed.ln()).collect();
        all.sort_by(f64::total_cmp);
        all
    }

    /// Logarithms of the launches' medians.
    pub fn medians(&self) -> Vec<f64> {
        estimate::log_medians(&self.launches)
    }

    /// Whether both were measured in the same run.
    pub fn same_run(&self, other: &Self) -> bool {
        self.run.is_some() && self.run == other.run
    }
}

/// A point that at least one machine has.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// A kernel, or a family where kernels were allowed to differ.
    pub class: String,
    /// Columns that it was matched by and their values.
    pub at: Vec<(String, Value)>,
    /// By machine, in their order.
    pub by_machine: Vec<Option<PointData>>,
}

impl Point {
    /// What it has in a column.
    pub fn value(&self, column: &str) -> Option<&Value> {
        self.at.iter().find(|(name, _)| name == column).map(|(_, value)| value)
    }

    /// The number that it has in a column.
    pub fn number(&self, column: &str) -> Option<f64> {
        self.value(column)?.as_f64()
    }

    /// The number that it has in a column on a machine: ranks differ where roles are matched.
    pub fn number_on(&self, machine: usize, column: &str) -> Option<f64> {
        let ranks = || self.by_machine[machine].as_ref().map(|data| data.ranks).filter(|ranks| !ranks.is_nan());
        if column == "ranks" { ranks() } else { self.number(column) }
    }

    /// `P = 2, L = 64, alpha = 0.1`, without what is the same at all points.
    pub fn short(&self, varying: &HashSet<&str>) -> String {
        let named = self.at.iter().filter(|(column, _)| varying.contains(column.as_str()));
        let words: Vec<String> = named.map(|(column, value)| label(column, value)).collect();
        match varying.contains("kernel") {
            true => std::iter::once(self.class.clone()).chain(words).collect::<Vec<_>>().join(", "),
            false => words.join(", "),
        }
    }

    /// Its class and its values in some columns, as in tables.
    pub fn row(&self, columns: &[&str]) -> Vec<String> {
        let value = |column: &&str| self.value(column).map(Value::to_string).unwrap_or_default();
        std::iter::once(self.class.clone()).chain(columns.iter().map(value)).collect()
    }

    /// Whether two machines have it, with a number or without.
    pub fn has_both(&self, of: usize, to: usize) -> bool {
        self.by_machine[of].is_some() && self.by_machine[to].is_some()
    }

    /// Whether at least two machines have it, with a number or without.
    pub fn is_matched(&self) -> bool {
        self.by_machine.iter().flatten().count() > 1
    }

    pub fn is_in_all(&self) -> bool {
        self.by_machine.iter().all(Option::is_some)
    }
}

/// All points of a comparison.
#[derive(Clone, Debug)]
pub struct Points {
    /// Sorted by class and values.
    pub points: Vec<Point>,
    /// Class to its first kernel, by whose headline it is judged.
    pub classes: BTreeMap<String, &'static str>,
    /// Parameters that points were not matched by, because a machine does not report them: machine, class, their names.
    pub unreported: Vec<(String, String, Vec<String>)>,
    /// Values that are no rate, by machine: not positive, not finite.
    pub unusable: Vec<usize>,
    /// Where rank counts are matched by role.
    pub roles: Option<Roles>,
    /// Parameters of which each machine has a size of its own, by which points were then not matched: in words.
    pub own_sizes: BTreeSet<String>,
}

impl Points {
    /// The column that a class is judged by.
    pub fn headline(&self, class: &str) -> &'static str {
        let kernel = self.classes.get(class).and_then(|id| kernels::find(id).ok());
        kernel.map_or("seconds", |kernel| kernel.about().headline)
    }

    /// All columns, in the order in which points have them.
    pub fn columns(&self) -> Vec<&str> {
        let mut columns: Vec<&str> = Vec::new();
        for (column, _) in self.points.iter().flat_map(|point| &point.at) {
            if !columns.contains(&column.as_str()) {
                columns.push(column);
            }
        }
        columns
    }

    /// The head of [`Point::row`] with all columns.
    pub fn head(&self) -> Vec<String> {
        ["kernel"].into_iter().chain(self.columns()).map(str::to_owned).collect()
    }

    /// Columns that distinguish points; `kernel` if there are several classes. What follows from others, as N does from L where
    /// a sweep moves them together, is left out.
    pub fn varying(&self) -> HashSet<&str> {
        const FIRST: [&str; 6] = ["kernel", ALPHA, BLOCK, "ranks", "look_ahead", "message_bytes"];
        let all: Vec<usize> = (0..self.points.len()).collect();
        let design = self.design(&all);
        let mut names = design.varying();
        names.sort_by_key(|name| FIRST.iter().position(|first| first == name).unwrap_or(FIRST.len()));
        let mut kept: HashSet<&str> = design.independent(&names).into_iter().collect();
        kept.extend((self.classes.len() > 1).then_some("kernel"));
        kept
    }

    /// The parameters of some points, and as `kernel` their classes.
    pub fn design(&self, members: &[usize]) -> Design<'_> {
        let mut names: Vec<&str> = Vec::new();
        for (name, _) in members.iter().flat_map(|&at| &self.points[at].at) {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        let mut design = Design::default();
        for name in names {
            let mut known: HashMap<Part, u64> = HashMap::new();
            let mut code = |value: &Value| {
                let next = known.len() as u64;
                *known.entry(Part::of(value)).or_insert(next)
            };
            design.add(name, members.iter().map(|&at| self.points[at].value(name).map(&mut code)).collect());
        }
        let class = |at: &usize| self.classes.keys().position(|class| *class == self.points[*at].class);
        design.add("kernel", members.iter().map(|at| class(at).map(|class| class as u64)).collect());
        design
    }

    /// The points by their values in some columns, which come in order.
    pub fn parts(&self, members: &[usize], names: &[&str]) -> Vec<(Vec<Value>, Vec<usize>)> {
        let mut places: HashMap<Vec<Part>, usize> = HashMap::new();
        let mut parts: Vec<(Vec<Value>, Vec<usize>)> = Vec::new();
        for &at in members {
            let values: Vec<Value> = names.iter().filter_map(|name| self.points[at].value(name).cloned()).collect();
            let place = *places.entry(values.iter().map(Part::of).collect()).or_insert(parts.len());
            if place == parts.len() {
                parts.push((values, Vec::new()));
            }
            parts[place].1.push(at);
        }
        parts.sort_by(|a, b| cells::compare(&a.0, &b.0));
        parts
    }
}

/// A value that is equal for equal parameters, whatever their type and last digits.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    Number(u64),
    Word(String),
}

impl Part {
    pub fn of(value: &Value) -> Self {
        match value {
            Value::Text(word) => Part::Word(word.clone()),
            // Twelve digits: another program may have computed 0.1 otherwise.
            value => {
                let number = value.as_f64().unwrap_or(f64::NAN);
                Part::Number(format!("{number:.11e}").parse().unwrap_or(number).to_bits())
            }
        }
    }
}

/// The cores of each machine, where rank counts are matched by role.
#[derive(Clone, Debug, PartialEq)]
pub struct Roles {
    /// By machine, in their order.
    pub cores: Vec<u64>,
}

impl Roles {
    /// The role of a rank count on a machine; the number where it has none.
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

/// The circumstances of a machine's samples of one point.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// Bytes of the pages granted; empty if unknown.
    pub pages: BTreeSet<u64>,
    /// What was asked for.
    pub pages_asked: BTreeSet<String>,
    pub oversubscribed: Option<bool>,
    pub transports: BTreeSet<String>,
    pub builds: BTreeSet<String>,
    pub kernels: BTreeSet<String>,
    /// Of published numbers: what measured or predicted them.
    pub origins: BTreeSet<String>,
}

impl Facts {
    pub fn of(samples: &Samples) -> Self {
        let words = |name: &str| samples.words(name).into_iter().map(str::to_owned).collect();
        let pages = samples.numbers("page_bytes").into_iter().filter(|bytes| *bytes > 0.0);
        Self {
            pages: pages.map(|bytes| bytes as u64).collect(),
            pages_asked: words("pages"),
            oversubscribed: samples.column("oversubscribed").map(|_| samples.oversubscribed()),
            transports: words("transport"),
            builds: words("build"),
            kernels: words("kernel"),
            origins: words("origin"),
        }
    }
}

/// A part of the matched points of which a mean is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All matched points, where ranks are matched by number.
    All,
    OneCore,
    /// The whole machine against the whole machine.
    AllCores,
    PerCore,
    /// Rank counts that have no role, matched by number.
    OtherRanks,
}

impl Scope {
    /// Those of machines whose ranks are matched by role, with the indices of their points.
    pub fn roles(points: &[Point], matched: &[usize]) -> Vec<(Self, Vec<usize>)> {
        let of_role = |role: Option<&str>| -> Vec<usize> {
            let is = |at: &&usize| match (points[**at].value("ranks"), role) {
                (Some(Value::Text(word)), role) => Some(word.as_str()) == role,
                (_, role) => role.is_none(),
            };
            matched.iter().filter(is).copied().collect()
        };
        let all = of_role(Some(ALL_CORES));
        let rates = all.iter().any(|&at| points[at].by_machine.iter().flatten().any(|data| data.total.is_some()));
        let per_core = if rates { all.clone() } else { Vec::new() };
        let scopes = [
            (Self::OneCore, of_role(Some(ONE_CORE))),
            (Self::AllCores, all),
            (Self::PerCore, per_core),
            (Self::OtherRanks, of_role(None)),
        ];
        scopes.into_iter().filter(|(_, points)| !points.is_empty()).collect()
    }

    /// As tables and sentences name it.
    pub fn label(self) -> &'static str {
        match self {
            Self::All => "all compared points",
            Self::OneCore => "one core",
            Self::AllCores => "all cores, whole machine",
            Self::PerCore => "all cores, per core",
            Self::OtherRanks => "other rank counts",
        }
    }

    /// The logarithm of what a ratio of headlines is to be multiplied by: headlines are rates of a rank, or of all.
    pub fn factor(self, point: &Point, of: usize, to: usize) -> f64 {
        let (Some(a), Some(b)) = (&point.by_machine[of], &point.by_machine[to]) else { return 0.0 };
        let ranks = (a.ranks / b.ranks).ln();
        match (self, a.total) {
            (Self::AllCores, Some(false)) => ranks,
            (Self::PerCore, Some(true)) => -ranks,
            _ => 0.0,
        }
    }
}

/// Some points of a list, and that there are more: `L = 1; L = 4; ...`.
pub fn list_first(points: &[String]) -> String {
    let more = if points.len() > LISTED { "; ..." } else { "" };
    let first: Vec<&str> = points.iter().take(LISTED).map(String::as_str).filter(|point| !point.is_empty()).collect();
    format!("{}{more}", first.join("; "))
}

/// Points that a sentence names.
const LISTED: usize = 4;
