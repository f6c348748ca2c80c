//! The tables of a comparison as CSV: every matched point with its ratios, and every point that is not matched.

use super::Comparison;
use super::points::Point;
use super::ratio::{Basis, ratio};
use super::statistics::MannWhitney;
use crate::explore::export::csv::field;
use std::fmt::Write;

fn columns<'a>(comparison: &'a Comparison) -> Vec<&'a str> {
    let mut columns: Vec<&str> = Vec::new();
    for (column, _) in comparison.points.points.iter().flat_map(|point| &point.at) {
        if !columns.contains(&column.as_str()) {
            columns.push(column);
        }
    }
    columns
}

fn at(point: &Point, columns: &[&str]) -> String {
    let value = |column: &&str| {
        let found = point.at.iter().find(|(name, _)| name == column);
        found.map(|(_, value)| field(&value.to_string())).unwrap_or_default()
    };
    let values: Vec<String> = columns.iter().map(value).collect();
    format!("{},{}", field(&point.class), values.join(","))
}

/// Every matched point with the speeds and ratios.
pub fn cells(comparison: &Comparison) -> String {
    let columns = columns(comparison);
    let mut tests = MannWhitney::default();
    let mut text = format!("kernel,{}", columns.join(","));
    for machine in comparison.machines {
        let name = &machine.name;
        let heads = [format!("speed of {name}"), format!("launches of {name}"), format!("samples of {name}")];
        heads.iter().for_each(|head| _ = write!(text, ",{}", field(head)));
    }
    for machine in &comparison.machines[1..] {
        let ratio = format!("{} / {}", machine.name, comparison.machines[0].name);
        let heads = [ratio.clone(), format!("{ratio}: low"), format!("{ratio}: high"), format!("{ratio}: basis")];
        heads.iter().for_each(|head| _ = write!(text, ",{}", field(head)));
    }
    text.push('\n');
    for point in comparison.matched_points() {
        text.push_str(&at(point, &columns));
        for data in &point.by_machine {
            let Some(data) = data else {
                text.push_str(",,,");
                continue;
            };
            let speed = data.speed().map_or(String::new(), |speed| speed.to_string());
            let _ = write!(text, ",{speed},{},{}", data.launches.len(), data.samples());
        }
        for of in 1..comparison.machines.len() {
            let found = point.by_machine[of]
                .as_ref()
                .zip(point.by_machine[0].as_ref())
                .and_then(|(a, b)| ratio(a, b, &mut tests));
            let Some(found) = found else {
                let both = point.by_machine[of].is_some() && point.by_machine[0].is_some();
                text.push_str(if both { ",,,,did not finish" } else { ",,,," });
                continue;
            };
            let (low, high) =
                found.interval.map_or((String::new(), String::new()), |(l, h)| (l.to_string(), h.to_string()));
            let basis = match found.basis {
                Basis::Launches => "launches",
                Basis::Samples => "samples",
                Basis::Nothing => "nothing",
            };
            let _ = write!(text, ",{},{low},{high},{basis}", found.value);
        }
        text.push('\n');
    }
    text
}

/// Every point that not all machines have, and who has it.
pub fn unmatched(comparison: &Comparison) -> String {
    let columns = columns(comparison);
    let mut text = format!("kernel,{}", columns.join(","));
    comparison.machines.iter().for_each(|machine| _ = write!(text, ",{}", field(&machine.name)));
    text.push('\n');
    for point in comparison.unmatched() {
        text.push_str(&at(point, &columns));
        point.by_machine.iter().for_each(|data| text.push_str(if data.is_some() { ",yes" } else { ",no" }));
        text.push('\n');
    }
    text
}
