//! Validates the models against the papers. Recomputes every published model value, fits every model that published
//! measurements allow, and reports every disagreement, with its reason if known.

mod checks;
mod fits;
pub mod papers;
pub mod simulations;

use apexmap_base::error::Result;
use apexmap_base::text_table::{Align, TextTable};
use apexmap_base::units::{NumberStyle, number};
use apexmap_theory::fit::Fit;
use apexmap_theory::machine::Card;
use apexmap_theory::models;
use apexmap_theory::models::scan::{Numbers, scan_point};
use serde::Serialize;
use simulations::Simulations;
use std::fmt::Write;

/// Rate of one processor of Red Storm in GUPS (hypercube paper, Table 2).
pub const SINGLE: f64 = 0.0180;

/// The outcome of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The values agree within the printed digits, or within the tolerance of the check.
    Agrees,
    /// The values differ. [`Check::at_fault`] is the side at fault, and the remark gives details.
    Differs,
    /// The model does not or cannot explain this value.
    NotExplained,
}

/// The side at fault for a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// The paper contradicts its own formula, text or table.
    Paper,
    /// The model omits something that the value depends on.
    Model,
}

/// The kind of comparison of a published value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Arithmetic of printed numbers alone. It tests the transcription, not a model.
    Identity,
    /// A value that the paper derives, recomputed by its formula from its printed inputs.
    Model,
    /// A measured value compared with numbers fitted to the same rows. It tests only the form of a model.
    Fitted,
    /// A measured value compared with numbers not fitted to it: printed ones, or those fitted to the other rows.
    Predicted,
    /// A value of a simulation with numbers not fitted to it.
    Simulated,
    /// A value of a simulation, one of whose numbers is fitted to it.
    SimulatedFitted,
}

impl Kind {
    pub const ALL: [Kind; 6] =
        [Kind::Identity, Kind::Model, Kind::Fitted, Kind::Predicted, Kind::Simulated, Kind::SimulatedFitted];

    /// Returns the kind in few words.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Identity => "identity",
            Kind::Model => "model",
            Kind::Fitted => "fitted to these rows",
            Kind::Predicted => "predicted",
            Kind::Simulated => "simulated",
            Kind::SimulatedFitted => "simulated, fitted to this row",
        }
    }

    /// Returns the kind in words for several values.
    pub fn plural(self) -> &'static str {
        match self {
            Kind::Identity => "identities of printed numbers",
            Kind::Model => "model values, recomputed by the papers' formulas from their printed inputs",
            Kind::Fitted => "measured values compared with numbers fitted to these rows",
            Kind::Predicted => "measured values predicted by numbers not fitted to them",
            Kind::Simulated => "values and statements compared with simulations whose numbers are not fitted to them",
            Kind::SimulatedFitted => "values to which a number of their simulation is fitted",
        }
    }

    /// Returns whether the paper measured the value.
    pub fn is_measured(self) -> bool {
        matches!(self, Kind::Fitted | Kind::Predicted) || self.is_simulated()
    }

    /// Returns whether the program's value comes from a simulation.
    pub fn is_simulated(self) -> bool {
        matches!(self, Kind::Simulated | Kind::SimulatedFitted)
    }
}

/// A published value and the program's.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Check {
    /// Paper and place in it.
    pub source: String,
    pub kind: Kind,
    pub what: String,
    pub published: f64,
    /// For a simulated value, the model's, if there is a model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<f64>,
    pub recomputed: f64,
    pub unit: String,
    pub verdict: Verdict,
    /// Side at fault if the value differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_fault: Option<Fault>,
    /// Reason for a difference, or details of the comparison.
    pub remark: String,
}

impl Check {
    /// Returns the relative difference of the recomputed value in per cent, rounded to the printed tenth.
    pub fn difference(&self) -> f64 {
        // Adding 0 turns -0 into 0.
        (1000.0 * (self.recomputed / self.published - 1.0)).round() / 10.0 + 0.0
    }

    /// Returns words such as `DIFFERS (the model's fault)`.
    pub fn verdict_words(&self) -> &'static str {
        match (self.verdict, self.at_fault) {
            (Verdict::Agrees, _) if self.kind.is_simulated() => "reproduced",
            (Verdict::Agrees, _) => "agrees",
            (Verdict::Differs, _) if self.kind.is_simulated() => "NOT REPRODUCED",
            (Verdict::Differs, Some(Fault::Model)) => "DIFFERS (the model's fault)",
            (Verdict::Differs, _) => "DIFFERS (the paper's fault)",
            (Verdict::NotExplained, _) => "NOT EXPLAINED",
        }
    }

    /// Returns description, published and recomputed value, difference and verdict as text.
    fn cells(&self) -> [String; 5] {
        let verdict = self.verdict_words();
        [
            if self.unit.is_empty() { self.what.clone() } else { format!("{} ({})", self.what, self.unit) },
            digits(self.published),
            digits(self.recomputed),
            format!("{:.1} %", self.difference()),
            if self.remark.is_empty() { verdict.into() } else { format!("{verdict}: {}", self.remark) },
        ]
    }
}

