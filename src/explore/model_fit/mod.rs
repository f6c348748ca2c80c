//! A model against a store: its observations, what is known of the machine, and one sentence about the fit.

pub mod card;
pub mod figures;
pub mod groups;
pub mod nic;

use crate::error::{Error, Result};
use crate::explore::fit::baseline::Baseline;
use crate::explore::fit::{Fit, Observation, Point, Role};
use crate::explore::machine::Card;
use crate::explore::models::{Break, Model, Parameter, on_card};
use crate::explore::store::Table;
use crate::explore::store::cells::alike;
use crate::explore::store::columns;
use crate::explore::store::table::Column;
use crate::measure::numerics::statistics::median;
use crate::nearest::suggest;
use crate::point::Value;
use crate::provenance::Host;
use crate::units;
use std::collections::{BTreeMap, HashMap};

/// What a model is fitted to.
#[derive(Clone, Debug)]
pub struct Data {
    /// The median of each launch at each point.
    pub observations: Vec<Observation>,
    /// Several are joined by "with".
    pub kernel: String,
    pub samples: usize,
    /// Some launches had more ranks than processors.
    pub oversubscribed: bool,
}

/// The observations of a model among these rows; `given` are variables that stores do not know.
///
/// # Errors
/// If no row has a kernel that the model explains, or samples would be mixed that differ in something the model does not know.
pub fn observations(table: &Table, rows: &[usize], model: &dyn Model, given: &[(String, f64)]) -> Result<Data> {
    let about = model.about();
    let rows = good(table, rows, about.explains);
    if rows.is_empty() {
        let next = match about.explains {
            [] => "no kernel measures what it predicts yet: it can only predict".to_owned(),
            kernels => format!("widen --where, or run a sweep of {}", kernels.join(" or ")),
        };
        return Err(Error::input(format!("the result has no good sample that {} explains", about.id), next));
    }
    let points = by_point(table, &rows, model, given)?;
    refuse_mixtures(table, model, &points)?;
    let (launch, rate) = (table.column("launch"), table.column(about.column));
    let launch_of = |row: usize| launch.and_then(|launch| launch.bits(row)).unwrap_or(0) as u32;
    let mut observations = Vec::new();
    for (x, rows) in &points {
        let mut launches: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        for &row in rows {
            launches.entry(launch_of(row)).or_default().push(rate.map_or(f64::NAN, |rate| rate.number(row)));
        }
        let one = |(launch, values): (u32, Vec<f64>)| Some(Observation { x: x.clone(), y: median(&values)?, launch });
        observations.extend(launches.into_iter().filter_map(one));
    }
    Ok(Data {
        observations,
        kernel: kernels(table, &rows),
        samples: rows.len(),
        oversubscribed: table.numbers("oversubscribed", &rows).contains(&1.0),
    })
}

/// The good samples of some kernels.
fn good(table: &Table, rows: &[usize], kernels: &[&str]) -> Vec<usize> {
    table.with_word("kernel", kernels, &table.with_word("status", &["ok"], rows))
}

/// The rows in parts that have one point of the model each: one point of the sweep, or what the model asks for besides.
fn parts(table: &Table, rows: &[usize], model: &dyn Model) -> Vec<Vec<usize>> {
    let asked = model.about().variables.iter().map(|variable| columns::resolve(variable.name));
    let columns = columns::of_points(table).into_iter().chain(asked).filter_map(|name| table.column(name));
    let varied: Vec<&Column> = columns.filter(|column| !columns::constant(column, rows)).collect();
    alike(&varied, rows)
}

/// The model's points, each with its rows.
fn by_point(
    table: &Table,
    rows: &[usize],
    model: &dyn Model,
    given: &[(String, f64)],
) -> Result<Vec<(Vec<f64>, Vec<usize>)>> {
    let mut points: Vec<(Vec<f64>, Vec<usize>)> = Vec::new();
    let mut places: HashMap<Vec<u64>, usize> = HashMap::new();
    for part in parts(table, rows, model) {
        let x = values_at(table, part[0], model, given)?;
        let bits = x.iter().map(|value| value.to_bits()).collect();
        let at = *places.entry(bits).or_insert(points.len());
        if at == points.len() {
            points.push((x, Vec::new()));
        }
        points[at].1.extend(part);
    }
    Ok(points)
}

