//! The surfaces of the report's interactive viewer.

use crate::html::{Viewer, ViewerSurface};
use apexmap_draw::figure::Figure;
use apexmap_draw::plot::{FigureKind, Request, figure};
use apexmap_results::samples::groups::SampleGroup;
use apexmap_results::table::columns::{ALPHA, BLOCK};

/// Maximum number of values in all surfaces of an HTML page.
const MAX_VALUES: usize = 40_000;

/// Returns all surfaces of a result, including those without a figure.
pub fn viewer(groups: &[SampleGroup], machine: &str) -> Viewer {
    let (mut viewer, mut values) = (Viewer::default(), 0);
    for group in groups.iter().filter(|group| group.is_surface()) {
        values += group.alphas.len() * group.blocks.len();
        if values > MAX_VALUES {
            break;
        }
        let title = group.label();
        let request = Request {
            kind: FigureKind::Surface,
            title,
            x: ALPHA.into(),
            by: vec![BLOCK.into()],
            z: group.headline.into(),
        };
        // A group without any value has no surface.
        if let Ok(Figure::Surface(grid, _)) = figure(&group.samples, &request) {
            viewer.surfaces.extend(ViewerSurface::from_grid(machine, group.label(), &grid).ok());
        }
    }
    viewer
}
