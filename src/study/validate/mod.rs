//! Validates the models against the papers: recomputes every published value, fits every model that published measurements allow.

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
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// Rate of one processor of Red Storm in GUPS (hypercube paper, Table 2).
pub const SINGLE: f64 = 0.0180;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    Agrees,
    /// The values differ. [`Check::at_fault`] is the side at fault, and the remark gives details.
    Differs,
    NotExplained,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// The paper contradicts its own formula, text or table.
    Paper,
    /// The model omits something that the value depends on.
    Model,
}

apexmap_base::words! {
    /// The subject that the comparison with a published value tests.
    pub enum Kind {
        /// Arithmetic of printed numbers alone. It tests the transcription, not a model.
        Identity = "identity",
        /// A value that the paper derives, recomputed by its formula from its printed inputs.
        Model = "model",
        /// A value that a card, a model or a simulation has as input. It tests nothing but the program.
        Input = "input",
        /// A measured value to which a number was fitted. It tests only the form of a model.
        Fitted = "fitted",
        /// A shape, a sign, a limit or a rough factor.
        Feature = "feature",
        /// A measured value compared with numbers not fitted to it: printed ones, or those fitted to the other rows.
        Predicted = "predicted",
        /// A measured value compared with a simulation on one card, none of whose numbers is fitted to it or equal to it.
        Simulated = "simulated",
    }
}

/// The kinds in words for several values.
const VALUES_OF: [&str; Kind::ALL.len()] = [
    "identities of printed numbers",
    "model values, recomputed by the papers' formulas from their printed inputs",
    "values that are inputs of their card, model or simulation",
    "measured values to which a number is fitted",
    "features: shapes, signs, limits and rough factors",
    "measured values predicted by numbers not fitted to them",
    "measured values simulated with numbers not fitted to them",
];

impl Kind {
    /// Whether a difference is the model's fault by default: the paper measured the value.
    pub fn is_measured(self) -> bool {
        !matches!(self, Kind::Identity | Kind::Model)
    }

    /// Whether the values test something new, so that their distance from the printed ones is counted.
    pub fn is_test(self) -> bool {
        matches!(self, Kind::Predicted | Kind::Simulated)
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Check {
    pub source: String,
    pub kind: Kind,
    pub is_simulated: bool,
    /// Printed values that the published value consists of; the place and the description of a statement.
    pub printed: Vec<String>,
    /// Whether the check counts: no check before it is about the same printed values.
    pub counts: bool,
    pub what: String,
    pub published: f64,
    /// For a simulated value, the model's, if there is a model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<f64>,
    pub recomputed: f64,
    pub unit: String,
    pub verdict: Verdict,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_fault: Option<Fault>,
    /// Reason for a difference, or details of the comparison.
    pub remark: String,
}

impl Check {
    /// The relative difference of the recomputed value in per cent, rounded to the printed tenth.
    pub fn difference(&self) -> f64 {
        // Adding 0 turns -0 into 0.
        (1000.0 * (self.recomputed / self.published - 1.0)).round() / 10.0 + 0.0
    }

    /// `DIFFERS (the model's fault)`.
    pub fn verdict_words(&self) -> &'static str {
        match (self.verdict, self.at_fault) {
            (Verdict::Agrees, _) if self.is_simulated => "reproduced",
            (Verdict::Agrees, _) => "agrees",
            (Verdict::Differs, Some(Fault::Paper)) => "DIFFERS (the paper's fault)",
            (Verdict::Differs, _) if self.is_simulated => "NOT REPRODUCED",
            (Verdict::Differs, _) => "DIFFERS (the model's fault)",
            (Verdict::NotExplained, _) => "NOT EXPLAINED",
        }
    }

    pub fn kind_words(&self) -> String {
        let note = if self.counts { "" } else { ", counted above" };
        format!("{}{note}", self.kind.name())
    }

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

#[derive(Clone, Debug, Serialize)]
pub struct PublishedFit {
    pub source: String,
    pub model: &'static str,
    /// The fitted numbers with their intervals and the paper's values, or why the fit was refused.
    pub lines: Vec<String>,
    pub smape: Option<f64>,
    /// `None` if it was refused.
    #[serde(skip)]
    pub fit: Option<Fit>,
}

/// Measured values that a simulation could test, but that are not simulated.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct NotSimulated {
    pub values: usize,
    /// Sweeps of `make papers` that have some of their points.
    pub sweeps: BTreeSet<String>,
}

impl NotSimulated {
    fn words(&self) -> String {
        let sweeps = self.sweeps.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        format!("{} more measured values are not simulated: run `make papers` ({sweeps})", self.values)
    }
}

#[derive(Clone, Debug, Serialize)]
pub struct Validation {
    pub checks: Vec<Check>,
    /// `None` without any simulation, or if all values are simulated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_simulated: Option<NotSimulated>,
    pub fits: Vec<PublishedFit>,
    /// Reproduced and missing parts, paper by paper.
    pub papers: Vec<papers::Row>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Count {
    pub kind: Kind,
    pub values_of: &'static str,
    pub is_test: bool,
    pub values: usize,
    pub agree: usize,
    /// Values within 5 and 10 % of the printed ones, whatever the tolerances are.
    pub within_5: usize,
    pub within_10: usize,
    pub differ: usize,
    /// Differing values for which the model is at fault; the paper is at fault for the others.
    pub model_at_fault: usize,
    pub unexplained: usize,
}

impl Count {
    /// Each printed value counts once. Kinds without values are left out.
    pub fn count_kinds<'a>(checks: impl Iterator<Item = &'a Check> + Clone) -> Vec<Self> {
        let counts = Kind::ALL.into_iter().map(|kind| Self::new(kind, checks.clone()));
        counts.filter(|count| count.values > 0).collect()
    }

