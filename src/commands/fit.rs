//! `apexmap fit`: fits a model's parameters to a result.

use super::fit_formula::{self, FormulaOptions, residuals};
use super::predict::{format_interval, number};
use super::{Format, opened::Opened, own_model, pretty, selection::Selection};
use apexmap_base::error::{Error, Result};
use apexmap_base::terminal::{note, print, print_data};
use apexmap_base::text_table::{Align, TextTable};
use apexmap_base::units::{Unit, amount};
use apexmap_results::disk::manifest::Manifest;
use apexmap_results::samples::Samples;
use apexmap_study::model_fit::{self, Data, figures};
use apexmap_theory::fit::baseline::{self, Baseline};
use apexmap_theory::fit::{Fit, Options, RateWords, Role};
use apexmap_theory::machine::Card;
use apexmap_theory::models::{self, Model, formula::FormulaModel, scan::BandBasis};
use std::fmt::Write;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
#[command(after_help = "Examples:
  apexmap fit results/random-access-ranks --model random_access.hypercube
  apexmap fit results/quickstart --model apex_map.surface --where 'P == 1'
  apexmap fit results/random-access-ranks --model random_access.hypercube \\
      --format toml > my-machine.toml
  apexmap predict random_access.hypercube --machine my-machine.toml --ranks 1..8192
  apexmap fit results/random-access-ranks --fit a,b --save mine.toml \\
      --formula 'operations_per_second = P * Q / (a + b * log2(P))'
  apexmap predict mine.toml --set P=1..8192

Parameters that are not fitted (sizes) come from --hold, then --machine, then the result's host, or are typical values if the host \
hides them. Parameters that the data do not identify keep the values of the card of --machine, or typical values if the model has \
them. Typical values are labelled. Without any value the fit is refused. For a simulated result, --machine is the card of the \
simulation by default.")]
pub struct Arguments {
    /// A result folder
    result: PathBuf,
    /// Model to fit; `apexmap models` lists them. The file of a fitted formula is compared with the result
    #[arg(long)]
    model: Option<String>,
    #[command(flatten)]
    formula: FormulaOptions,
    #[command(flatten)]
    selection: Selection,
    /// Machine card with values for parameters that are not fitted or not identified by the data
    #[arg(long, value_name = "CARD")]
    machine: Option<String>,
    /// Hold this parameter at a value, in base units or with a unit
    #[arg(long, value_name = "NAME=VALUE")]
    hold: Vec<String>,
    /// Fit this parameter, which is given by default
    #[arg(long, value_name = "NAME")]
    free: Vec<String>,
    /// Set a variable of the model that the result does not contain, such as ranks_per_node=2
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// Seed of the bootstrap
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Folder for figures of the fit: model with measurement, and residual map
    #[arg(long, value_name = "FOLDER")]
    figures: Option<PathBuf>,
    /// Output format; toml writes a machine card
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    fit_model(arguments).map_err(|error| arguments.selection.complete(error, &arguments.result))
}

fn fit_model(arguments: &Arguments) -> Result<()> {
    let own = arguments.model.as_deref().map(own_model::read).transpose()?.flatten();
    let named = arguments.model.as_deref().filter(|_| own.is_none()).map(models::find).transpose()?;
    let opened = Opened::open(&arguments.result)?;
    let folder = opened.folder()?;
    let samples = arguments.selection.choose(&opened.samples()?)?;
    let read_manifest = || Manifest::read(folder).map_err(|error| opened.name_error(error));
    if let Some(own) = own {
        return fit_formula::check(&own, &samples, &read_manifest()?, arguments.machine.as_deref(), arguments.format);
    }
    if let Some(own) = arguments.formula.model(&samples, &arguments.hold)? {
        let data = model_fit::observations(&samples, &own, &variables(&own, &arguments.set)?)?;
        let manifest = read_manifest()?;
        let mut roles = roles(&own, arguments, &manifest, &samples)?;
        arguments.formula.start(&own, &mut roles)?;
        let own = model_fit::formula::start(own, &data, &roles)?;
        return fit_and_print(arguments, (&own, Some(&own)), (&data, &samples), &roles, &manifest);
    }
    let model = named.ok_or_else(|| no_model_error(&samples))?;
    let data = match model_fit::observations(&samples, model, &variables(model, &arguments.set)?) {
        Ok(data) => data,
        Err(refusal) => return Err(model_fit::complete_refusal(refusal, model, &opened.samples()?)),
    };
    let manifest = read_manifest()?;
    let roles = roles(model, arguments, &manifest, &samples)?;
    fit_and_print(arguments, (model, None), (&data, &samples), &roles, &manifest)
}

