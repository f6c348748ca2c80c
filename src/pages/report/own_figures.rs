//! The figures that the sweep requests, and the surfaces of the interactive viewer.

use super::pictures::size_marks;
use super::prelude::*;
use crate::html::{Viewer, ViewerSurface};
use apexmap_draw::figure::Grid;
use apexmap_draw::plot::{FigureKind, Request, add_bounds, figure, title};
use apexmap_measure::kernels;
use apexmap_results::samples::ascending;
use apexmap_run::sweep::figures::{self, SweepFigure};

const MEMORY: &str = "memory_words";

pub fn draw_requested(input: &Input) -> Result<Vec<Picture>> {
    let mut pictures = Vec::new();
    for (number, wanted) in (1..).zip(figures::parse_figures(&input.manifest.sweep)) {
        let title = wanted.title.clone().unwrap_or_else(|| format!("figure {number} of the sweep"));
        pictures.extend(input.if_drawable(&title, draw(input, &wanted, number))?.flatten());
    }
    Ok(pictures)
}

pub fn requested_surfaces(input: &Input) -> Vec<(String, Grid)> {
    let mut surfaces = Vec::new();
    for wanted in figures::parse_figures(&input.manifest.sweep) {
        if let (FigureKind::Surface, Ok((samples, request))) = (wanted.kind, request(input, &wanted))
            && let Ok(Figure::Surface(grid, _)) = figure(&samples, &request)
        {
            surfaces.push((request.title, grid));
        }
    }
    surfaces
}

/// Begins with the highest rate at the smallest number of ranks. A rate per rank stays the same.
fn ideal_scaling(series: &[Series], is_per_rank: bool) -> Option<Series> {
    let points = || series.iter().flat_map(|series| &series.points).filter(|point| point.y > 0.0);
    let fewest = points().map(|point| point.x).min_by(f64::total_cmp)?;
    let best = points().filter(|point| point.x == fewest).map(|point| point.y).max_by(f64::total_cmp)?;
    let rate = |x: f64| if is_per_rank { best } else { best * x / fewest };
    let ranks = ascending(points().map(|point| point.x)).into_iter();
    let points = ranks.map(|x| CurvePoint::new(x, rate(x), None)).collect();
    Some(Series { label: "ideal scaling".into(), points })
}

pub fn first_axes(manifest: &Manifest) -> Vec<String> {
    figures::parse_figures(&manifest.sweep).into_iter().next().map(|figure| figure.axes).unwrap_or_default()
}

fn request(input: &Input, wanted: &SweepFigure) -> Result<(Samples, Request)> {
    let samples = input.samples.choose(wanted.condition.as_deref())?;
    // A parameter of a command may have another name in the table.
    let column = |name: &String| samples.resolve(name).to_owned();
    let (axes, z) = (wanted.axes.iter().map(column).collect::<Vec<_>>(), wanted.z.as_ref().map(column));
    for name in axes.iter().chain(&z) {
        samples.require(name)?;
    }
    let headline = || kernels::find(samples.first_word("kernel")).map(|kernel| samples.headline(kernel));
    let z = z.or_else(|| headline().ok().map(str::to_owned)).unwrap_or_else(|| "seconds".into());
    let (x, by) = axes.split_first().expect("a figure has an axis");
    let title = wanted.title.clone().unwrap_or_else(|| title(&samples, wanted.kind, x, &z));
    let request = Request { kind: wanted.kind, title, x: x.clone(), by: by.to_vec(), z };
    Ok((samples, request.orient()))
}

/// `None` for a single point, which a table shows better.
fn draw(input: &Input, wanted: &SweepFigure, number: usize) -> Result<Option<Picture>> {
    let (samples, request) = request(input, wanted)?;
    if !request.axes().iter().any(|axis| samples.good().varies(axis)) {
        return Ok(None);
    }
    let mut drawn = add_bounds(&samples, &request, figure(&samples, &request)?)?;
    // As in the figures of effects.
    if let (Figure::Curves(curves) | Figure::Model(curves) | Figure::Limited(curves), MEMORY) =
        (&mut drawn, request.x.as_str())
    {
        curves.marks.extend(size_marks(input, &samples));
    }
    let mut caption = match &wanted.condition {
        Some(condition) => format!("Medians of the samples with {condition}."),
        None => "Medians of the samples.".to_owned(),
    };
    if let Figure::Curves(curves) = &mut drawn
        && wanted.ideal
    {
        curves.series.iter_mut().filter(|only| only.label.is_empty()).for_each(|only| only.label = "measured".into());
        curves.series.extend(ideal_scaling(&curves.series, request.z.ends_with("_per_rank")));
        caption.push_str(" Ideal scaling: the highest rate of the fewest ranks, times the ranks.");
    }
    Drawing::new(drawn, format!("figure-{number}"), request.title, caption).picture(&input.folder.figures()).map(Some)
}

const MAX_VALUES: usize = 40_000;

/// Tables show smaller planes better.
const MIN_VALUES: usize = 3;

/// The first has the most cells and, among those of the same kernel and ranks, the largest spread.
fn planes(groups: &[SampleGroup]) -> Vec<&SampleGroup> {
    let is_plane = |group: &&SampleGroup| group.alphas.len() >= MIN_VALUES && group.blocks.len() >= MIN_VALUES;
    let mut planes: Vec<&SampleGroup> = groups.iter().filter(is_plane).collect();
    let cells = |group: &SampleGroup| group.measured_cells(group.headline).map_or(0, |cells| cells.len());
    let most = planes.iter().map(|group| cells(group)).max();
    let largest: Vec<usize> = (0..planes.len()).filter(|&index| Some(cells(planes[index])) == most).collect();
    let kind = |index: usize| ["kernel", "ranks"].map(|name| planes[index].samples.first_value(name));
    let similar = largest.iter().copied().filter(|&index| kind(index) == kind(largest[0]));
    // `max_by` returns the last of equal groups.
    if let Some(start) = similar.rev().max_by(|&a, &b| spread(planes[a]).total_cmp(&spread(planes[b]))) {
        planes[..=start].rotate_right(1);
    }
    planes
}

/// Largest / smallest median; 0 without medians.
fn spread(group: &SampleGroup) -> f64 {
    let cells = group.measured_cells(group.headline).unwrap_or_default();
    let medians = || cells.iter().map(|(_, summary)| summary.median).filter(|median| *median > 0.0);
    medians().fold(0.0, f64::max) / medians().fold(f64::INFINITY, f64::min)
}

/// Includes surfaces without a figure, and those that the sweep requests.
pub fn viewer(input: &Input) -> Viewer {
    let of_group = |group: &SampleGroup| {
        let title = group.plain_label(&input.node);
        let request = Request {
            kind: FigureKind::Surface,
            title,
            x: ALPHA.into(),
            by: vec![BLOCK.into()],
            z: group.headline.into(),
        };
        // A group without any value has no surface.
        match figure(&group.samples, &request) {
            Ok(Figure::Surface(grid, _)) => Some((group.plain_label(&input.node), grid)),
            _ => None,
        }
    };
    let of_groups = planes(&input.groups).into_iter().filter_map(of_group);
    let (mut viewer, mut values) = (Viewer::default(), 0);
    for (label, grid) in of_groups.chain(requested_surfaces(input)) {
        values += grid.values.len();
        if values > MAX_VALUES {
            break;
        }
        viewer.surfaces.extend(ViewerSurface::from_grid(&input.manifest.machine, label, &grid).ok());
    }
    viewer
}
