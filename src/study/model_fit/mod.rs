//! Compares a model with a result: its observations, the known numbers of the machine, and one sentence about the fit.

pub mod card;
pub mod figures;
pub mod formula;
pub mod groups;
pub mod nic;
pub mod predictions;
mod sentence;

pub use groups::{complete_refusal, no_sample_error};
pub use sentence::{ASSUMED, Judgement, MAX_SMAPE, Verdict, doubts, failure, judge, lines, sentence};

use apexmap_base::error::{Error, Result};
use apexmap_base::name_lookup::suggest;
use apexmap_base::provenance::Host;
use apexmap_base::units::{self, Unit};
use apexmap_measure::kernels::random_access::roles::LOADS;
use apexmap_results::samples::{Mixture, Samples, health::Health};
use apexmap_results::table::columns::{self, ColumnDescription, NODE_TYPE, USED_NODES};
use apexmap_theory::fit::{self, Fit, Observation, Options, Point, Role};
use apexmap_theory::machine::{Card, Domain, KERNEL, catalogue};
use apexmap_theory::models::{self, Break, Model, Parameter, card_number};
use std::collections::HashMap;

/// The data that a model is fitted to.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Data {
    /// The median of each launch at each point.
    pub observations: Vec<Observation>,
    /// The kernel that was measured; several are joined by "with".
    pub kernel: String,
    /// Number of samples in the medians, and of disturbed ones among them.
    pub samples: usize,
    pub disturbed: usize,
    /// Whether some launches had more ranks than hardware threads.
    pub oversubscribed: bool,
    /// Kernels, options and ranges of the model's variables: where the fitted numbers hold.
    pub domain: Domain,
    /// The simulation or the other program that gave the rates: `simulated, card Red Storm`; `None` for measured rates.
    pub simulated: Option<String>,
}

impl Data {
    /// Fits the model of these observations. A refusal says what disturbed them.
    pub fn fit(&self, model: &dyn Model, roles: &[Role], options: Options) -> Result<Fit> {
        let mut fit =
            fit::fit(model, &self.observations, roles, options).map_err(|refusal| groups::add_noise(refusal, self))?;
        fit.simulated.clone_from(&self.simulated);
        Ok(fit)
    }
}

/// The observations of a model among these samples. `given` are variables that results do not contain.
///
/// # Errors
/// If no sample has a kernel that the model explains, or if a point would mix samples that differ in a column the model ignores.
pub fn observations(samples: &Samples, model: &dyn Model, given: &[(String, f64)]) -> Result<Data> {
    let about = model.about();
    let samples = select_kernels(samples, about.explains);
    if samples.is_empty() {
        return Err(no_sample_error(model));
    }
    let points = by_point(&samples, model, given)?;
    refuse_mixtures(&samples, model, &points)?;
    let launches: Vec<_> = samples.launches().into_keys().collect();
    let mut observations = Vec::new();
    for (x, samples) in &points {
        let observation = |(launch, samples): (_, Samples)| {
            let launch = launches.binary_search(&launch).unwrap_or(0) as u32;
            Some(Observation { x: x.clone(), y: samples.median(about.column)?, launch })
        };
        observations.extend(samples.launches().into_iter().filter_map(observation));
    }
    Ok(Data {
        domain: domain(&samples, model, &observations),
        observations,
        kernel: kernels(&samples),
        samples: samples.len(),
        disturbed: Health::from_judged(&samples).map_or(0, |health| health.disturbed_count()),
        oversubscribed: samples.is_oversubscribed(),
        simulated: samples.describe_origin(),
    })
}

/// A model of this program knows which numbers besides its variables make no difference; a formula does not, so that its domain has
/// the ranges of all parameters.
fn domain(samples: &Samples, model: &dyn Model, observations: &[Observation]) -> Domain {
    let mut domain = Domain::default();
    for (index, variable) in
        model.about().variables.iter().enumerate().filter(|(_, variable)| variable.words.is_empty())
    {
        observations.iter().for_each(|observation| domain.include(variable.name, observation.x[index]));
    }
    let is_option = |name: &&str| columns::describe(name).role == columns::Role::Parameter;
    for name in columns::point_columns(samples.table()).into_iter().filter(is_option).chain([KERNEL]) {
        let short = columns::short(name);
        let words = samples.words(name);
        if !words.is_empty() {
            domain.include_words(short, &words);
        } else if model.formula().is_some() && model.about().variable_index(short).is_none() && name != SEED {
            samples.numbers(name).into_iter().for_each(|value| domain.include(short, value));
        }
    }
    domain
}

