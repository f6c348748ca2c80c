//! Values of another program, and the table that is made from them.

use crate::table::Table;
use crate::table::column::Column;
use crate::table::columns::{IMPORTED_FROM, STATISTIC, own_name};
use apexmap_base::point::Value;
use apexmap_base::sample::Status;
use std::collections::HashMap;

apexmap_base::words! {
    /// What a value is: the best of several runs, a mean, or one of the samples.
    pub enum Statistic {
        Best = "best",
        Mean = "mean",
        Sample = "sample",
    }
}

#[derive(Debug, Default)]
pub struct Values {
    /// The program with its version: `hpcc 1.5.0`.
    pub program: String,
    pub host: Option<String>,
    /// The end of the run, in seconds since 1970.
    pub unix_seconds: Option<f64>,
    pub rows: Vec<Row>,
    /// What a user must know about the values, one sentence each.
    pub notes: Vec<String>,
}

impl Values {
    pub fn new(program: &str, version: &str) -> Self {
        Self { program: format!("{program} {version}").trim().to_owned(), ..Self::default() }
    }

    pub fn note_unread(&mut self, lines: &[&str]) {
        let note =
            |line| format!("Lines of tables that cannot be read are left out, {} in a run: {line}.", lines.len());
        self.notes.extend(lines.first().map(note));
    }

    /// Rejects a file without values. `problem` follows the name of the file.
    pub fn require_rows(self, problem: &str) -> Result<Self, String> {
        if self.rows.is_empty() { Err(problem.into()) } else { Ok(self) }
    }
}

#[derive(Debug)]
pub struct Row {
    kernel: String,
    statistic: Statistic,
    parameters: Vec<(String, Value)>,
    values: Vec<(String, f64)>,
    failure: Option<(Status, String)>,
}

impl Row {
    pub fn new(kernel: &str, statistic: Statistic) -> Self {
        Self { kernel: kernel.into(), statistic, parameters: Vec::new(), values: Vec::new(), failure: None }
    }

    pub fn with(mut self, column: &str, value: impl Into<Value>) -> Self {
        self.parameters.push((column.to_owned(), value.into()));
        self
    }

    /// Sets a parameter if the file has it.
    pub fn with_known(self, column: &str, value: Option<impl Into<Value>>) -> Self {
        match value {
            Some(value) => self.with(column, value),
            None => self,
        }
    }

    pub fn with_all(self, parameters: &[(String, Value)]) -> Self {
        parameters.iter().fold(self, |row, (column, value)| row.with(column, value.clone()))
    }

    /// Sets a value, by its column. Programs print -1 or nan for parts that did not run or failed.
    pub fn value(mut self, column: &str, value: f64) -> Self {
        if value >= 0.0 && value.is_finite() {
            self.values.push((column.to_owned(), value));
            return self;
        }
        let message = format!("the file has no valid value for {column}: this part did not run, or failed");
        self.fail(Status::Failed, message)
    }

    pub fn known_value(self, column: &str, value: Option<f64>) -> Self {
        match value {
            Some(value) => self.value(column, value),
            None => self,
        }
    }

    /// Marks the values as no measurement.
    pub fn fail(mut self, status: Status, message: impl Into<String>) -> Self {
        self.failure.get_or_insert((status, message.into()));
        self
    }

    fn key(&self) -> String {
        let parameters = self.parameters.iter().map(|(column, value)| format!(" {column}={value}"));
        format!("{}{}", self.kernel, parameters.collect::<String>())
    }
}