/// The model's variables in a row of a store; `given` come first.
fn values_at(table: &Table, row: usize, model: &dyn Model, given: &[(String, f64)]) -> Result<Vec<f64>> {
    let words = |name: &str| model.about().variables.iter().find(|variable| variable.name == name).map(|v| v.words);
    let known = |name: &str| {
        let given = given.iter().find(|(known, _)| known == name).map(|(_, value)| *value);
        // A variable of words is the index of the row's word.
        let word = table.word(columns::resolve(name), row);
        let index = words(name).and_then(|words| words.iter().position(|known| *known == word));
        // Threads of one process are on one node.
        let threads = name == "ranks_per_node" && table.word("transport", row) == "threads";
        let ranks = threads.then(|| table.number("ranks", row));
        given
            .or(ranks)
            .or(index.map(|index| index as f64))
            .or_else(|| Some(table.number(columns::resolve(name), row)).filter(|value| value.is_finite()))
    };
    model.variables(&known)
}

/// Whether a model explains several kernels at once.
fn over_kernels(model: &dyn Model) -> bool {
    model.about().variables.iter().any(|variable| variable.name == "kernel")
}

/// The kernels of these rows.
fn kernels(table: &Table, rows: &[usize]) -> String {
    let mut all: Vec<String> = table.values("kernel", rows).iter().map(Value::to_string).collect();
    all.sort_unstable();
    all.join(" with ")
}

/// Columns that say on which machine a sample was made, and over what.
const OF_MACHINES: [&str; 2] = ["host", "transport"];

/// One kernel, and one point of the sweep at each point of the model. What changes together with the model's variables is
/// theirs, but seeds.
fn refuse_mixtures(table: &Table, model: &dyn Model, points: &[(Vec<f64>, Vec<usize>)]) -> Result<()> {
    let all: Vec<usize> = points.iter().flat_map(|(_, rows)| rows.iter().copied()).collect();
    for name in columns::of_points(table).into_iter().filter(|name| *name != "seed") {
        let column = table.require(name)?;
        let apart = OF_MACHINES.contains(&name) || model.apart().contains(&columns::short(name));
        let whole = name == "kernel" && !over_kernels(model) || apart;
        let mixed = if whole {
            Some(&all)
        } else {
            points.iter().map(|(_, rows)| rows).find(|rows| !columns::constant(column, rows))
        };
        let Some(rows) = mixed.filter(|rows| !columns::constant(column, rows)) else { continue };
        let columns::Mixed { name, values, choice } = columns::mixed_in(table, name, rows);
        return Err(Error::input(
            format!("{} does not know {name}, and the samples have {name} = {values}", model.about().id),
            format!("choose one with --where '{choice}'"),
        ));
    }
    Ok(())
}

/// A number of the machine that the operating system told: cache sizes.
pub fn told(host: &Host, number: &str) -> Option<f64> {
    let level = number.strip_prefix('l')?.strip_suffix("_bytes")?.parse::<u32>().ok()?;
    let caches = &host.caches;
    // Where there is no third level, it holds what the second does and serves nothing.
    let most = caches.iter().map(|cache| cache.level).max()?;
    caches.iter().find(|cache| cache.level == level.min(most)).map(|cache| cache.bytes as f64)
}

/// A number that samples tell beside their rate: the load of a core with a role.
pub fn loads(table: &Table, rows: &[usize], number: &str) -> Option<f64> {
    let role = number.strip_prefix("role_")?.strip_suffix("_seconds")?;
    let column = format!("core{role}_load_seconds");
    median(&table.numbers(&column, rows))
}

