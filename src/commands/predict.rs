//! `apexmap predict`: predicts rates from a model and a machine card.

use super::{Format, own_model, parser, pretty, toml};
use apexmap_base::error::{Error, Result};
use apexmap_base::name_lookup::suggest;
use apexmap_base::reservation;
use apexmap_base::terminal::{print, print_data};
use apexmap_base::text_table::{Align, TextTable};
use apexmap_base::units::{self, Unit, amount, is_informative};
use apexmap_study::model_fit;
use apexmap_study::model_fit::predictions::{self, PredictedKind};
use apexmap_theory::fit::RateWords;
use apexmap_theory::machine::{Card, Domain, SIMULATED};
use apexmap_theory::models::scan::{self, Numbers, ScanPoint};
use apexmap_theory::models::{self, Model, Variable, domains::NumberDomain, rivals};
use std::fmt::Write;
use std::path::PathBuf;

#[derive(clap::Args)]
#[command(after_help = "Examples:
  apexmap predict random_access.hypercube --machine red-storm --ranks 1..131072
  apexmap predict random_access.bottleneck --machine bluegene-p --ranks 1024..1048576 \\
      --set ranks_per_node=4
  apexmap predict message_rate.nic --machine simulated-nic --set message_bytes=8..4096 \\
      --set senders=1,2,4
  apexmap predict random_access.all_to_all --machine my-card.toml --ranks 64 \\
      --set d=1,2,3 --set copy_seconds_per_byte=1e-9
  apexmap predict random_access.all_to_all --machine my-card.toml --ranks 1..4096 \\
      --set Q=1..8192 --plot contour --out predicted.svg
  apexmap predict random_access.hypercube --machine red-storm --ranks 1..131072 \\
      --plot curves --out predicted.png
  apexmap predict mine.toml --ranks 1..8192       a formula of apexmap fit --formula --save

FROM..TO means FROM, 2 FROM, 4 FROM and so on up to TO. A machine is a published one, or a file.
\"95 %\" is where measurements are expected: by the intervals of the card and the tested error of the
model, or by the fit that wrote the card.")]
pub struct Arguments {
    /// Model to use; `apexmap models` lists them. Or the file of a fitted formula
    model: String,
    /// Machine card: the name of a published machine, or a file; formulas need it only for numbers of cards
    #[arg(long, value_name = "CARD")]
    machine: Option<String>,
    /// Values of P, such as 1..131072 or 1,4,16
    #[arg(long, value_name = "VALUES", allow_negative_numbers = true)]
    ranks: Option<String>,
    /// Set values of a variable, or a parameter of the machine in base units or with a unit
    #[arg(long, value_name = "NAME=VALUES")]
    set: Vec<String>,
    /// Output format
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
    /// Draw the predictions instead: surface and contour over two variables, curves over one
    #[arg(long, value_parser = parser(PredictedKind::ALL.map(|kind| (kind.name(), kind))), requires = "out",
        conflicts_with = "format")]
    plot: Option<PredictedKind>,
    /// File of the figure, .svg, .png or .pdf
    #[arg(long, value_name = "FILE", requires = "plot")]
    out: Option<PathBuf>,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let own = own_model::read(&arguments.model)?;
    let model = match &own {
        Some(own) => own as &dyn Model,
        None => models::find(&arguments.model)?,
    };
    let card = match &arguments.machine {
        Some(machine) => Card::find(machine)?,
        None => own_model::card_of(model).ok_or_else(|| no_machine_error(model))?,
    };
    let (mut variables, mut numbers) = (Vec::new(), Vec::new());
    if let Some(ranks) = &arguments.ranks {
        variables.push(("P".to_owned(), values(variable(model, "P")?, ranks)?));
    }
    for setting in &arguments.set {
        let (name, text) = setting.split_once('=').ok_or_else(|| {
            Error::input(format!("--set {setting} has no value"), "write --set NAME=VALUE, such as --set Q=1024")
        })?;
        match scan::parameter(model, name) {
            Some(parameter) => numbers.push((parameter.number.to_owned(), number(parameter.unit(), name, text)?)),
            None => variables.push((name.to_owned(), values(variable(model, name)?, text)?)),
        }
    }
    let replaced = numbers;
    let numbers = Numbers::new(model, &card, &replaced).map_err(|error| match own {
        Some(_) => Error { help: format!("{}; or name a card: --machine CARD", error.help), ..error },
        None => name_usable_machines(model, error),
    })?;
    let mut rows = scan::scan(model, &numbers, &variables)?;
    rivals::add_disagreements(model, &card, &replaced, &mut rows);
    if let (Some(kind), Some(out)) = (arguments.plot, &arguments.out) {
        apexmap_draw::figure::save(&predictions::figure(model, (&card.name, &numbers), &rows, kind)?, out)?;
        return print(&format!("{}\n", out.display()));
    }
    match arguments.format {
        Format::Table => print(&table(model, &card, &numbers, &rows)),
        Format::Json => print_data(&pretty(&prediction_output(model, &card, &numbers, &rows))?),
        Format::Toml => print_data(&toml(&prediction_output(model, &card, &numbers, &rows))?),
    }
}

