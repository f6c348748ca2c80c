//! The tables of a comparison as CSV: every matched point with its ratios, and every point that is not matched.

use super::Comparison;
use super::decisions::{self, Decided};
use super::points::{Point, PointData};
use super::scope::Scope;
use super::terms::{TermCell, TermPair, UNEXPLAINED};
use apexmap_base::error::{Error, Result};
use apexmap_base::new_file;
use apexmap_results::export::csv;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;

fn columns<'a>(comparison: &'a Comparison) -> Vec<&'a str> {
    let mut columns: Vec<&str> = Vec::new();
    for (column, _) in comparison.points.points.iter().flat_map(|point| &point.at) {
        if !columns.contains(&column.as_str()) {
            columns.push(column);
        }
    }
    columns
}

/// The first cells of the head: those that [`at`] fills.
fn head(columns: &[&str]) -> Vec<String> {
    ["kernel"].iter().chain(columns).map(|&name| name.to_owned()).collect()
}

fn at(point: &Point, columns: &[&str]) -> Vec<String> {
    let value = |column: &&str| {
        let found = point.at.iter().find(|(name, _)| name == column);
        found.map(|(_, value)| value.to_string()).unwrap_or_default()
    };
    std::iter::once(point.class.clone()).chain(columns.iter().map(value)).collect()
}

/// Every matched point with the speeds and ratios.
pub fn cells(comparison: &Comparison) -> String {
    let columns = columns(comparison);
    let mut head = head(&columns);
    for machine in comparison.machines {
        head.extend(["speed", "launches", "samples"].map(|what| format!("{what} of {}", machine.name)));
    }
    for machine in &comparison.machines[1..] {
        let ratio = format!("{} / {}", machine.name, comparison.machines[0].name);
        head.extend(["", ": low", ": high", ": basis", ": p", ": adjusted p"].map(|what| format!("{ratio}{what}")));
    }
    let mut rows = vec![head];
    let of_machine = |of| decisions::all(comparison, of, Scope::All, &comparison.matched);
    let known: Vec<BTreeMap<usize, Decided>> = (1..comparison.machines.len()).map(of_machine).collect();
    for &at in &comparison.matched {
        let point = &comparison.points.points[at];
        let mut row = self::at(point, &columns);
        row.extend(point.by_machine.iter().flat_map(|data| speed(data.as_ref())));
        for (of, known) in known.iter().enumerate() {
            let both = point.by_machine[of + 1].is_some() && point.by_machine[0].is_some();
            row.extend(compared(known.get(&at), both));
        }
        rows.push(row);
    }
    csv::text(rows)
}

/// Speed, launches and samples of a machine at a point; empty where it has none.
fn speed(data: Option<&PointData>) -> [String; 3] {
    let Some(data) = data else { return Default::default() };
    let speed = data.speed().map_or(String::new(), |speed| speed.to_string());
    [speed, data.launches.len().to_string(), data.samples().to_string()]
}

/// Ratio of a machine to the first one, the ends of its interval, the interval's basis, its p value and that adjusted for all
/// points; empty where one lacks the point.
fn compared(found: Option<&Decided>, both: bool) -> [String; 6] {
    let Some(Decided { ratio, q, .. }) = found else {
        return ["", "", "", if both { "did not finish" } else { "" }, "", ""].map(str::to_owned);
    };
    let (low, high) = ratio.interval.map(|(low, high)| (low.to_string(), high.to_string())).unwrap_or_default();
    let number = |p: Option<f64>| p.map(|p| p.to_string()).unwrap_or_default();
    [ratio.value.to_string(), low, high, ratio.basis.name().to_owned(), number(ratio.p), number(*q)]
}

/// Writes the table of terms; without any, removes what an earlier comparison left there.
///
/// # Errors
/// If it cannot be written or removed.
pub fn save_terms(path: &Path, comparison: &Comparison, pairs: &[&TermPair]) -> Result<()> {
    if !pairs.is_empty() {
        return new_file::replace_by(path, terms(comparison, pairs));
    }
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(Error::file("remove", path, error)),
        _ => Ok(()),
    }
}

/// Every point whose terms are known on both sides: their seconds, and what each makes of the logarithm of the ratio of times.
fn terms(comparison: &Comparison, pairs: &[&TermPair]) -> String {
    let columns = columns(comparison);
    let names = pairs.first().map(|pair| pair.terms.clone()).unwrap_or_default();
    let mut head = head(&columns);
    head.extend(["base", "machine", "time / base time", "predicted"].map(str::to_owned));
    for side in ["base", "machine"] {
        head.extend(names.iter().map(|term| format!("{term}: seconds of the {side}")));
    }
    head.extend(names.iter().chain([&UNEXPLAINED]).map(|term| format!("{term}: part of the logarithm")));
    let mut rows = vec![head];
    for pair in pairs {
        let [base, machine] = [0, pair.of].map(|k| comparison.machines[k].name.clone());
        let row = |cell: &TermCell| {
            let mut row = at(&comparison.points.points[cell.at], &columns);
            row.extend([base.clone(), machine.clone()]);
            let ratios = [cell.measured.exp(), cell.predicted().exp()];
            let numbers = ratios.iter().chain(cell.seconds.iter().flatten()).chain(&cell.parts);
            row.extend(numbers.chain([&cell.unexplained()]).map(f64::to_string));
            row
        };
        rows.extend(pair.cells.iter().map(row));
    }
    csv::text(rows)
}

/// Every point that not all machines have, and who has it.
pub fn unmatched(comparison: &Comparison) -> String {
    let columns = columns(comparison);
    let mut head = head(&columns);
    head.extend(comparison.machines.iter().map(|machine| machine.name.clone()));
    let mut rows = vec![head];
    for point in comparison.unmatched() {
        let mut row = at(point, &columns);
        row.extend(point.by_machine.iter().map(|data| if data.is_some() { "yes" } else { "no" }.to_owned()));
        rows.push(row);
    }
    csv::text(rows)
}
