//! Samples: a table and some of its rows. All output, figures, fits, exports and comparisons start from them.

pub mod cells;
pub mod code_rates;
pub mod cube;
pub mod design;
pub mod distance;
pub mod estimate;
#[cfg(feature = "polars")]
mod frame;
pub mod groups;
pub mod health;
pub mod plain_names;
pub mod remarks;
mod selection;
pub mod stamp;

use crate::samples::design::Design;
use crate::samples::stamp::Stamp;
use crate::table::Table;
use crate::table::column::Column;
use crate::table::columns::{self, NODE_TYPE};
use crate::table::similar;
use apexmap_base::condition::Condition;
use apexmap_base::error::{Error, Result};
use apexmap_base::point::{NODE, Value};
use apexmap_base::sample::Status;
use apexmap_measure::kernels::{self, Kernel};
use apexmap_theory::statistics::autocorrelation::Autocorrelation;
use foldhash::fast::RandomState;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, OnceLock};

/// Some rows of a table. Clones and parts share the table.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    table: Arc<Table>,
    rows: Vec<usize>,
    whole: Arc<WholeTable>,
}

/// Facts about a whole table, computed on first use: autocorrelation, visible step of the clock in seconds, mark for figures.
#[derive(Debug, Default)]
struct WholeTable {
    correlation: OnceLock<Option<Autocorrelation>>,
    clock_step: OnceLock<f64>,
    stamp: OnceLock<Option<Stamp>>,
    /// Parameters that vary in the present plan.
    parameters: OnceLock<Vec<String>>,
}

impl From<Table> for Samples {
    /// Takes all rows.
    fn from(table: Table) -> Self {
        Self { rows: (0..table.rows).collect(), table: Arc::new(table), whole: Arc::default() }
    }
}

/// Returns each number once.
pub fn ascending(numbers: impl IntoIterator<Item = f64>) -> Vec<f64> {
    let mut numbers: Vec<f64> = numbers.into_iter().collect();
    numbers.sort_by(f64::total_cmp);
    numbers.dedup();
    numbers
}

/// Columns that identify a launch of a plan: its number among the launches of its size, the size, and the type of nodes.
pub const PLANNED_LAUNCH: [&str; 6] = ["block", "ranks", "nodes", "ranks_per_node", NODE, NODE_TYPE];

/// Values of the columns that identify a launch, as codes of one table.
type LaunchId = Vec<Option<u64>>;

/// Samples of different points that would be taken for samples of one point: the parameter that differs.
#[derive(Clone, Debug, PartialEq)]
pub struct Mixture {
    /// Symbol of the parameter.
    pub name: String,
    /// Values of the parameter.
    pub values: String,
    /// A condition that selects the value with most points.
    pub choice: String,
}

impl Samples {
    /// Returns the table with all its rows.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// Returns the rows of these samples: indices into the table, from 0.
    pub fn rows(&self) -> &[usize] {
        &self.rows
    }

    /// Returns the number of samples.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns whether there are no samples.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns these rows of the same table: indices from 0 to less than [`Table::rows`].
    pub fn with_rows(&self, rows: Vec<usize>) -> Self {
        Self { table: self.table.clone(), rows, whole: self.whole.clone() }
    }

    /// Returns the samples whose row is `wanted`.
    pub fn filter_rows(&self, wanted: impl Fn(usize) -> bool) -> Self {
        self.with_rows(self.rows.iter().copied().filter(|&row| wanted(row)).collect())
    }

    /// Returns the samples of the present plan, build and machine.
    pub fn current(&self) -> Self {
        match self.column("stale") {
            Some(stale) => self.filter_rows(|row| stale.number(row) == 0.0),
            None => self.clone(),
        }
    }

    /// Returns the samples that meet a condition over columns, with their names or the papers' names.
    pub fn filter(&self, condition: &Condition) -> Self {
        let value = |name: &str, row: usize| self.table.value(self.resolve(name), row);
        self.filter_rows(|row| condition.is_true_for(&|name| value(name, row)).unwrap_or(false))
    }

    /// Returns the status of a failed run; `None` for a measurement.
    pub fn failure(&self, row: usize) -> Option<Status> {
        Status::from_name(self.table.word("status", row)).filter(|status| *status != Status::Ok)
    }

    /// Returns the samples that are measurements.
    pub fn good(&self) -> Self {
        let Some(status) = self.column("status") else { return self.clone() };
        let failed = |word: &String| Status::from_name(word).is_some_and(|status| status != Status::Ok);
        let failed: Vec<bool> = status.dictionary().iter().map(failed).collect();
        self.filter_rows(|row| status.bits(row).is_none_or(|code| failed.get(code as usize) != Some(&true)))
    }

    /// Returns the samples of a kernel.
    pub fn with_kernel(&self, id: &str) -> Self {
        self.with_word("kernel", &[id])
    }

