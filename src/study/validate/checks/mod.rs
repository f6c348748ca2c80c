//! Compares published values with those of the models: the rows of `models/checks-*.csv`.
//!
//! A row is one check or, if it names a table, one check per row of that table. Its columns are `source`, `kind` and
//! `unit`; `fault`, the side at fault for a difference if it is not the kind's default; `table`, and `rows`, a
//! condition on its rows; `quantities`, further names for the formulas in addition to those of [`names`]; `what`;
//! `published` and `recomputed`, formulas; `agrees`, a condition, without which the value counts as not explained;
//! `remark`, and `why`, which replaces it if the value differs.

mod functions;
mod names;
mod table_functions;

use super::{Check, Fault, Kind, NotSimulated, PublishedFit, Verdict, simulations::Simulations};
use crate::validate::predict;
use apexmap_base::error::{Error, Result};
use apexmap_theory::paper_tables::{self, Table};
use names::{Names, words};
use std::collections::BTreeSet;

/// The tables of checks, in the order of the papers.
const CHECKS: [&str; 5] = ["checks-apex-map", "checks-hypercube", "checks-bluegene", "checks-nic", "checks-simulated"];

struct Published<'a> {
    numbers: names::Numbers,
    fits: &'a [PublishedFit],
    simulations: Option<&'a Simulations>,
}

#[derive(Clone, Copy)]
struct Place<'a> {
    table: &'a Table,
    row: usize,
}

/// `fits` are those to published measurements. Values that no simulation has given are counted apart.
pub fn evaluate(fits: &[PublishedFit], simulations: Option<&Simulations>) -> Result<(Vec<Check>, NotSimulated)> {
    let published = Published { numbers: names::numbers()?, fits, simulations };
    let (mut checks, mut seen) = (Vec::new(), Seen::default());
    for name in CHECKS {
        let rows = paper_tables::table(name)?;
        for row in 0..rows.rows.len() {
            let line = Line { rows: &rows, row };
            checks.extend(line.checks(&published, &mut seen).map_err(|error| {
                Error::internal(format!("{name}: {}: {}: {}", line.word("source"), line.word("what"), error.message))
            })?);
        }
    }
    Ok((checks, seen.not_simulated))
}

#[derive(Default)]
struct Seen {
    /// Printed values, and whether a simulation gives them.
    printed: BTreeSet<(bool, String)>,
    not_simulated: NotSimulated,
}

struct Line<'a> {
    rows: &'a Table,
    row: usize,
}