fn no_machine_error(model: &dyn Model) -> Error {
    let error = Error::input(format!("{} needs the numbers of a machine", model.about().id), "name it: --machine CARD");
    name_usable_machines(model, error)
}

/// To the help of an error about missing numbers.
fn name_usable_machines(model: &dyn Model, error: Error) -> Error {
    let id = model.about().id;
    let usable = match models::published::published_machines(model).as_slice() {
        [] => format!("no published machine has all numbers of {id}; a calibrated card has"),
        machines => format!("published machines with all numbers of {id}: {}", machines.join(", ")),
    };
    Error { help: format!("{}; {usable}", error.help), ..error }
}

pub fn variable(model: &dyn Model, name: &str) -> Result<&'static Variable> {
    let about = model.about();
    let variables = about.variables.iter();
    variables.clone().find(|variable| variable.name == name).ok_or_else(|| {
        let numbers = about.parameters.iter().map(|parameter| parameter.number);
        let names: Vec<_> = variables.map(|variable| variable.name).chain(numbers).collect();
        Error::input(format!("{} has no variable or parameter \"{name}\"", about.id), suggest(name, &names))
    })
}

/// A finite, non-negative number with or without a unit.
pub fn number(unit: Unit, name: &str, text: &str) -> Result<f64> {
    let help = || match (text.split_once('-'), units::suffix_names(unit).as_slice()) {
        // `1-64` is meant as a range.
        (Some((from, to)), _) if [from, to].iter().all(|end| end.trim().parse::<u64>().is_ok()) => {
            format!("write {}..{} for powers of two, or a list, {},{}", from.trim(), to.trim(), from.trim(), to.trim())
        }
        (_, []) => "write a number, such as 64 or 1e6".to_owned(),
        (_, suffixes) => format!("write a number, or one with a unit: {}", suffixes.join(", ")),
    };
    let value = units::parse(text, unit).map_err(|reason| Error::input(format!("{name}: {reason}"), help()))?;
    if !value.is_finite() || value < 0.0 {
        let message = format!("{name} must be finite and not negative, found {text}");
        return Err(Error::input(message, "correct the value"));
    }
    Ok(value)
}

/// `4`, `1,2,4`, `1..64` or words.
pub fn values(variable: &Variable, text: &str) -> Result<Vec<f64>> {
    let name = variable.name;
    let parse_value = |text: &str| match variable.words.iter().position(|word| *word == text) {
        Some(index) => Ok(index as f64),
        None if !variable.words.is_empty() => {
            Err(Error::input(format!("{name} cannot be \"{text}\""), suggest(text, variable.words)))
        }
        None => {
            let value = number(variable.unit, name, text)?;
            variable
                .valid
                .check(value)
                .map_err(|(condition, next)| Error::input(format!("{name} must be {condition}, found {text}"), next))?;
            Ok(value)
        }
    };
    let Some((from, to)) = text.split_once("..") else {
        return text.split(',').map(|text| parse_value(text.trim())).collect();
    };
    let (from, to) = (parse_value(from)?, parse_value(to)?);
    if from <= 0.0 || to < from {
        let message = format!("{name}={text} is not a range of powers of two");
        return Err(Error::input(message, "give a start above 0 and an end that is not smaller, as in 1..1024"));
    }
    Ok(std::iter::successors(Some(from), |value| Some(2.0 * value)).take_while(|value| *value <= to).collect())
}

