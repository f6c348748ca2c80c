//! Matches points by their parameters.
//!
//! Servers with 64 and with 32 cores share no rank count of the same meaning except 1, so points are matched by the role of the rank
//! count. Sizes that the sweep adapts to the machine (M beyond its caches, a table of half its memory) may then differ.

use super::devices;
use super::machine::{Machine, Origin};
use super::points::{Facts, Part, Point, PointData, Points, Roles};
use apexmap_base::distinct::distinct;
use apexmap_base::error::{Error, Result};
use apexmap_base::name_lookup::suggest;
use apexmap_base::point::Value;
use apexmap_base::units::Unit;
use apexmap_measure::kernels::{self, Domain, Kernel};
use apexmap_results::samples::Samples;
use apexmap_results::samples::cells;
use apexmap_results::samples::health::Health;
use apexmap_results::table::columns::{self, NODE_TYPE};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum MatchRanks {
    /// Match by role if ranks are threads and the machines have different numbers of cores, otherwise by number
    #[default]
    Auto,
    /// Match one core with one core, all cores with all cores, and other rank counts by number
    Role,
    /// Match rank counts by number
    Number,
}

/// Differences that a comparison refuses unless they are allowed, by their names for `--allow`:
///
/// * `page-size`: granted, and the parameter that requests it; `oversubscription`: on one side only
/// * `transport`: threads or MPI; MPI libraries may always differ. `version`: build of the measuring code
/// * `kernel`: of the same family; points are then matched by the parameters that both have
/// * `one-launch`: a regression check of results with one launch, where the variation between launches is unknown
pub const DIFFERENCES: [&str; 6] = ["page-size", "oversubscription", "transport", "version", "kernel", "one-launch"];

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllowedDifferences(Vec<String>);

impl AllowedDifferences {
    pub fn parse(names: &[String]) -> Result<Self> {
        match names.iter().find(|name| !DIFFERENCES.contains(&name.as_str())) {
            Some(name) => {
                Err(Error::input(format!("--allow {name}: no such difference exists"), suggest(name, &DIFFERENCES)))
            }
            None => Ok(Self(names.to_vec())),
        }
    }

    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|allowed| allowed == name)
    }
}

#[derive(Clone, Debug, Default)]
pub struct Matching {
    pub allowed: AllowedDifferences,
    pub ignored: Vec<String>,
    pub ranks: MatchRanks,
}

pub fn match_points(machines: &[Machine], matching: &Matching) -> Result<Points> {
    let devices = devices::find(machines);
    let mut result = Points {
        unusable: vec![0; machines.len()],
        roles: if devices.is_empty() { roles(machines, matching.ranks)? } else { None },
        devices,
        ..Points::default()
    };
    let by_kernel: Vec<HashMap<&'static str, Samples>> = machines.iter().map(group_by_kernel).collect();
    let classes = classes(&by_kernel, matching.allowed.has("kernel"), !result.devices.is_empty());
    for (class, mut kernels) in classes {
        let of_class = |(machine, by_kernel): (&Machine, &HashMap<&'static str, Samples>)| {
            let rows = kernels.iter().filter_map(|kernel| by_kernel.get(kernel.id)).flat_map(|samples| samples.rows());
            machine.samples.with_rows(rows.copied().collect())
        };
        let mut samples: Vec<Samples> = machines.iter().zip(&by_kernel).map(of_class).collect();
        let on_devices = take_devices(&mut samples, &result.devices);
        if !on_devices.is_empty() {
            kernels.retain(|kernel| devices::experiment(kernel).is_none());
        }
        let mut columns = matching_columns(machines, &samples, &kernels, matching, &class, &mut result.unreported);
        if result.roles.is_some() {
            for size in own_sizes(&samples, &kernels, &columns) {
                columns.retain(|column| column != size);
                result.own_sizes.insert(columns::short(size).to_owned());
            }
        }
        let of_kernel = samples.iter().find(|samples| !samples.is_empty());
        let headline = of_kernel.map_or(kernels[0].headline, |samples| samples.headline(kernels[0]));
        result.classes.insert(class.clone(), kernels[0].id);
        let headline = if on_devices.is_empty() { headline } else { devices::total(headline) };
        result.headlines.insert(class.clone(), headline);
        let mut indices: HashMap<Vec<Part>, usize> = HashMap::new();
        for (machine_index, machine) in machines.iter().enumerate().filter(|(index, _)| !samples[*index].is_empty()) {
            for (mut values, mut data, unusable) in
                point_data(machine, &samples[machine_index], &columns, headline, matching)?
            {
                result.unusable[machine_index] += unusable;
                if let Some(value) =
                    columns.iter().position(|column| column == "ranks").and_then(|position| values.get_mut(position))
                {
                    data.ranks = value.as_f64().unwrap_or(f64::NAN);
                    *value =
                        result.roles.as_ref().map_or_else(|| value.clone(), |roles| roles.role(machine_index, value));
                }
                let index = *indices.entry(values.iter().map(Part::from_value).collect()).or_insert_with(|| {
                    let values = columns.iter().cloned().zip(values).collect();
                    result.points.push(Point { class: class.clone(), values, by_machine: vec![None; machines.len()] });
                    result.points.len() - 1
                });
                result.points[index].by_machine[machine_index] = Some(data);
            }
        }
        let shared = devices::shared_columns(&columns);
        for (device, samples) in on_devices {
            for (values, data, unusable) in point_data(&machines[device], &samples, &shared, headline, matching)? {
                result.unusable[device] += unusable;
                let numbers = shared.iter().cloned().zip(values.iter().map(Value::as_f64)).collect::<Vec<_>>();
                devices::add(&mut result, &class, device, &numbers, data);
            }
        }
    }
    result.points.sort_by(|a, b| a.class.cmp(&b.class).then_with(|| cells::compare(&values(a), &values(b))));
    Ok(result)
}

