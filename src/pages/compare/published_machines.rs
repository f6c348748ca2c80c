//! Published machines as sides of a comparison: rates from the papers' tables, and predictions from their cards.

use super::machine::{Machine, Origin, Source};
use apexmap_base::distinct::push_new;
use apexmap_base::error::{Error, Result};
use apexmap_base::point::Value;
use apexmap_base::units::WORD_BYTES;
use apexmap_measure::kernels::{self, Kernel, Pattern};
use apexmap_results::samples::Samples;
use apexmap_results::samples::cells::Cell;
use apexmap_results::table::TableBuilder;
use apexmap_results::table::columns::{self, ALPHA, BLOCK};
use apexmap_theory::machine::{Card, KERNEL, is_published};
use apexmap_theory::models::scan::{Numbers, scan_point};
use apexmap_theory::models::{self, Model, domains};
use apexmap_theory::paper_tables::table;
use serde::Deserialize;
use std::collections::BTreeMap;

/// A column of a published table, in 1e9 updates per second.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PrintedRates {
    machine: String,
    table: String,
    rate: String,
    kernel: String,
    /// Column of P or of the look-ahead in the table; `column` is its name in results, and `fixed` has the other one.
    axis: String,
    column: String,
    /// Ranks per unit of the axis.
    times: Option<f64>,
    #[serde(default)]
    fixed: BTreeMap<String, f64>,
    source: String,
}

#[derive(Deserialize)]
struct Printed {
    rates: Vec<PrintedRates>,
}

/// Predicts at the points of the other machines, or at powers of two of ranks if all are published.
pub fn machine(given: &str, card: Card, others: &[Machine]) -> Result<Machine> {
    let (mut rates, mut refused) = (Vec::new(), Vec::new());
    let printed = toml::from_str::<Printed>(include_str!("../data/printed-rates.toml"));
    let printed = printed.map_err(|e| Error::internal(format!("models/printed-rates.toml: {e}")))?;
    for printed in printed.rates.iter().filter(|printed| printed.machine == given) {
        let table = table(&printed.table)?;
        for (axis_value, gups) in table.pairs(&printed.axis, &printed.rate) {
            let fixed = printed.fixed.iter().map(|(column, value)| (column.as_str(), *value));
            let parameters = std::iter::once((printed.column.as_str(), axis_value * printed.times.unwrap_or(1.0)))
                .chain(fixed)
                .collect();
            let (kernel, origin) = (printed.kernel.as_str(), printed.source.clone());
            let (column, rate, source) = ("operations_per_second", gups * 1e9, Source::Printed);
            rates.push(Rate { kernel, parameters, column, rate, source, origin });
        }
    }
    if given == DEVICE_SURFACE.0 {
        rates.extend(device_surface()?);
    }
    // Models predict processors and networks.
    for model in models::ALL.iter().filter(|_| given != DEVICE_SURFACE.0) {
        let Ok(numbers) = Numbers::new(*model, &card, &[]) else { continue };
        for id in model.about().explains {
            let Ok(kernel) = kernels::find(id) else { continue };
            let mut predictor = Predictor { model: *model, numbers: &numbers, kernel, others, refused: &mut refused };
            predictor.predict(&mut rates)?;
        }
    }
    Ok(Machine {
        name: card.name.clone(),
        given: given.to_owned(),
        origin: Origin::Published,
        samples: samples(&rates),
        card: Some(card),
        refused,
        ..Machine::default()
    })
}

/// `None` without such a machine, or without printed rates.
pub fn find_printed(name: &str) -> Result<Option<Machine>> {
    if !is_published(name) {
        return Ok(None);
    }
    let machine = machine(name, Card::find(name)?, &[])?;
    let samples = machine.samples.with_word(Source::COLUMN, &[Source::Printed.name()]);
    Ok((!samples.is_empty()).then_some(Machine { samples, ..machine }))
}

/// The device with a published surface of Apex-Map, its table, and the words of its memory.
const DEVICE_SURFACE: (&str, &str, f64) = ("h100", "h100-apex-map", 134_217_728.0);

