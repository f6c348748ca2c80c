//! The explorer: one panel for all numbers of a result, with a map, two slices and a table that show the same cell.
//!
//! Its script is ES modules (`*.mjs`), which tests also run under node, and d3-contour and d3-array in `vendor/`, unchanged.

mod cells;
mod terms;

use crate::html::{Module, join_modules};
use serde::Serialize;

pub use cells::{Axis, CodePlace, ExplorerCell, KernelCells, Quantity, ValueSummary, explorer};
pub use terms::{AppliedModel, CellTerms};

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explorer {
    /// `#rrggbb`, from the smallest to the largest value
    pub colours: Vec<String>,
    pub kernels: Vec<KernelCells>,
    /// What the panel omits.
    pub notes: Vec<String>,
}

pub const STYLE: &str = include_str!("explorer.css");

/// Every copy of the files in `vendor/` must have them.
const LICENCE: &str = include_str!("vendor/LICENSE");
const LIBRARIES: [&str; 2] = [include_str!("vendor/d3-array.min.js"), include_str!("vendor/d3-contour.min.js")];
/// Each after those that it imports.
const MODULES: [Module; 7] = [
    ("grid", include_str!("grid.mjs")),
    ("state", include_str!("state.mjs")),
    ("contour", include_str!("contour.mjs")),
    ("readout", include_str!("readout.mjs")),
    ("map", include_str!("map.mjs")),
    ("slice", include_str!("slice.mjs")),
    ("panel", include_str!("panel.mjs")),
];

/// Libraries, modules and the start, for [`render_with`](crate::html::render_with).
pub fn script() -> String {
    format!("/*\n{LICENCE}*/\n{}\n{}modules.panel.startExplorer();\n", LIBRARIES.concat(), join_modules(&MODULES))
}