/// Used kernels; with devices, a class has the kernels that repeat its experiment, too.
fn classes(
    by_kernel: &[HashMap<&'static str, Samples>],
    by_family: bool,
    with_devices: bool,
) -> BTreeMap<String, Vec<&'static Kernel>> {
    let mut classes: BTreeMap<String, Vec<&'static Kernel>> = BTreeMap::new();
    let is_used = |kernel: &&Kernel| by_kernel.iter().any(|groups| groups.contains_key(kernel.id));
    for kernel in kernels::ALL.iter().copied().filter(is_used) {
        let family = devices::experiment(kernel).filter(|_| with_devices);
        // Kernels of processors come first.
        let mut is_new = true;
        for kernels in classes.values_mut().filter(|kernels| Some(kernels::family(kernels[0].id)) == family) {
            kernels.push(kernel);
            is_new = false;
        }
        if is_new {
            let class = if by_family { kernels::family(kernel.id) } else { kernel.id };
            classes.entry(class.to_owned()).or_default().push(kernel);
        }
    }
    classes
}

fn take_devices(samples: &mut [Samples], devices: &[usize]) -> Vec<(usize, Samples)> {
    if (0..samples.len()).all(|index| devices.contains(&index) || samples[index].is_empty()) {
        return Vec::new();
    }
    let take = |&index: &usize| {
        let none = samples[index].with_rows(Vec::new());
        (index, std::mem::replace(&mut samples[index], none))
    };
    devices.iter().map(take).filter(|(_, samples)| !samples.is_empty()).collect()
}

fn values(point: &Point) -> Vec<Value> {
    point.values.iter().map(|(_, value)| value.clone()).collect()
}

fn group_by_kernel(machine: &Machine) -> HashMap<&'static str, Samples> {
    machine.samples.kernels().into_iter().map(|(kernel, samples)| (kernel.id, samples)).collect()
}