impl Line<'_> {
    fn word(&self, column: &str) -> &str {
        self.rows.word(self.row, column)
    }

    fn checks(&self, published: &Published, seen: &mut Seen) -> Result<Vec<Check>> {
        if self.word("table").is_empty() {
            return Ok(self.check(Names::new(published, None), seen)?.into_iter().collect());
        }
        let table = paper_tables::table(self.word("table"))?;
        let mut checks = Vec::new();
        for row in 0..table.rows.len() {
            let names = Names::new(published, Some(Place { table: &table, row }));
            if self.is_about(&names)? {
                checks.extend(self.check(names, seen)?);
            }
        }
        Ok(checks)
    }

    /// Whether the table's row has all values that the check needs, and satisfies `rows`.
    fn is_about(&self, names: &Names) -> Result<bool> {
        let formulas = ["rows", "published", "recomputed", "quantities"].map(|column| self.word(column));
        let is_missing = |word: &str| names.is_column(word) && names.get(word).is_none();
        let is_complete = !formulas.iter().any(|formula| words(formula).any(is_missing));
        Ok(is_complete && (self.word("rows").is_empty() || names.holds(self.word("rows"))?))
    }

    fn is_simulated(&self) -> bool {
        self.rows.name == "checks-simulated"
    }

    /// A simulation that tests something new counts again what a model has: these are tests of two programs.
    fn is_new(&self, printed: &[String], kind: Kind, seen: &mut Seen) -> bool {
        let is_simulated = self.is_simulated();
        let mut is_new = |name: &&String| {
            let printed = &mut seen.printed;
            let has_model = is_simulated && kind != Kind::Simulated && printed.contains(&(false, (*name).clone()));
            printed.insert((is_simulated, (*name).clone())) && !has_model
        };
        printed.iter().filter(&mut is_new).count() > 0
    }

    /// `None` if a simulation that the check needs has not run.
    fn check(&self, mut names: Names, seen: &mut Seen) -> Result<Option<Check>> {
        let mut printed = names.printed_values(self.word("published"));
        if printed.is_empty() {
            printed.push(format!("{}: {}", self.word("source"), self.word("what")));
        }
        let word = self.word("kind");
        let kind = Kind::from_name(word).ok_or_else(|| Error::internal(format!("there is no kind \"{word}\"")))?;
        let counts = self.is_new(&printed, kind, seen);
        for quantity in self.word("quantities").split(';').filter(|quantity| !quantity.is_empty()) {
            let (name, formula) = quantity.split_once('=').unwrap_or((quantity, ""));
            let value = functions::value(&names, formula.trim())?;
            if value.is_nan() {
                if counts && kind == Kind::Simulated {
                    let words = self.word("quantities").split([' ', ';']);
                    seen.not_simulated.values += 1;
                    seen.not_simulated
                        .sweeps
                        .extend(words.filter_map(|word| Some(word.strip_prefix("sweep=")?.to_owned())));
                }
                return Ok(None);
            }
            names.set(name.trim(), value);
        }
        let (published, recomputed) = (names.number(self.word("published"))?, names.number(self.word("recomputed"))?);
        names.set("published", published);
        names.set("recomputed", recomputed);
        names.set("difference", (recomputed - published).abs());
        names.set("half_digit", half_digit(names.printed_text(self.word("published"))));
        let verdict = match self.word("agrees") {
            "" => Verdict::NotExplained,
            condition if names.holds(condition)? => Verdict::Agrees,
            _ => Verdict::Differs,
        };
        let differs = verdict == Verdict::Differs;
        let column = if differs && !self.word("why").is_empty() { "why" } else { "remark" };
        Ok(Some(Check {
            source: self.word("source").to_owned(),
            kind,
            is_simulated: self.is_simulated(),
            printed,
            counts,
            what: names.text(self.word("what"))?,
            published,
            model: names.get("model").filter(|_| self.is_simulated()),
            recomputed,
            unit: self.word("unit").to_owned(),
            verdict,
            at_fault: if differs { Some(self.fault(kind)?) } else { None },
            remark: names.text(self.word(column))?,
        }))
    }

    /// The paper's own arithmetic and formulas are the paper's fault; its measurements count as correct.
    fn fault(&self, kind: Kind) -> Result<Fault> {
        Ok(match self.word("fault") {
            "" if kind.is_measured() => Fault::Model,
            "model" => Fault::Model,
            "" | "paper" => Fault::Paper,
            other => return Err(Error::internal(format!("a difference cannot be the fault of \"{other}\""))),
        })
    }
}

/// Half a unit of the last digit of a printed number.
fn half_digit(printed: &str) -> f64 {
    let decimals = printed.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    // Slightly more than half, because differences have rounding errors.
    0.500001 * 10f64.powi(-(decimals as i32))
}

struct Call<'a> {
    pub names: &'a Names<'a>,
    /// Pairs of name and formula.
    pub arguments: Vec<(&'a str, &'a str)>,
}

impl Call<'_> {
    /// An argument, not evaluated.
    pub fn word(&self, key: &str) -> Result<&str> {
        let argument = self.arguments.iter().find(|(name, _)| *name == key);
        argument.map(|(_, word)| *word).ok_or_else(|| Error::internal(format!("{key} is not given")))
    }

    pub fn number(&self, key: &str) -> Result<f64> {
        self.names.number(self.word(key)?)
    }

    pub fn numbers(&self) -> Result<Vec<f64>> {
        self.arguments.iter().map(|(_, formula)| self.names.number(formula)).collect()
    }

    pub fn predict(&self, model: &str) -> Result<f64> {
        let variables = self.arguments.iter().filter(|(key, _)| *key != "card");
        let given: Vec<_> =
            variables.map(|(key, formula)| Ok((*key, self.names.number(formula)?))).collect::<Result<_>>()?;
        Ok(predict(model, self.word("card")?, &given)?.value)
    }
}
