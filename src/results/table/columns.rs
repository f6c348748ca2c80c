//! The registry of columns: what each is called, its unit, and what it says of a sample.
//!
//! Made once from the kernels' parameters and outputs, the derived rates and bounds, and the columns of samples and launches.

use super::{derive, disturbance_columns};
use crate::table::Table;
use apexmap_base::disturbance::Fact;
use apexmap_base::point::Value;
use apexmap_base::units::{self, Unit};
use apexmap_measure::kernels::{self, Parameter};
use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::LazyLock;

/// The axes of surfaces: temporal and spatial locality.
pub const ALPHA: &str = "alpha";
pub const BLOCK: &str = "block_words";

/// What a column says of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Which point it is of, with the kernel.
    Parameter,
    /// What the kernel measured or counted.
    Output,
    /// Made of its time and its kernel's work.
    Rate,
    /// What the machine allows, from its card.
    Bound,
    /// Which sample it is, and how it ended.
    Sample,
    /// What carried it, where.
    Launch,
    /// Not a column of this program's.
    Unknown,
}

/// A column for people.
#[derive(Clone, Debug, PartialEq)]
pub struct Described {
    /// As in stores: `memory_words`.
    pub name: String,
    /// The paper's name of a parameter: `M`. Of others the name.
    pub symbol: String,
    pub unit: Unit,
    /// As on an axis: `alpha (temporal locality)`.
    pub label: String,
    pub role: Role,
}

const SAMPLE: [(&str, Unit, &str); 13] = [
    ("key", Unit::None, "identity of the point on this machine, transport and build"),
    ("kernel", Unit::None, "the kernel"),
    ("status", Unit::None, "ok, wrong, failed, timed-out or hung; only ok is a valid measurement"),
    ("message", Unit::None, "why the sample is not valid"),
    ("stale", Unit::None, "1 if the current plan has no such point (another build, machine or plan)"),
    ("block", Unit::None, "index of the launch for this number of ranks, from 0"),
    ("repetition", Unit::None, "sequence number within the point and launch, from 0"),
    ("unix_seconds", Unit::Seconds, "end of the run, in seconds since 1970"),
    ("load", Unit::None, "one-minute load average of rank 0's host when the run ended"),
    ("pages_elsewhere", Unit::None, "share of a rank's pages that are on another NUMA node than the rank, at most"),
    (
        disturbance_columns::QUIETNESS,
        Unit::None,
        "quiet, disturbed or unknown: whether something else took time from the run",
    ),
    (disturbance_columns::DISTURBED_BY, Unit::None, "what disturbed the run"),
    (
        derive::CORRECTION,
        Unit::None,
        "corrected rate over the measured one: how much slower the machine was, by the canary",
    ),
];

const LAUNCH: [(&str, Unit, &str); 10] = [
    ("launch", Unit::None, "name of the launch and of its journal"),
    ("transport", Unit::None, "threads or mpi"),
    ("library", Unit::None, "message library, with its version"),
    ("launcher", Unit::None, "launcher that started the ranks"),
    ("host", Unit::None, "host of rank 0"),
    ("cpu_model", Unit::None, "processor model of that host"),
    ("build", Unit::None, "fingerprint of the measuring code"),
    (
        "environment",
        Unit::None,
        "environment variables that change how messages are sent: UCX_*, OMPI_*, FI_* and the like",
    ),
    ("place", Unit::None, "order in which ranks that are threads took hardware threads"),
    ("oversubscribed", Unit::None, "1 if some node had more ranks than hardware threads"),
];

/// Columns that say which point a sample is of, besides parameters.
const OF_POINTS: [&str; 5] = ["kernel", "transport", "library", "launcher", "host"];

/// All columns that this program knows; of several kernels with the same column the first describes it.
static REGISTRY: LazyLock<Registry> = LazyLock::new(Registry::new);

struct Registry {
    columns: Vec<Described>,
    by_name: HashMap<String, usize>,
    by_symbol: HashMap<String, usize>,
}

impl Registry {
    fn new() -> Self {
        let mut registry = Self { columns: Vec::new(), by_name: HashMap::new(), by_symbol: HashMap::new() };
        registry.add("ranks", "P", Unit::None, "P (ranks)".into(), Role::Parameter);
        registry.add("seconds", "seconds", Unit::Seconds, "time of the slowest rank".into(), Role::Output);
        for parameter in parameters().chain(&kernels::OF_LAUNCHES) {
            registry.add(parameter.column, parameter.name, parameter.unit, axis(parameter), Role::Parameter);
        }
        for (role, rates) in
            [(Role::Rate, &derive::COLUMNS[..]), (Role::Rate, &derive::CORRECTED), (Role::Bound, &derive::BOUNDS[..])]
        {
            rates.iter().for_each(|rate| registry.add(rate.column, rate.column, rate.unit, rate.label.into(), role));
        }
        for (role, columns) in [(Role::Sample, &SAMPLE[..]), (Role::Launch, &LAUNCH[..])] {
            columns.iter().for_each(|(name, unit, label)| registry.add(name, name, *unit, (*label).into(), role));
        }
        for fact in Fact::ALL.iter().map(|fact| fact.about()) {
            registry.add(fact.column, fact.column, fact.unit, fact.meaning.into(), Role::Sample);
        }
        for output in kernels::ALL.iter().flat_map(|kernel| kernel.outputs()) {
            registry.add(output.column, output.column, output.unit, output.meaning.into(), Role::Output);
        }
        registry
    }

