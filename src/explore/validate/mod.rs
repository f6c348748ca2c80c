//! The models against the papers: every published model value recomputed, every model that can be fitted to published
//! measurements fitted, and every disagreement reported, with its reason if known.

mod checks;
mod fits;
pub mod page;
pub mod papers;

use crate::error::Result;
use crate::explore::fit::Fit;
use crate::explore::machine::Card;
use crate::explore::models;
use crate::text_table::{Align, TextTable};
use crate::units::{NumberStyle, number};
use serde::Serialize;
use std::fmt::Write;

/// The rate of one processor of Red Storm, GUPS (hypercube paper, Table 2).
const SINGLE: f64 = 0.0180;

/// What became of a published value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Within the printed digits, or the tolerance that the check states.
    Agrees,
    /// The paper differs from its own formula: the remark says how.
    Differs,
    /// The model is not made to explain this, or cannot.
    NotExplained,
}

/// What a published value is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A value that the paper derives, recomputed by a model or an equation.
    Model,
    /// A value that the paper measured, against a model.
    Measurement,
    /// Arithmetic of printed numbers alone: it tests the transcription, and no model.
    Identity,
}

impl Kind {
    pub const ALL: [Kind; 3] = [Kind::Model, Kind::Measurement, Kind::Identity];

    /// For people, of several.
    pub fn plural(self) -> &'static str {
        match self {
            Kind::Model => "model values",
            Kind::Measurement => "measurements against models",
            Kind::Identity => "identities of printed numbers",
        }
    }
}

/// One published value and the program's.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Check {
    /// Paper and place.
    pub source: String,
    pub kind: Kind,
    pub what: String,
    pub published: f64,
    pub recomputed: f64,
    pub unit: &'static str,
    pub verdict: Verdict,
    /// Why it differs, or what was compared.
    pub remark: String,
}

impl Check {
    /// Relative difference of the recomputed value, in per cent, to the tenth that is printed.
    pub fn difference(&self) -> f64 {
        // No -0.0.
        (1000.0 * (self.recomputed / self.published - 1.0)).round() / 10.0 + 0.0
    }

    /// What, published, recomputed, difference and verdict, as text.
    fn cells(&self) -> [String; 5] {
        let verdict = match self.verdict {
            Verdict::Agrees => "agrees",
            Verdict::Differs => "DIFFERS",
            Verdict::NotExplained => "NOT EXPLAINED",
        };
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
    /// The numbers found, with their intervals, and what the paper says, or why there is no fit.
    pub lines: Vec<String>,
    pub smape: Option<f64>,
    /// The fit itself; `None` if it was refused.
    #[serde(skip)]
    pub fit: Option<Fit>,
}

/// Everything that is compared.
#[derive(Clone, Debug, Serialize)]
pub struct Validation {
    pub checks: Vec<Check>,
    pub fits: Vec<PublishedFit>,
    /// Paper by paper what is reproduced, and what is not.
    pub papers: Vec<papers::Row>,
}

/// How many values of a kind, and what became of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Count {
    pub kind: Kind,
    pub values: usize,
    pub agree: usize,
    pub differ: usize,
    pub unexplained: usize,
}

impl Count {
    /// `50 model values: 40 agree, 10 differ, 0 unexplained`.
    fn words(&self) -> String {
        let Count { kind, values, agree, differ, unexplained } = self;
        format!("{values} {}: {agree} agree, {differ} differ, {unexplained} unexplained", kind.plural())
    }
}

/// Recomputes and fits.
///
/// # Errors
/// If a table or card of the program is at fault.
pub fn validate() -> Result<Validation> {
    let checks = checks::all()?;
    Ok(Validation { papers: papers::rows(&checks), checks, fits: fits::all()? })
}

/// Predicts with the numbers of a published machine.
fn predict(id: &str, card: &str, given: &[(&str, f64)]) -> Result<models::Prediction> {
    let model = models::find(id)?;
    let value = |name: &str| given.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
    Ok(model.predict(&model.variables(&value)?, &model.parameters(&Card::find(card)?)?))
}

impl Validation {
    /// The values of each kind, counted apart.
    pub fn counts(&self) -> [Count; 3] {
        Kind::ALL.map(|kind| {
            let of = |verdict: Verdict| {
                self.checks.iter().filter(|check| check.kind == kind && check.verdict == verdict).count()
            };
            let [agree, differ, unexplained] = [Verdict::Agrees, Verdict::Differs, Verdict::NotExplained].map(of);
            Count { kind, values: agree + differ + unexplained, agree, differ, unexplained }
        })
    }

    /// Text for a terminal, in lines of at most `width` where remarks are the reason that they are longer.
    pub fn text(&self, width: Option<usize>) -> String {
        let mut text = String::from("Published values beside those of the papers' equations and of models\n");
        for checks in self.checks.chunk_by(|a, b| a.source == b.source) {
            let mut table = TextTable::new([Align::Left, Align::Right, Align::Right, Align::Right, Align::Left]);
            table.row(["", "published", "recomputed", "difference", "verdict"]);
            checks.iter().for_each(|check| table.row(check.cells()));
            let _ = write!(text, "\n{}\n{}", checks[0].source, table.indented(2).within(width));
        }
        text.push('\n');
        for count in self.counts() {
            let _ = writeln!(text, "{}", count.words());
        }
        let mut table = TextTable::new([Align::Left; 6]);
        table.row(["paper", "place", "models", "sweeps", "values", "missing, and why"]);
        for row in &self.papers {
            let place = format!("{}: {}", row.place, row.what);
            let (models, sweeps) = (row.models.join(", "), row.sweeps.join(", "));
            table.row([row.paper.to_owned(), place, models, sweeps, row.counts(), row.missing.to_owned()]);
        }
        let _ = write!(text, "\nWhat of each table and figure is reproduced\n\n{}", table.indented(2).within(width));
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

/// Four significant digits.
fn digits(value: f64) -> String {
    number(value, NumberStyle::Fixed(4))
}