pub fn value_text(variable: &Variable, value: f64) -> String {
    match variable.words.get(value as usize) {
        Some(word) => (*word).to_owned(),
        None => value.to_string(),
    }
}

fn table(model: &dyn Model, card: &Card, numbers: &Numbers, rows: &[ScanPoint]) -> String {
    let about = model.about();
    let mut text = format!("{}: {}\n{}, {}\n", about.id, about.summary, about.source.short, about.place);
    let _ = writeln!(text, "with the numbers of {} ({}):", card.name, card.source);
    if let Some(origin) = card.provenance.get(SIMULATED).and_then(|text| text.as_str()) {
        let words = RateWords::new(Some(origin));
        let (rates, source) = (words.rates.to_uppercase(), words.source);
        let _ = writeln!(
            text,
            "{rates} ({origin}): the numbers were fitted to a {source}, not to a measurement of apexmap."
        );
    }
    let mut parameters = TextTable::new([Align::Left, Align::Right, Align::Left]).with_indent(2);
    for ((parameter, value), interval) in about.parameters.iter().zip(&numbers.values).zip(&numbers.intervals) {
        if value.is_nan() {
            continue;
        }
        let interval = interval.map_or(String::new(), |ends| format_interval(ends, parameter.unit()));
        parameters.add_row([parameter.label(), amount(*value, parameter.unit()), interval]);
    }
    let _ = writeln!(text, "{parameters}the model assumes: {}", about.assumes);
    for (symbols, domain) in domains(numbers) {
        let hold = if symbols.contains(", ") { "hold" } else { "holds" };
        let _ = writeln!(text, "{symbols} {hold} for: {domain}");
    }
    let counts = reservation::count(rows.iter().map(|row| &row.reservations[..]));
    let common: Vec<&str> =
        counts.iter().filter(|(_, count)| *count == rows.len()).map(|(words, _)| words.as_str()).collect();
    common.iter().for_each(|words| text += &format!("{words}\n"));
    text.push('\n');
    if rows.iter().any(|row| row.band.is_some()) {
        let _ = writeln!(text, "bands: {}\n", numbers.band_basis());
    }
    let _ = write!(text, "{}", predictions(model, numbers, rows, &common));
    text
}

fn own_reservations(row: &ScanPoint, common: &[&str]) -> String {
    let words = row.reservations.iter().map(ToString::to_string).filter(|words| !common.contains(&words.as_str()));
    words.collect::<Vec<_>>().join("; ")
}

fn domains(numbers: &Numbers) -> Vec<(String, &Domain)> {
    let mut domains: Vec<(String, &Domain)> = Vec::new();
    for NumberDomain { symbol, domain } in &numbers.domains {
        match domains.iter_mut().find(|(_, other)| *other == domain) {
            Some((symbols, _)) => *symbols += &format!(", {symbol}"),
            None => domains.push(((*symbol).to_owned(), domain)),
        }
    }
    domains
}

/// `[1.2 us, 1.4 us]`, or `not known` if it is too wide.
pub fn format_interval((low, high): (f64, f64), unit: Unit) -> String {
    if high.is_finite() && !is_informative((low, high)) {
        return "not known".into();
    }
    format!("[{}, {}]", amount(low, unit), amount(high, unit))
}

