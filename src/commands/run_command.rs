//! `apexmap run --command`: a sweep of any program from one line.

use apexmap_base::error::{Error, Result};
use apexmap_base::name_lookup::suggest;
use apexmap_base::shell::command_line;
use apexmap_measure::kernels::command::ValueSpec;
use apexmap_run::sweep::{self, Sweep, command};
use std::path::{Path, PathBuf};
use toml::{Table, Value};

#[derive(clap::Args, Clone, Debug, Default)]
pub struct CommandOptions {
    /// Measure this program instead of a sweep. There is no shell; {name} is the value of a parameter
    #[arg(long, value_name = "COMMAND", conflicts_with = "sweep", display_order = 20)]
    pub command: Option<String>,
    /// A parameter of the command and its values: threads=1,2 or bytes=1MiB..256MiB, which doubles; ..64*4 and ..64+8 set the steps
    #[arg(long = "axis", value_name = "NAME=VALUES", requires = "command", display_order = 21)]
    axes: Vec<String>,
    #[command(flatten)]
    values: ValueOptions,
}

/// Where a command's values are.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct ValueOptions {
    /// A value of a run: wall, user, system, maxrss, regex:PATTERN with the number in parentheses, or json:PATH [default: wall]
    #[arg(long = "value", value_name = "VALUE", display_order = 22)]
    values: Vec<String>,
    /// The unit that the program prints, such as GB/s; repeated for further values
    #[arg(long = "unit", value_name = "UNIT", requires = "values", display_order = 23)]
    units: Vec<String>,
}

impl CommandOptions {
    /// The result folder `out` gives the name of the sweep. `None` without a command.
    pub fn sweep(&self, out: Option<&Path>) -> Result<Option<Sweep>> {
        let Some(command) = &self.command else {
            return match self.values.values.first() {
                Some(value) => {
                    Err(Error::input(format!("--value {value} needs --command"), "write values of a sweep in its file"))
                }
                None => Ok(None),
            };
        };
        let name = out.and_then(Path::file_name).map_or_else(|| "command".into(), |name| name.to_string_lossy());
        let path = PathBuf::from(format!("{name}.toml"));
        let text = self.text(command)?;
        sweep::parse(&text, &path, sweep::Machine::detect()).map(Some).map_err(|error| Error {
            // The user did not write this file.
            location: None,
            ..error
        })
    }

    fn text(&self, command: &str) -> Result<String> {
        let arguments = split_words(command)?;
        let mut fixed =
            Table::from_iter([("kernel".to_owned(), "command".into()), ("command".to_owned(), arguments.into())]);
        fixed.extend(self.values.to_toml()?.map(|values| ("value".to_owned(), values)));
        let (mut axes, mut varied) = (Table::new(), Vec::new());
        for text in &self.axes {
            let (name, values) = axis(text)?;
            varied.extend(has_several(&values).then(|| name.clone()));
            if axes.insert(name.clone(), values).is_some() {
                return Err(Error::input(format!("--axis gives {name} twice"), "name each parameter once"));
            }
        }
        let values = fixed.get("value").map_or_else(Vec::new, |values| values.as_array().cloned().unwrap_or_default());
        let repeat = Table::from_iter([("width".to_owned(), 0.05.into())]);
        let tables = [("fixed", fixed), ("axes", axes), ("repeat", repeat)];
        let mut file = Table::from_iter(
            [("title".to_owned(), Value::from(shorten(command)))]
                .into_iter()
                .chain(tables.map(|(name, table)| (name.to_owned(), table.into()))),
        );
        file.extend(answer(&varied, values.first()));
        // The report of two parameters begins with their map.
        if let [x, y] = varied.as_slice() {
            let figure = [("kind", "heat"), ("x", x), ("y", y)].map(|(key, text)| (key.to_owned(), text.into()));
            file.insert("figure".into(), vec![Value::Table(Table::from_iter(figure))].into());
        }
        let text = toml::to_string(&file).map_err(|error| Error::internal(error.to_string()))?;
        Ok(format!("# Written by: {}\n\n{text}", command_line().replace('\n', " ")))
    }
}

impl ValueOptions {
    /// For a sweep file; `None` for the wall time.
    pub fn to_toml(&self) -> Result<Option<Value>> {
        let units = self.units.iter().map(Some).chain(std::iter::repeat(None));
        let several = self.values.len() > 1;
        let mut list = Vec::new();
        for (number, (text, unit)) in (1..).zip(self.values.iter().zip(units)) {
            let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
            list.push(match (kind, rest) {
                ("wall" | "user" | "system" | "maxrss", "") => Value::from(kind),
                ("regex" | "json", rest) if !rest.is_empty() => {
                    let mut table = Table::from_iter([(kind.to_owned(), rest.into())]);
                    table.extend(unit.map(|unit| ("unit".to_owned(), unit.as_str().into())));
                    table
                        .extend((several && number > 1).then(|| ("name".to_owned(), format!("value_{number}").into())));
                    table.into()
                }
                _ => {
                    let help = suggest(kind, &["wall", "user", "system", "maxrss", "regex:PATTERN", "json:PATH"]);
                    return Err(Error::input(format!("--value {text} is no value of a run"), help));
                }
            });
        }
        Ok((!list.is_empty()).then(|| list.into()))
    }
}

