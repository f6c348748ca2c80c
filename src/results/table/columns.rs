//! The registry of columns: name, unit and meaning, from kernels, rates, bounds, samples and launches.

use super::{derived_columns, quietness};
use crate::table::Table;
use apexmap_base::disturbance::Fact;
use apexmap_base::point::{NODE, Point, Value};
use apexmap_base::shell::quote_words;
use apexmap_base::units::{self, Unit};
use apexmap_measure::kernels::command::{COMMAND, Specification};
use apexmap_measure::kernels::{self, Parameter};
use std::cmp::Ordering;
use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

/// Columns of the axes of surfaces: temporal and spatial locality.
pub const ALPHA: &str = "alpha";
pub const BLOCK: &str = "block_words";
/// Column of the type of the nodes. Samples of unlike nodes have no common median.
pub const NODE_TYPE: &str = "node_type";
/// Column of the program that measured an imported value. Columns before it identify the point, also unknown ones.
pub const IMPORTED_FROM: &str = "imported_from";
pub const STATISTIC: &str = "statistic";
pub const USED_NODES: &str = "used_nodes";

/// The column with the share of a simulation in which ranks waited for room.
pub const BLOCKED_SHARE: &str = "blocked_share";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Identifies the point, together with the kernel.
    Parameter,
    /// Measured or counted by the kernel.
    Output,
    /// Computed from the time and the kernel's work.
    Rate,
    /// Limit of the machine, from its card.
    Bound,
    /// Identifies the sample, or describes its end.
    Sample,
    /// Describes the launch: host, transport, library, build.
    Launch,
    Unknown,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ColumnDescription {
    /// Name of the column in results: `memory_words`.
    pub name: String,
    /// The paper's name of a parameter: `M`. For other columns, the name.
    pub symbol: String,
    pub unit: Unit,
    /// Label on an axis: `alpha (temporal locality)`.
    pub label: String,
    pub role: Role,
}

const SAMPLE: [(&str, Unit, &str); 18] = [
    ("key", Unit::None, "identity of the point on this machine, transport and build"),
    ("kernel", Unit::None, "the kernel"),
    ("status", Unit::None, "ok, wrong, failed, timed-out or hung; only ok is a valid measurement"),
    ("message", Unit::None, "why the sample is not valid"),
    ("stale", Unit::None, "1 if the current plan has no such point (another build, machine or plan)"),
    ("block", Unit::None, "index of the launch for this number of ranks, from 0"),
    ("repetition", Unit::None, "sequence number within the point and launch, from 0"),
    ("unix_seconds", Unit::Seconds, "end of the run, in seconds since 1970"),
    ("load", Unit::None, "one-minute load average of rank 0's host when the run ended"),
    ("pages_elsewhere", Unit::None, "largest share of a rank's pages that are on another NUMA node than the rank"),
    (quietness::QUIETNESS, Unit::None, "quiet, disturbed or unknown: whether something else took time from the run"),
    (quietness::DISTURBED_BY, Unit::None, "causes of the disturbance"),
    (
        quietness::CONDITIONS,
        Unit::None,
        "causes above their limit that cost the run no time, by the samples with and without them",
    ),
    ("simulation_wall_seconds", Unit::Seconds, "wall time of the simulation of a sample; seconds are virtual time"),
    ("simulation_messages", Unit::None, "messages of the simulation of a sample"),
    (
        BLOCKED_SHARE,
        Unit::None,
        "share of the time of simulated ranks in which they waited for room at a full receiver",
    ),
    (
        "card_spread",
        Unit::None,
        "standard deviation of ln(seconds) over simulations with numbers drawn from the intervals of the card",
    ),
    ("card_draws", Unit::None, "number of these simulations"),
];