/// A fit to published measurements.
#[derive(Clone, Debug, Serialize)]
pub struct PublishedFit {
    pub source: String,
    pub model: &'static str,
    /// The fitted numbers with their intervals and the paper's values, or why the fit was refused.
    pub lines: Vec<String>,
    pub smape: Option<f64>,
    /// The fit; `None` if it was refused.
    #[serde(skip)]
    pub fit: Option<Fit>,
}

/// The result of a validation.
#[derive(Clone, Debug, Serialize)]
pub struct Validation {
    pub checks: Vec<Check>,
    pub fits: Vec<PublishedFit>,
    /// Reproduced and missing parts, paper by paper.
    pub papers: Vec<papers::Row>,
}

/// The number of values of a kind, by outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Count {
    pub kind: Kind,
    pub values: usize,
    pub agree: usize,
    pub differ: usize,
    /// Differing values for which the model is at fault; the paper is at fault for the others.
    pub model_at_fault: usize,
    pub unexplained: usize,
}

impl Count {
    /// Counts the checks of a kind.
    fn new<'a>(kind: Kind, checks: impl Iterator<Item = &'a Check>) -> Self {
        let own: Vec<&Check> = checks.filter(|check| check.kind == kind).collect();
        let count = |verdict: Verdict| own.iter().filter(|check| check.verdict == verdict).count();
        Self {
            kind,
            values: own.len(),
            agree: count(Verdict::Agrees),
            differ: count(Verdict::Differs),
            model_at_fault: own.iter().filter(|check| check.at_fault == Some(Fault::Model)).count(),
            unexplained: count(Verdict::NotExplained),
        }
    }

    /// Returns `50 model values: 40 agree, 10 differ (7 by the paper's fault, 3 by the model's), 0 unexplained`.
    fn words(&self) -> String {
        let Count { kind, values, agree, differ, model_at_fault, unexplained } = self;
        let paper = differ - model_at_fault;
        format!(
            "{values} {}: {agree} agree, {differ} differ ({paper} by the paper's fault, {model_at_fault} by the model's), \
             {unexplained} unexplained",
            kind.plural()
        )
    }
}

/// Recomputes all published values and makes all fits. Adds the values of simulations if there are any.
///
/// # Errors
/// If a table or card of the program is invalid.
pub fn validate(simulations: Option<&Simulations>) -> Result<Validation> {
    let fits = fits::fit_published()?;
    let checks = checks::evaluate(&fits, simulations)?;
    Ok(Validation { papers: papers::rows(&checks), checks, fits })
}

/// Predicts with the numbers of a published machine.
pub fn predict(id: &str, card: &str, given: &[(&str, f64)]) -> Result<models::Prediction> {
    let model = models::find(id)?;
    let numbers = Numbers::new(model, &Card::find(card)?, &[])?;
    let value = |name: &str| given.iter().find(|(key, _)| *key == name).map(|(_, value)| *value);
    Ok(scan_point(model, &numbers, model.variables(&value)?, &|_| None)?.prediction)
}

impl Validation {
    /// Returns the counts of each kind.
    pub fn counts(&self) -> Vec<Count> {
        let counts = Kind::ALL.map(|kind| Count::new(kind, self.checks.iter()));
        counts.into_iter().filter(|count| count.values > 0).collect()
    }

    /// Returns the text for a terminal. Remarks are wrapped so that lines have at most `width` columns.
    pub fn text(&self, width: Option<usize>) -> String {
        let mut text = String::from("Published values compared with the papers' equations and with models\n");
        for checks in self.checks.chunk_by(|a, b| a.source == b.source && a.kind == b.kind) {
            let mut table = TextTable::new([Align::Left, Align::Right, Align::Right, Align::Right, Align::Left]);
            table.add_row(["", "published", "recomputed", "difference", "verdict"]);
            checks.iter().for_each(|check| table.add_row(check.cells()));
            let (source, kind) = (&checks[0].source, checks[0].kind.word());
            let _ = write!(text, "\n{source} [{kind}]\n{}", table.with_indent(2).with_width(width));
        }
        text.push('\n');
        for count in self.counts() {
            let _ = writeln!(text, "{}", count.words());
        }
        text.push_str("A measured value that is fitted with its own row also counts as predicted if the other rows suffice for a fit.\n");
        let mut table = TextTable::new([Align::Left; 6]);
        table.add_row(["paper", "place", "models", "sweeps", "values", "missing, and why"]);
        for row in &self.papers {
            let place = format!("{}: {}", row.place, row.what);
            let (models, sweeps) = (row.models.join(", "), row.sweeps.join(", "));
            table.add_row([row.paper.to_owned(), place, models, sweeps, row.counts(), row.missing.to_owned()]);
        }
        let _ =
            write!(text, "\nReproduced parts of each table and figure\n\n{}", table.with_indent(2).with_width(width));
        text.push_str("\nModels fitted to the published measurements\n");
        for fitted in &self.fits {
            let smape = fitted.smape.map_or(String::new(), |smape| format!("; SMAPE {:.1} %", 100.0 * smape));
            let _ = writeln!(text, "\n{}: {}{smape}", fitted.source, fitted.model);
            for line in &fitted.lines {
                let _ = writeln!(text, "  {line}");
            }
        }
        text
    }
}

/// Returns four significant digits.
pub fn digits(value: f64) -> String {
    number(value, NumberStyle::Fixed(4))
}