fn matching_columns(
    machines: &[Machine],
    samples: &[Samples],
    kernels: &[&'static Kernel],
    matching: &Matching,
    class: &str,
    unreported: &mut Vec<(String, String, Vec<String>)>,
) -> Vec<String> {
    let parameters = kernels.iter().flat_map(|kernel| kernel.parameters).map(|parameter| parameter.column);
    let allowed = if matching.allowed.has("page-size") { "pages" } else { "" };
    // Other seeds give the same point.
    let parameters = parameters.filter(|column| !["seed", allowed].contains(column));
    // Another command is no other point: commands are what a user compares.
    let own = samples.iter().filter(|_| kernels.iter().any(|kernel| kernel.has_own_parameters));
    let own = own.flat_map(Samples::own_parameters);
    let mut columns = distinct(["ranks"].into_iter().chain(parameters).chain(own));
    columns.retain(|column| !matching.ignored.iter().any(|ignored| ignored == column));
    let has_class: Vec<usize> = (0..machines.len()).filter(|machine| !samples[*machine].is_empty()).collect();
    let mut missing = HashSet::new();
    for &machine in &has_class {
        let missing_here: Vec<&str> = columns.iter().copied().filter(|column| !samples[machine].has(column)).collect();
        if !missing_here.is_empty() {
            let names = missing_here.iter().map(|column| columns::short(column).to_owned()).collect();
            unreported.push((machines[machine].name.clone(), class.to_owned(), names));
            missing.extend(missing_here);
        }
    }
    columns.into_iter().filter(|column| !missing.contains(column)).map(str::to_owned).collect()
}

/// Values of the matching columns, data of the machine, and number of unusable samples.
type MachinePoint = (Vec<Value>, PointData, usize);

fn point_data(
    machine: &Machine,
    samples: &Samples,
    columns: &[String],
    headline: &str,
    matching: &Matching,
) -> Result<Vec<MachinePoint>> {
    if samples.column(headline).is_none() {
        return Err(Error::input(
            format!("{} has no column \"{headline}\", the headline rate of its kernel", machine.given),
            "compare a result that this version of apexmap wrote",
        ));
    }
    let by: Vec<&str> = columns.iter().map(String::as_str).collect();
    // Ratios over several points must not mix unlike nodes either.
    samples.require_one_node_type(&by).map_err(|error| Error {
        message: format!("{}: {}", machine.given, error.message),
        help: format!("choose one: '{}[{}]'", machine.given, samples.mixture(NODE_TYPE).choice),
        ..error
    })?;
    let smaller_is_better = samples.is_smaller_better(headline);
    let cells = samples.cells(&by)?;
    // Points may differ in their seed.
    cells::single_points(&cells, &[&by[..], &["seed"]].concat()).map_err(|mixed| {
        let hint =
            if matching.ignored.is_empty() && matching.allowed == AllowedDifferences::default() { "" } else { " now" };
        Error::input(
            format!("{}: one point would{hint} mix samples with {} = {}", machine.given, mixed.name, mixed.values),
            format!("choose one: '{}[{}]'", machine.given, mixed.choice),
        )
    })?;
    let speed = |value: f64| match machine.transfer {
        _ if smaller_is_better => 1.0 / value,
        Some(rate) => 1.0 / (1.0 / value + 1.0 / rate),
        None => value,
    };
    let exact = machine.origin == Origin::Published || machine.samples.describe_simulation().is_some();
    let (widening, total) = (samples.widening(), is_total(headline));
    let health = Health::from_samples(&machine.samples);
    let machine_point = |cell: cells::Cell| {
        let mut launches = cell.samples.launch_values(headline);
        for launch in &mut launches {
            launch.values.iter_mut().for_each(|value| *value = speed(*value));
            // A mean needs the logarithms of speeds.
            launch.values.retain(|speed| speed.is_finite() && *speed > 0.0);
        }
        launches.retain(|launch| !launch.values.is_empty());
        let unusable = cell.samples.len() - launches.iter().map(|launch| launch.values.len()).sum::<usize>();
        let (facts, run) = (Facts::from_samples(&cell.samples), machine.identity());
        let slowing = health.slowing(&cell.samples);
        let (failures, ranks, row) = (cell.failures, f64::NAN, cell.samples.rows().first().copied());
        (cell.by, PointData { launches, run, widening, failures, facts, exact, slowing, ranks, row, total }, unusable)
    };
    Ok(cells.into_iter().map(machine_point).collect())
}

fn roles(machines: &[Machine], how: MatchRanks) -> Result<Option<Roles>> {
    let cores: Vec<Option<u64>> = machines.iter().map(|machine| machine.cores).collect();
    let unknown = cores.iter().position(Option::is_none);
    match (how, unknown) {
        (MatchRanks::Number, _) | (MatchRanks::Auto, Some(_)) => return Ok(None),
        (MatchRanks::Role, Some(at)) => {
            let help = match machines[at].origin {
                Origin::Published => "match by number: --match-ranks number".to_owned(),
                Origin::Measured => format!("state it: {}", state_cores(machines)),
            };
            return Err(Error::input(format!("{} does not report its number of cores", machines[at].given), help));
        }
        _ => {}
    }
    let cores: Vec<u64> = cores.into_iter().flatten().collect();
    // Processes may run on several nodes, each with its own cores.
    let is_threads = |machine: &Machine| {
        machine.samples.imported_programs().is_some() || machine.samples.words("transport") == ["threads"]
    };
    let threads = machines.iter().all(is_threads);
    let differ = threads && cores.windows(2).any(|pair| pair[0] != pair[1]);
    Ok((differ || how == MatchRanks::Role).then_some(Roles { cores }))
}

pub fn state_cores(machines: &[Machine]) -> String {
    let entry = |machine: &Machine| if machine.cores.is_none() { "NUMBER" } else { "" };
    format!("--cores {}", machines.iter().map(entry).collect::<Vec<_>>().join(","))
}

/// Sizes that a sweep adapts to the machine: one value per rank on every machine, which differs between machines.
fn own_sizes(samples: &[Samples], kernels: &[&'static Kernel], columns: &[String]) -> Vec<&'static str> {
    let parameters = kernels.iter().flat_map(|kernel| kernel.parameters);
    let made = parameters.filter(|p| matches!(p.domain, Domain::Global { .. } | Domain::Size { .. }));
    let differs = |column: &str| {
        let values: Vec<BTreeSet<u64>> = samples
            .iter()
            .filter(|samples| !samples.is_empty())
            .map(|samples| values_per_rank(samples, column))
            .collect();
        values.iter().all(|values| values.len() == 1) && values.windows(2).any(|pair| pair[0] != pair[1])
    };
    let own = made.filter(|p| columns.iter().any(|column| column == p.column) && differs(p.column));
    distinct(own.map(|parameter| parameter.column))
}

fn values_per_rank(samples: &Samples, column: &str) -> BTreeSet<u64> {
    let table = samples.table();
    let per_rank = |&row: &usize| (table.number(column, row) / table.number("ranks", row)).to_bits();
    samples.rows().iter().map(per_rank).collect()
}

/// `Some(true)` for a rate of all ranks together, `Some(false)` per rank.
fn is_total(headline: &str) -> Option<bool> {
    if headline.ends_with("_per_rank") {
        return Some(false);
    }
    let unit = columns::describe(headline).unit;
    matches!(unit, Unit::BytesPerSecond | Unit::PerSecond | Unit::UpdatesPerSecond).then_some(true)
}
