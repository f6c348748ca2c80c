//! Values of another program, and the table that is made from them.

use crate::table::columns::{IMPORTED_FROM, STATISTIC, own_name};
use crate::table::{Table, TableBuilder};
use apexmap_base::point::Value;
use apexmap_base::sample::Status;
use std::collections::{HashMap, HashSet};

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
pub fn tabulate(runs: &[(String, Values)]) -> Table {
    let parameters = runs.iter().flat_map(|(_, values)| &values.rows).flat_map(|row| &row.parameters);
    let with_texts: HashSet<&String> =
        parameters.filter(|(_, value)| value.as_f64().is_none()).map(|(name, _)| name).collect();
    let (mut points, mut samples) = (TableBuilder::default(), TableBuilder::default());
    for (block, (launch, run)) in (0..).zip(runs) {
        let mut repetitions: HashMap<String, u64> = HashMap::new();
        for row in &run.rows {
            let key = row.key();
            points.begin_row();
            samples.begin_row();
            points.set("key", &Value::from(key.as_str()));
            points.set("kernel", &Value::from(row.kernel.as_str()));
            for (name, value) in &row.parameters {
                let text = with_texts.contains(name).then(|| Value::from(value.to_string().as_str()));
                points.set(name, text.as_ref().unwrap_or(value));
            }
            let (status, message) = match &row.failure {
                Some((status, message)) => (*status, Some(message.as_str())),
                None => (Status::Ok, None),
            };
            let words = [
                (IMPORTED_FROM, Some(run.program.as_str())),
                (STATISTIC, Some(row.statistic.name())),
                ("status", Some(status.name())),
                ("message", message),
                ("launch", Some(launch)),
                ("host", run.host.as_deref()),
            ];
            for (name, word) in words {
                word.into_iter().for_each(|word| samples.set(name, &Value::from(word)));
            }
            let repetition = repetitions.entry(key).or_default();
            samples.set("block", &Value::Integer(block));
            samples.set("repetition", &Value::Integer(*repetition));
            *repetition += 1;
            run.unix_seconds.into_iter().for_each(|time| samples.set("unix_seconds", &Value::Real(time)));
            row.values.iter().for_each(|(name, value)| samples.set(name, &Value::Real(*value)));
        }
    }
    let (mut table, samples) = (points.finish(), samples.finish());
    for name in samples.names() {
        // A value may have the name of a parameter.
        let free = if table.column(name).is_some() { format!("{name}_") } else { name.clone() };
        samples.column(name).into_iter().for_each(|column| table.insert(&free, column.clone()));
    }
    table
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
