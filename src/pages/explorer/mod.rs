//! The explorer: one panel for all numbers of a result, with a map, two slices and a table that show the same cell.
//!
//! Its script is ES modules (`*.mjs`), which tests also run under node, and d3-contour and d3-array in `vendor/`, unchanged.

mod cells;

use crate::html::{Module, join_modules};
use apexmap_base::error::Result;
use apexmap_results::samples::Samples;
use apexmap_study::model_fit;
use apexmap_theory::models::Model;
use serde::Serialize;
use std::collections::HashSet;

pub use cells::{Axis, CodePlace, ExplorerCell, KernelCells, Quantity, ValueSummary, explorer};

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explorer {
    pub colours: Vec<String>,
    pub kernels: Vec<KernelCells>,
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

pub fn script() -> String {
    format!("/*\n{LICENCE}*/\n{}\n{}modules.panel.startExplorer();\n", LIBRARIES.concat(), join_modules(&MODULES))
}

/// With its parameters, and the samples that it was fitted to or predicted for.
pub struct AppliedModel {
    model: &'static dyn Model,
    origin: String,
    parameters: Vec<f64>,
    pub smape: f64,
    rows: HashSet<usize>,
}

impl AppliedModel {
    pub fn new(
        model: &'static dyn Model,
        origin: String,
        (parameters, smape): (Vec<f64>, f64),
        samples: &Samples,
    ) -> Self {
        Self { model, origin, parameters, smape, rows: samples.rows().iter().copied().collect() }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CellTerms {
    pub model: String,
    pub column: &'static str,
    pub predicted: f64,
    /// `memory 61 %, TLB 30 %`; the bottleneck if terms do not add up; empty for formulas
    pub terms: String,
}

/// Finite ones at the point of these samples, in the order of the models.
pub fn terms_at(samples: &Samples, models: &[AppliedModel]) -> Result<Vec<CellTerms>> {
    let Some(row) = samples.rows().first() else { return Ok(Vec::new()) };
    let relevant = models.iter().filter(|applied| applied.rows.contains(row));
    let terms: Vec<CellTerms> = relevant.map(|applied| terms(samples, applied)).collect::<Result<_>>()?;
    Ok(terms.into_iter().filter(|terms| terms.predicted.is_finite()).collect())
}

fn terms(samples: &Samples, applied: &AppliedModel) -> Result<CellTerms> {
    let about = applied.model.about();
    let x = model_fit::values_at(samples, applied.model, &[])?;
    let prediction = applied.model.predict(&x, &applied.parameters);
    let budget = model_fit::budget(&applied.model.budget(&x, &applied.parameters));
    Ok(CellTerms {
        model: format!("{}, {}", about.id, applied.origin),
        column: about.column,
        predicted: prediction.value,
        terms: match applied.model.formula() {
            Some(_) => String::new(),
            None if budget.is_empty() => prediction.bottleneck.to_owned(),
            None => budget,
        },
    })
}