/// `own` is the model if it is a formula.
fn fit_and_print(
    arguments: &Arguments,
    (model, own): (&dyn Model, Option<&FormulaModel>),
    (data, samples): (&Data, &Samples),
    roles: &[Role],
    manifest: &Manifest,
) -> Result<()> {
    let options = Options { seed: arguments.seed, ..Options::default() };
    let fit = data.fit(model, roles, options)?;
    let curve = baseline::interpolate(&data.observations);
    if let Some(to) = &arguments.figures {
        draw(model, &fit, (data, samples), to)?;
    }
    let words = RateWords::new(data.simulated.as_deref());
    let result = arguments.result.display();
    let chosen = own.map_or_else(|| format!("--model {}", fit.model), |_| arguments.formula.command());
    let of_all = arguments.selection.argument();
    let source = format!("apexmap fit {result} {chosen}{of_all}, of {} rates", words.rates);
    let saved = own.map(|own| fit.to_saved(own, &manifest.machine, &source, &data.domain));
    saved.as_ref().map_or(Ok(()), |saved| arguments.formula.write(saved))?;
    match arguments.format {
        Format::Table => print(&report(model, &fit, data, curve.as_ref())),
        Format::Json => {
            let mut json = serde_json::json!({
                "fit": named_rates(&fit, words)?,
                "kernel": data.kernel,
                "samples": data.samples,
                "oversubscribed": data.oversubscribed,
                "baseline": curve,
                "variables": model.about().variables.iter().map(|variable| variable.name).collect::<Vec<_>>(),
                "doubts": model_fit::doubts(model, &fit),
                "sentence": model_fit::sentence(model, &fit, curve.as_ref()),
            });
            if let Some(own) = own {
                json["formula"] = own.text().into();
            }
            print_data(&pretty(&json)?)
        }
        Format::Toml => match saved {
            Some(saved) => print_data(&saved.to_toml()?),
            None => print_data(&fit.card(&manifest.machine, &source, &data.domain)?.to_toml()),
        },
    }
}

/// The points call their rates measured or simulated.
fn named_rates(fit: &Fit, words: RateWords) -> Result<serde_json::Value> {
    let mut fit = serde_json::to_value(fit).map_err(|e| Error::internal(format!("cannot write JSON: {e}")))?;
    for point in fit["points"].as_array_mut().into_iter().flatten().filter_map(|point| point.as_object_mut()) {
        if let Some(rate) = point.remove("measured") {
            point.insert(words.rates.into(), rate);
        }
    }
    Ok(fit)
}

fn no_model_error(samples: &Samples) -> Error {
    let kernels = samples.good().words("kernel").into_iter().map(str::to_owned).collect::<Vec<_>>();
    let explains = |about: &models::About| about.explains.iter().any(|id| kernels.iter().any(|kernel| kernel == id));
    let fitting: Vec<&str> =
        models::ALL.iter().map(|model| model.about()).filter(|about| explains(about)).map(|about| about.id).collect();
    let measured = kernels.join(", ");
    match fitting.as_slice() {
        [] => Error::input(
            format!("no model explains the kernels of this result ({measured})"),
            "`apexmap models` lists the models with their kernels",
        ),
        [first, ..] => Error::input(
            format!("no model is named; those of {measured} are {}", fitting.join(", ")),
            format!("choose one: apexmap fit RESULT --model {first}"),
        ),
    }
}

/// Prints the names of the figures to standard error, because standard output contains the fit.
fn draw(model: &dyn Model, fit: &Fit, (data, samples): (&Data, &Samples), folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder).map_err(|e| Error::file("create", folder, e))?;
    let over = if data.oversubscribed { ", oversubscribed" } else { "" };
    let smape = 100.0 * fit.quality.smape;
    let subtitle =
        samples.stamp_subtitle(format!("{}: {} samples, SMAPE {smape:.1} %{over}", data.kernel, data.samples));
    let words = RateWords::new(data.simulated.as_deref());
    for figure in figures::model_figures(model, &fit.points, (words, BandBasis::Fit), &subtitle) {
        for extension in ["svg", "png"] {
            let file = folder.join(format!("{}-{}.{extension}", fit.model, figure.name));
            apexmap_draw::figure::save(&figure.figure, &file)?;
            note(&file.display().to_string());
        }
    }
    Ok(())
}

fn variables(model: &dyn Model, settings: &[String]) -> Result<Vec<(String, f64)>> {
    let parse_setting = |text: &String| {
        let (name, value) = text.split_once('=').ok_or_else(|| {
            Error::input(format!("--set {text} has no value"), "write --set NAME=VALUE, such as --set ranks_per_node=2")
        })?;
        let variable = super::predict::variable(model, name)?;
        let values = super::predict::values(variable, value)?;
        match values.as_slice() {
            [value] => Ok((name.to_owned(), *value)),
            _ => Err(Error::input(format!("--set {text}: expected one value"), "give one value")),
        }
    };
    settings.iter().map(parse_setting).collect()
}