const LAUNCH: [(&str, Unit, &str); 14] = [
    ("launch", Unit::None, "name of the launch and of its journal"),
    ("transport", Unit::None, "threads, mpi or simulated"),
    ("library", Unit::None, "message library, with its version"),
    ("launcher", Unit::None, "launcher that started the ranks"),
    ("host", Unit::None, "host of rank 0"),
    ("cpu_model", Unit::None, "processor model of that host"),
    (
        NODE_TYPE,
        Unit::None,
        "type of the nodes: processor, cores, last cache and memory; samples of unlike nodes are kept apart",
    ),
    ("build", Unit::None, "fingerprint of the measuring code"),
    (
        "environment",
        Unit::None,
        "environment variables that change how messages are sent: UCX_*, OMPI_*, FI_* and the like",
    ),
    ("place", Unit::None, "order of hardware threads for ranks that are threads"),
    ("oversubscribed", Unit::None, "1 if some node had more ranks than hardware threads"),
    (USED_NODES, Unit::None, "number of nodes on which the ranks ran"),
    (IMPORTED_FROM, Unit::None, "program that measured an imported value, with its version"),
    (STATISTIC, Unit::None, "what an imported value is: best of several runs, mean, or sample"),
];

/// Columns that identify the point of a sample, in addition to parameters.
const POINT_COLUMNS: [&str; 6] = ["kernel", "transport", "library", "launcher", NODE_TYPE, IMPORTED_FROM];

/// All columns of this program. If several kernels have the same column, the first one describes it.
static REGISTRY: LazyLock<Registry> = LazyLock::new(Registry::new);

#[derive(Default)]
struct Registry {
    columns: Vec<ColumnDescription>,
    by_name: HashMap<String, usize>,
    by_symbol: HashMap<String, usize>,
    parameters: HashMap<&'static str, &'static Parameter>,
}

impl Registry {
    fn new() -> Self {
        let mut registry = Self::default();
        registry.add("ranks", "P", Unit::None, "P (ranks)".into(), Role::Parameter);
        registry.add(NODE, NODE, Unit::None, "node that ran the point alone".into(), Role::Parameter);
        registry.add(
            COMMAND,
            COMMAND,
            Unit::None,
            "the command with the reading of its values".into(),
            Role::Parameter,
        );
        registry.add("seconds", "seconds", Unit::Seconds, "time of the slowest rank".into(), Role::Output);
        for parameter in parameters().chain(&kernels::LAUNCH_PARAMETERS) {
            registry.add(parameter.column, parameter.name, parameter.unit, axis(parameter), Role::Parameter);
            registry.parameters.entry(parameter.column).or_insert(parameter);
        }
        for (role, rates) in [(Role::Rate, &derived_columns::COLUMNS[..]), (Role::Bound, &derived_columns::BOUNDS[..])]
        {
            rates.iter().for_each(|rate| registry.add(rate.column, rate.column, rate.unit, rate.label.into(), role));
        }
        for (role, columns) in [(Role::Sample, &SAMPLE[..]), (Role::Launch, &LAUNCH[..])] {
            columns.iter().for_each(|(name, unit, label)| registry.add(name, name, *unit, (*label).into(), role));
        }
        for fact in Fact::ALL.iter().map(|fact| fact.info()) {
            registry.add(fact.column, fact.column, fact.unit, fact.meaning.into(), Role::Sample);
        }
        for output in kernels::ALL.iter().flat_map(|kernel| kernel.outputs) {
            registry.add(output.column, output.column, output.unit, output.meaning.into(), Role::Output);
        }
        registry
    }

    fn add(&mut self, name: &str, symbol: &str, unit: Unit, label: String, role: Role) {
        let index = self.columns.len();
        self.by_symbol.entry(symbol.to_owned()).or_insert(index);
        self.by_name.entry(name.to_owned()).or_insert(index);
        self.columns.push(ColumnDescription { name: name.to_owned(), symbol: symbol.to_owned(), unit, label, role });
    }

    fn find(&self, column: &str) -> Option<&ColumnDescription> {
        self.by_name.get(column).map(|index| &self.columns[*index])
    }

    fn parameter(&self, column: &str) -> Option<&'static Parameter> {
        self.parameters.get(column).copied()
    }
}

fn parameters() -> impl Iterator<Item = &'static Parameter> {
    kernels::ALL.iter().flat_map(|kernel| kernel.parameters)
}