const MAX_TITLE: usize = 80;

/// The result has the whole command.
fn shorten(command: &str) -> String {
    let cut = || format!("{}\u{2026}", command.chars().take(MAX_TITLE - 1).collect::<String>());
    if command.chars().count() > MAX_TITLE { cut() } else { command.to_owned() }
}

/// The question about these parameters and its answer: the least and the most of a value, or of the wall time. The places of more than
/// two parameters would be too long a sentence.
fn answer(varied: &[String], value: Option<&Value>) -> Table {
    let column = match value.map(|value| value.clone().try_into::<ValueSpec>()) {
        None => "seconds".to_owned(),
        Some(Ok(value)) => value.column(),
        Some(Err(_)) => return Table::new(),
    };
    if varied.is_empty() {
        return Table::new();
    }
    let statistic = |kind: &str| Table::from_iter([(kind.to_owned(), Value::from(column.as_str()))]);
    let mut values = Table::new();
    let mut end = |name: &str, kind: &str| {
        values.insert(name.to_owned(), statistic(kind).into());
        let shown = if varied.len() > 2 { &[] } else { varied };
        let places: Vec<String> = shown
            .iter()
            .map(|parameter| {
                let mut place = statistic(kind);
                place.insert("at".to_owned(), parameter.as_str().into());
                values.insert(format!("{name}_{parameter}"), place.into());
                format!("{parameter} {{{name}_{parameter}}}")
            })
            .collect();
        let ending = if places.is_empty() { String::new() } else { format!(" at {}", places.join(", ")) };
        format!("{name} {{{name}}}{ending}")
    };
    let text = format!("{}; {}", end("least", "min"), end("most", "max"));
    let answer = Table::from_iter([("text".to_owned(), text.into()), ("values".to_owned(), values.into())]);
    let question = format!("How does this program depend on {}?", varied.join(" and "));
    Table::from_iter([("question".to_owned(), question.into()), ("answer".to_owned(), answer.into())])
}

/// `threads=1,2` or `bytes=1MiB..256MiB`.
fn axis(text: &str) -> Result<(String, Value)> {
    let fault = |message: String| {
        Error::input(format!("--axis {text}: {message}"), "write --axis threads=1,2 or --axis bytes=1MiB..256MiB")
    };
    let (name, values) = text.split_once('=').ok_or_else(|| fault("there is no =".into()))?;
    command::check_name(name.trim()).map_err(fault)?;
    let range = values.split_once("..").map(|(from, end)| match (end.split_once('*'), end.split_once('+')) {
        (Some((to, factor)), _) => (from, to, "factor", scalar(factor)),
        (None, Some((to, step))) => (from, to, "step", scalar(step)),
        (None, None) => (from, end, "factor", Value::from(2)),
    });
    // Other texts with two dots are words, such as relative paths. One number may be a range with a fault.
    let is_range = |from: &str, to: &str| {
        let numbers = [from, to].map(|end| command::is_number(end.trim()));
        numbers == [true; 2] || numbers != [false; 2] && !values.contains(['/', ','])
    };
    let Some((from, to, key, step)) = range.filter(|(from, to, ..)| is_range(from, to)) else {
        let list: Vec<Value> = values.split(',').map(|value| scalar(value.trim())).collect();
        return Ok((name.trim().to_owned(), list.into()));
    };
    let range = [("from", scalar(from.trim())), ("to", scalar(to.trim())), (key, step)];
    let table: Table = range.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    Ok((name.trim().to_owned(), table.into()))
}

fn has_several(values: &Value) -> bool {
    values.as_array().is_none_or(|list| list.len() > 1)
}

/// A number, or a text that may have a unit.
fn scalar(text: &str) -> Value {
    let whole = || text.parse::<i64>().map(Value::from).ok();
    whole()
        .or_else(|| text.parse::<f64>().ok().filter(|number| number.is_finite()).map(Value::from))
        .unwrap_or_else(|| text.into())
}

/// As a shell splits them. There are no variables, patterns or pipes.
pub fn split_words(text: &str) -> Result<Vec<String>> {
    match shell_words::split(text) {
        Err(_) => Err(Error::input(format!("the command {text} has an open quote"), "close it, or write \\ before it")),
        Ok(words) if words.is_empty() => {
            Err(Error::input("the command is empty", "write a program with its arguments: './bench --size {bytes}'"))
        }
        Ok(words) => Ok(words),
    }
}
