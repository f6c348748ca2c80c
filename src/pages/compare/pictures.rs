//! The figures of a comparison: ratios as maps, contours and surfaces; who wins where; contours side by side.

use super::Comparison;
use super::decisions::{self, Decision};
use super::groups::MatchedGroup;
use super::ratio::{Ratio, ratio};
use super::scope::Scope;
use crate::html::{Picture, ViewerSurface, if_drawable, picture};
use apexmap_base::error::Result;
use apexmap_base::units::{Unit, plural};
use apexmap_draw::figure::{
    Axis, CurvePoint, Curves, Figure, Grid, MOST_PANELS, MOST_WINNERS, Panels, Quantity, Ratios, Series, View, Winners,
};
use apexmap_draw::plot;
use apexmap_results::table::columns;
use apexmap_theory::statistics::rank_tests::MannWhitney;
use ndarray::Array2;
use std::path::Path;

/// A group with its figures.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Section {
    pub label: String,
    /// Maps and curves of ratios.
    pub shown: Vec<Picture>,
    /// The same as contours and surfaces, and the medians themselves.
    pub folded: Vec<Picture>,
    /// The surface of each machine, to be turned.
    #[serde(skip)]
    pub surfaces: Vec<ViewerSurface>,
    /// What cannot be drawn, and why.
    pub undrawn: Vec<String>,
}

/// All figures of a group; `number` is part of their files' names.
pub fn of_group(comparison: &Comparison, group: &MatchedGroup, number: usize, folder: &Path) -> Result<Section> {
    let mut drawer = Drawer {
        comparison,
        group,
        number,
        folder,
        shown: Vec::new(),
        folded: Vec::new(),
        surfaces: Vec::new(),
        undrawn: Vec::new(),
    };
    for of in 1..comparison.machines.len() {
        if group.is_map() {
            drawer.ratios(of)?;
        } else if group.axes.len() == 1 {
            drawer.curves(of)?;
        }
    }
    if group.is_map() {
        drawer.winners()?;
    }
    if group.is_surface() {
        drawer.contours()?;
    }
    let Drawer { shown, folded, surfaces, undrawn, .. } = drawer;
    Ok(Section { label: group.label.clone(), shown, folded, surfaces, undrawn })
}

struct Drawer<'a> {
    comparison: &'a Comparison<'a>,
    group: &'a MatchedGroup,
    number: usize,
    folder: &'a Path,
    shown: Vec<Picture>,
    folded: Vec<Picture>,
    surfaces: Vec<ViewerSurface>,
    undrawn: Vec<String>,
}