fn device_surface() -> Result<Vec<Rate<'static>>> {
    let (_, name, words) = DEVICE_SURFACE;
    let table = table(name)?;
    let [alphas, blocks] = ["alpha", "l"].map(|axis| table.pairs(axis, "gwords"));
    let rate = |((alpha, gwords), (block, _)): ((f64, f64), (f64, f64))| {
        let parameters = vec![("ranks", 1.0), ("memory_words", words), (ALPHA, alpha), (BLOCK, block)];
        let (rate, source) = (gwords * 1e9 * WORD_BYTES as f64, Source::Printed);
        let origin = "measured: a CUDA program, 2026-11-26".to_owned();
        Rate { kernel: "gpu.apex_map", parameters, column: "bytes_per_second_per_rank", rate, source, origin }
    };
    Ok(alphas.into_iter().zip(blocks).map(rate).collect())
}

struct Rate<'a> {
    kernel: &'a str,
    parameters: Vec<(&'a str, f64)>,
    column: &'static str,
    rate: f64,
    source: Source,
    origin: String,
}

fn samples(rates: &[Rate]) -> Samples {
    let mut table = TableBuilder::default();
    for rate in rates {
        table.begin_row();
        table.set("kernel", &Value::from(rate.kernel));
        for (name, value) in &rate.parameters {
            let whole = value.fract() == 0.0 && *value >= 0.0 && *name != ALPHA;
            table.set(name, &if whole { Value::Integer(*value as u64) } else { Value::Real(*value) });
        }
        table.set(rate.column, &Value::Real(rate.rate));
        if rate.kernel == "gpu.apex_map" {
            table.set("bytes_per_second", &Value::Real(rate.rate));
        }
        table.set("status", &Value::from("ok"));
        table.set(Source::COLUMN, &Value::from(rate.source.name()));
        table.set("origin", &Value::from(rate.origin.as_str()));
    }
    table.finish().into()
}

struct Predictor<'a> {
    model: &'static dyn Model,
    numbers: &'a Numbers,
    kernel: &'static Kernel,
    others: &'a [Machine],
    refused: &'a mut Vec<String>,
}

struct Wanted<'a> {
    x: Vec<f64>,
    parameters: Vec<(&'static str, f64)>,
    /// The kernel's headline per rate of the model.
    factor: f64,
    other: Option<&'a Machine>,
}

impl<'a> Predictor<'a> {
    /// Where no rate is known, if the model predicts the kernel's headline or its message rate.
    fn predict(&mut self, rates: &mut Vec<Rate>) -> Result<()> {
        let (kernel, headline) = (self.kernel.id, self.kernel.headline);
        let points = match (headline, self.model.about().column) {
            (headline, column) if headline == column => self.points()?,
            ("bytes_per_second", "operations_per_second") => self.message_points()?,
            _ => return Ok(()),
        };
        for Wanted { x, parameters, factor, other } in points {
            let has_rate =
                |rate: &Rate| rate.kernel == kernel && parameters.iter().all(|value| rate.parameters.contains(value));
            if rates.iter().any(has_rate) {
                continue;
            }
            let Some((rate, source, origin)) = self.rate(&x, other) else { continue };
            rates.push(Rate { kernel, parameters, column: headline, rate: rate * factor, source, origin });
        }
        Ok(())
    }