/// Returns the symbol and the first clause of the meaning of a parameter, or only the latter if the name is several words.
fn axis(parameter: &Parameter) -> String {
    let clause = parameter.meaning.split([':', ',', ';']).next().unwrap_or_default();
    match parameter.name {
        name if name == clause => name.to_owned(),
        name if name == "bytes" || name.contains('_') && name != "N_words" => clause.to_owned(),
        name => format!("{name} ({clause})"),
    }
}

pub fn list_declared() -> &'static [ColumnDescription] {
    &REGISTRY.columns
}

/// Returns the column of a name: the name of a column, or a parameter's name in the paper (`M`, `P`).
pub fn resolve(name: &str) -> &str {
    REGISTRY.by_symbol.get(name).map_or(name, |index| &REGISTRY.columns[*index].name)
}

pub fn symbols() -> Vec<&'static str> {
    REGISTRY.columns.iter().map(|column| column.symbol.as_str()).collect()
}

pub fn short(column: &str) -> &str {
    REGISTRY.find(column).map_or(given_name(column), |description| &description.symbol)
}

/// Describes a column. A column that is not of this program is described by its name alone, which may have a unit.
pub fn describe(column: &str) -> ColumnDescription {
    let units =
        [("bytes_per_second", Unit::BytesPerSecond), ("_per_second", Unit::PerSecond), ("_seconds", Unit::Seconds)];
    let unit = units.iter().find(|(word, _)| column.contains(word)).map(|(_, unit)| *unit);
    let unit = unit.unwrap_or(if given_name(column).ends_with("bytes") { Unit::Bytes } else { Unit::None });
    let (symbol, label) = (given_name(column).to_owned(), given_name(column).to_owned());
    let unknown = || ColumnDescription { name: column.to_owned(), symbol, unit, label, role: Role::Unknown };
    REGISTRY.find(column).cloned().unwrap_or_else(unknown)
}

/// Returns the name of a parameter or value of another program, changed if one of apexmap's columns has it with another meaning.
pub fn own_name(name: &str) -> String {
    let name = name.split_whitespace().collect::<Vec<_>>().join("_");
    let is_taken = describe(&name).role != Role::Unknown || resolve(&name) != name;
    if is_taken { format!("{name}_") } else { name }
}

/// Returns the name that another program or a user gave to the column of an [`own_name`].
fn given_name(column: &str) -> &str {
    column.strip_suffix('_').unwrap_or(column)
}

/// Describes a column for these kernels: rates of RandomAccess alone are updates per second, in GUPS.
pub fn describe_of<'a>(column: &str, kernels: impl IntoIterator<Item = &'a str>) -> ColumnDescription {
    let mut described = describe(column);
    let kernels: Vec<&str> = kernels.into_iter().collect();
    let is_all = |family: &str| !kernels.is_empty() && kernels.iter().all(|id| kernels::family(id) == family);
    if described.unit == Unit::PerSecond && is_all("random_access") {
        described.unit = Unit::UpdatesPerSecond;
        described.label = described.label.replace("rate of operations", "rate of updates");
    }
    if is_all("gpu") {
        described.label = described.label.replace("per process", "per device");
    }
    if column == "seconds" && is_all(COMMAND) {
        described.label = "wall time".into();
    }
    described
}

/// Returns the columns that identify the point of a row. In tables without types of nodes, hosts distinguish points.
pub fn point_columns(table: &Table) -> Vec<&str> {
    let import = table.names().iter().position(|name| name == IMPORTED_FROM).unwrap_or(0);
    let by_host = table.column(NODE_TYPE).is_none() && table.column(NODE).is_none();
    let commands = table.words(COMMAND).iter().filter_map(|text| Specification::parse(text).ok());
    let of_commands: BTreeSet<String> = commands.flat_map(|command| command.placeholders()).collect();
    let is_point_column = |(place, name): &(usize, &str)| {
        POINT_COLUMNS.contains(name)
            || by_host && *name == "host"
            || match REGISTRY.find(name) {
                Some(description) => description.role == Role::Parameter,
                None => *place < import || of_commands.contains(given_name(name)),
            }
    };
    let names = table.names().iter().map(String::as_str).enumerate().filter(is_point_column);
    names.map(|(_, name)| name).collect()
}

