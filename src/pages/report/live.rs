//! The surfaces of the report's interactive viewer.

use super::input::Input;
use super::own_figures;
use crate::html::{Viewer, ViewerSurface};
use apexmap_draw::figure::Figure;
use apexmap_draw::plot::{FigureKind, Request, figure};
use apexmap_results::samples::groups::SampleGroup;
use apexmap_results::table::columns::{ALPHA, BLOCK};

/// Maximum number of values in all surfaces of an HTML page.
const MAX_VALUES: usize = 40_000;

/// Fewest values of each axis of a surface; tables show smaller planes better.
const MIN_VALUES: usize = 3;

/// Returns the groups with a surface. The first has the most cells and, among those of the same kernel and ranks, the largest spread.
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

/// Returns the ratio of the largest to the smallest median of a group; 0 without medians.
fn spread(group: &SampleGroup) -> f64 {
    let cells = group.measured_cells(group.headline).unwrap_or_default();
    let medians = || cells.iter().map(|(_, summary)| summary.median).filter(|median| *median > 0.0);
    medians().fold(0.0, f64::max) / medians().fold(f64::INFINITY, f64::min)
}

/// Returns the surfaces of a result, including those without a figure, and the surfaces that the sweep requests.
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
    for (label, grid) in of_groups.chain(own_figures::requested_surfaces(input)) {
        values += grid.values.len();
        if values > MAX_VALUES {
            break;
        }
        viewer.surfaces.extend(ViewerSurface::from_grid(&input.manifest.machine, label, &grid).ok());
    }
    viewer
}
