//! The subtitle of a figure of samples.

use super::{CellValue, FigureKind, Request};
use apexmap_base::point::Value;
use apexmap_base::units;
use apexmap_measure::kernels::command::COMMAND;
use apexmap_results::samples::Samples;
use apexmap_results::table::columns;

const ALWAYS_SHOWN: [&str; 4] = ["ranks", "memory_words", "page_bytes", "pages"];

/// The values that all samples share, with every parameter that varies elsewhere in the result, and the number of samples per point.
pub fn subtitle(samples: &Samples, request: &Request, values: &[CellValue]) -> String {
    let same = |name: &str| samples.common_value(name);
    let number = |name: &str| same(name).and_then(|value| value.as_f64());
    let text = |value: Value| columns::caption(&value.to_string());
    let names =
        if samples.describe_origin().is_some() { &["kernel"][..] } else { &["host", "cpu_model", "kernel", "origin"] };
    let mut parts: Vec<String> = names.iter().copied().filter_map(same).map(text).collect();
    parts.extend(samples.has_mixed_nodes().then(|| "MIXED NODES".into()));
    // A program is started once, whatever threads and processes it has.
    if samples.words("kernel") != [COMMAND] {
        parts.extend(same("ranks").map(|ranks| format!("P = {ranks}")));
        parts.extend(same("transport").map(text));
    }
    parts.extend(number("memory_words").map(|words| format!("M = {}", units::bytes(words * 8.0))));
    parts.extend(number("page_bytes").map(|bytes| format!("{} pages", units::bytes(bytes))));
    let held = samples.held_parameters().into_iter().filter(|(name, _)| !ALWAYS_SHOWN.contains(name));
    parts.extend(held.map(|(name, value)| columns::label(name, &value)));
    let counts = values.iter().filter_map(|shown| shown.summary).map(|summary| summary.n);
    let (least, most) = (counts.clone().min().unwrap_or(0), counts.max().unwrap_or(0));
    parts.push(if least == most { format!("n = {least}") } else { format!("n = {least} to {most}") });
    if request.kind == FigureKind::Elasticity {
        let (z, x) = (samples.describe(&request.z).label, columns::short(&request.x));
        parts.push(format!("d log({z}) / d log({x}) by central differences"));
    }
    parts.extend(samples.is_oversubscribed().then(|| "OVERSUBSCRIBED: more ranks than hardware threads".into()));
    samples.stamp_subtitle(parts.join(", "))
}