/// The variables that vary, the rate, its band, the bottleneck, and the reservations that are not in `common`.
fn predictions(model: &dyn Model, numbers: &Numbers, rows: &[ScanPoint], common: &[&str]) -> TextTable {
    let about = model.about();
    let varied = |index: usize| rows.iter().any(|row| row.x[index] != rows[0].x[index]);
    let shown_columns: Vec<usize> =
        (0..about.variables.len()).filter(|&index| varied(index) || rows.len() == 1).collect();
    let unit = model_fit::described_rate(model).unit;
    let banded = rows.iter().any(|row| row.band.is_some());
    let mut aligned = vec![Align::Right; shown_columns.len() + 1];
    let budgets: Vec<String> =
        rows.iter().map(|row| model_fit::budget(&model.budget(&row.x, &numbers.values))).collect();
    let budgeted = budgets.iter().any(|budget| !budget.is_empty());
    let reservations: Vec<String> = rows.iter().map(|row| own_reservations(row, common)).collect();
    let reserved = reservations.iter().any(|words| !words.is_empty());
    let further = usize::from(banded) + 1 + usize::from(reserved) + usize::from(budgeted);
    aligned.extend(vec![Align::Left; further]);
    let mut table = TextTable::new(aligned).with_indent(2);
    let mut head: Vec<&str> = shown_columns.iter().map(|&index| about.variables[index].name).collect();
    head.push(about.column);
    head.extend(banded.then_some(numbers.band_basis().head()));
    head.push("set by");
    head.extend(reserved.then_some("reservations"));
    head.extend(budgeted.then_some("terms"));
    table.add_row(head);
    for ((row, budget), reservations) in rows.iter().zip(budgets).zip(reservations) {
        let mut cells: Vec<String> =
            shown_columns.iter().map(|&index| value_text(&about.variables[index], row.x[index])).collect();
        cells.push(amount(row.prediction.value, unit));
        cells.extend(banded.then(|| row.band.map_or(String::new(), |ends| format_interval(ends, unit))));
        cells.push(row.prediction.bottleneck.into());
        cells.extend(reserved.then_some(reservations));
        cells.extend(budgeted.then_some(budget));
        table.add_row(cells);
    }
    table
}

/// Neither JSON nor TOML can represent NaN.
#[derive(serde::Serialize)]
struct PredictionOutput<'a> {
    model: &'a str,
    source: String,
    machine: &'a str,
    column: &'a str,
    unit: &'a str,
    numbers: std::collections::BTreeMap<&'a str, f64>,
    predictions: Vec<std::collections::BTreeMap<&'a str, serde_json::Value>>,
}

fn prediction_output<'a>(
    model: &'a dyn Model,
    card: &'a Card,
    numbers: &Numbers,
    rows: &[ScanPoint],
) -> PredictionOutput<'a> {
    let about = model.about();
    let parameters = about.parameters.iter().zip(&numbers.values).filter(|(_, value)| !value.is_nan());
    let prediction = |row: &ScanPoint| {
        let mut cells: std::collections::BTreeMap<&str, serde_json::Value> = about
            .variables
            .iter()
            .zip(&row.x)
            .map(|(variable, value)| match variable.words.get(*value as usize) {
                Some(word) => (variable.name, (*word).into()),
                None => (variable.name, (*value).into()),
            })
            .collect();
        cells.insert("value", row.prediction.value.into());
        cells.insert("set_by", row.prediction.bottleneck.into());
        if !row.extrapolations.is_empty() {
            let from = row.extrapolations.iter().map(|e| (e.variable.to_owned(), serde_json::json!(e.from)));
            cells.insert("extrapolated_from", serde_json::Value::Object(from.collect()));
        }
        let terms = model.budget(&row.x, &numbers.values);
        if !terms.is_empty() {
            let seconds = terms.into_iter().map(|(name, seconds)| (name.to_owned(), seconds.into()));
            cells.insert("seconds_by_term", serde_json::Value::Object(seconds.collect()));
        }
        if let Some((low, high)) = row.band {
            cells.insert("low", low.into());
            cells.insert("high", high.into());
            cells.insert("band", numbers.band_basis().to_string().into());
        }
        cells.insert("reservations", serde_json::json!(row.reservations));
        cells
    };
    PredictionOutput {
        model: about.id,
        source: format!("{}, {}", about.source.short, about.place),
        machine: &card.name,
        column: about.column,
        unit: about.unit.symbol(),
        numbers: parameters.map(|(parameter, value)| (parameter.number, *value)).collect(),
        predictions: rows.iter().map(prediction).collect(),
    }
}
