//! Figures of the ratios by group: maps, curves, contours, surfaces, and the contours of each machine.

use super::MAX_GROUPS;
use super::prelude::*;
use crate::compare::geometric_mean::geometric_mean;
use crate::compare::ratio::{adjust, ratio};
use crate::html::{ViewerSurface, file_name};
use apexmap_draw::figure::{
    Categories, CellText, FigureOptions, MAX_PANELS, MAX_WINNERS, Panels, RatioForm, Ratios, View,
};
use apexmap_theory::statistics::rank_tests::MannWhitney;
use ndarray::Array2;
use std::collections::HashMap;

#[derive(Serialize)]
pub struct RatioFigures {
    sections: Vec<GroupFigures>,
    unshown: Vec<String>,
}

#[derive(Serialize)]
pub struct GroupFigures {
    label: String,
    pub shown: Vec<Picture>,
    folded: Vec<Picture>,
    #[serde(skip)]
    surfaces: Vec<ViewerSurface>,
    #[serde(skip)]
    undrawn: Vec<String>,
}

impl RatioFigures {
    pub fn new(comparison: &Comparison, folder: &Path) -> Result<Self> {
        let (mut sections, mut unshown): (Vec<GroupFigures>, _) = (Vec::new(), Vec::new());
        for group in comparison.groups().filter(|group| !group.axes.is_empty()) {
            if sections.len() < MAX_GROUPS {
                sections.push(GroupFigures::new(group, folder)?);
            } else {
                unshown.push(format!("{}.", group.label));
            }
        }
        unshown.extend(sections.iter_mut().flat_map(|section| std::mem::take(&mut section.undrawn)));
        sections.retain(|section| !(section.shown.is_empty() && section.folded.is_empty()));
        Ok(Self { sections, unshown })
    }

    pub fn take_lead(&mut self) -> Option<Picture> {
        let with_surfaces = self.sections.iter().position(|section| !section.surfaces.is_empty()).unwrap_or(0);
        let first = self.sections.get_mut(with_surfaces).filter(|section| !section.shown.is_empty())?;
        Some(first.shown.remove(0))
    }

    pub fn surfaces(&self) -> Option<Value> {
        let surfaces: Vec<&ViewerSurface> = self.sections.iter().flat_map(|section| &section.surfaces).collect();
        (!surfaces.is_empty()).then(|| json!({ "viewer": { "surfaces": surfaces } }))
    }

    pub fn section(&self) -> Option<&Self> {
        Some(self).filter(|section| !section.sections.is_empty())
    }
}

impl GroupFigures {
    pub fn new(group: Group, folder: &Path) -> Result<Self> {
        let comparison = group.comparison;
        let machines = 1..comparison.machines.len();
        let (mut shown, mut folded) = (Vec::new(), Vec::new());
        if group.is_map() {
            for machine in machines {
                let mut drawings = ratio_maps(group, machine).into_iter();
                shown.extend(drawings.next());
                folded.extend(drawings);
            }
            // With two machines, the ratio already shows which is faster.
            let list = if comparison.machines.len() > 2 { &mut shown } else { &mut folded };
            list.extend(winners(group));
        } else if group.axes.len() == 1 {
            shown.extend(machines.filter_map(|machine| ratio_curve(group, machine)));
        }
        let grids = if group.is_surface() { medians(group) } else { Vec::new() };
        folded.extend(contours(group, &grids));
        // A surface needs two values along each axis. The contours report this, so skip the surface silently.
        let surface =
            |grid: &Grid| ViewerSurface::from_grid(grid.title.clone(), group.label.clone(), &grid.transpose()).ok();
        let surfaces = grids.iter().filter_map(surface).collect();
        let mut undrawn = Vec::new();
        let mut draw = |drawings: Vec<Drawing>| -> Result<Vec<Picture>> {
            let mut pictures = Vec::new();
            for drawing in drawings {
                let file = file_name(&drawing.file, &group.label);
                pictures.extend(Drawing { file, ..drawing }.draw(folder, &mut undrawn)?);
            }
            Ok(pictures)
        };
        let (shown, folded) = (draw(shown)?, draw(folded)?);
        Ok(Self { label: group.label.clone(), shown, folded, surfaces, undrawn })
    }
}

fn grid(group: Group, title: String, subtitle: String, z: Quantity, values: Array2<f64>, failed: Vec<Place>) -> Grid {
    let [x, y] = [0, 1].map(|axis| group.axis(axis));
    Grid { title, subtitle, x, y, z, values, failed }
}

