//! Description of the columns of a CSV file, in the vocabulary of "CSV on the Web".
//!
//! <https://www.w3.org/TR/tabular-metadata/>: programs that support it look for `X.csv-metadata.json` next to `X.csv`; all
//! others ignore it. The unit is schema.org's `unitText`.

use crate::table::column::{Column, Kind};
use crate::table::columns;
use serde_json::json;
use std::path::{Path, PathBuf};

/// Returns the path of the description of a CSV file.
pub fn path(csv: &Path) -> PathBuf {
    let mut name = csv.as_os_str().to_owned();
    name.push("-metadata.json");
    name.into()
}

/// Describes a CSV file with these columns, as JSON.
pub fn describe(chosen: &[(&str, &Column)], csv: &Path, title: &str) -> String {
    let column = |&(name, column): &(&str, &Column)| {
        let described = columns::describe(name);
        let datatype = match column.kind() {
            Kind::Numbers => "double",
            Kind::Whole => "nonNegativeInteger",
            Kind::Words => "string",
        };
        let mut about = json!({ "titles": name, "dc:description": described.label, "datatype": datatype });
        if !described.unit.symbol().is_empty() {
            about["schema:unitText"] = described.unit.symbol().into();
        }
        about
    };
    let text = json!({
        "@context": "http://www.w3.org/ns/csvw",
        "url": csv.file_name().map(|name| name.to_string_lossy()),
        "dc:title": title,
        "dc:description": super::csv::APOSTROPHES,
        "tableSchema": { "columns": chosen.iter().map(column).collect::<Vec<_>>() },
    });
    format!("{text:#}\n")
}