    pub fn new<'a>(kind: Kind, checks: impl Iterator<Item = &'a Check>) -> Self {
        let own: Vec<&Check> = checks.filter(|check| check.kind == kind && check.counts).collect();
        let within = |percent: f64| own.iter().filter(|check| check.difference().abs() <= percent).count();
        let count = |verdict: Verdict| own.iter().filter(|check| check.verdict == verdict).count();
        Self {
            kind,
            values_of: VALUES_OF[kind as usize],
            is_test: kind.is_test(),
            values: own.len(),
            agree: count(Verdict::Agrees),
            within_5: within(5.0),
            within_10: within(10.0),
            differ: count(Verdict::Differs),
            model_at_fault: own.iter().filter(|check| check.at_fault == Some(Fault::Model)).count(),
            unexplained: count(Verdict::NotExplained),
        }
    }

    /// `50 model values: 40 agree, 10 differ (7 by the paper's fault, 3 by the model's), 0 unexplained; 56 within 5 %, ...`.
    fn words(&self) -> String {
        let Count { values_of, values, agree, within_5, within_10, differ, model_at_fault, unexplained, .. } = self;
        let paper = differ - model_at_fault;
        let within =
            if self.is_test { format!("; {within_5} within 5 %, {within_10} within 10 %") } else { String::new() };
        format!(
            "{values} {values_of}: {agree} agree, {differ} differ ({paper} by the paper's fault, {model_at_fault} by the model's), \
             {unexplained} unexplained{within}"
        )
    }
}

/// Recomputes all published values, also by simulations if there are any, and makes all fits.
pub fn validate(simulations: Option<&Simulations>) -> Result<Validation> {
    let fits = fits::fit_published()?;
    let (checks, missing) = checks::evaluate(&fits, simulations)?;
    let is_simulated = checks.iter().any(|check| check.is_simulated);
    let not_simulated = Some(missing).filter(|missing| is_simulated && missing.values > 0);
    Ok(Validation { papers: papers::rows(&checks)?, checks, not_simulated, fits })
}