fn ratio_maps(group: Group, machine: usize) -> Vec<Drawing> {
    let ratios = ratios(group, machine);
    if ratios.grid.values.iter().all(|ratio| ratio.is_nan()) {
        return Vec::new();
    }
    let (name, base) = (group.comparison.name(machine), group.comparison.name(0));
    let how = group.comparison.decision.text();
    let suffix = if group.comparison.machines.len() > 2 { format!("-{machine}-over-0") } else { String::new() };
    let title = ratios.grid.title.clone();
    let drawing = |figure: Figure, kind: &str, caption: String| Drawing {
        figure,
        file: format!("ratio-{kind}{suffix}"),
        title: format!("{title}: {kind}"),
        caption,
    };
    let exact = group.is_exact();
    let hatched = match exact {
        true => format!("The ratios are {EXACT}."),
        false => format!("Hatched: not certain ({how}), or too few samples for an interval."),
    };
    let caption = format!(
        "Speed of {name} relative to {base} at every point: above 1 (blue) {name} is faster, below 1 (red) it is slower. {hatched}"
    );
    let map = drawing(Figure::Ratios(ratios.clone(), RatioForm::Map), "map", caption);
    if !has_square(&ratios.grid.values) {
        return vec![map];
    }
    let like = if group.is_surface() { " (as in Figures 5 and 6 of the Apex-Map paper)" } else { "" };
    let marks = match exact {
        true => format!("Triangles: above 1 (pointing up) or below 1 (pointing down), {EXACT}."),
        false => format!(
            "Triangles: certainly above 1 (pointing up) or below 1 (pointing down); rings: not certain ({how})."
        ),
    };
    let caption = format!("The same ratio as contours{like}. {marks}");
    let contours = drawing(Figure::Ratios(ratios.clone(), RatioForm::Contour), "contours", caption);
    let undecided = ratios.undecided.iter().map(|(j, i)| (*i, *j)).collect();
    // Turn the grid so that alpha is along x, as in the paper's surfaces.
    let turned = Ratios { grid: ratios.grid.transpose(), undecided, ..ratios };
    let caption = format!("The same ratio as a surface{like}; white and the bold line mark 1. {marks}");
    vec![map, contours, drawing(Figure::Ratios(turned, RatioForm::Surface(View::default())), "surface", caption)]
}

fn ratios(group: Group, machine: usize) -> Ratios {
    let (comparison, decision) = (group.comparison, group.comparison.decision);
    let places = group.grid();
    let mut values = Array2::from_elem(places.dim(), f64::NAN);
    let (mut undecided, mut failed, mut unfinished) = (Vec::new(), Vec::new(), Vec::new());
    for (place, index) in places.indexed_iter() {
        let Some(index) = *index else { continue };
        let data = &comparison.point(index).by_machine;
        let (Some(a), Some(b)) = (&data[machine], &data[0]) else { continue };
        if let Some(tested) = comparison.ratio(machine, index) {
            values[place] = tested.ratio.value;
            undecided.extend(decision.leaves_open(tested).then_some(place));
        } else {
            failed.push(place);
            unfinished.push(match (a.samples(), b.samples()) {
                (0, 0) => "both".to_owned(),
                (0, _) => comparison.name(machine).to_owned(),
                _ => comparison.name(0).to_owned(),
            });
        }
    }
    let cells = plural(values.iter().filter(|ratio| !ratio.is_nan()).count(), "point");
    let title = format!("Speed of {} relative to {}", comparison.name(machine), group.comparison.name(0));
    let subtitle = match group.is_exact() {
        true => format!("{cells}, {EXACT}"),
        false => format!("{cells}, {} of them not certain ({})", undecided.len(), decision.text()),
    };
    let z = Quantity::log(comparison.title(machine), Unit::None);
    let grid = grid(group, title, group.subtitle(&subtitle), z, values, failed);
    Ratios { grid, undecided, undecided_label: decision.undecided_label(), unfinished }
}

fn ratio_curve(group: Group, machine: usize) -> Option<Drawing> {
    let point = |&index: &usize| {
        let ratio = group.comparison.ratio(machine, index)?.ratio;
        let x = group.comparison.point(index).number(&group.axes[0])?;
        let (low, high) = ratio.interval.filter(|_| ratio.basis != Basis::Exact).unwrap_or((f64::NAN, f64::NAN));
        Some(CurvePoint { x, y: ratio.value, low, high })
    };
    let points: Vec<CurvePoint> = group.points.iter().filter_map(point).collect();
    if points.len() < 2 {
        return None;
    }
    let banded = points.iter().any(|point| point.low.is_finite());
    let is_single = |index: &usize| {
        group.comparison.ratio(machine, *index).is_some_and(|tested| tested.ratio.basis == Basis::Samples)
    };
    let band = match banded {
        true if group.points.iter().any(is_single) => {
            "the band is its 95 % interval, in part within single launches, which decide nothing"
        }
        true => "the band is its 95 % interval",
        false if group.is_exact() => EXACT,
        false => "its uncertainty is unknown",
    };
    let names = group.comparison.title(machine);
    let title = format!("Speed ratio {names}");
    let caption = format!("{title}: above the line at 1, {} is faster; {band}.", group.comparison.name(machine));
    let curves = Curves::new(
        title.clone(),
        group.subtitle(&plural(points.len(), "point")),
        group.axis(0).quantity,
        Quantity::log(names, Unit::None),
        vec![Series { label: String::new(), points }],
    );
    let figure = Figure::Curves(curves).with(FigureOptions { level: Some(1.0), ..FigureOptions::default() });
    Some(Drawing { figure, file: format!("ratio-curve-{machine}"), title, caption })
}