fn select_kernels(samples: &Samples, kernels: &[&str]) -> Samples {
    samples.good().with_word("kernel", kernels)
}

/// Each part is one point of the sweep, with one value of each of the model's variables.
fn parts(samples: &Samples, model: &dyn Model) -> Vec<Samples> {
    let variables = model.about().variables.iter().map(|variable| columns::resolve(variable.name));
    let names = columns::point_columns(samples.table()).into_iter().chain(variables).chain([USED_NODES]);
    let varied: Vec<&str> = names.filter(|name| !samples.is_constant(name)).collect();
    samples.group_by(&varied)
}

/// The model's points, each with its samples.
fn by_point(samples: &Samples, model: &dyn Model, given: &[(String, f64)]) -> Result<Vec<(Vec<f64>, Samples)>> {
    let mut points: Vec<(Vec<f64>, Vec<usize>)> = Vec::new();
    let mut places: HashMap<Vec<u64>, usize> = HashMap::new();
    for part in parts(samples, model) {
        let x = values_at(&part, model, given)?;
        let bits = x.iter().map(|value| value.to_bits()).collect();
        let index = *places.entry(bits).or_insert(points.len());
        if index == points.len() {
            points.push((x, Vec::new()));
        }
        points[index].1.extend(part.rows());
    }
    Ok(points.into_iter().map(|(x, rows)| (x, samples.with_rows(rows))).collect())
}

/// The model's variables at the first of these samples. `given` values take precedence.
pub fn values_at(samples: &Samples, model: &dyn Model, given: &[(String, f64)]) -> Result<Vec<f64>> {
    let number = |name: &str| samples.first_value(name).and_then(|value| value.as_f64());
    let value = |name: &str| {
        let given = given.iter().find(|(key, _)| key == name).map(|(_, value)| *value);
        // The value of a variable of words is the index of the row's word.
        let word = samples.first_word(columns::resolve(name));
        let variable = model.about().variables.iter().find(|variable| variable.name == name);
        let index = variable.and_then(|variable| variable.words.iter().position(|candidate| *candidate == word));
        // Threads of one process are on one node.
        let threads = (samples.first_word("transport") == "threads").then_some(1.0);
        let on_node = match number(USED_NODES).or(threads) {
            Some(nodes) if name == "ranks_per_node" => number("ranks").map(|ranks| (ranks / nodes).ceil()),
            _ => None,
        };
        given
            .or(on_node)
            .or(index.map(|index| index as f64))
            .or_else(|| model.kernel_value(samples.first_word("kernel"), name))
            .or_else(|| number(columns::resolve(name)).filter(|value| value.is_finite()))
    };
    model.variables(&value)
}

fn spans_kernels(model: &dyn Model) -> bool {
    model.about().variables.iter().any(|variable| variable.name == "kernel")
}

fn kernels(samples: &Samples) -> String {
    let mut names = samples.words("kernel");
    names.sort_unstable();
    names.join(" with ")
}

/// Parameter that only chooses among equal accesses.
const SEED: &str = "seed";

/// Columns that identify the machine of a sample and its transport.
const OF_MACHINES: [&str; 3] = ["host", NODE_TYPE, "transport"];

/// Columns that change together with the model's variables are allowed, and so are seeds.
fn refuse_mixtures(samples: &Samples, model: &dyn Model, points: &[(Vec<f64>, Samples)]) -> Result<()> {
    // The model knows the size of the granted pages; then the requested kind makes no difference.
    let knows_pages = model.about().variables.iter().any(|variable| variable.name == "page_bytes");
    let ignored: &[&str] = if knows_pages { &[SEED, "pages"] } else { &[SEED] };
    for name in samples.mixed_columns(ignored) {
        let separates = OF_MACHINES.contains(&name) || model.fixed_variables().contains(&columns::short(name));
        let whole = name == "kernel" && !spans_kernels(model) || separates;
        let mixed = match whole {
            true => Some(samples),
            false => points.iter().map(|(_, point)| point).find(|point| !point.is_constant(name)),
        };
        let Some(mixed) = mixed else { continue };
        // The choice keeps most samples of the whole result, not only of this point.
        let choice = samples.mixture(name).choice;
        let Mixture { name, values, .. } = mixed.mixture(name);
        return Err(Error::input(
            format!("{} has no term for {name}, but the samples differ in it ({name} = {values})", model.about().id),
            format!("fix one value with --where '{choice}'"),
        ));
    }
    Ok(())
}