fn roles(model: &dyn Model, arguments: &Arguments, manifest: &Manifest, samples: &Samples) -> Result<Vec<Role>> {
    let card = match &arguments.machine {
        Some(name) => Some(Card::find(name)?),
        None => manifest.simulated_card()?,
    };
    let mut held = Vec::new();
    for text in &arguments.hold {
        let (name, value) = model_fit::setting(model, text)?;
        let value = value
            .ok_or_else(|| Error::input(format!("--hold {text} has no value"), format!("write --hold {name}=VALUE")))?;
        let parameter = models::scan::parameter(model, name).expect("its own name");
        held.push((name, number(parameter.unit(), name, &value)?));
    }
    let free: Vec<&str> =
        arguments.free.iter().map(|text| Ok(model_fit::setting(model, text)?.0)).collect::<Result<_>>()?;
    let host = manifest.host_of(samples.first_word("launch"));
    Ok(model_fit::roles(model, (samples, host), card.as_ref(), &held, &free))
}

const BOOTSTRAP: &str = "bootstrap over launches, without lack of fit";

/// Remark on a parameter that is usually fitted.
const NOT_IDENTIFIED: &str = "from the card: not identified by the data";

fn report(model: &dyn Model, fit: &Fit, data: &Data, curve: Option<&Baseline>) -> String {
    let about = model.about();
    let mut text = format!("{}: {}\n{}, {}\n", about.id, about.summary, about.source.short, about.place);
    let (quality, words) = (&fit.quality, RateWords::new(fit.simulated.as_deref()));
    let _ = writeln!(
        text,
        "fitted to {} of {}: {} samples, {} points, {} launches\n",
        about.column, data.kernel, data.samples, quality.points, quality.launches
    );
    if quality.fitted_points < quality.points {
        let _ = writeln!(
            text,
            "The fit uses {} of the points, evenly spread; its quality is computed from all.\n",
            quality.fitted_points
        );
    }
    if let Some(origin) = &data.simulated {
        let _ = writeln!(text, "{}\n", words.warning(origin));
    }
    if data.oversubscribed {
        text.push_str("Oversubscribed: some launches had more ranks than hardware threads; the fit is not for a machine with enough.\n\n");
    }
    let _ = writeln!(
        text,
        "{}\nSMAPE {:.1} %, spread of ln({rates}/predicted) {:.3}, geometric standard deviation of {rates}/predicted {:.3}",
        numbers(model, fit),
        100.0 * quality.smape,
        quality.log_spread,
        quality.geometric_spread,
        rates = words.rates
    );
    if let Some(error) = quality.left_out {
        let _ = writeln!(text, "points left out: SMAPE {:.1} %", 100.0 * error);
    }
    for line in curve.map(|curve| model_fit::lines(model, fit, curve)).unwrap_or_default() {
        let _ = writeln!(text, "values left out, SMAPE of model, baseline: {line}");
    }
    if let Some((largest, error)) = quality.largest_left_out {
        let _ = writeln!(text, "P = {largest} left out: SMAPE {:.1} % there", 100.0 * error);
    }
    if let Some(aicc) = quality.aicc {
        let _ = writeln!(text, "AICc {aicc:.1}");
    }
    residuals(model, &fit.points, words.rates, &mut text);
    let _ = writeln!(text, "\n{}\nThe model assumes: {}.", model_fit::sentence(model, fit, curve), about.assumes);
    text
}

fn numbers(model: &dyn Model, fit: &Fit) -> TextTable {
    let unit = |name: &str| models::scan::parameter(model, name).map_or(Unit::None, |p| p.unit());
    let with_unit = |name: &str, value: f64| {
        let compound = model.formula().and_then(|own| own.compound_unit(name));
        compound.map_or_else(|| amount(value, unit(name)), |unit| format!("{} {unit}", amount(value, Unit::None)))
    };
    let mut table = TextTable::new([Align::Left, Align::Right, Align::Left, Align::Left]);
    table.add_row(["number", "estimate", "95 % interval (profile)", BOOTSTRAP]);
    for estimate in &fit.estimates {
        let unit = unit(estimate.number);
        table.add_row([
            models::label(estimate.number, estimate.symbol),
            with_unit(estimate.number, estimate.value),
            format_interval((estimate.low, estimate.high), unit),
            estimate.bootstrap.map_or(String::new(), |ends| format_interval(ends, unit)),
        ]);
    }
    for (name, value) in &fit.held {
        let how = match (fit.not_identified.contains(name), fit.assumed.contains(name)) {
            (true, _) => NOT_IDENTIFIED,
            (_, true) => model_fit::ASSUMED,
            _ => "given",
        };
        table.add_row([*name, &with_unit(name, *value), how]);
    }
    for hidden in &fit.at_most {
        let most = format!("at most {}", amount(hidden.most, unit(hidden.number)));
        table.add_row([format!("{} ({})", hidden.number, hidden.symbol), most, format!("hidden by {}", hidden.of)]);
    }
    for name in &fit.absent {
        table.add_row([*name, "", "no point depends on it"]);
    }
    table
}