fn winners(group: Group) -> Option<Drawing> {
    let Comparison { machines, decision, .. } = group.comparison;
    if machines.len() > MAX_WINNERS {
        return None;
    }
    let places = group.grid();
    let mut fastest = Array2::from_elem(places.dim(), None);
    let mut margin = Array2::from_elem(places.dim(), f64::NAN);
    let (mut tested, mut ratios, mut failed) = (Vec::new(), Vec::new(), Vec::new());
    let mut tests = MannWhitney::default();
    // What may explain the mean of two machines may explain any point.
    let mut explained: HashMap<(usize, usize), Option<usize>> = HashMap::new();
    let points = group.comparison.matched_points();
    for (place, index) in places.indexed_iter() {
        let Some(index) = *index else { continue };
        let data = &group.comparison.point(index).by_machine;
        failed.extend(data.iter().flatten().any(|data| data.samples() == 0).then_some(place));
        let speed = |machine: usize| Some((machine, group.comparison.speed(machine, index)?));
        let mut order: Vec<(usize, f64)> = (0..machines.len()).filter_map(speed).collect();
        order.sort_by(|a, b| b.1.total_cmp(&a.1));
        let Some(&(mut first, _)) = order.first() else { continue };
        if let Some(&(second, _)) = order.get(1)
            && let (Some(a), Some(b)) = (&data[first], &data[second])
            && let Some(mut ratio) = ratio(a, b, &mut tests)
        {
            if ratio.slowed != [1.0; 2] {
                let side = explained.entry((first, second)).or_insert_with(|| {
                    let mean = geometric_mean(&points, first, second, &mut tests);
                    mean.and_then(|mean| mean.explained_by())
                });
                side.iter().for_each(|&side| ratio.slowed[side] = f64::INFINITY);
            }
            // Decide by the ratio, as elsewhere. If two machines are close, it may reverse the order of the medians.
            if ratio.value < 1.0 {
                first = second;
            }
            margin[place] = ratio.value.max(1.0 / ratio.value);
            tested.push(place);
            ratios.push(ratio);
        }
        fastest[place] = Some(first);
    }
    let open = tested.into_iter().zip(adjust(ratios)).filter(|(_, tested)| decision.leaves_open(tested));
    let title = "Fastest machine by region".to_owned();
    let subtitle = group.subtitle("speed relative to the second fastest");
    let z = Quantity::log("speed / second fastest", Unit::None);
    let undecided = open.map(|(place, _)| place).collect();
    let winners = Categories {
        grid: grid(group, title.clone(), subtitle, z, margin, failed),
        cells: fastest,
        names: machines.iter().map(|machine| machine.name.clone()).collect(),
        shown: CellText::Lead { undecided, undecided_label: decision.undecided_label() },
    };
    let hatched = match group.is_exact() {
        true => format!("The ratios are {EXACT}."),
        false => format!("Pale and hatched: not certain ({}).", decision.text()),
    };
    let caption =
        format!("The fastest machine at every point, and its speed relative to the second fastest. {hatched}");
    Some(Drawing { figure: Figure::Categories(winners), file: "winners".to_owned(), title, caption })
}

fn medians(group: Group) -> Vec<Grid> {
    let (places, described) = (group.grid(), columns::describe(group.headline));
    let grid = |k: usize| {
        let data = |index: usize| group.comparison.point(index).by_machine[k].as_ref();
        let is_failed = |index: usize| data(index).is_some_and(|data| data.speed().is_none());
        let failed = places.indexed_iter().filter(|(_, index)| index.is_some_and(is_failed)).map(|(place, _)| place);
        let z = Quantity::log(described.label.clone(), described.unit);
        let values = group.speeds(k);
        grid(group, group.comparison.name(k).to_owned(), String::new(), z, values, failed.collect())
    };
    let mut grids: Vec<Grid> = (0..group.comparison.machines.len()).map(grid).collect();
    grids.retain(|grid| has_square(&grid.values));
    grids
}

/// As in Figure 7 of the Apex-Map paper.
fn contours(group: Group, grids: &[Grid]) -> Vec<Drawing> {
    let panels = |(number, grids): (usize, &[Grid])| {
        let title = "Contours side by side, on the same scale".to_owned();
        let caption = "Lines of equal bandwidth of each machine at the matched points (as in Figure 7 of the \
             Apex-Map paper). Where lines run parallel to an axis, that kind of locality hardly matters.";
        let panels = Panels { title: title.clone(), subtitle: group.subtitle("medians"), grids: grids.to_vec() };
        let file = if number == 0 { "contours".to_owned() } else { format!("contours-{number}") };
        Drawing { figure: Figure::Panels(panels), file, title, caption: caption.into() }
    };
    grids.chunks(MAX_PANELS).enumerate().map(panels).collect()
}

type Place = (usize, usize);

/// Four neighbouring points with values, as contours and surfaces need them.
fn has_square(values: &Array2<f64>) -> bool {
    values.windows((2, 2)).into_iter().any(|four| four.iter().all(|value| !value.is_nan()))
}