/// Terms as fractions of their sum, the largest first, without those below 1 %: "memory 61 %, TLB 30 %".
pub fn budget(terms: &[(&str, f64)]) -> String {
    let total: f64 = terms.iter().map(|term| term.1).sum();
    let mut parts: Vec<(f64, &str)> = terms.iter().map(|(name, seconds)| (100.0 * seconds / total, *name)).collect();
    parts.retain(|(share, _)| *share >= 1.0);
    parts.sort_by(|a, b| b.0.total_cmp(&a.0));
    parts.iter().map(|(share, name)| format!("{name} {share:.0} %")).collect::<Vec<_>>().join(", ")
}

/// Sizes of caches and of the TLB, which the operating system or the processor reports.
fn reported_by_os(host: &Host, number: &str) -> Option<f64> {
    if number == catalogue::TLB_ENTRIES.name {
        return host.tlb_entries_4k.map(f64::from);
    }
    if number == catalogue::L3_CORES.name {
        return host.caches.iter().find(|cache| cache.level == 3).map(|cache| f64::from(cache.shared_by));
    }
    let level = catalogue::CACHES.iter().find(|cache| cache.size.name == number)?.level;
    let caches = &host.caches;
    // Without a third level, its size is that of the second level, and it serves nothing.
    let most = caches.iter().map(|cache| cache.level).max()?;
    caches.iter().find(|cache| cache.level == level.min(most)).map(|cache| cache.bytes as f64)
}

/// The load of a core with a role, which samples hold besides their rate: that of one dimension only if three cores route.
fn loads(samples: &Samples, number: &str) -> Option<f64> {
    let roles = [catalogue::ROLE_0_SECONDS, catalogue::ROLE_1_SECONDS, catalogue::ROLE_2_SECONDS];
    let core = roles.iter().position(|entry| entry.name == number)?;
    let three = samples.filter_rows(|row| samples.table().number("node_routers", row) == 3.0);
    three.median(LOADS[core].column)
}

