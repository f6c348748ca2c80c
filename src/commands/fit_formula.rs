//! `apexmap fit --formula` and `apexmap fit --model FILE.toml`: models that users write. The table of residuals of a fit.

use super::predict::{format_interval, number};
use super::{Format, own_model, pretty};
use apexmap_base::error::{Error, Result};
use apexmap_base::new_file;
use apexmap_base::terminal::{note, print, print_data};
use apexmap_base::text_table::{Align, TextTable};
use apexmap_base::units::{Unit, amount};
use apexmap_results::disk::manifest::Manifest;
use apexmap_results::samples::Samples;
use apexmap_study::model_fit::{self, card, formula};
use apexmap_theory::fit::{self, Role};
use apexmap_theory::machine::Card;
use apexmap_theory::models::Model;
use apexmap_theory::models::formula::{FormulaModel, Saved};
use std::cmp::Ordering;
use std::fmt::Write;
use std::path::PathBuf;

/// The flags of a formula.
#[derive(clap::Args)]
pub struct FormulaOptions {
    /// Fit your own model: a measured column = an expression over columns, parameters and numbers of machine cards
    #[arg(long, value_name = "EQUATION", conflicts_with = "model")]
    formula: Option<String>,
    /// Parameters of the formula to fit, which are positive, some with starting values: a,b or a=1e-9,b
    #[arg(long, value_name = "NAMES", value_delimiter = ',', requires = "formula")]
    fit: Vec<String>,
    /// Write the fitted formula to this file, for `apexmap predict FILE.toml` and `apexmap fit RESULT --model FILE.toml`
    #[arg(long, value_name = "FILE.toml", requires = "formula")]
    save: Option<PathBuf>,
}

impl FormulaOptions {
    /// The names of `hold` are parameters, too.
    pub fn model(&self, samples: &Samples, hold: &[String]) -> Result<Option<FormulaModel>> {
        let Some(text) = &self.formula else { return Ok(None) };
        if self.fit.is_empty() {
            let help = "name them, as in --fit a,b; `apexmap predict FILE.toml` predicts without a fit";
            return Err(Error::input("--formula needs the names of the parameters to fit", help));
        }
        let name = |text: &String| text.split('=').next().unwrap_or_default().trim().to_owned();
        let mut parameters: Vec<String> = self.fit.iter().map(name).collect();
        let twice = |(place, name): &(usize, &String)| parameters[..*place].contains(name);
        if let Some((_, name)) = parameters.iter().enumerate().find(twice) {
            return Err(Error::input(format!("--fit names {name} twice"), "name each parameter once"));
        }
        for held in hold.iter().map(name) {
            if parameters.contains(&held) {
                let message = format!("{held} is in --fit and in --hold");
                return Err(Error::input(message, "leave it out of one of them"));
            }
            parameters.push(held);
        }
        FormulaModel::new(text, &formula::names(samples, parameters)).map(Some)
    }

    pub fn start(&self, model: &dyn Model, roles: &mut [Role]) -> Result<()> {
        for (name, value) in self.fit.iter().filter_map(|text| text.split_once('=')) {
            let place = model.about().parameters.iter().position(|parameter| parameter.number == name.trim());
            let value = number(Unit::None, name, value)?;
            if value <= 0.0 {
                return Err(Error::input(format!("--fit {name}: a starting value is above 0"), "give another one"));
            }
            place.into_iter().for_each(|place| roles[place] = Role::StartAt(value));
        }
        Ok(())
    }

    /// The arguments that repeat the fit.
    pub fn command(&self) -> String {
        format!("--formula '{}' --fit {}", self.formula.as_deref().unwrap_or_default(), self.fit.join(","))
    }

    /// Prints the name of the file to standard error.
    pub fn write(&self, saved: &Saved) -> Result<()> {
        let Some(path) = &self.save else { return Ok(()) };
        new_file::write_user_file_contents(path, saved.to_toml()?)?;
        note(&path.display().to_string());
        Ok(())
    }
}

/// Compares the numbers of a file with a result, without a fit.
pub fn check(
    model: &FormulaModel,
    samples: &Samples,
    manifest: &Manifest,
    machine: Option<&str>,
    format: Format,
) -> Result<()> {
    let card = match machine {
        Some(name) => Some(Card::find(name)?),
        None => manifest.simulated_card()?,
    };
    let card = card.or_else(|| own_model::card_of(model)).unwrap_or_default();
    let (data, predicted) = card::predict(samples, model, &card)?;
    let sentence = card::sentence(model, &card, &predicted);
    let about = model.about();
    if format != Format::Table {
        return print_data(&pretty(&serde_json::json!({
            "formula": model.text(),
            "kernel": data.kernel,
            "samples": data.samples,
            "smape": predicted.smape,
            "bias": predicted.bias,
            "points": predicted.points,
            "variables": about.variables.iter().map(|variable| variable.name).collect::<Vec<_>>(),
            "sentence": sentence,
        }))?);
    }
    let mut text = format!(
        "{}\n{}\nnothing fitted; compared with {} of {}\n\n",
        about.summary, card.source, about.column, data.kernel
    );
    let mut numbers = TextTable::new([Align::Left, Align::Right, Align::Left]);
    numbers.add_row(["number", "value", "95 % interval"]);
    for ((parameter, value), ends) in
        about.parameters.iter().zip(&predicted.numbers.values).zip(&predicted.numbers.intervals)
    {
        let ends = ends.map_or(String::new(), |ends| format_interval(ends, parameter.unit()));
        numbers.add_row([parameter.number.to_owned(), amount(*value, parameter.unit()), ends]);
    }
    let _ = write!(text, "{numbers}");
    residuals(model, &predicted.points, predicted.words.rates, &mut text);
    let _ = writeln!(text, "\n{sentence}");
    print(&text)
}

const MAX_POINTS: usize = 24;

/// All points, or the [`MAX_POINTS`] with the largest deviation.
pub fn residuals(model: &dyn Model, measured: &[fit::Point], rates: &'static str, text: &mut String) {
    let varying = model_fit::varying_variables(measured);
    let mut points: Vec<&fit::Point> = measured.iter().collect();
    let ratio = |point: &fit::Point| point.measured / point.predicted;
    if points.len() > MAX_POINTS {
        points.sort_by(|a, b| ratio(b).ln().abs().total_cmp(&ratio(a).ln().abs()));
        points.truncate(MAX_POINTS);
        let _ = writeln!(text, "\nThe {MAX_POINTS} of {} points with the largest deviation:", measured.len());
    } else {
        points.sort_by(|a, b| a.x.partial_cmp(&b.x).unwrap_or(Ordering::Equal).then(a.launch.cmp(&b.launch)));
        text.push('\n');
    }
    let about = model.about();
    let mut aligned = vec![Align::Right; varying.len() + 3];
    aligned.extend([Align::Left; 2]);
    let mut table = TextTable::new(aligned).with_indent(2);
    let names = varying.iter().map(|&index| about.variables[index].name);
    table.add_row(names.chain([rates, "predicted", "ratio", "95 % band", "set by"]));
    let unit = model_fit::described_rate(model).unit;
    for point in &points {
        let mut cells: Vec<String> =
            varying.iter().map(|&index| model_fit::value_text(model, index, point.x[index])).collect();
        cells.extend([
            amount(point.measured, unit),
            amount(point.predicted, unit),
            format!("{:.3}", ratio(point)),
            format_interval((point.low, point.high), unit),
            point.bottleneck.into(),
        ]);
        table.add_row(cells);
    }
    let _ = write!(text, "{table}");
}
