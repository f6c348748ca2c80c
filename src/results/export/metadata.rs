//! What the columns of a CSV file are: a file beside it in the vocabulary of "CSV on the Web".
//!
//! <https://www.w3.org/TR/tabular-metadata/>: programs that know it find `X.csv-metadata.json` beside `X.csv`; others
//! need not. The unit is schema.org's `unitText`.

use crate::table::column::{Column, Kind};
use crate::table::columns;
use serde_json::json;
use std::path::{Path, PathBuf};

/// Where the description of a CSV file is.
pub fn path(csv: &Path) -> PathBuf {
    let mut name = csv.as_os_str().to_owned();
    name.push("-metadata.json");
    name.into()
}

/// The description of a CSV file with these columns.
pub fn of(chosen: &[(&str, &Column)], csv: &Path, title: &str) -> String {
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