    /// Those of other machines, or powers of two of ranks if all are published and the model has defaults for other variables.
    fn points(&self) -> Result<Vec<Wanted<'a>>> {
        let variables = self.model.about().variables;
        let names: Vec<&'static str> = variables.iter().map(|variable| columns::resolve(variable.name)).collect();
        // A variable that the kernel fixes is no parameter of its points.
        let is_free = |name: &str| self.model.kernel_value(self.kernel.id, name).is_none();
        let wanted = |x: Vec<f64>, other: Option<&'a Machine>| {
            let columns = names.iter().copied().zip(x.iter().copied()).zip(variables);
            let free = columns.filter(|(_, variable)| is_free(variable.name));
            Wanted { parameters: free.map(|(parameter, _)| parameter).collect(), x, factor: 1.0, other }
        };
        let mut points = Vec::new();
        for other in self.others {
            points.extend(self.measured_points(other, &names)?.into_iter().map(|x| wanted(x, Some(other))));
        }
        if self.others.iter().all(|other| other.origin == Origin::Published) {
            for ranks in (0..18).map(|power| f64::from(1u32 << power)) {
                let given = |name: &str| match name {
                    "P" => Some(ranks),
                    _ => self.model.kernel_value(self.kernel.id, name).or_else(|| self.numbers.default_of(name)),
                };
                points.extend(self.model.variables(&given).ok().map(|x| wanted(x, None)));
            }
        }
        Ok(points)
    }

    /// The model predicts message rates, and the headline is a bandwidth. Streams have no parameter for their senders, the first half of the ranks.
    fn message_points(&self) -> Result<Vec<Wanted<'a>>> {
        let senders = columns::resolve("senders");
        let mut points = Vec::new();
        for other in self.others {
            let mut names = vec!["ranks", "message_bytes"];
            names.extend(other.samples.with_kernel(self.kernel.id).column(senders).map(|_| senders));
            if names.len() < 3 && self.kernel.pattern != Some(Pattern::OneWay) {
                continue;
            }
            for values in self.measured_points(other, &names)? {
                let (ranks, bytes) = (values[0], values[1]);
                let sending = values.get(2).copied().unwrap_or(ranks / 2.0);
                let variable = |name: &str| match name {
                    "message_bytes" => Some(bytes),
                    "senders" => Some(sending),
                    _ => self.model.kernel_value(self.kernel.id, name),
                };
                let Ok(x) = self.model.variables(&variable) else { continue };
                let parameters = names.iter().copied().zip(values).collect();
                points.push(Wanted { x, parameters, factor: bytes, other: Some(other) });
            }
        }
        Ok(points)
    }

    /// Empty if the machine does not report one of the columns.
    fn measured_points(&self, machine: &Machine, names: &[&str]) -> Result<Vec<Vec<f64>>> {
        let samples = machine.samples.with_kernel(self.kernel.id);
        if samples.is_empty() || names.iter().any(|name| samples.column(name).is_none()) {
            return Ok(Vec::new());
        }
        let values = |cell: Cell| cell.by.iter().map(Value::as_f64).collect();
        Ok(samples.cells(names)?.into_iter().filter_map(values).collect())
    }

    /// With its origin. Keeps the reason if the numbers do not hold there.
    fn rate(&mut self, x: &[f64], other: Option<&Machine>) -> Option<(f64, Source, String)> {
        let samples = other.map(|other| other.samples.with_kernel(self.kernel.id));
        let option = |name: &str| match name {
            KERNEL => vec![Value::from(self.kernel.id)],
            _ => samples.iter().filter_map(|samples| samples.common_value(columns::resolve(name))).collect(),
        };
        match scan_point(self.model, self.numbers, x.to_vec(), &option) {
            Ok(row) => {
                let rate = row.prediction.value;
                let (source, label) = match domains::label(&row.extrapolations) {
                    Some(from) => (Source::Extrapolated, format!("extrapolated from {from}")),
                    None => (Source::Predicted, "predicted".to_owned()),
                };
                let origin = format!("{label}: {} with the numbers of the card", self.model.about().id);
                (rate.is_finite() && rate > 0.0).then_some((rate, source, origin))
            }
            Err(refusal) => {
                push_new(self.refused, format!("{}; {}", refusal.message, refusal.help));
                None
            }
        }
    }
}

pub fn rates(machine: &Machine) -> String {
    let (name, kernels) = (&machine.name, machine.words("kernel"));
    if !kernels.is_empty() {
        return format!("{name} has rates of {}", kernels.join(", "));
    }
    match machine.given.as_str() {
        "seaborg" | "cheetah" | "phoenix" => format!("{name} has no rates, only a picture in the Apex-Map paper"),
        _ => format!("{name} has no rates: no model predicts a kernel of the other results from its card"),
    }
}
