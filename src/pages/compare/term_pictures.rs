//! Maps of which term separates two machines, and of what the model leaves.

use super::Comparison;
use super::groups::MatchedGroup;
use super::pictures::{quantity, warned};
use super::terms::{ALIKE, TermCell, TermPair};
use crate::html::{Picture, if_drawable, picture};
use apexmap_base::error::Result;
use apexmap_base::units::{Unit, plural};
use apexmap_draw::figure::{Axis, Classes, Figure, Grid, Quantity};
use apexmap_study::model_fit::card::NEAR;
use ndarray::Array2;
use std::collections::HashMap;
use std::path::Path;

/// The maps of a group over two axes; none of others. Files begin with the name.
pub fn of_group(
    comparison: &Comparison,
    group: &MatchedGroup,
    pair: &TermPair,
    cells: &[&TermCell],
    (folder, name): (&Path, &str),
) -> Result<Vec<Picture>> {
    if !group.is_map() {
        return Ok(Vec::new());
    }
    let [base, other] = [0, pair.of].map(|k| comparison.machines[k].name.as_str());
    let places = group.grid(&comparison.points);
    let at_point: HashMap<usize, &TermCell> = cells.iter().map(|cell| (cell.at, *cell)).collect();
    let cells = places.map(|index| index.and_then(|index| at_point.get(&index).copied()));
    let grid = |title: String, z: Quantity, values: Array2<f64>| Grid {
        title,
        subtitle: subtitle(comparison, group, at_point.len()),
        x: axis(comparison, group, 0),
        y: axis(comparison, group, 1),
        z,
        values,
        failed: Vec::new(),
    };
    let value = |of: &dyn Fn(&TermCell) -> f64| cells.map(|cell| cell.map_or(f64::NAN, of));
    let mut drawn = Vec::new();
    let title = format!("Which term separates {other} from {base}");
    let share = Quantity { label: "its part of the logarithm of the ratio".into(), unit: Unit::None, log: false };
    let figure = Figure::Classes(Classes {
        grid: grid(title.clone(), share, value(&|cell| cell.leading().map_or(f64::NAN, |leading| leading.share))),
        classes: cells.map(|cell| Some(cell.as_ref()?.leading().map_or(0, |leading| leading.term + 1))),
        names: std::iter::once(format!("less than {ALIKE} times apart"))
            .chain(pair.names().map(str::to_owned))
            .collect(),
    });
    let caption = format!(
        "The term of the model that makes most of the measured ratio of {other} to {base}, and how much of its logarithm: above 100 % \
         where other terms act against it. Dark grey: most is not explained."
    );
    drawn.push((figure, name.to_owned(), title, caption));
    let title = format!("Speed of {other} relative to {base}: measured / predicted");
    let ratio = Quantity { label: "measured / predicted".into(), unit: Unit::None, log: true };
    let left = grid(title.clone(), ratio, value(&|cell| (-cell.unexplained()).exp()));
    let caption = format!(
        "What the cards do not predict of the ratio: above 1 (blue) {other} is faster than its card and that of {base} say, below 1 \
         (red) slower."
    );
    // Noise stays pale.
    let left = Figure::Within(Box::new(Figure::Ratio(left)), (1.0 / NEAR, NEAR));
    drawn.push((left, format!("{name}-left"), title, caption));
    let mut undrawn = Vec::new();
    let mut pictures = Vec::new();
    for (figure, file, title, caption) in drawn {
        let made = picture(folder, &figure, file, title.clone(), caption);
        pictures.extend(if_drawable(made, &title, &mut undrawn)?);
    }
    Ok(pictures)
}

fn axis(comparison: &Comparison, group: &MatchedGroup, at: usize) -> Axis {
    let values = group.values(&comparison.points, at);
    Axis { quantity: quantity(&group.axes[at], &values), values }
}

fn subtitle(comparison: &Comparison, group: &MatchedGroup, points: usize) -> String {
    let what = format!("{}: apex_map.surface with the cards, {}", group.label, plural(points, "point"));
    warned(what, &comparison.stamps_at(&group.points))
}
