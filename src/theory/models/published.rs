//! The published machines from whose numbers a model predicts.

use super::Model;
use crate::machine::{Card, PUBLISHED};

/// Returns the published machines from whose numbers a model predicts; with ` (P = 1)` if those of several ranks are missing.
pub fn published_machines(model: &dyn Model) -> Vec<String> {
    let about = model.about();
    let entry = |(name, _): &(&str, _)| {
        let parameters = model.parameters(&Card::find(name).ok()?).ok()?;
        let covers = |(ranks, _): &(f64, _)| {
            let given = |name: &str| match name {
                "P" => Some(*ranks),
                // The default of M.
                "M" => Some(67_108_864.0),
                _ => about.variables[about.variable_index(name)?].default.or(Some(1.0)),
            };
            model.variables(&given).is_ok_and(|variables| !model.predict(&variables, &parameters).value.is_nan())
        };
        [(64.0, ""), (1.0, " (P = 1)")].iter().find(|limit| covers(limit)).map(|(_, limit)| format!("{name}{limit}"))
    };
    PUBLISHED.iter().filter_map(entry).collect()
}