    /// Returns the samples with one of these words in a column.
    pub fn with_word(&self, name: &str, words: &[&str]) -> Self {
        let column = self.column(name).filter(|column| column.is_words());
        let Some(column) = column else { return self.with_rows(Vec::new()) };
        // Words are compared once in the dictionary, not in each row.
        let wanted: Vec<bool> = column.dictionary().iter().map(|word| words.contains(&word.as_str())).collect();
        self.filter_rows(|row| column.bits(row).is_some_and(|code| wanted[code as usize]))
    }

    /// Returns the known kernels and their samples.
    pub fn kernels(&self) -> Vec<(&'static Kernel, Samples)> {
        let names = self.table.words("kernel");
        let is_present = |kernel: &&&'static Kernel| names.iter().any(|word| word == kernel.id);
        let with_samples = |kernel: &&'static Kernel| (*kernel, self.with_kernel(kernel.id));
        kernels::ALL.iter().filter(is_present).map(with_samples).filter(|(_, samples)| !samples.is_empty()).collect()
    }

    /// Returns the samples of each launch of the plan. One that was resumed has several journals, and counts once.
    pub fn launches(&self) -> BTreeMap<LaunchId, Samples> {
        let columns = if self.has("block") { &PLANNED_LAUNCH[..] } else { &["launch"] };
        let id = |row: usize| columns.iter().map(|name| self.column(name)?.bits(row)).collect();
        self.group_by(columns).into_iter().map(|part| (id(part.rows[0]), part)).collect()
    }

    /// Splits the samples by the values in all of these columns, missing ones included, in order of first appearance.
    pub fn group_by(&self, names: &[&str]) -> Vec<Samples> {
        let columns: Vec<&Column> = names.iter().filter_map(|name| self.column(name)).collect();
        let mut places: HashMap<Vec<Option<u64>>, usize, RandomState> = HashMap::default();
        let mut parts: Vec<Vec<usize>> = Vec::new();
        let mut key = Vec::new();
        for &row in &self.rows {
            key.clear();
            key.extend(columns.iter().map(|column| column.bits(row)));
            // `entry` would need a new key for each row.
            match places.get(&key) {
                Some(&place) => parts[place].push(row),
                None => {
                    places.insert(key.clone(), parts.len());
                    parts.push(vec![row]);
                }
            }
        }
        parts.into_iter().map(|rows| self.with_rows(rows)).collect()
    }
}

impl Samples {
    /// Returns the column of this name, with the values of all rows of the table; `None` if the table does not have it.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.table.column(name)
    }

    /// Returns the column of a parameter with this name in the paper, or `name` itself if the samples do not have the
    /// parameter but a column of this name. For a name that a user gave, it is the column of its [`columns::own_name`].
    pub fn resolve<'n>(&'n self, name: &'n str) -> &'n str {
        let resolved = columns::resolve(name);
        if self.column(resolved).is_some() {
            return resolved;
        }
        let own = self.table.names().iter().find(|column| column.strip_suffix('_') == Some(name));
        if self.column(name).is_some() { name } else { own.map_or(resolved, String::as_str) }
    }

    /// Returns a column.
    pub fn require(&self, name: &str) -> Result<&Column> {
        let advise = || similar::advise(name, self.table.names());
        self.column(name).ok_or_else(|| Error::input(format!("the result has no column \"{name}\""), advise()))
    }

    /// Returns a column of numbers.
    pub fn require_numbers(&self, name: &str) -> Result<&Column> {
        let column = self.require(name)?;
        if column.is_words() {
            return Err(Error::input(
                format!("the column \"{name}\" holds text, which has no median"),
                "choose a numeric column here; text columns can group samples or be used in --where",
            ));
        }
        Ok(column)
    }

    /// Returns whether any of the samples has a value in this column.
    pub fn has(&self, name: &str) -> bool {
        self.column(name).is_some_and(|column| self.rows.iter().any(|&row| column.bits(row).is_some()))
    }

    /// Returns the value of the first sample.
    pub fn first_value(&self, name: &str) -> Option<Value> {
        self.column(name)?.value(*self.rows.first()?)
    }

    /// Returns the word of the first sample; empty if it has none.
    pub fn first_word(&self, name: &str) -> &str {
        self.rows.first().map_or("", |&row| self.table.word(name, row))
    }

    /// Returns the value that all samples have in common.
    pub fn common_value(&self, name: &str) -> Option<Value> {
        if self.is_constant(name) { self.first_value(name) } else { None }
    }

    /// Returns whether all samples have the same value, or none has any.
    pub fn is_constant(&self, name: &str) -> bool {
        self.column(name).is_none_or(|column| column.is_constant(&self.rows))
    }

    /// Returns the distinct values, in order of first appearance.
    pub fn values(&self, name: &str) -> Vec<Value> {
        let Some(column) = self.column(name) else { return Vec::new() };
        let mut seen: HashSet<u64, RandomState> = HashSet::default();
        let is_new = |row: &&usize| column.bits(**row).is_some_and(|bits| seen.insert(bits));
        self.rows.iter().filter(is_new).filter_map(|&row| column.value(row)).collect()
    }

    /// Returns the distinct words of a column, in the order of the table.
    pub fn words(&self, name: &str) -> Vec<&str> {
        let Some(column) = self.column(name).filter(|column| column.is_words()) else { return Vec::new() };
        let mut seen = vec![false; column.dictionary().len()];
        self.rows.iter().filter_map(|&row| column.bits(row)).for_each(|code| seen[code as usize] = true);
        column.dictionary().iter().zip(seen).filter(|(_, seen)| *seen).map(|(word, _)| word.as_str()).collect()
    }

    /// Returns the numbers of a column, without missing values.
    pub fn numbers(&self, name: &str) -> Vec<f64> {
        let Some(column) = self.column(name) else { return Vec::new() };
        self.rows.iter().map(|&row| column.number(row)).filter(|value| !value.is_nan()).collect()
    }

    /// Returns the distinct numbers of a column, ascending.
    pub fn distinct_numbers(&self, name: &str) -> Vec<f64> {
        ascending(self.numbers(name))
    }

    /// Returns whether any of the samples ran with more ranks than hardware threads.
    pub fn is_oversubscribed(&self) -> bool {
        self.numbers("oversubscribed").iter().any(|&is| is > 0.0)
    }
}

