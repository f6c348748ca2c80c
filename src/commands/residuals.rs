//! The table of residuals of a fit.

use super::predict::format_interval;
use apexmap_base::text_table::{Align, TextTable};
use apexmap_base::units::amount;
use apexmap_study::model_fit;
use apexmap_theory::fit;
use apexmap_theory::models::Model;
use std::cmp::Ordering;
use std::fmt::Write;

/// Maximum number of points in the table of residuals.
const MAX_POINTS: usize = 24;

/// Writes the table of residuals: all points, or the [`MAX_POINTS`] with the largest deviation.
pub fn residuals(model: &dyn Model, measured: &[fit::Point], rates: &'static str, text: &mut String) {
    let varying = model_fit::varying_variables(measured);
    let mut points: Vec<&fit::Point> = measured.iter().collect();
    let ratio = |point: &fit::Point| point.measured / point.predicted;
    if points.len() > MAX_POINTS {
        points.sort_by(|a, b| ratio(b).ln().abs().total_cmp(&ratio(a).ln().abs()));
        points.truncate(MAX_POINTS);
        let _ = writeln!(text, "\nThe {MAX_POINTS} of {} points with the largest deviation:", measured.len());
    } else {
        points.sort_by(|a, b| a.x.partial_cmp(&b.x).unwrap_or(Ordering::Equal).then(a.launch.cmp(&b.launch)));
        text.push('\n');
    }
    let about = model.about();
    let mut aligned = vec![Align::Right; varying.len() + 3];
    aligned.extend([Align::Left; 2]);
    let mut table = TextTable::new(aligned).with_indent(2);
    let names = varying.iter().map(|&index| about.variables[index].name);
    table.add_row(names.chain([rates, "predicted", "ratio", "95 % band", "set by"]));
    let unit = model_fit::described_rate(model).unit;
    for point in &points {
        let mut cells: Vec<String> =
            varying.iter().map(|&index| model_fit::value_text(model, index, point.x[index])).collect();
        cells.extend([
            amount(point.measured, unit),
            amount(point.predicted, unit),
            format!("{:.3}", ratio(point)),
            format_interval((point.low, point.high), unit),
            point.bottleneck.into(),
        ]);
        table.add_row(cells);
    }
    let _ = write!(text, "{table}");
}