/// Decides which parameters are held, fitted or unknown. `held` comes first, then the parameters to fit (`free` ones even if they are
/// usually given), then the card, then what the samples' `host` reports (none for simulated ranks), or the samples themselves. A
/// fitted parameter that the points do not identify takes the card's value, or the typical one, unless it is `free`. A given
/// parameter without any source takes the typical value.
pub fn roles(
    model: &dyn Model,
    (samples, host): (&Samples, Option<&Host>),
    card: Option<&Card>,
    held: &[(&'static str, f64)],
    free: &[&str],
) -> Vec<Role> {
    // The caches of the host are not those of a device.
    let host = host.filter(|_| !samples.is_on_device());
    let reported = |number: &str| host.and_then(|host| reported_by_os(host, number)).or_else(|| loads(samples, number));
    let role = |parameter: &Parameter| {
        let name = parameter.number;
        if let Some((_, value)) = held.iter().find(|(number, _)| *number == name) {
            return Role::Hold(*value);
        }
        let on_card = card.and_then(|card| card_number(card, name));
        if let (Some(value), false, false) = (on_card, parameter.is_given, free.contains(&name)) {
            return Role::OrHold(value);
        }
        if !parameter.is_given && parameter.is_first_guess_typical && !free.contains(&name) {
            return Role::OrAssume(parameter.first_guess);
        }
        let value = on_card.or_else(|| reported(name)).or(parameter.default);
        if free.contains(&name) || !parameter.is_given {
            // Reported sizes are good starting values.
            return value.filter(|_| parameter.is_given).map_or(Role::Fit, Role::StartAt);
        }
        // The data show the position of a jump in a model.
        match value {
            Some(value) => Role::Hold(value),
            None if parameter.is_first_guess_typical => Role::Assume(parameter.first_guess),
            None if matches!(parameter.breaks, Break::Location(_)) => Role::Fit,
            None => Role::Unknown,
        }
    };
    model.about().parameters.iter().map(role).collect()
}

/// The point with the largest error: "worst at P = 8: the measurement is 0.70 times the prediction", or the `source`.
pub fn farthest(model: &dyn Model, points: &[Point], source: &str) -> Option<String> {
    let worst = points
        .iter()
        .max_by(|a, b| log_distance(a.measured / a.predicted).total_cmp(&log_distance(b.measured / b.predicted)))?;
    let place = place(model, &worst.x, &varying_variables(points));
    let place = if place.is_empty() { place } else { format!(" at {place}") };
    let ratio = worst.measured / worst.predicted;
    Some(format!("worst{place}: the {source} is {ratio:.2} times the prediction"))
}

/// `P = 8, Q = 1024`.
pub fn place(model: &dyn Model, x: &[f64], variables: &[usize]) -> String {
    let assignment =
        |&index: &usize| format!("{} = {}", model.about().variables[index].name, value_text(model, index, x[index]));
    variables.iter().map(assignment).collect::<Vec<_>>().join(", ")
}

/// The value of a variable for people: a word if its values are words, `512 MiB` for a large number of words.
pub fn value_text(model: &dyn Model, variable: usize, value: f64) -> String {
    const MWORDS: f64 = 1048576.0;
    let variable = &model.about().variables[variable];
    match variable.words.get(value as usize) {
        Some(word) => (*word).to_owned(),
        None if variable.unit == Unit::Words && value >= MWORDS && value % MWORDS == 0.0 => {
            units::size_of_words(value as u64)
        }
        None => units::exact_number(value),
    }
}

/// Updates of RandomAccess are in GUPS.
pub fn described_rate(model: &dyn Model) -> ColumnDescription {
    columns::describe_of(model.about().column, model.about().explains.iter().copied())
}

/// `latency up to message_bytes = 4096, bandwidth from 16384 on`; `None` unless one variable varies, and for a formula.
pub fn bottleneck(model: &dyn Model, points: &[Point]) -> Option<String> {
    let [index] = *varying_variables(points) else { return None };
    if model.formula().is_some() {
        return None;
    }
    let mut ordered: Vec<(f64, &str)> = points.iter().map(|point| (point.x[index], point.bottleneck)).collect();
    ordered.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut runs: Vec<(f64, f64, &str)> = Vec::new();
    for (x, name) in ordered {
        match runs.last_mut() {
            Some((_, last, previous)) if *previous == name => *last = x,
            _ => runs.push((x, x, name)),
        }
    }
    let variable = model.about().variables[index].name;
    let last = runs.len() - 1;
    let words = runs.iter().enumerate().map(|(k, (from, to, name))| match k {
        0 if last == 0 => format!("{name} at every {variable}"),
        0 => format!("{name} up to {variable} = {}", units::exact_number(*to)),
        k if k == last => format!("{name} from {} on", units::exact_number(*from)),
        _ if from == to => format!("{name} at {}", units::exact_number(*from)),
        _ => format!("{name} from {} to {}", units::exact_number(*from), units::exact_number(*to)),
    });
    Some(words.collect::<Vec<_>>().join(", "))
}

fn log_distance(ratio: f64) -> f64 {
    ratio.ln().abs()
}

pub fn varying_variables(points: &[Point]) -> Vec<usize> {
    let Some(first) = points.first() else { return Vec::new() };
    (0..first.x.len()).filter(|&index| points.iter().any(|point| point.x[index] != first.x[index])).collect()
}

/// Splits `NAME=VALUE` for a parameter of the model.
pub fn setting(model: &dyn Model, text: &str) -> Result<(&'static str, Option<String>)> {
    let (name, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value.to_owned())));
    let numbers: Vec<_> = model.about().parameters.iter().map(|parameter| parameter.number).collect();
    match models::scan::parameter(model, name) {
        Some(parameter) => Ok((parameter.number, value)),
        None => Err(Error::input(format!("{} has no parameter \"{name}\"", model.about().id), suggest(name, &numbers))),
    }
}