impl Drawer<'_> {
    fn add(&mut self, drawn: &Figure, name: &str, title: String, caption: String) -> Result<()> {
        let file = format!("{name}-{}", self.number);
        // Between two machines the ratio tells who wins.
        let several = self.comparison.machines.len() > 2;
        let list = match drawn {
            Figure::RatioMap(_) | Figure::RatioCurve(_) => &mut self.shown,
            Figure::Winners(_) if several => &mut self.shown,
            _ => &mut self.folded,
        };
        let picture = picture(self.folder, drawn, file, title.clone(), caption);
        list.extend(if_drawable(picture, &title, &mut self.undrawn)?);
        Ok(())
    }

    fn decision(&self) -> Decision {
        self.comparison.decision
    }

    fn name(&self, machine: usize) -> &str {
        &self.comparison.machines[machine].name
    }

    /// The subtitle of every figure: the points, the basis, and every unequal condition that was allowed.
    fn subtitle(&self, what: String) -> String {
        warned(format!("{}: {what}", self.group.label), &self.comparison.stamps_at(&self.group.points))
    }

    fn axis(&self, at: usize) -> Axis {
        let values = self.group.values(&self.comparison.points, at);
        Axis { quantity: quantity(&self.group.axes[at], &values), values }
    }

    fn ratios(&mut self, of: usize) -> Result<()> {
        let found = self.ratios_of(of);
        let which = if self.comparison.machines.len() > 2 { format!("-{of}-over-0") } else { String::new() };
        if found.grid.values.iter().all(|ratio| ratio.is_nan()) {
            return Ok(());
        }
        let caption = format!(
            "Speed of {} relative to {} at every point: above 1 (blue) {} is faster, below 1 (red) slower. Hatched: \
             not significant ({}), or too few samples for an interval.",
            self.name(of),
            self.name(0),
            self.name(of),
            self.decision().text()
        );
        let title = found.grid.title.clone();
        let file = |kind: &str| format!("ratio-{kind}{which}");
        self.add(&Figure::RatioMap(found.clone()), &file("map"), format!("{title}: map"), caption)?;
        if !has_square(&found.grid.values) {
            return Ok(());
        }
        let like = if self.group.is_surface() { " (as in Figures 5 and 6 of the Apex-Map paper)" } else { "" };
        let marks = format!(
            "Triangles: significantly above 1 (pointing up) or below 1 (pointing down); rings: not significant ({}).",
            self.decision().text()
        );
        let caption = format!("The same ratio as contours{like}. {marks}");
        self.add(&Figure::RatioContour(found.clone()), &file("contours"), format!("{title}: contours"), caption)?;
        let undecided = found.undecided.iter().map(|(j, i)| (*i, *j)).collect();
        // With alpha along x, as the paper's surfaces have it.
        let turned = Ratios { grid: found.grid.turned(), undecided, ..found };
        let caption = format!("The same ratio as a surface{like}; white and the bold line mark 1. {marks}");
        let drawn = Figure::RatioSurface(turned, View::default());
        self.add(&drawn, &file("surface"), format!("{title}: surface"), caption)
    }

    fn ratios_of(&self, of: usize) -> Ratios {
        let points = &self.comparison.points;
        let places = self.group.grid(points);
        let mut values = Array2::from_elem(places.dim(), f64::NAN);
        let (mut undecided, mut failed, mut unfinished) = (Vec::new(), Vec::new(), Vec::new());
        let known = decisions::all(self.comparison, of, Scope::All, &self.comparison.matched);
        for (at, index) in places.indexed_iter() {
            let Some(index) = *index else { continue };
            let (Some(a), Some(b)) = (&points.points[index].by_machine[of], &points.points[index].by_machine[0]) else {
                continue;
            };
            match known.get(&index) {
                Some(found) => {
                    values[at] = found.ratio.value;
                    if !found.decided {
                        undecided.push(at);
                    }
                }
                None => {
                    let who = match (a.samples(), b.samples()) {
                        (0, 0) => "both".to_owned(),
                        (0, _) => self.name(of).to_owned(),
                        _ => self.name(0).to_owned(),
                    };
                    failed.push(at);
                    unfinished.push(who);
                }
            }
        }
        let cells = values.iter().filter(|ratio| !ratio.is_nan()).count();
        let open = undecided.len();
        let grid = Grid {
            title: format!("Speed of {} relative to {}", self.name(of), self.name(0)),
            subtitle: self.subtitle(format!(
                "{}, {open} of them not significant ({})",
                plural(cells, "point"),
                self.decision().text()
            )),
            x: self.axis(0),
            y: self.axis(1),
            z: Quantity { label: format!("{} / {}", self.name(of), self.name(0)), unit: Unit::None, log: true },
            values,
            failed,
        };
        Ratios { grid, undecided, undecided_label: self.decision().undecided(), unfinished }
    }

    /// The ratio over a single axis, with its interval.
    fn curves(&mut self, of: usize) -> Result<()> {
        let axis = self.axis(0);
        let mut tests = MannWhitney::default();
        let mut points = Vec::new();
        for &at in &self.group.points {
            let point = &self.comparison.points.points[at];
            let (Some(a), Some(b)) = (&point.by_machine[of], &point.by_machine[0]) else { continue };
            let (Some(found), Some(x)) = (ratio(a, b, &mut tests), point.number(&self.group.axes[0])) else {
                continue;
            };
            let (low, high) = found.interval.unwrap_or((f64::NAN, f64::NAN));
            points.push(CurvePoint { x, y: found.value, low, high });
        }
        if points.len() < 2 {
            return Ok(());
        }
        let banded = points.iter().any(|point| point.low.is_finite());
        let band = if banded { "the band is its 95 % interval" } else { "its uncertainty is unknown" };
        let which = format!("{} / {}", self.name(of), self.name(0));
        let title = format!("Speed ratio {which}");
        let y = Quantity { label: which, unit: Unit::None, log: true };
        let curves = Curves {
            title: title.clone(),
            subtitle: self.subtitle(plural(points.len(), "point")),
            x: axis.quantity,
            y,
            series: vec![Series { label: String::new(), points }],
            marks: Vec::new(),
        };
        let caption = format!("{title}: above the line at 1, {} is faster; {band}.", self.name(of));
        self.add(&Figure::RatioCurve(curves), &format!("ratio-curve-{of}"), title, caption)
    }

    fn winners(&mut self) -> Result<()> {
        if self.comparison.machines.len() > MOST_WINNERS {
            return Ok(());
        }
        let points = &self.comparison.points;
        let places = self.group.grid(points);
        let mut fastest = Array2::from_elem(places.dim(), None);
        let mut margin = Array2::from_elem(places.dim(), f64::NAN);
        let (mut places_tested, mut ratios, mut failed) = (Vec::new(), Vec::new(), Vec::new());
        let mut tests = MannWhitney::default();
        for (at, index) in places.indexed_iter() {
            let Some(index) = *index else { continue };
            let data = &points.points[index].by_machine;
            if data.iter().flatten().any(|data| data.samples() == 0) {
                failed.push(at);
            }
            let mut order: Vec<(usize, f64)> =
                data.iter().enumerate().filter_map(|(k, data)| Some((k, data.as_ref()?.speed()?))).collect();
            order.sort_by(|a, b| b.1.total_cmp(&a.1));
            let Some(&(mut first, _)) = order.first() else { continue };
            if let Some(&(second, _)) = order.get(1)
                && let (Some(a), Some(b)) = (&data[first], &data[second])
                && let Some(found) = ratio(a, b, &mut tests)
            {
                // By the ratio as everywhere: where two are close, it may turn the order of the medians around.
                if found.value < 1.0 {
                    first = second;
                }
                margin[at] = found.value.max(1.0 / found.value);
                places_tested.push(at);
                ratios.push(found);
            }
            fastest[at] = Some(first);
        }
        let decided = places_tested.into_iter().zip(self.decision().of(&ratios));
        let undecided = decided.filter(|(_, decided)| !decided).map(|(at, _)| at).collect();
        let title = "Fastest machine by region".to_owned();
        let winners = Winners {
            title: title.clone(),
            subtitle: self.subtitle("speed relative to the second fastest".into()),
            x: self.axis(0),
            y: self.axis(1),
            names: self.comparison.machines.iter().map(|machine| machine.name.clone()).collect(),
            fastest,
            margin,
            undecided,
            undecided_label: self.decision().undecided(),
            failed,
        };
        let caption = format!(
            "The fastest machine at every point, and its speed relative to the second fastest. Pale and hatched: not \
             significant ({}).",
            self.decision().text()
        );
        self.add(&Figure::Winners(winners), "winners", title, caption)
    }

    /// Figure 7: contour plots of the machines next to each other, on one scale.
    fn contours(&mut self) -> Result<()> {
        let points = &self.comparison.points;
        let places = self.group.grid(points);
        let mut grids: Vec<Grid> = Vec::new();
        for (k, machine) in self.comparison.machines.iter().enumerate() {
            let values = self.group.speeds(points, k);
            let measured = |index: &Option<usize>| index.is_some_and(|at| points.points[at].by_machine[k].is_some());
            let failed = places.indexed_iter().filter(|(at, index)| values[*at].is_nan() && measured(index));
            let failed = failed.map(|(at, _)| at).collect();
            let described = columns::describe(self.group.headline);
            let z = Quantity { label: described.label, unit: described.unit, log: true };
            let (x, y) = (self.axis(0), self.axis(1));
            let subtitle = String::new();
            grids.push(Grid { title: machine.name.clone(), subtitle, x, y, z, values, failed });
        }
        grids.retain(|grid| has_square(&grid.values));
        // A surface needs two values along each axis; contours say so.
        let surface =
            |grid: &Grid| ViewerSurface::of(grid.title.clone(), self.group.label.clone(), &grid.turned()).ok();
        self.surfaces = grids.iter().filter_map(surface).collect();
        for (k, grids) in grids.chunks(MOST_PANELS).enumerate() {
            let title = "Contours side by side, on the same scale".to_owned();
            let caption = "Lines of equal bandwidth of each machine at the matched points (as in Figure 7 of the \
                 Apex-Map paper). Where lines run parallel to an axis, that kind of locality hardly matters.";
            let subtitle = self.subtitle("medians".into());
            let panels = Panels { title: title.clone(), subtitle, grids: grids.to_vec() };
            let name = if k == 0 { "contours".to_owned() } else { format!("contours-{k}") };
            self.add(&Figure::Panels(panels), &name, title, caption.into())?;
        }
        Ok(())
    }
}

/// A subtitle with warnings, which stand on their own line.
pub fn warned(subtitle: String, stamps: &[String]) -> String {
    if stamps.is_empty() { subtitle } else { format!("{subtitle}\n{}", stamps.join(". ")) }
}

/// Whether there are four neighbours, between which contours and surfaces are drawn.
fn has_square(values: &Array2<f64>) -> bool {
    values.windows((2, 2)).into_iter().any(|four| four.iter().all(|value| !value.is_nan()))
}

/// An axis of a column; log where its values spread.
pub fn quantity(column: &str, values: &[f64]) -> Quantity {
    let quantity = plot::quantity(column, values.iter().copied());
    if column == "message_bytes" { Quantity { label: "message size".into(), ..quantity } } else { quantity }
}

/// The ratio of a machine to the first at a point.
pub fn of_point(comparison: &Comparison, at: usize, of: usize, tests: &mut MannWhitney) -> Option<Ratio> {
    let data = &comparison.points.points[at].by_machine;
    ratio(data[of].as_ref()?, data[0].as_ref()?, tests)
}
