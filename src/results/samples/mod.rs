//! Samples: a table and some of its rows. Everything that is printed, drawn, fitted, exported or compared begins with them.
//!
//! ```
//! use apexmap::Value;
//! use apexmap::results::{Samples, TableBuilder};
//!
//! let mut table = TableBuilder::default();
//! for (alpha, seconds) in [(0.1, 2.0), (0.1, 3.0), (0.1, 7.0), (1.0, 4.0)] {
//!     table.begin_row();
//!     table.set("alpha", &Value::Real(alpha));
//!     table.set("seconds", &Value::Real(seconds));
//! }
//! let samples = Samples::from(table.finish());
//! assert_eq!(samples.axes(), ["alpha"]);
//! let cells = samples.cells(&["alpha"])?;
//! assert_eq!(cells[0].summary("seconds").unwrap().median, 3.0);
//! # Ok::<(), apexmap::Error>(())
//! ```

pub mod cells;
mod choose;
pub mod cube;
pub mod design;
pub mod distance;
pub mod estimate;
#[cfg(feature = "polars")]
mod frame;
pub mod groups;
pub mod health;

use crate::samples::design::Design;
use crate::table::Table;
use crate::table::column::Column;
use crate::table::columns;
use apexmap_base::condition::Condition;
use apexmap_base::error::{Error, Result};
use apexmap_base::nearest::suggest;
use apexmap_base::point::Value;
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
    /// Of the whole table, computed when first asked for.
    pub(super) correlation: Arc<OnceLock<Option<Autocorrelation>>>,
    /// The mark of figures of a disturbed result, of the whole table, computed when first asked for.
    pub(super) stamp: Arc<OnceLock<Option<String>>>,
}

impl From<Table> for Samples {
    /// All rows.
    fn from(table: Table) -> Self {
        Self {
            rows: (0..table.rows).collect(),
            table: Arc::new(table),
            correlation: Arc::default(),
            stamp: Arc::default(),
        }
    }
}

/// That samples of different points would be taken for samples of one: in which parameter they differ.
#[derive(Clone, Debug, PartialEq)]
pub struct Mixture {
    /// The parameter that they differ in, by its symbol.
    pub name: String,
    /// Its values.
    pub values: String,
    /// A condition that chooses one of them.
    pub choice: String,
}

/// Which samples.
impl Samples {
    /// The table that they are rows of, with all its rows.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// Their rows: indices into the table, from 0.
    pub fn rows(&self) -> &[usize] {
        &self.rows
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// These rows of the same table: indices from 0, less than [`Table::rows`].
    pub fn at(&self, rows: Vec<usize>) -> Self {
        Self { table: self.table.clone(), rows, correlation: self.correlation.clone(), stamp: self.stamp.clone() }
    }

    /// Those whose row is wanted.
    pub fn only(&self, wanted: impl Fn(usize) -> bool) -> Self {
        self.at(self.rows.iter().copied().filter(|&row| wanted(row)).collect())
    }

    /// Those of the present plan, build and machine.
    pub fn current(&self) -> Self {
        match self.column("stale") {
            Some(stale) => self.only(|row| stale.number(row) == 0.0),
            None => self.clone(),
        }
    }

    /// Those that meet a condition over columns and the papers' names of parameters.
    pub fn filter(&self, condition: &Condition) -> Self {
        let value = |name: &str, row: usize| self.table.value(self.resolve(name), row);
        self.only(|row| condition.holds(&|name| value(name, row)).unwrap_or(false))
    }

    /// How a row's run failed; `None` for a measurement.
    pub fn failure(&self, row: usize) -> Option<Status> {
        Status::from_name(self.table.word("status", row)).filter(|status| *status != Status::Ok)
    }

    /// Those that are measurements.
    pub fn good(&self) -> Self {
        let Some(status) = self.column("status") else { return self.clone() };
        let failed = |word: &String| Status::from_name(word).is_some_and(|status| status != Status::Ok);
        let failed: Vec<bool> = status.dictionary().iter().map(failed).collect();
        self.only(|row| status.bits(row).is_none_or(|code| failed.get(code as usize) != Some(&true)))
    }

    /// Those of a kernel.
    pub fn of_kernel(&self, id: &str) -> Self {
        self.with_word("kernel", &[id])
    }

    /// Those that have one of some words.
    pub fn with_word(&self, name: &str, words: &[&str]) -> Self {
        let Some(column) = self.column(name).filter(|column| column.is_words()) else { return self.at(Vec::new()) };
        let wanted: Vec<bool> = column.dictionary().iter().map(|known| words.contains(&known.as_str())).collect();
        self.only(|row| column.bits(row).is_some_and(|code| wanted[code as usize]))
    }

    /// The known kernels among them, each with its samples.
    pub fn kernels(&self) -> Vec<(&'static dyn Kernel, Samples)> {
        let here = |kernel: &&&'static dyn Kernel| self.table.words("kernel").iter().any(|word| word == kernel.id());
        let of = |kernel: &&'static dyn Kernel| (*kernel, self.of_kernel(kernel.id()));
        kernels::ALL.iter().filter(here).map(of).filter(|(_, samples)| !samples.is_empty()).collect()
    }

    /// The headline columns of their kernels; seconds if none is known.
    pub fn headlines(&self) -> Vec<&'static str> {
        let mut found: Vec<&str> = Vec::new();
        for word in self.words("kernel") {
            let Ok(kernel) = kernels::find(word) else { continue };
            if !found.contains(&kernel.about().headline) {
                found.push(kernel.about().headline);
            }
        }
        if found.is_empty() { vec!["seconds"] } else { found }
    }