    fn add(&mut self, name: &str, symbol: &str, unit: Unit, label: String, role: Role) {
        let at = self.columns.len();
        self.by_symbol.entry(symbol.to_owned()).or_insert(at);
        self.by_name.entry(name.to_owned()).or_insert(at);
        self.columns.push(Described { name: name.to_owned(), symbol: symbol.to_owned(), unit, label, role });
    }

    fn find(&self, column: &str) -> Option<&Described> {
        self.by_name.get(column).map(|at| &self.columns[*at])
    }
}

fn parameters() -> impl Iterator<Item = &'static Parameter> {
    kernels::ALL.iter().flat_map(|kernel| kernel.parameters())
}

/// The symbol of a parameter with the first clause of its meaning.
fn axis(parameter: &Parameter) -> String {
    let clause = parameter.meaning.split([':', ',', ';']).next().unwrap_or_default();
    format!("{} ({clause})", parameter.name)
}

/// Everything that the kernels, rates, bounds, samples and launches declare, in the order in which it is looked up; columns of
/// several kernels stand here several times. For tests.
pub fn declared() -> &'static [Described] {
    &REGISTRY.columns
}

/// The column of a name: a column's own, or a parameter's by the paper (`M`, `P`).
pub fn resolve(name: &str) -> &str {
    REGISTRY.by_symbol.get(name).map_or(name, |at| &REGISTRY.columns[*at].name)
}

/// The names of all columns that this program knows, parameters by the papers' names.
pub fn symbols() -> Vec<&'static str> {
    REGISTRY.columns.iter().map(|column| column.symbol.as_str()).collect()
}

/// The paper's name of a parameter's column: `M` for `memory_words`.
pub fn short(column: &str) -> &str {
    REGISTRY.find(column).map_or(column, |known| &known.symbol)
}

/// A column by its name; one that this program does not know is described by its name alone.
pub fn describe(column: &str) -> Described {
    let unknown = || Described {
        name: column.to_owned(),
        symbol: column.to_owned(),
        unit: Unit::None,
        label: column.to_owned(),
        role: Role::Unknown,
    };
    REGISTRY.find(column).cloned().unwrap_or_else(unknown)
}

/// A column as these kernels call it: rates of RandomAccess alone are updates per second, in GUPS.
pub fn describe_of<'a>(column: &str, kernels: impl IntoIterator<Item = &'a str>) -> Described {
    let mut described = describe(column);
    let mut kernels = kernels.into_iter().peekable();
    if described.unit == Unit::PerSecond
        && kernels.peek().is_some()
        && kernels.all(|id| kernels::family(id) == "random_access")
    {
        described.unit = Unit::UpdatesPerSecond;
        described.label = described.label.replace("rate of operations", "rate of updates");
    }
    described
}

/// Columns that say which point a row is of: the kernel, its ranks and parameters, and what carried it.
pub fn of_points(table: &Table) -> Vec<&str> {
    let is_parameter = |name: &str| REGISTRY.find(name).is_some_and(|known| known.role == Role::Parameter);
    let of_point = |name: &&str| OF_POINTS.contains(name) || is_parameter(name);
    table.names().iter().map(String::as_str).filter(of_point).collect()
}

/// The order of kernels' parameters, after all other columns: what comes first is kept if two follow from each other.
pub fn rank(column: &str) -> usize {
    parameters().position(|parameter| parameter.column == column).map_or(0, |at| at + 1)
}

/// Most characters of a sample's word in a caption.
const CAPTION: usize = 200;

/// A sample's word as captions show it: in a journal or a file of another program it may have any length.
pub fn caption(word: &str) -> String {
    match word.char_indices().nth(CAPTION) {
        Some((end, _)) => format!("{}…", &word[..end]),
        None => word.to_owned(),
    }
}

/// `alpha = 0.1`, `L = 4096`, `M = 64 Mwords`, `bytes = 16 KiB`.
pub fn label(column: &str, value: &Value) -> String {
    let unit = REGISTRY.find(column).map_or(Unit::None, |known| known.unit);
    let text = match value {
        Value::Integer(v) if unit == Unit::Words => scaled(*v, &[(30, "Gwords"), (20, "Mwords")]),
        Value::Integer(v) if unit == Unit::Bytes => scaled(*v, &[(30, "GiB"), (20, "MiB"), (10, "KiB")]),
        Value::Integer(v) => v.to_string(),
        Value::Real(v) => units::significant(*v),
        // The name of a kernel says that it is one.
        Value::Text(v) if column == "kernel" => return caption(v),
        Value::Text(v) => caption(v),
    };
    format!("{} = {text}", short(column))
}

/// A count in the largest of these units, each of so many bits, that it is a multiple of; without one a plain number.
fn scaled(count: u64, units: &[(u32, &str)]) -> String {
    let unit = units.iter().find(|(bits, _)| count >> bits > 0 && count.is_multiple_of(1 << bits));
    unit.map_or(count.to_string(), |(bits, name)| format!("{} {name}", count >> bits))
}

/// The order of values: numbers by size, words by letters.
pub fn order(a: &Value, b: &Value) -> Ordering {
    match (a.as_f64(), b.as_f64()) {
        (Some(a), Some(b)) => a.total_cmp(&b),
        _ => a.to_string().cmp(&b.to_string()),
    }
}
