//! Comparison of compact models with the large one, fitted to the same samples. It shows how much of a machine few numbers
//! describe.

use apexmap_study::model_fit::groups::FitGroup;
use apexmap_theory::fit::Fit;
use apexmap_theory::models::{self, Model};
use serde::Serialize;

/// A fit, for comparison with the others of its group.
#[derive(Serialize)]
pub struct LadderRow {
    group: String,
    model: &'static str,
    numbers: usize,
    smape: String,
    spread: String,
    left_out: String,
}

/// Returns the row of a fit.
pub fn row(model: &dyn Model, group: &FitGroup, fit: &Fit) -> LadderRow {
    LadderRow {
        group: group.label.clone(),
        model: model.about().id,
        numbers: fit.estimates.len(),
        smape: percent(fit.quality.smape),
        spread: format!("{:.2}", fit.quality.geometric_spread),
        left_out: fit.quality.left_out.map_or(String::new(), percent),
    }
}

/// Keeps the groups that a compact model was fitted to. Sorts by group, then by the number of parameters, largest first.
pub fn keep_compact(rows: &mut Vec<LadderRow>) {
    let compact = |row: &&LadderRow| models::find(row.model).is_ok_and(|model| model.is_compact());
    let groups: Vec<String> = rows.iter().filter(compact).map(|row| row.group.clone()).collect();
    rows.retain(|row| groups.contains(&row.group));
    rows.sort_by(|a, b| a.group.cmp(&b.group).then(b.numbers.cmp(&a.numbers)));
}

/// Returns `12.3 %` for a fraction of 0.123.
pub fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}
