//! A figure's data as a table, and its description in words, for readers who cannot see it and for calculations.

use super::grid::{Grid, Quantity};
use apexmap_base::units::{self, NumberStyle, Unit, is_informative, plural};

/// Row numbers are those of the spots of the drawing.
#[derive(Clone, Debug, PartialEq)]
pub struct FigureTable {
    pub head: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

/// Returns the column's name and the format of its values. All have one unit, so that readers can calculate with them.
pub fn column(quantity: &Quantity, values: &[f64]) -> (String, impl Fn(f64) -> String + use<>) {
    let mut magnitudes: Vec<f64> = values.iter().map(|v| v.abs()).filter(|v| v.is_finite() && *v > 0.0).collect();
    magnitudes.sort_by(f64::total_cmp);
    let middle = magnitudes.get(magnitudes.len() / 2).copied().unwrap_or(1.0);
    let (factor, symbol) = match quantity.unit {
        Unit::None | Unit::Words | Unit::Cycles | Unit::Bytes => (1.0, quantity.unit.symbol().to_owned()),
        Unit::Seconds => choose_prefix(middle, &[(1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")]),
        Unit::BytesPerSecond => choose_prefix(middle, &[(1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s"), (1.0, "B/s")]),
        Unit::PerSecond => choose_prefix(middle, &[(1e9, "G/s"), (1e6, "M/s"), (1e3, "k/s"), (1.0, "1/s")]),
        Unit::UpdatesPerSecond => (1e9, "GUPS".to_owned()),
        unit => (1.0, unit.symbol().to_owned()),
    };
    let name = if symbol.is_empty() { quantity.label.clone() } else { format!("{}, {symbol}", quantity.label) };
    (name, move |value: f64| format_number(value / factor))
}

fn choose_prefix(value: f64, names: &[(f64, &str)]) -> (f64, String) {
    let (factor, name) = names.iter().find(|(factor, _)| value >= *factor).unwrap_or(&names[names.len() - 1]);
    (*factor, (*name).to_owned())
}

/// An interval too wide to be useful is not known, as in all texts.
pub fn interval_cells((low, high): (f64, f64), write: impl Fn(f64) -> String) -> [String; 2] {
    match low.is_finite() && high.is_finite() && !is_informative((low, high)) {
        true => ["not known".into(), String::new()],
        false => [write(low), write(high)],
    }
}

pub fn format_number(value: f64) -> String {
    if value.is_nan() { String::new() } else { units::number(value, NumberStyle::Table) }
}

impl FigureTable {
    pub fn from_grid(grid: &Grid) -> Self {
        let (x, write_x) = column(&grid.x.quantity, &grid.x.values);
        let (y, write_y) = column(&grid.y.quantity, &grid.y.values);
        let values: Vec<f64> = grid.values.iter().copied().collect();
        let (z, write_z) = column(&grid.z, &values);
        let row = |(j, i): (usize, usize)| {
            let value = grid.values[(j, i)];
            let shown = if value.is_nan() { "failed".into() } else { write_z(value) };
            vec![write_x(grid.x.values[i]), write_y(grid.y.values[j]), shown]
        };
        FigureTable { head: vec![x, y, z], rows: grid.filled_cells().into_iter().map(row).collect() }
    }
}

pub fn extremes(grid: &Grid) -> String {
    let values = || grid.values.indexed_iter().filter(|(_, value)| !value.is_nan());
    let least = values().min_by(|a, b| a.1.total_cmp(b.1));
    let most = values().max_by(|a, b| a.1.total_cmp(b.1));
    let (Some(least), Some(most)) = (least, most) else { return "No values.".into() };
    let describe = |((j, i), value): ((usize, usize), &f64)| {
        let place = |values: &[f64], k: usize, q: &Quantity| format!("{} {}", short(&q.label), in_words(values[k], q));
        let (x, y) = (&grid.x, &grid.y);
        format!(
            "{} at {}, {}",
            in_words(*value, &grid.z),
            place(&x.values, i, &x.quantity),
            place(&y.values, j, &y.quantity)
        )
    };
    let (z, x, y) = (&grid.z.label, &grid.x.quantity.label, &grid.y.quantity.label);
    format!(
        "{z} over {x} and {y}, {}, from {} to {}.",
        plural(values().count(), "point"),
        describe(least),
        describe(most)
    )
}

/// Returns `L` for `L (spatial locality)`.
fn short(label: &str) -> &str {
    label.split(" (").next().unwrap_or(label)
}

pub fn in_words(value: f64, quantity: &Quantity) -> String {
    match quantity.unit {
        Unit::None | Unit::Words => units::exact_number(value),
        Unit::Bytes => units::bytes(value),
        Unit::Seconds => units::seconds(value),
        unit => units::quantity(value, unit),
    }
}
