//! Published values beside what the models give.

mod apex_map;
mod blue_gene;
mod hpcc;
mod hypercube;
mod locks;
mod look_ahead;
mod network_interface;
mod optimisations;
mod torus;

use super::{Check, Fault, Kind, PublishedFit, Verdict};
use apexmap_base::error::Result;
use apexmap_theory::published::Table;

/// `fits` are those to published measurements.
pub fn all(fits: &[PublishedFit]) -> Result<Vec<Check>> {
    let mut checks = Vec::new();
    apex_map::all(&mut checks)?;
    hpcc::all(&mut checks);
    hypercube::all(&mut checks)?;
    optimisations::all(&mut checks)?;
    look_ahead::all(&mut checks, fits)?;
    blue_gene::all(&mut checks)?;
    torus::all(&mut checks)?;
    locks::all(&mut checks)?;
    network_interface::all(&mut checks)?;
    Ok(checks)
}

/// Half a unit of the last digit of a printed number.
fn half_digit(printed: &str) -> f64 {
    let decimals = printed.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    0.500001 * 10f64.powi(-(decimals as i32))
}

/// Rows of a table that have both columns: x, the field as printed, its value.
fn printed<'a>(table: &'a Table, x: &str, y: &str) -> Vec<(f64, &'a str, f64)> {
    let row = |row: usize| Some((table.number(row, x)?, table.word(row, y), table.number(row, y)?));
    (0..table.rows.len()).filter_map(row).collect()
}

/// All of them but one.
fn without<T: Copy>(all: &[T], left_out: usize) -> Vec<T> {
    all.iter().enumerate().filter(|(at, _)| *at != left_out).map(|(_, one)| *one).collect()
}

/// Intercept and slope of the straight line through points of x, y and the standard deviation of y, by least squares.
fn line(points: &[(f64, f64, f64)]) -> (f64, f64) {
    let sum = |of: &dyn Fn(f64, f64) -> f64| points.iter().map(|(x, y, sd)| of(*x, *y) / (sd * sd)).sum::<f64>();
    let (weights, x, y) = (sum(&|_, _| 1.0), sum(&|x, _| x), sum(&|_, y| y));
    let slope = (weights * sum(&|x, y| x * y) - x * y) / (weights * sum(&|x, _| x * x) - x * x);
    ((y - slope * x) / weights, slope)
}

/// Checks of one kind from one place of a paper.
struct Section<'a> {
    checks: &'a mut Vec<Check>,
    source: &'static str,
    kind: Kind,
    unit: &'static str,
    /// Whose fault a difference is.
    at_fault: Fault,
}

impl<'a> Section<'a> {
    fn new(checks: &'a mut Vec<Check>, kind: Kind, source: &'static str, unit: &'static str) -> Self {
        // The paper's own arithmetic and formulas are the paper's; what it measured is right until shown otherwise.
        let at_fault = if kind.is_measured() { Fault::Model } else { Fault::Paper };
        Self { checks, source, kind, unit, at_fault }
    }

    fn at_fault(self, at_fault: Fault) -> Self {
        Self { at_fault, ..self }
    }

    /// A published value and ours; it agrees if they differ by `tolerance` at most. `why` says why it differs.
    fn near(&mut self, what: impl Into<String>, values: (f64, f64), tolerance: f64, why: &str) {
        let agrees = (values.1 - values.0).abs() <= tolerance;
        self.judged(
            what,
            values,
            if agrees { Verdict::Agrees } else { Verdict::Differs },
            if agrees { "" } else { why },
        );
    }

    /// The same, with a remark whether it agrees or not.
    fn noted(&mut self, what: impl Into<String>, values: (f64, f64), tolerance: f64, remark: &str) {
        let agrees = (values.1 - values.0).abs() <= tolerance;
        self.judged(what, values, if agrees { Verdict::Agrees } else { Verdict::Differs }, remark);
    }

    fn judged(&mut self, what: impl Into<String>, values: (f64, f64), verdict: Verdict, remark: &str) {
        let (published, recomputed) = values;
        let (source, what, remark) = (self.source.to_owned(), what.into(), remark.to_owned());
        self.checks.push(Check {
            source,
            kind: self.kind,
            what,
            published,
            recomputed,
            unit: self.unit,
            verdict,
            at_fault: (verdict == Verdict::Differs).then_some(self.at_fault),
            remark,
        });
    }
}
