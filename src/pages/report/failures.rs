//! Samples that failed, for the end of a report.

use apexmap_base::sample::Status;
use apexmap_results::samples::Samples;
use apexmap_results::table::columns::{self, NODE_TYPE, label};
use serde::Serialize;

/// A failed sample as text.
#[derive(Serialize)]
pub struct Failure {
    status: String,
    point: String,
    message: String,
}

/// Returns the failed points, with the status and the message of each sample.
pub fn list(samples: &Samples) -> Vec<Failure> {
    let table = samples.table();
    let failed = samples.filter_rows(|row| table.word("status", row) != Status::Ok.name());
    let point = |row: usize| {
        let shown = columns::point_columns(table)
            .into_iter()
            .filter(|name| !["host", NODE_TYPE, "library", "launcher"].contains(name));
        let describe = |name: &str| table.value(name, row).map(|value| label(name, &value));
        shown.filter_map(describe).collect::<Vec<_>>().join(", ")
    };
    let failure = |&row: &usize| Failure {
        status: table.word("status", row).to_owned(),
        point: point(row),
        message: table.word("message", row).to_owned(),
    };
    failed.rows().iter().map(failure).collect()
}
