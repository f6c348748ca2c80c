//! Points matched by their parameters, and what does not match.

use super::facts::{Allowed, Facts};
use super::machine::{Machine, Origin};
use super::roles::{self, MatchRanks, Roles};
use apexmap_base::error::{Error, Result};
use apexmap_base::point::Value;
use apexmap_base::sample::Status;
use apexmap_base::units::Unit;
use apexmap_measure::kernels::{self, Kernel};
use apexmap_results::samples::Samples;
use apexmap_results::samples::cells;
use apexmap_results::samples::design::Design;
use apexmap_results::samples::estimate::{self, LaunchValues};
use apexmap_results::table::columns::{self, ALPHA, BLOCK, label};
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

/// What points are matched by besides all of their parameters.
#[derive(Clone, Debug, Default)]
pub struct Matching {
    pub allowed: Allowed,
    /// Columns of parameters that may differ.
    pub ignored: Vec<String>,
    pub ranks: MatchRanks,
}

/// Matches the points of all machines.
///
/// # Errors
/// If a cell would mix points of one machine, which is then named with what tells them apart.
pub fn matched(machines: &[Machine], matching: &Matching) -> Result<Points> {
    let mut found = Points {
        points: Vec::new(),
        classes: BTreeMap::new(),
        unreported: Vec::new(),
        unusable: vec![0; machines.len()],
        roles: Roles::of(machines, matching.ranks)?,
        own_sizes: BTreeSet::new(),
    };
    let mut classes: BTreeMap<String, Vec<&'static dyn Kernel>> = BTreeMap::new();
    let by_kernel: Vec<HashMap<&'static str, Samples>> = machines.iter().map(by_kernel).collect();
    for kernel in kernels::ALL.iter().copied().filter(|kernel| by_kernel.iter().any(|of| of.contains_key(kernel.id())))
    {
        let class = if matching.allowed.kernel { kernels::family(kernel.id()) } else { kernel.id() };
        classes.entry(class.to_owned()).or_default().push(kernel);
    }
    for (class, kernels) in classes {
        let of_class = |(machine, by_kernel): (&Machine, &HashMap<&'static str, Samples>)| {
            let rows = kernels.iter().filter_map(|kernel| by_kernel.get(kernel.id())).flat_map(|of| of.rows());
            machine.samples.at(rows.copied().collect())
        };
        let samples: Vec<Samples> = machines.iter().zip(&by_kernel).map(of_class).collect();
        let mut columns = columns_of(machines, &samples, &kernels, matching, &class, &mut found.unreported);
        if found.roles.is_some() {
            for size in Roles::own_sizes(&samples, &kernels, &columns) {
                columns.retain(|column| column != size);
                found.own_sizes.insert(columns::short(size).to_owned());
            }
        }
        found.classes.insert(class.clone(), kernels[0].id());
        let mut known: HashMap<Vec<Part>, usize> = HashMap::new();
        for (at, machine) in machines.iter().enumerate().filter(|(at, _)| !samples[*at].is_empty()) {
            let headline = kernels[0].about().headline;
            for (mut values, mut data, unusable) in point_data(machine, &samples[at], &columns, headline, matching)? {
                found.unusable[at] += unusable;
                if let Some(value) =
                    columns.iter().position(|column| column == "ranks").and_then(|at| values.get_mut(at))
                {
                    data.ranks = value.as_f64().unwrap_or(f64::NAN);
                    *value = found.roles.as_ref().map_or_else(|| value.clone(), |roles| roles.role(at, value));
                }
                let index = *known.entry(values.iter().map(Part::of).collect()).or_insert_with(|| {
                    let at = columns.iter().cloned().zip(values).collect();
                    found.points.push(Point { class: class.clone(), at, by_machine: vec![None; machines.len()] });
                    found.points.len() - 1
                });
                found.points[index].by_machine[at] = Some(data);
            }
        }
    }
    found.points.sort_by(|a, b| a.class.cmp(&b.class).then_with(|| cells::compare(&values(a), &values(b))));
    Ok(found)
}

fn values(point: &Point) -> Vec<Value> {
    point.at.iter().map(|(_, value)| value.clone()).collect()
}

/// The samples of a machine by kernel.
fn by_kernel(machine: &Machine) -> HashMap<&'static str, Samples> {
    machine.samples.kernels().into_iter().map(|(kernel, samples)| (kernel.id(), samples)).collect()
}

