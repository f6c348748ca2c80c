//! Curves of printed, modelled and simulated values.

use super::Drawn;
use super::figures::{CurveFigure, FIGURES, Form, Line, Origin};
use apexmap_base::error::Result;
use apexmap_base::source::Source;
use apexmap_draw::figure::{CurvePoint, Curves, Figure, Quantity, Series};
use apexmap_results::samples::Samples;
use apexmap_results::samples::cells::Cell;
use apexmap_study::validate::simulations::{Simulations, marginal_rate};
use apexmap_theory::paper_tables;

/// Draws the curves of a paper. Adds the names of lines that are not simulated to `missing`.
pub fn draw(paper: &Source, simulations: &Simulations, missing: &mut Vec<String>) -> Result<Vec<Drawn>> {
    let mut drawn = Vec::new();
    for wanted in FIGURES.iter().filter(|figure| figure.paper == paper) {
        let mut series = Vec::new();
        for line in wanted.lines {
            let points = points(line, simulations)?;
            if points.is_empty() {
                missing.push(format!("{}: \"{}\" is not simulated", wanted.title, line.label));
                continue;
            }
            let point = |(x, y)| CurvePoint { x, y, low: f64::NAN, high: f64::NAN };
            series.push(Series { label: line.label.to_owned(), points: points.into_iter().map(point).collect() });
        }
        if !series.is_empty() {
            drawn.push(figure(wanted, series));
        }
    }
    Ok(drawn)
}

fn figure(wanted: &CurveFigure, series: Vec<Series>) -> Drawn {
    let quantity = |(label, unit, log): (&str, _, _)| Quantity { label: label.to_owned(), unit, log };
    let curves = Curves::new(wanted.title, wanted.subtitle, quantity(wanted.x), quantity(wanted.y), series);
    Drawn { name: wanted.name.to_owned(), caption: wanted.caption.to_owned(), figure: Figure::Curves(curves) }
}

/// Returns the points of a line; none if its simulation has not run.
fn points(line: &Line, simulations: &Simulations) -> Result<Vec<(f64, f64)>> {
    let points = match line.origin {
        Origin::Printed { table, x, y } => paper_tables::table(table)?.pairs(x, y),
        Origin::Simulated { sweep, condition, x, y } => match simulations.samples(sweep) {
            Some(samples) => medians(&samples.choose(Some(condition).filter(|text| !text.is_empty()))?, x, y)?,
            None => Vec::new(),
        },
        Origin::Marginal { sweeps, condition, x } => {
            let condition = Some(condition).filter(|text| !text.is_empty());
            let rates = |samples: &Samples| marginal_rates(&samples.choose(condition)?, x);
            let run = sweeps.iter().filter_map(|sweep| simulations.samples(sweep));
            run.map(rates).collect::<Result<Vec<_>>>()?.concat()
        }
        Origin::Predicted { powers, value } => {
            let point = |power: u32| Ok((f64::from(1u32 << power), value(f64::from(1u32 << power))?));
            (powers.0..=powers.1).map(point).collect::<Result<_>>()?
        }
    };
    let first = points.first().map_or(1.0, |(_, y)| *y);
    let form = |(x, y): (f64, f64)| {
        let y = match line.form {
            Form::Plain(factor) => factor * y,
            Form::TimesX => y * x,
            Form::OverFirst => y / first,
        };
        (x, y)
    };
    Ok(points.into_iter().map(form).collect())
}

/// Returns the medians of a column over another one.
fn medians(samples: &Samples, x: &str, y: &str) -> Result<Vec<(f64, f64)>> {
    let (x, y) = (samples.resolve(x), samples.resolve(y));
    let point = |cell: Cell| Some((cell.by.first()?.as_f64()?, cell.summary(y)?.median));
    Ok(samples.cells(&[x])?.into_iter().filter_map(point).collect())
}

/// Returns the marginal rates over a column.
fn marginal_rates(samples: &Samples, x: &str) -> Result<Vec<(f64, f64)>> {
    let point = |cell: Cell| Some((cell.by.first()?.as_f64()?, marginal_rate(&cell.samples)?));
    Ok(samples.cells(&[samples.resolve(x)])?.into_iter().filter_map(point).collect())
}
