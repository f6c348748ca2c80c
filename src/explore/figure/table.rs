//! A figure's data as a table, and what it shows in words: for those who cannot see it, and for calculations.

use super::{Classes, CurvePoint, Figure, Grid, Panels, Quantity, Ratios, Regions, Winners, curves};
use crate::units::{self, Unit};

/// The values of a figure. Its rows are numbered as the spots of its drawing are.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Names with units.
    pub head: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

/// Digits that are kept of a measured value.
const DIGITS: usize = 5;

/// The name of a quantity for a column, and how its values are written there: all in one unit, so that they can be
/// calculated with.
fn column(quantity: &Quantity, values: &[f64]) -> (String, impl Fn(f64) -> String + use<>) {
    let mut known: Vec<f64> = values.iter().map(|v| v.abs()).filter(|v| v.is_finite() && *v > 0.0).collect();
    known.sort_by(f64::total_cmp);
    let middle = known.get(known.len() / 2).copied().unwrap_or(1.0);
    let (factor, symbol) = match quantity.unit {
        Unit::None | Unit::Words | Unit::Cycles | Unit::Bytes => (1.0, quantity.unit.symbol().to_owned()),
        Unit::Seconds => prefixed(middle, &[(1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")]),
        Unit::BytesPerSecond => prefixed(middle, &[(1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s"), (1.0, "B/s")]),
        Unit::PerSecond => prefixed(middle, &[(1e9, "G/s"), (1e6, "M/s"), (1e3, "k/s"), (1.0, "1/s")]),
        unit => (1.0, unit.symbol().to_owned()),
    };
    let name = if symbol.is_empty() { quantity.label.clone() } else { format!("{}, {symbol}", quantity.label) };
    (name, move |value: f64| written(value / factor))
}

fn prefixed(value: f64, names: &[(f64, &str)]) -> (f64, String) {
    let (factor, name) = names.iter().find(|(factor, _)| value >= *factor).unwrap_or(&names[names.len() - 1]);
    (*factor, (*name).to_owned())
}

/// Whole numbers in full, others to five digits; nothing for what is not known.
fn written(value: f64) -> String {
    if value.is_nan() {
        return String::new();
    }
    if value.fract() == 0.0 && value.abs() < 1e15 {
        return value.to_string();
    }
    let rounded: f64 = format!("{value:.*e}", DIGITS - 1).parse().unwrap_or(value);
    if (1e-4..1e15).contains(&rounded.abs()) { rounded.to_string() } else { format!("{rounded:e}") }
}

impl Figure {
    pub fn table(&self) -> Table {
        match self {
            Figure::Surface(grid, _) | Figure::Contour(grid) | Figure::Heat(grid) | Figure::Ratio(grid) => {
                of_grid(grid)
            }
            Figure::Regions(regions) => of_regions(regions),
            Figure::Layers(grid, ..) | Figure::Classes(Classes { grid, .. }) => of_grid(grid),
            Figure::RatioMap(ratios) | Figure::RatioSurface(ratios, _) | Figure::RatioContour(ratios) => {
                of_ratios(ratios)
            }
            Figure::Winners(winners) => of_winners(winners),
            Figure::Panels(panels) => of_panels(panels),
            Figure::Within(figure, _) => figure.table(),
            Figure::Curves(curves) | Figure::Model(curves) | Figure::RatioCurve(curves) => {
                let known: Vec<(&str, CurvePoint)> = curves
                    .series
                    .iter()
                    .flat_map(|series| {
                        curves::by_x(&series.points).into_iter().map(|point| (series.label.as_str(), point))
                    })
                    .filter(|(_, point)| !point.y.is_nan())
                    .collect();
                let all = |of: fn(&CurvePoint) -> f64| known.iter().map(|(_, p)| of(p)).collect::<Vec<f64>>();
                let (x, write_x) = column(&curves.x, &all(|p| p.x));
                let (y, write_y) = column(&curves.y, &all(|p| p.y));
                let named = curves.series.iter().any(|series| !series.label.is_empty());
                let bands = known.iter().any(|(_, p)| p.low.is_finite() && p.high.is_finite());
                let mut head = vec![x, y];
                if named {
                    head.insert(0, "curve".into());
                }
                if bands {
                    head.extend(["from (95 %)".to_owned(), "to".to_owned()]);
                }
                let row = |(label, point): &(&str, CurvePoint)| {
                    let mut row = vec![write_x(point.x), write_y(point.y)];
                    if named {
                        row.insert(0, (*label).to_owned());
                    }
                    if bands {
                        row.extend([write_y(point.low), write_y(point.high)]);
                    }
                    row
                };
                Table { head, rows: known.iter().map(row).collect() }
            }
        }
    }

    /// What the figure shows, in a few words.
    pub fn description(&self) -> String {
        match self {
            Figure::Surface(grid, _) => format!("3-D surface. {}", of_values(grid)),
            Figure::Contour(grid) => format!("Filled contours. {}", of_values(grid)),
            Figure::Layers(grid, ..) => format!("3-D surface below the machine's own limit. {}", of_values(grid)),
            Figure::Classes(map) => {
                let of = |class: usize| map.classes.iter().filter(|found| **found == Some(class)).count();
                let each = map.names.iter().enumerate().map(|(class, name)| (name, of(class)));
                let each: Vec<_> = each.filter(|(_, count)| *count > 0).collect();
                let each: Vec<_> = each.iter().map(|(name, count)| format!("{name} at {count} points")).collect();
                format!("Map of what binds: {}. {}", each.join(", "), of_values(&map.grid))
            }
            Figure::Heat(grid) => format!("Heat map. {}", of_values(grid)),
            Figure::Ratio(grid) => format!("Heat map of ratios. {}", of_values(grid)),
            Figure::Regions(regions) => {
                let (x, y) = (&regions.x.quantity.label, &regions.y.quantity.label);
                format!("Map over {x} and {y} of: {}.", regions.names.join(", "))
            }
            Figure::RatioMap(ratios) | Figure::RatioSurface(ratios, _) | Figure::RatioContour(ratios) => {
                format!("Ratios. {} {} of them may be 1.", of_values(&ratios.grid), ratios.undecided.len())
            }
            Figure::Winners(winners) => {
                let won = |k: usize| winners.listed().iter().filter(|(_, who)| *who == k).count();
                let each = winners.names.iter().enumerate().map(|(k, name)| format!("{name} at {} points", won(k)));
                format!("Map of the fastest: {}.", each.collect::<Vec<_>>().join(", "))
            }
            Figure::Panels(panels) => {
                let each = panels.grids.iter().map(|grid| format!("{}: {}", grid.title, of_values(grid)));
                format!("Filled contours next to each other. {}", each.collect::<Vec<_>>().join(" "))
            }
            Figure::Within(figure, _) => figure.description(),
            Figure::Curves(curves) | Figure::Model(curves) | Figure::RatioCurve(curves) => {
                let points = || curves.series.iter().flat_map(|series| &series.points).filter(|p| !p.y.is_nan());
                let least = points().min_by(|a, b| a.y.total_cmp(&b.y));
                let most = points().max_by(|a, b| a.y.total_cmp(&b.y));
                let (Some(least), Some(most)) = (least, most) else { return "No values.".into() };
                let at = |p: &CurvePoint| format!("{} at {}", said(p.y, &curves.y), said(p.x, &curves.x));
                let count = curves.series.len();
                format!(
                    "{count} curve{} of {} over {}, from {} to {}.",
                    if count == 1 { "" } else { "s" },
                    curves.y.label,
                    curves.x.label,
                    at(least),
                    at(most)
                )
            }
        }
    }
}

fn of_grid(grid: &Grid) -> Table {
    let (x, write_x) = column(&grid.x.quantity, &grid.x.values);
    let (y, write_y) = column(&grid.y.quantity, &grid.y.values);
    let values: Vec<f64> = grid.values.iter().copied().collect();
    let (z, write_z) = column(&grid.z, &values);
    let row = |(j, i): (usize, usize)| {
        let value = grid.values[(j, i)];
        let shown = if value.is_nan() { "failed".into() } else { write_z(value) };
        vec![write_x(grid.x.values[i]), write_y(grid.y.values[j]), shown]
    };
    Table { head: vec![x, y, z], rows: grid.listed().into_iter().map(row).collect() }
}

fn of_regions(regions: &Regions) -> Table {
    let (x, write_x) = column(&regions.x.quantity, &regions.x.values);
    let (y, write_y) = column(&regions.y.quantity, &regions.y.values);
    let row = |((j, i), name): ((usize, usize), usize)| {
        vec![write_x(regions.x.values[i]), write_y(regions.y.values[j]), regions.names[name].clone()]
    };
    Table { head: vec![x, y, "which".into()], rows: regions.listed().into_iter().map(row).collect() }
}

/// The table of the grid, and whether a ratio is decided or who did not finish.
fn of_ratios(ratios: &Ratios) -> Table {
    let mut table = of_grid(&ratios.grid);
    table.head.push("95 % interval".into());
    for (row, at) in table.rows.iter_mut().zip(ratios.grid.listed()) {
        let unfinished = ratios.grid.failed.iter().position(|failed| *failed == at);
        row.push(match unfinished {
            Some(k) => format!("not finished: {}", ratios.unfinished[k]),
            None if ratios.undecided.contains(&at) => "includes 1".into(),
            None => "leaves out 1".into(),
        });
    }
    table
}

fn of_winners(winners: &Winners) -> Table {
    let (x, write_x) = column(&winners.x.quantity, &winners.x.values);
    let (y, write_y) = column(&winners.y.quantity, &winners.y.values);
    let row = |((j, i), who): ((usize, usize), usize)| {
        let decided = if winners.undecided.contains(&(j, i)) { "may be 1" } else { "yes" };
        let (x, y) = (write_x(winners.x.values[i]), write_y(winners.y.values[j]));
        vec![x, y, winners.names[who].clone(), written(winners.lead[(j, i)]), decided.into()]
    };
    let head = vec![x, y, "fastest".into(), "times as fast as the next".into(), "decided".into()];
    Table { head, rows: winners.listed().into_iter().map(row).collect() }
}

/// All panels one below the other, in one unit.
fn of_panels(panels: &Panels) -> Table {
    let Some(first) = panels.grids.first() else { return Table { head: Vec::new(), rows: Vec::new() } };
    let values: Vec<f64> = panels.grids.iter().flat_map(|grid| grid.values.iter().copied()).collect();
    let (x, write_x) = column(&first.x.quantity, &first.x.values);
    let (y, write_y) = column(&first.y.quantity, &first.y.values);
    let (z, write_z) = column(&first.z, &values);
    let row = |grid: &Grid, (j, i): (usize, usize)| {
        let value = grid.values[(j, i)];
        let shown = if value.is_nan() { "failed".into() } else { write_z(value) };
        vec![grid.title.clone(), write_x(grid.x.values[i]), write_y(grid.y.values[j]), shown]
    };
    let rows = panels.grids.iter().flat_map(|grid| grid.listed().into_iter().map(move |at| (grid, at)));
    Table { head: vec!["machine".into(), x, y, z], rows: rows.map(|(grid, at)| row(grid, at)).collect() }
}

fn of_values(grid: &Grid) -> String {
    let known = || grid.values.indexed_iter().filter(|(_, value)| !value.is_nan());
    let least = known().min_by(|a, b| a.1.total_cmp(b.1));
    let most = known().max_by(|a, b| a.1.total_cmp(b.1));
    let (Some(least), Some(most)) = (least, most) else { return "No values.".into() };
    let at = |((j, i), value): ((usize, usize), &f64)| {
        let place = |values: &[f64], k: usize, q: &Quantity| format!("{} {}", short(&q.label), said(values[k], q));
        let (x, y) = (&grid.x, &grid.y);
        format!(
            "{} at {}, {}",
            said(*value, &grid.z),
            place(&x.values, i, &x.quantity),
            place(&y.values, j, &y.quantity)
        )
    };
    let (z, x, y) = (&grid.z.label, &grid.x.quantity.label, &grid.y.quantity.label);
    format!("{z} over {x} and {y}, {} points, from {} to {}.", known().count(), at(least), at(most))
}

/// `L` of `L (spatial locality)`.
fn short(label: &str) -> &str {
    label.split(" (").next().unwrap_or(label)
}

fn said(value: f64, quantity: &Quantity) -> String {
    match quantity.unit {
        Unit::None | Unit::Words => units::exact(value),
        Unit::Bytes => units::bytes(value),
        Unit::Seconds => units::seconds(value),
        unit => units::quantity(value, unit),
    }
}