pub fn rank(column: &str) -> usize {
    parameters().position(|parameter| parameter.column == column).map_or(0, |position| position + 1)
}

const MAX_CAPTION_CHARS: usize = 200;

/// Shortens a word of any length for captions. The specification of a command becomes the command.
pub fn caption(word: &str) -> String {
    if let Some(command) = word.starts_with('{').then(|| Specification::parse(word).ok()).flatten() {
        return caption(&quote_words(command.command));
    }
    match word.char_indices().nth(MAX_CAPTION_CHARS) {
        Some((end, _)) => format!("{}…", &word[..end]),
        None => word.to_owned(),
    }
}

/// Formats a value with its parameter: `alpha = 0.1`, `L = 4096`, `M = 512 MiB`, `bytes = 16 KiB`.
pub fn label(column: &str, value: &Value) -> String {
    match value {
        // The name of a kernel needs no label.
        Value::Text(word) if column == "kernel" => caption(word),
        value => format!("{} = {}", short(column), value_name(column, value)),
    }
}

pub fn value_name(column: &str, value: &Value) -> String {
    match value {
        Value::Integer(bytes) if REGISTRY.find(column).is_none() && describe(column).unit == Unit::Bytes => {
            units::exact_bytes(*bytes)
        }
        value => value_text(REGISTRY.parameter(column), value),
    }
}

/// Returns whether the values of a column are sizes of memory in words; figures show these in bytes.
pub fn is_memory(column: &str) -> bool {
    REGISTRY.parameter(column).is_some_and(Parameter::is_memory)
}

/// Formats the value of a parameter with its unit: `512 MiB` for a memory of 2^26 words, `0.00316`, `64`.
pub fn value_text(parameter: Option<&Parameter>, value: &Value) -> String {
    match (value, parameter) {
        (Value::Integer(words), Some(parameter)) if parameter.is_memory() => units::size_of_words(*words),
        (Value::Integer(bytes), Some(Parameter { unit: Unit::Bytes, .. })) => units::exact_bytes(*bytes),
        (Value::Integer(count), _) => count.to_string(),
        (Value::Real(number), _) => units::short_number(*number),
        (Value::Text(word), _) => caption(word),
    }
}

/// Describes a point: `apex_map.two_sided, P = 2, L = 64, M = 512 MiB`. `is_shown` chooses the parameters by name.
pub fn point_label(point: &Point, is_shown: impl Fn(&str) -> bool) -> String {
    let ranks = is_shown("P").then(|| format!("P = {}", point.ranks));
    let parameters = kernels::find(&point.kernel).map_or(&[][..], |kernel| kernel.parameters);
    let text = |(name, value): (&String, &Value)| {
        let parameter = parameters.iter().chain(&kernels::LAUNCH_PARAMETERS).find(|parameter| parameter.name == name);
        format!("{name} = {}", value_text(parameter, value))
    };
    // The command is the same at most points, and long.
    let shown = point.params.iter().filter(|(name, _)| *name != COMMAND && is_shown(name)).map(text);
    std::iter::once(caption(&point.kernel)).chain(ranks).chain(shown).collect::<Vec<_>>().join(", ")
}

/// Formats a value so that a condition finds it: `16384`, `512 MiB`, `0.0031622776601683794`.
pub fn exact_value(column: &str, value: &Value) -> String {
    match value {
        Value::Integer(_) => value_name(column, value),
        value => value.to_string(),
    }
}

/// Returns the condition that selects a value: `pages == "huge"`, `P == 2`, `M == 512 MiB`.
pub fn equation(column: &str, value: &Value) -> String {
    match value {
        Value::Text(word) => {
            format!("{} == \"{}\"", short(column), word.replace('\\', "\\\\").replace('"', "\\\""))
        }
        number => format!("{} == {}", short(column), exact_value(column, number)),
    }
}

/// Compares values: numbers by size, words alphabetically.
pub fn order(a: &Value, b: &Value) -> Ordering {
    match (a.as_f64(), b.as_f64()) {
        (Some(a), Some(b)) => a.total_cmp(&b),
        _ => a.to_string().cmp(&b.to_string()),
    }
}
