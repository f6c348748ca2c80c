//! Published values beside what the models give: the rows of `models/checks-*.csv`.
//!
//! A row is one check or, with a table, a check for each row of that table. Its columns: `source`, `kind`, `unit`; `fault`, whose fault
//! a difference is, if not the kind's; `table`, and `rows`, a condition on its rows; `quantities`, what the formulas need besides the
//! names of [`names`]; `what`; `published` and `recomputed`, formulas; `agrees`, a condition, without which the value is not
//! explained; `remark`, and `why`, which replaces it where the value differs.

mod across;
mod call;
mod functions;
mod names;

use super::{Check, Fault, Kind, PublishedFit, Verdict};
use apexmap_base::error::{Error, Result};
use apexmap_theory::published::{self, Table};
use names::{Names, words};

/// The tables of checks, in the order of the papers.
const CHECKS: [&str; 4] = ["checks-apex-map", "checks-hypercube", "checks-bluegene", "checks-nic"];

/// What all checks may look up.
struct Published<'a> {
    numbers: names::Numbers,
    /// Those to published measurements.
    fits: &'a [PublishedFit],
}

/// The row of a table that a check is about.
#[derive(Clone, Copy)]
struct Place<'a> {
    table: &'a Table,
    row: usize,
}

/// `fits` are those to published measurements.
pub fn all(fits: &[PublishedFit]) -> Result<Vec<Check>> {
    let published = Published { numbers: names::numbers()?, fits };
    let mut checks = Vec::new();
    for name in CHECKS {
        let rows = published::table(name)?;
        for row in 0..rows.rows.len() {
            let line = Line { rows: &rows, row };
            checks.extend(line.checks(&published).map_err(|error| {
                Error::internal(format!("{name}: {}: {}: {}", line.word("source"), line.word("what"), error.what))
            })?);
        }
    }
    Ok(checks)
}

/// A row of a table of checks.
struct Line<'a> {
    rows: &'a Table,
    row: usize,
}

impl Line<'_> {
    fn word(&self, column: &str) -> &str {
        self.rows.word(self.row, column)
    }

    fn checks(&self, published: &Published) -> Result<Vec<Check>> {
        if self.word("table").is_empty() {
            return Ok(vec![self.check(Names::new(published, None))?]);
        }
        let table = published::table(self.word("table"))?;
        let mut checks = Vec::new();
        for row in 0..table.rows.len() {
            let names = Names::new(published, Some(Place { table: &table, row }));
            if self.is_about(&names)? {
                checks.push(self.check(names)?);
            }
        }
        Ok(checks)
    }

    /// Whether the table's row has all that the check takes from it, and is one of `rows`.
    fn is_about(&self, names: &Names) -> Result<bool> {
        let formulas = ["rows", "published", "recomputed", "quantities"].map(|column| self.word(column));
        let lacks = |word: &str| names.is_column(word) && names.get(word).is_none();
        let whole = !formulas.iter().any(|formula| words(formula).any(lacks));
        Ok(whole && (self.word("rows").is_empty() || names.holds(self.word("rows"))?))
    }

    fn check(&self, mut names: Names) -> Result<Check> {
        for quantity in self.word("quantities").split(';').filter(|quantity| !quantity.is_empty()) {
            let (name, formula) = quantity.split_once('=').unwrap_or((quantity, ""));
            let value = functions::value(&names, formula.trim())?;
            names.set(name.trim(), value);
        }
        let (published, recomputed) = (names.number(self.word("published"))?, names.number(self.word("recomputed"))?);
        names.set("published", published);
        names.set("recomputed", recomputed);
        names.set("difference", (recomputed - published).abs());
        names.set("half_digit", half_digit(names.printed(self.word("published"))));
        let kind = self.kind()?;
        let verdict = match self.word("agrees") {
            "" => Verdict::NotExplained,
            condition if names.holds(condition)? => Verdict::Agrees,
            _ => Verdict::Differs,
        };
        let differs = verdict == Verdict::Differs;
        let column = if differs && !self.word("why").is_empty() { "why" } else { "remark" };
        Ok(Check {
            source: self.word("source").to_owned(),
            kind,
            what: names.text(self.word("what"))?,
            published,
            recomputed,
            unit: self.word("unit").to_owned(),
            verdict,
            at_fault: if differs { Some(self.fault(kind)?) } else { None },
            remark: names.text(self.word(column))?,
        })
    }

    fn kind(&self) -> Result<Kind> {
        Ok(match self.word("kind") {
            "identity" => Kind::Identity,
            "model" => Kind::Model,
            "fitted" => Kind::Fitted,
            "predicted" => Kind::Predicted,
            other => return Err(Error::internal(format!("there is no kind \"{other}\""))),
        })
    }

    /// The paper's own arithmetic and formulas are the paper's; what it measured is right until shown otherwise.
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
    0.500001 * 10f64.powi(-(decimals as i32))
}
