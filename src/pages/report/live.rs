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

/// Returns all surfaces of a result, including those without a figure, and the surfaces that the sweep requests.
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
    let of_groups = input.groups.iter().filter(|group| group.is_surface()).filter_map(of_group);
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