/// The columns that the points of a class are matched by: parameters that all machines report.
fn columns_of(
    machines: &[Machine],
    samples: &[Samples],
    kernels: &[&'static dyn Kernel],
    matching: &Matching,
    class: &str,
    unreported: &mut Vec<(String, String, Vec<String>)>,
) -> Vec<String> {
    let mut columns = vec!["ranks"];
    for parameter in kernels.iter().flat_map(|kernel| kernel.parameters()) {
        let by_allowance = matching.allowed.page_size && parameter.column == "pages";
        // Other random numbers are no other point.
        if !columns.contains(&parameter.column) && parameter.column != "seed" && !by_allowance {
            columns.push(parameter.column);
        }
    }
    columns.retain(|column| !matching.ignored.iter().any(|ignored| ignored == column));
    let has_class: Vec<usize> = (0..machines.len()).filter(|at| !samples[*at].is_empty()).collect();
    let mut missing = HashSet::new();
    for &at in &has_class {
        let missing_here: Vec<&str> = columns.iter().copied().filter(|column| !samples[at].has(column)).collect();
        if !missing_here.is_empty() {
            let names = missing_here.iter().map(|column| columns::short(column).to_owned()).collect();
            unreported.push((machines[at].name.clone(), class.to_owned(), names));
            missing.extend(missing_here);
        }
    }
    columns.into_iter().filter(|column| !missing.contains(column)).map(str::to_owned).collect()
}

/// A value that is equal for equal parameters, whatever their type and last digits.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Part {
    Number(u64),
    Word(String),
}

impl Part {
    fn of(value: &Value) -> Self {
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

type Found = (Vec<Value>, PointData, usize);

/// The cells of one machine.
fn point_data(
    machine: &Machine,
    samples: &Samples,
    columns: &[String],
    headline: &str,
    matching: &Matching,
) -> Result<Vec<Found>> {
    if samples.column(headline).is_none() {
        return Err(Error::input(
            format!("{} has no column \"{headline}\", the headline rate of its kernel", machine.given),
            "compare a result that this version of apexmap wrote",
        ));
    }
    let by: Vec<&str> = columns.iter().map(String::as_str).collect();
    let smaller_is_better = matches!(columns::describe(headline).unit, Unit::Seconds | Unit::Cycles);
    let cells = samples.cells(&by)?;
    // Seeds may differ.
    cells::single_points(&cells, &[&by[..], &["seed"]].concat()).map_err(|mixed| {
        let why = if matching.ignored.is_empty() && matching.allowed == Allowed::default() { "" } else { " now" };
        Error::input(
            format!("{}: one point would{why} mix samples with {} = {}", machine.given, mixed.name, mixed.values),
            format!("choose one: '{}[{}]'", machine.given, mixed.choice),
        )
    })?;
    let speed = |value: f64| if smaller_is_better { 1.0 / value } else { value };
    let exact = machine.origin == Origin::Published;
    let (widening, total) = (samples.widening(), roles::is_total(headline));
    let found = |cell: cells::Cell| {
        let mut launches = cell.samples.by_launch(headline);
        for launch in &mut launches {
            launch.values.iter_mut().for_each(|value| *value = speed(*value));
            launch.values.retain(|speed| speed.is_finite() && *speed > 0.0);
        }
        launches.retain(|launch| !launch.values.is_empty());
        let unusable = cell.samples.len() - launches.iter().map(|launch| launch.values.len()).sum::<usize>();
        let (facts, run) = (Facts::of(&cell.samples), machine.run.clone());
        let (failures, ranks, row) = (cell.failures, f64::NAN, cell.samples.rows().first().copied());
        (cell.by, PointData { launches, run, widening, failures, facts, exact, ranks, row, total }, unusable)
    };
    Ok(cells.into_iter().map(found).collect())
}

/// Some points of a list, and that there are more: `L = 1; L = 4; ...`.
pub fn list_first(points: &[String]) -> String {
    let more = if points.len() > LISTED { "; ..." } else { "" };
    let first: Vec<&str> = points.iter().take(LISTED).map(String::as_str).filter(|point| !point.is_empty()).collect();
    format!("{}{more}", first.join("; "))
}

/// Points that a sentence names.
const LISTED: usize = 4;