/// With the numbers of a published machine.
pub fn predict(id: &str, card: &str, given: &[(&str, f64)]) -> Result<models::Prediction> {
    let model = models::find(id)?;
    let numbers = Numbers::new(model, &Card::find(card)?, &[])?;
    let value = |name: &str| given.iter().find(|(key, _)| *key == name).map(|(_, value)| *value);
    Ok(scan_point(model, &numbers, model.variables(&value)?, &|_| Vec::new())?.prediction)
}

impl Validation {
    pub fn counts(&self) -> Vec<Count> {
        Count::count_kinds(self.checks.iter())
    }

    /// A sentence about each of some kinds, and one about values that are not simulated.
    pub fn summary(&self, is_shown: impl Fn(&Count) -> bool) -> Vec<String> {
        let counts = self.counts().into_iter().filter(is_shown).map(|count| count.words());
        counts.chain(self.not_simulated.as_ref().map(NotSimulated::words)).collect()
    }

    /// How many values agree, and where a model is wrong, for a terminal.
    pub fn short_text(&self, width: Option<usize>) -> String {
        let mut text = String::from("Published values compared with the papers' equations and with models\n\n");
        let mut table =
            TextTable::new([Align::Left, Align::Right, Align::Right, Align::Right, Align::Right, Align::Left]);
        table.add_row(["", "values", "agree", "differ", "within 10 %", ""]);
        for Count { kind, values_of, values, agree, differ, within_10, is_test, .. } in self.counts() {
            let [values, agree, differ] = [values, agree, differ].map(|count| count.to_string());
            let within = if is_test { within_10.to_string() } else { String::new() };
            table.add_row([kind.name().to_owned(), values, agree, differ, within, values_of.to_owned()]);
        }
        let _ = writeln!(text, "{}", table.with_indent(2).with_width(width));
        let at_fault = |check: &&Check| check.counts && check.at_fault == Some(Fault::Model);
        let mut wrong: BTreeMap<String, usize> = BTreeMap::new();
        for check in self.checks.iter().filter(at_fault) {
            // `hypercube paper, Table 3`
            let place = check.source.split(", ").take(2).collect::<Vec<_>>().join(", ");
            *wrong.entry(place).or_default() += 1;
        }
        let _ = writeln!(text, "The model is wrong (values):");
        wrong.iter().for_each(|(place, count)| text.push_str(&format!("  {place} ({count})\n")));
        self.not_simulated.iter().for_each(|missing| text.push_str(&format!("{}\n", missing.words())));
        text
    }

    /// All values for a terminal. Remarks are wrapped so that lines have at most `width` columns.
    pub fn text(&self, width: Option<usize>) -> String {
        let counts: String = self.summary(|_| true).iter().map(|sentence| format!("{sentence}\n")).collect();
        let mut text = String::new();
        for checks in self.checks.chunk_by(|a, b| (&a.source, a.kind, a.counts) == (&b.source, b.kind, b.counts)) {
            let mut table = TextTable::new([Align::Left, Align::Right, Align::Right, Align::Right, Align::Left]);
            table.add_row(["", "published", "recomputed", "difference", "verdict"]);
            checks.iter().for_each(|check| table.add_row(check.cells()));
            let (source, kind) = (&checks[0].source, checks[0].kind_words());
            let _ = write!(text, "\n{source} [{kind}]\n{}", table.with_indent(2).with_width(width));
        }
        let _ = write!(text, "\n{counts}Each printed value counts once, at its first check.\n");
        let mut table = TextTable::new([Align::Left; 6]);
        table.add_row(["paper", "place", "models", "sweeps", "values", "missing, and why"]);
        for papers::Row { item, values } in &self.papers {
            let place = format!("{}: {}", item.place, item.what);
            let (models, sweeps) = (item.models.join(", "), item.sweeps.join(", "));
            let count = |count: &Count| format!("{}: {} of {} agree", count.kind.name(), count.agree, count.values);
            let values = values.iter().map(count).collect::<Vec<_>>().join("; ");
            table.add_row([item.paper.clone(), place, models, sweeps, values, item.missing.clone()]);
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

pub fn digits(value: f64) -> String {
    number(value, NumberStyle::Fixed(4))
}