    /// Those of each launch, by the launches' names.
    pub fn launches(&self) -> BTreeMap<&str, Samples> {
        let mut found: BTreeMap<&str, Samples> = BTreeMap::new();
        for part in self.alike(&["launch"]) {
            // No name and an empty one are the same.
            let launch = found.entry(self.table.word("launch", part.rows[0])).or_insert_with(|| self.at(Vec::new()));
            launch.rows.extend(part.rows);
            launch.rows.sort_unstable();
        }
        found
    }

    /// Those with the same values in all of these columns, or none in the same, in the order of their first appearance.
    pub fn alike(&self, names: &[&str]) -> Vec<Samples> {
        let columns: Vec<&Column> = names.iter().filter_map(|name| self.column(name)).collect();
        let mut places: HashMap<Vec<Option<u64>>, usize, RandomState> = HashMap::default();
        let mut parts: Vec<Vec<usize>> = Vec::new();
        let mut key = Vec::new();
        for &row in &self.rows {
            key.clear();
            key.extend(columns.iter().map(|column| column.bits(row)));
            match places.get(&key) {
                Some(&at) => parts[at].push(row),
                None => {
                    places.insert(key.clone(), parts.len());
                    parts.push(vec![row]);
                }
            }
        }
        parts.into_iter().map(|rows| self.at(rows)).collect()
    }
}

/// Their columns and values.
impl Samples {
    /// The column of this name, with the values of all rows of the table; `None` if there is none.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.table.column(name)
    }

    /// The column of a name: a parameter's by the paper, or a column's own where the samples do not have that parameter.
    pub fn resolve<'n>(&self, name: &'n str) -> &'n str {
        let resolved = columns::resolve(name);
        if self.column(resolved).is_none() && self.column(name).is_some() { name } else { resolved }
    }

    /// A column that must be there.
    ///
    /// # Errors
    /// If it is not: the error names the nearest one and lists all, parameters by the papers' names.
    pub fn require(&self, name: &str) -> Result<&Column> {
        self.column(name).ok_or_else(|| {
            let known: Vec<&str> = self.table.names().iter().map(|name| columns::short(name)).collect();
            Error::input(format!("the result has no column \"{name}\""), suggest(name, &known))
        })
    }

    /// A column of numbers that must be there.
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

    /// Whether some of them have a value there.
    pub fn has(&self, name: &str) -> bool {
        self.column(name).is_some_and(|column| self.rows.iter().any(|&row| column.bits(row).is_some()))
    }

    /// Whether all of them have a value there.
    pub fn all_have(&self, name: &str) -> bool {
        self.column(name).is_some_and(|column| self.rows.iter().all(|&row| column.bits(row).is_some()))
    }

    /// The value of the first of them.
    pub fn first(&self, name: &str) -> Option<Value> {
        self.column(name)?.value(*self.rows.first()?)
    }

    /// The word of the first of them; empty where there is none.
    pub fn first_word(&self, name: &str) -> &str {
        self.rows.first().map_or("", |&row| self.table.word(name, row))
    }

    /// The value that all of them have.
    pub fn same(&self, name: &str) -> Option<Value> {
        if self.constant(name) { self.first(name) } else { None }
    }

    /// Whether all of them have the same value there, or none has any.
    pub fn constant(&self, name: &str) -> bool {
        self.column(name).is_none_or(|column| column.constant(&self.rows))
    }

    /// The different values, in the order of their first appearance.
    pub fn values(&self, name: &str) -> Vec<Value> {
        let Some(column) = self.column(name) else { return Vec::new() };
        let mut known: HashSet<u64, RandomState> = HashSet::default();
        let new = |row: &&usize| column.bits(**row).is_some_and(|bits| known.insert(bits));
        self.rows.iter().filter(new).filter_map(|&row| column.value(row)).collect()
    }

    /// The different words of a column, in the order of the table.
    pub fn words(&self, name: &str) -> Vec<&str> {
        let Some(column) = self.column(name).filter(|column| column.is_words()) else { return Vec::new() };
        let mut seen = vec![false; column.dictionary().len()];
        self.rows.iter().filter_map(|&row| column.bits(row)).for_each(|code| seen[code as usize] = true);
        column.dictionary().iter().zip(seen).filter(|(_, seen)| *seen).map(|(word, _)| word.as_str()).collect()
    }

    /// The numbers that there are.
    pub fn numbers(&self, name: &str) -> Vec<f64> {
        let Some(column) = self.column(name) else { return Vec::new() };
        self.rows.iter().map(|&row| column.number(row)).filter(|value| !value.is_nan()).collect()
    }

    /// The same, ascending and each once.
    pub fn distinct(&self, name: &str) -> Vec<f64> {
        let mut values = self.numbers(name);
        values.sort_by(f64::total_cmp);
        values.dedup();
        values
    }

    /// Whether some of them had to share a processor.
    pub fn oversubscribed(&self) -> bool {
        self.numbers("oversubscribed").iter().any(|&is| is > 0.0)
    }
}