/// Parameters that distinguish points.
impl Samples {
    fn design(&self) -> Design<'_> {
        let columns = columns::point_columns(&self.table).into_iter();
        let names: Vec<&str> = columns.filter(|name| !self.is_constant(name)).collect();
        let points = self.group_by(&names);
        let mut design = Design::default();
        for name in names {
            let Some(column) = self.column(name) else { continue };
            design.add(name, points.iter().map(|point| column.bits(point.rows[0])).collect());
        }
        design
    }

    /// Returns the columns that distinguish the points: those that vary, without those that depend on others, such as accesses on L.
    /// The type of nodes remains, because unlike nodes share no table and no figure.
    pub fn axes(&self) -> Vec<&str> {
        let design = self.design();
        let mut names = design.varying_columns();
        names.sort_by_key(|name| columns::rank(name));
        let axes = design.independent_columns(&names);
        let node_type = Some(NODE_TYPE).filter(|name| names.contains(name) && !axes.contains(name));
        node_type.into_iter().chain(axes).collect()
    }

    /// Returns the columns among `names` that vary and do not depend on the others.
    pub fn independent_columns<'n>(&self, names: &[&'n str]) -> Vec<&'n str> {
        self.design().independent_columns(names)
    }

    /// Returns the columns that vary and do not depend on the `given` ones alone.
    pub fn varying_columns_beyond(&self, given: &[&str]) -> Vec<&str> {
        let design = self.design();
        let beyond = |name: &&str| !given.contains(name) && !design.depends_on(name, given);
        design.varying_columns().into_iter().filter(beyond).collect()
    }

    /// Returns whether a column has at least two different values.
    pub fn varies(&self, name: &str) -> bool {
        let Some(column) = self.column(name) else { return false };
        let mut values = self.rows.iter().filter_map(|&row| column.bits(row));
        let first = values.next();
        values.any(|value| Some(value) != first)
    }

    /// Returns the columns of points, except `by`, that differ among the samples.
    pub fn mixed_columns(&self, by: &[&str]) -> impl Iterator<Item = &str> {
        let names = columns::point_columns(&self.table);
        names.into_iter().filter(move |name| !by.contains(name) && !self.is_constant(name))
    }

    /// Checks that the samples belong to one point, given the columns `by`; else names one that differs.
    pub fn single_point(&self, by: &[&str]) -> Result<(), Mixture> {
        match self.mixed_columns(by).next() {
            Some(name) => Err(self.mixture(name)),
            None => Ok(()),
        }
    }

    /// Describes how the samples differ in this column.
    pub fn mixture(&self, column: &str) -> Mixture {
        let points = |part: &Samples| part.group_by(&["key"]).len();
        let mut parts: Vec<(Value, usize)> = Vec::new();
        let of_part = |part: Samples| Some((part.first_value(column)?, points(&part)));
        parts.extend(self.group_by(&[column]).into_iter().filter_map(of_part));
        parts.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| columns::order(&a.0, &b.0)));
        let choice = parts.first().map_or_else(String::new, |(value, _)| columns::equation(column, value));
        Mixture { name: columns::short(column).to_owned(), choice, values: self.value_list(column) }
    }

    /// Lists the distinct values of a column in order. A long list ends with dots.
    pub fn value_list(&self, name: &str) -> String {
        const MAX_VALUES: usize = 12;
        let mut values = self.values(name);
        values.sort_by(columns::order);
        let mut shown: Vec<String> =
            values.iter().take(MAX_VALUES).map(|value| columns::caption(&columns::exact_value(name, value))).collect();
        shown.extend((values.len() > MAX_VALUES).then(|| "...".to_owned()));
        shown.join(", ")
    }
}