/// What is to be held, fitted, or is not known: `held` first, then what is to be fitted (`free` although it is usually given),
/// then the card, then what is `told` by the operating system or the samples.
pub fn roles(
    model: &dyn Model,
    told: &dyn Fn(&str) -> Option<f64>,
    card: Option<&Card>,
    held: &[(&'static str, f64)],
    free: &[&str],
) -> Vec<Role> {
    let role = |parameter: &Parameter| {
        let name = parameter.number;
        if let Some((_, value)) = held.iter().find(|(known, _)| *known == name) {
            return Role::Hold(*value);
        }
        let known = card.and_then(|card| on_card(card, name)).or_else(|| told(name));
        if free.contains(&name) || !parameter.given {
            // Sizes are told well enough to begin at.
            return known.filter(|_| parameter.given).map_or(Role::Fit, Role::From);
        }
        // Where a model jumps can be found from the data.
        known.map_or(if matches!(parameter.breaks, Break::At(_)) { Role::Fit } else { Role::Unknown }, Role::Hold)
    };
    model.about().parameters.iter().map(role).collect()
}

/// What explains the measurement, how well, and where it does not: one sentence.
pub fn sentence(model: &dyn Model, fit: &Fit, baseline: Option<&Baseline>) -> String {
    let about = model.about();
    let quality = &fit.quality;
    let beaten = baseline.zip(quality.left_out).is_some_and(|(curve, left_out)| curve.left_out < left_out);
    let verb = if beaten { "describes" } else { "explains" };
    let mut text = format!("{} {verb} the measurement within {:.1} % (SMAPE)", about.id, 100.0 * quality.smape);
    if let Some((largest, error)) = quality.largest_left_out {
        text += &format!(", and predicts P = {largest} from smaller P to within {:.1} %", 100.0 * error);
    }
    text += &farthest(model, &fit.points).map(|words| format!("; {words}")).unwrap_or_default();
    match (baseline, quality.left_out) {
        (Some(curve), Some(left_out)) if beaten => {
            text += &format!(
                ". It does not explain it: a purely empirical fit does better on held-out points, {:.1} % against {:.1} %",
                100.0 * curve.left_out,
                100.0 * left_out
            );
        }
        (Some(curve), Some(left_out)) => {
            text += &format!(
                ". The error on held-out points is {:.1} %, against {:.1} % for the best purely empirical curve",
                100.0 * left_out,
                100.0 * curve.left_out
            );
        }
        _ => {}
    }
    text + "."
}

/// Where a model is farthest off: "worst at P = 8: the measurement is 0.70 times the prediction".
pub fn farthest(model: &dyn Model, points: &[Point]) -> Option<String> {
    let worst = points.iter().max_by(|a, b| off(a.measured / a.predicted).total_cmp(&off(b.measured / b.predicted)))?;
    let place = place(model, &worst.x, &varied(points));
    let place = if place.is_empty() { place } else { format!(" at {place}") };
    let ratio = worst.measured / worst.predicted;
    Some(format!("worst{place}: the measurement is {ratio:.2} times the prediction"))
}

/// `P = 8, Q = 1024`.
fn place(model: &dyn Model, x: &[f64], variables: &[usize]) -> String {
    let one = |&at: &usize| format!("{} = {}", model.about().variables[at].name, said(model, at, x[at]));
    variables.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// The value of a variable for people: its word, if it is one of words.
pub fn said(model: &dyn Model, variable: usize, value: f64) -> String {
    let word = model.about().variables[variable].words.get(value as usize);
    word.map_or_else(|| units::exact(value), |word| (*word).to_owned())
}

/// The bottleneck along the one variable that varies: "latency up to message_bytes = 4096, bandwidth from 16384 on". `None` if
/// none or several vary.
pub fn bottleneck(model: &dyn Model, points: &[Point]) -> Option<String> {
    let [at] = *varied(points) else { return None };
    let mut ordered: Vec<(f64, &str)> = points.iter().map(|point| (point.x[at], point.bottleneck)).collect();
    ordered.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut runs: Vec<(f64, f64, &str)> = Vec::new();
    for (x, name) in ordered {
        match runs.last_mut() {
            Some((_, last, known)) if *known == name => *last = x,
            _ => runs.push((x, x, name)),
        }
    }
    let variable = model.about().variables[at].name;
    let last = runs.len() - 1;
    let words = runs.iter().enumerate().map(|(k, (from, to, name))| match k {
        0 if last == 0 => format!("{name} at every {variable}"),
        0 => format!("{name} up to {variable} = {}", units::exact(*to)),
        k if k == last => format!("{name} from {} on", units::exact(*from)),
        _ if from == to => format!("{name} at {}", units::exact(*from)),
        _ => format!("{name} from {} to {}", units::exact(*from), units::exact(*to)),
    });
    Some(words.collect::<Vec<_>>().join(", "))
}

fn off(ratio: f64) -> f64 {
    ratio.ln().abs()
}

/// Indices of the variables that differ between points.
pub fn varied(points: &[Point]) -> Vec<usize> {
    let Some(first) = points.first() else { return Vec::new() };
    (0..first.x.len()).filter(|&at| points.iter().any(|point| point.x[at] != first.x[at])).collect()
}

/// What the rate of a model is a rate of, for baselines: P where it is a variable and the rate is of all ranks.
pub fn work(model: &dyn Model) -> impl Fn(&[f64]) -> f64 {
    let about = model.about();
    let ranks = about
        .variables
        .iter()
        .position(|variable| variable.name == "P")
        .filter(|_| about.column == "operations_per_second");
    move |x| ranks.map_or(1.0, |at| x[at])
}

/// Splits `NAME=VALUE`, for a parameter of the model.
///
/// # Errors
/// If the name is none of the model's parameters or the value no number.
pub fn setting(model: &dyn Model, text: &str) -> Result<(&'static str, Option<String>)> {
    let (name, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value.to_owned())));
    let known: Vec<_> = model.about().parameters.iter().map(|parameter| parameter.number).collect();
    match crate::explore::models::scan::parameter(model, name) {
        Some(parameter) => Ok((parameter.number, value)),
        None => Err(Error::input(format!("{} has no parameter \"{name}\"", model.about().id), suggest(name, &known))),
    }
}
