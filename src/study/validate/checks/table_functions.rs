//! Checks that use several rows of a table: numbers fitted to all rows, or to all but the row of the check.

use super::{Call, Names, Place};
use crate::validate::predict;
use apexmap_base::error::{Error, Result};
use apexmap_measure::numerics::statistics;
use apexmap_results::samples::estimate::Mean;
use apexmap_theory::{models, paper_tables};

/// Intercept and slope of the least-squares line through points of x, y and the standard deviation of y.
pub(super) fn line(points: &[(f64, f64, f64)]) -> (f64, f64) {
    let sum = |term: &dyn Fn(f64, f64) -> f64| points.iter().map(|(x, y, sd)| term(*x, *y) / (sd * sd)).sum::<f64>();
    let (weights, x, y) = (sum(&|_, _| 1.0), sum(&|x, _| x), sum(&|_, y| y));
    let slope = (weights * sum(&|x, y| x * y) - x * y) / (weights * sum(&|x, _| x * x) - x * x);
    ((y - slope * x) / weights, slope)
}

fn mean(values: impl Iterator<Item = f64>) -> Result<f64> {
    let mean = Mean::from_values(&values.collect::<Vec<_>>());
    mean.map(|mean| mean.value).ok_or_else(|| Error::internal("a mean needs two rows of the table"))
}

/// The values of formulas, one per argument, in the rows of the check's table. `others` leaves out the row of the check.
fn rows<const N: usize>(call: &Call, keys: [&str; N], others: bool) -> Result<Vec<[f64; N]>> {
    let place = call.names.place.ok_or_else(|| Error::internal("the check is not about a row of a table"))?;
    let Place { table, row } = place;
    let mut values = Vec::new();
    for other in (0..table.rows.len()).filter(|other| !others || *other != row) {
        let names = Names::new(call.names.published, Some(Place { table, row: other }));
        let mut fields = [0.0; N];
        for (field, key) in fields.iter_mut().zip(keys) {
            *field = names.number(call.word(key)?)?;
        }
        values.push(fields);
    }
    Ok(values)
}

pub fn other_rows_mean(call: &Call) -> Result<f64> {
    mean(rows(call, ["of"], true)?.into_iter().flatten())
}

/// The GUPS of P processors from the T_1 and T_C that best fit the powers of two in the hypercube paper's Table 2, up to `most` except
/// `without`: least squares of the relative errors of T_P, the time of a round.
pub fn table_2_rate(call: &Call) -> Result<f64> {
    let (ranks, most, without) = (call.number("P")?, call.number("most")?, call.number("without")?);
    let rows = paper_tables::table("hypercube-table-2")?.pairs("processors", "gups").into_iter();
    let powers = rows.filter(|(ranks, _)| (*ranks as u64).is_power_of_two() && *ranks <= most && *ranks != without);
    let points: Vec<_> = powers.map(|(ranks, gups)| (ranks.log2(), ranks / gups, ranks / gups)).collect();
    let (round, stage) = line(&points);
    Ok(ranks / (round + stage * ranks.log2()))
}

/// The median extra time per stage in a column of the hypercube paper's Table 3, relative to `single`, except on `without` processors.
pub fn table_3_stage(call: &Call) -> Result<f64> {
    let (single, without) = (call.number("single")?, call.number("without")?);
    let rows = paper_tables::table("hypercube-table-3")?.pairs("processors", call.word("column")?);
    let several = rows.iter().filter(|(ranks, _)| *ranks > 1.0 && *ranks != without);
    let stages: Vec<f64> = several.map(|(ranks, seconds)| (seconds - single) / ranks.log2()).collect();
    statistics::median(&stages).ok_or_else(|| Error::internal("the table has no stages"))
}

/// The GUPS at Q from the round in parts, fitted to the hypercube paper's Tables 2 and 4, or from the fit `without` this point.
pub fn table_4_rate(call: &Call) -> Result<f64> {
    let (look_ahead, without) = (call.number("Q")?, call.number("without")?);
    let by_parts = call.names.published.fits.iter().find(|fitted| fitted.model == "random_access.all_to_all");
    let fit = by_parts.and_then(|fitted| fitted.fit.as_ref());
    let point = fit.and_then(|fit| fit.points.iter().find(|point| point.x[..2] == [32.0, look_ahead]));
    let rate = point.and_then(|point| if without == look_ahead { point.left_out } else { Some(point.predicted) });
    let rate = rate.ok_or_else(|| Error::internal("there is no fit to Table 4 of the hypercube paper"))?;
    Ok(1e-9 * rate)
}

/// The wrong words per word from the straight line through the other rows of the Blue Gene/P paper's Table 2 (a).
pub fn error_rate(call: &Call) -> Result<f64> {
    let points: Vec<_> = rows(call, ["x", "y", "deviation"], true)?.into_iter().map(Into::into).collect();
    let (none, slope) = line(&points);
    Ok(none + slope * call.number("x")?)
}

/// The geometric mean over these rows of the ratio of variance to mean of the number of wrong words.
pub fn burst(call: &Call) -> Result<f64> {
    let rows = rows(call, ["words", "ratio"], call.number("others")? == 1.0)?;
    Ok(mean(rows.iter().map(|[words, ratio]| (ratio * ratio * words).ln()))?.exp())
}

/// Of four cores, relative to one. Hold and free time come from the other two rows of the Blue Gene/P paper's Table 2 (b).
pub fn lock_rate(call: &Call) -> Result<f64> {
    let (locks, model) = (call.number("locks")?, models::find("random_access.locks")?);
    let rate = |locks: f64, hold: f64, free: f64| model.predict(&[4.0, locks, 2.0], &[hold, free]).value;
    let rows = paper_tables::table("bluegene-table-2b")?.pairs("locks", "relative");
    let others: Vec<_> = rows.into_iter().filter(|(other, _)| *other != locks).collect();
    let [fewer, more] = others[..] else { return Err(Error::internal("there are not two other numbers of locks")) };
    let (hold, free) = hold_and_free([fewer, more], &rate);
    Ok(rate(locks, hold, free))
}

/// The hold and free time, in units of the serial update, with which the queue gives two numbers of locks their rates. These are
/// inversely proportional to the times, and fewer locks lose less the longer cores are free, so their ratio gives free over hold.
fn hold_and_free(rows: [(f64, f64); 2], rate: &dyn Fn(f64, f64, f64) -> f64) -> (f64, f64) {
    let [(fewer, slow), (more, fast)] = rows;
    let (mut low, mut high): (f64, f64) = (1e-6, 1e6);
    // More halvings than a double has digits.
    for _ in 0..200 {
        let middle = (low * high).sqrt();
        let lower = rate(fewer, 1.0, middle) / rate(more, 1.0, middle) < slow / fast;
        if lower { low = middle } else { high = middle }
    }
    let hold = rate(fewer, 1.0, low) / slow;
    (hold, hold * low)
}

/// The number of rows of the Blue Gene/P paper's Table 4 where the bisection does not limit the multi-core algorithm.
pub fn rows_below_bisection(_: &Call) -> Result<f64> {
    let mut rows = 0.0;
    for (nodes, _) in paper_tables::table("bluegene-table-4")?.pairs("nodes", "bgp_multi_gups") {
        rows += f64::from(predict("random_access.roles", "bluegene-p", &[("P", nodes)])?.bottleneck != "bisection");
    }
    Ok(rows)
}
