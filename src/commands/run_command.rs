//! `apexmap run --command`: a sweep of any program from one line.

use apexmap_base::error::{Error, Result};
use apexmap_base::name_lookup::suggest;
use apexmap_base::shell::{command_line, quote_words, shell_syntax};
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
    program: ProgramOptions,
}

/// How a program runs, and where its values are.
#[derive(clap::Args, Clone, Debug, Default, PartialEq)]
#[group(conflicts_with = "sweep")]
pub struct ProgramOptions {
    /// A value of a run: wall, user, system, maxrss, regex:PATTERN with the number in parentheses, or json:PATH [default: wall]
    #[arg(long = "value", value_name = "VALUE", display_order = 22)]
    values: Vec<String>,
    /// The unit that the program prints, such as GB/s; repeated for further values
    #[arg(long = "unit", value_name = "UNIT", requires = "values", display_order = 23)]
    units: Vec<String>,
    /// Start commands by this shell, such as sh or 'bash -e'; its start counts
    #[arg(long, value_name = "SHELL", display_order = 24)]
    shell: Option<String>,
    /// Runs of a command before the first one that counts [default: 1 in ab, otherwise 0]
    #[arg(long, value_name = "N", display_order = 25)]
    pub warmup: Option<u32>,
    /// Measure exactly this number of runs of each command
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), display_order = 26)]
    pub runs: Option<u32>,
    /// An untimed command before each run
    #[arg(long, value_name = "COMMAND", visible_alias = "prepare", display_order = 27)]
    setup: Option<String>,
    /// An untimed command after each run
    #[arg(long, value_name = "COMMAND", visible_alias = "conclude", display_order = 28)]
    cleanup: Option<String>,
    /// Exit codes that count [default: 0]
    #[arg(long, value_name = "CODE,...", value_delimiter = ',', display_order = 29)]
    success: Vec<u8>,
}

impl CommandOptions {
    /// The result folder `out` gives the name of the sweep. `None` without a command.
    pub fn sweep(&self, out: Option<&Path>) -> Result<Option<Sweep>> {
        let Some(command) = &self.command else {
            if self.program == ProgramOptions::default() {
                return Ok(None);
            }
            let message = "a flag about the runs of a command, such as --value, needs --command";
            return Err(Error::input(message, "for a sweep, write keys such as value, setup or success in its file"));
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
        let mut fixed = self.program.to_toml(command)?;
        fixed.insert("kernel".to_owned(), "command".into());
        fixed.extend(self.program.warmup.map(|runs| ("warm_up_first".to_owned(), runs.into())));
        let (mut axes, mut varied) = (Table::new(), Vec::new());
        for text in &self.axes {
            let (name, values) = axis(text)?;
            varied.extend(has_several(&values).then(|| name.clone()));
            if axes.insert(name.clone(), values).is_some() {
                return Err(Error::input(format!("--axis gives {name} twice"), "name each parameter once"));
            }
        }
        let values = fixed.get("value").map_or_else(Vec::new, |values| values.as_array().cloned().unwrap_or_default());
        let repeat = self.program.runs.map_or(("width", 0.05.into()), |runs| ("min", runs.into()));
        let repeat = Table::from_iter([(repeat.0.to_owned(), repeat.1)]);
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

impl ProgramOptions {
    /// The command with its keys for the part `[fixed]` of a sweep.
    pub fn to_toml(&self, command: &str) -> Result<Table> {
        let mut table = Table::from_iter([("command".to_owned(), self.words(command)?.into())]);
        table.extend(self.value()?.map(|values| ("value".to_owned(), values)));
        for (key, command) in [("setup", &self.setup), ("cleanup", &self.cleanup)] {
            let words = command.as_ref().map(|command| self.words(command)).transpose()?;
            table.extend(words.map(|words| (key.to_owned(), words.into())));
        }
        let codes: Vec<u32> = self.success.iter().copied().map(u32::from).collect();
        table.extend((!codes.is_empty()).then(|| ("success".to_owned(), codes.into())));
        Ok(table)
    }

    fn words(&self, command: &str) -> Result<Vec<String>> {
        let shell = match self.shell.as_deref() {
            None | Some("none") => return split_words(command),
            Some("default") => "sh",
            Some(shell) => shell,
        };
        Ok(split_words(shell)?.into_iter().chain(["-c".into(), command.into()]).collect())
    }

    /// `None` for the wall time.
    fn value(&self) -> Result<Option<Value>> {
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

/// The least and the most of a value, or of the wall time. The places of more than two parameters would be too long a sentence.
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
    let dashed = values.split_once('-').filter(|(from, to)| command::is_number(from) && command::is_number(to));
    if let Some((from, to)) = dashed {
        let step = if from == "0" { "+1" } else { "" };
        let help = format!("write --axis {name}={from}..{to}{step}");
        return Err(Error::input(format!("--axis {text}: a range has two dots"), help));
    }
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
fn split_words(text: &str) -> Result<Vec<String>> {
    let words = shell_words::split(text).map_err(|_| {
        Error::input(format!("the command {text} has an open quote"), "close it, or write \\ before it")
    })?;
    if words.is_empty() {
        let help = "write a program with its arguments: './bench --size {bytes}'";
        return Err(Error::input("the command is empty", help));
    }
    let Some(part) = shell_syntax(text) else { return Ok(words) };
    let by_shell = quote_words(["sh", "-c", text]);
    let help = format!(
        "write {by_shell} as the command, or add --shell sh; if {part} is an argument, write it in single quotes"
    );
    Err(Error::input(format!("{part} needs a shell, and the command has none: {text}"), help))
}