/// Makes the table of runs, each with its name and as a launch. Columns before [`IMPORTED_FROM`] identify the point.
pub fn tabulate(files: &[(String, Values)]) -> Table {
    let rows: Vec<(usize, &Row)> = files
        .iter()
        .enumerate()
        .flat_map(|(file, (_, values))| values.rows.iter().map(move |row| (file, row)))
        .collect();
    let mut runs: HashMap<(usize, String), u64> = HashMap::new();
    let repetitions: Vec<u64> = rows
        .iter()
        .map(|(file, row)| {
            let count = runs.entry((*file, row.key())).or_default();
            *count += 1;
            *count - 1
        })
        .collect();
    let keys: Vec<String> = rows.iter().map(|(_, row)| row.key()).collect();
    let mut table = Table::default();
    let words = |word: &dyn Fn(usize, &Row) -> Option<String>| {
        let words: Vec<Option<String>> = rows.iter().map(|(file, row)| word(*file, row)).collect();
        Column::from_words(words.iter().map(Option::as_deref))
    };
    table.insert("key", Column::from_words(keys.iter().map(|key| Some(key.as_str()))));
    table.insert("kernel", words(&|_, row| Some(row.kernel.clone())));
    for name in distinct(rows.iter().flat_map(|(_, row)| row.parameters.iter().map(|(name, _)| name))) {
        let values = rows.iter().map(|(_, row)| find(&row.parameters, name));
        table.insert(name, column(&values.collect::<Vec<_>>()));
    }
    let hosts = files.iter().any(|(_, values)| values.host.is_some());
    table.insert(IMPORTED_FROM, words(&|file, _| Some(files[file].1.program.clone())));
    table.insert(STATISTIC, words(&|_, row| Some(row.statistic.name().into())));
    table.insert(
        "status",
        words(&|_, row| Some(row.failure.as_ref().map_or(Status::Ok, |(status, _)| *status).name().into())),
    );
    if rows.iter().any(|(_, row)| row.failure.is_some()) {
        table.insert("message", words(&|_, row| row.failure.as_ref().map(|(_, message)| message.clone())));
    }
    table.insert("launch", words(&|file, _| Some(files[file].0.clone())));
    table.insert("block", Column::from_whole(rows.iter().map(|(file, _)| Some(*file as u64))));
    table.insert("repetition", Column::from_whole(repetitions.into_iter().map(Some)));
    if hosts {
        table.insert("host", words(&|file, _| files[file].1.host.clone()));
    }
    if files.iter().any(|(_, values)| values.unix_seconds.is_some()) {
        let times = rows.iter().map(|(file, _)| files[*file].1.unix_seconds.unwrap_or(f64::NAN));
        table.insert("unix_seconds", Column::from_numbers(times));
    }
    for name in distinct(rows.iter().flat_map(|(_, row)| row.values.iter().map(|(name, _)| name))) {
        let values = rows.iter().map(|(_, row)| find(&row.values, name).copied().unwrap_or(f64::NAN));
        // A value may have the name of a parameter.
        let name = if table.column(name).is_some() { format!("{name}_") } else { name.to_owned() };
        table.insert(&name, Column::from_numbers(values));
    }
    table
}

fn find<'a, T>(pairs: &'a [(String, T)], name: &str) -> Option<&'a T> {
    pairs.iter().find(|(other, _)| other == name).map(|(_, value)| value)
}

fn distinct<'a>(names: impl Iterator<Item = &'a String>) -> Vec<&'a str> {
    let mut seen: Vec<&str> = Vec::new();
    names.for_each(|name| {
        if !seen.contains(&name.as_str()) {
            seen.push(name);
        }
    });
    seen
}

/// Makes a column of whole numbers, reals or words, whichever holds all values.
fn column(values: &[Option<&Value>]) -> Column {
    let mut present = values.iter().flatten();
    if present.clone().all(|value| matches!(value, Value::Integer(_))) {
        return Column::from_whole(values.iter().map(|value| match value {
            Some(Value::Integer(number)) => Some(*number),
            _ => None,
        }));
    }
    if present.all(|value| value.as_f64().is_some()) {
        return Column::from_numbers(values.iter().map(|value| value.and_then(Value::as_f64).unwrap_or(f64::NAN)));
    }
    let words: Vec<Option<String>> = values.iter().map(|value| value.map(Value::to_string)).collect();
    Column::from_words(words.iter().map(Option::as_deref))
}

/// Returns a number times a power of ten, rounded as if the decimal number were moved: 84561.2 times 10^6 is 84561200000.
pub fn scale(number: f64, exponent: i32) -> f64 {
    format!("{number}e{exponent}").parse().unwrap_or(f64::NAN)
}

/// Returns the number of a line after a mark, or after the next `=`: `8` of `Number of Threads counted for rank 0 = 8`.
pub fn number_after(text: &str, mark: &str) -> Option<f64> {
    let rest = text.split_once(mark)?.1.lines().next()?;
    let rest = rest.split_once('=').map_or(rest, |(_, value)| value).trim_start_matches([' ', '\t', ':']);
    rest.split(|c: char| c.is_whitespace() || [',', ')', ']'].contains(&c)).next()?.parse().ok()
}

/// Sets a parameter that a comment names; the last value counts.
pub fn set(parameters: &mut Vec<(String, Value)>, name: &str, value: &str) {
    let value = value.parse().map_or_else(|_| Value::from(value), Value::Integer);
    parameters.retain(|(other, _)| other != name);
    parameters.push((name.to_owned(), value));
}

/// Returns a text as the name of a parameter: `window_creation` of `Window creation`.
pub fn parameter_name(text: &str) -> String {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase);
    own_name(&words.collect::<Vec<_>>().join("_"))
}