/// What tells their points apart.
impl Samples {
    /// The columns that say which point a sample is of, and their values at each point.
    fn design(&self) -> Design<'_> {
        let names: Vec<&str> =
            columns::of_points(&self.table).into_iter().filter(|name| !self.constant(name)).collect();
        let points = self.alike(&names);
        let mut design = Design::default();
        for name in names {
            let Some(column) = self.column(name) else { continue };
            design.add(name, points.iter().map(|point| column.bits(point.rows[0])).collect());
        }
        design
    }

    /// The columns that distinguish the points: those that vary, without those that follow from the others, as the number of
    /// accesses may follow from L, or M from the ranks.
    pub fn axes(&self) -> Vec<&str> {
        let design = self.design();
        let mut names = design.varying();
        names.sort_by_key(|name| columns::rank(name));
        design.independent(&names)
    }

    /// Those of some columns of points that vary and do not follow from the others.
    pub fn independent<'n>(&self, names: &[&'n str]) -> Vec<&'n str> {
        self.design().independent(names)
    }

    /// The columns that vary and do not follow from the `given` ones alone.
    pub fn varying_beyond(&self, given: &[&str]) -> Vec<&str> {
        let design = self.design();
        let beyond = |name: &&str| !given.contains(name) && !design.follows(name, given);
        design.varying().into_iter().filter(beyond).collect()
    }

    /// Whether a column has two different values.
    pub fn varies(&self, name: &str) -> bool {
        let Some(column) = self.column(name) else { return false };
        let mut values = self.rows.iter().filter_map(|&row| column.bits(row));
        let first = values.next();
        values.any(|value| Some(value) != first)
    }

    /// The columns of points but `by` that are not the same in all of them.
    pub fn mixed(&self, by: &[&str]) -> impl Iterator<Item = &str> {
        let names = columns::of_points(&self.table);
        names.into_iter().filter(move |name| !by.contains(name) && !self.constant(name))
    }

    /// Checks that they are of one point, the columns `by` given.
    ///
    /// # Errors
    /// The first other column of points that they differ in.
    pub fn single_point(&self, by: &[&str]) -> std::result::Result<(), Mixture> {
        match self.mixed(by).next() {
            Some(name) => Err(self.mixture(name)),
            None => Ok(()),
        }
    }

    /// That they differ in this column.
    pub fn mixture(&self, column: &str) -> Mixture {
        let name = columns::short(column).to_owned();
        let choice = match self.sorted(column).first() {
            Some(Value::Text(word)) => format!("{name} == \"{word}\""),
            first => format!("{name} == {}", first.map_or_else(String::new, Value::to_string)),
        };
        Mixture { name, choice, values: self.value_list(column) }
    }

    /// The different values of a column, in order; a long list ends in dots.
    pub fn value_list(&self, name: &str) -> String {
        const MOST: usize = 12;
        let values = self.sorted(name);
        let mut shown: Vec<String> =
            values.iter().take(MOST).map(|value| columns::caption(&value.to_string())).collect();
        if values.len() > MOST {
            shown.push("...".into());
        }
        shown.join(", ")
    }

    fn sorted(&self, name: &str) -> Vec<Value> {
        let mut values = self.values(name);
        values.sort_by(columns::order);
        values
    }
}
