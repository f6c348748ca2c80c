//! STREAM's four numbers, on one core and on all.

use apexmap_base::error::Result;
use apexmap_base::point::Value;
use apexmap_base::text_table::{Align, TextTable};
use apexmap_base::units::{self, Unit};
use apexmap_results::samples::Samples;
use apexmap_results::samples::plain_names::plain_name;
use apexmap_theory::machine::{Card, catalogue};
use serde::Serialize;

const KERNEL: &str = "calibrate.stream";
/// The operations in STREAM's order.
const OPERATIONS: [&str; 4] = ["copy", "scale", "add", "triad"];
/// STREAM's rate counts the bytes of all ranks.
const RATE: &str = "bytes_per_second";

/// The table of STREAM.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stream {
    /// The smallest and the largest number of ranks: `1 core`, `2 cores`.
    pub heads: Vec<String>,
    pub rows: Vec<StreamRow>,
    /// Whether the rows have a share of the card's bandwidth.
    pub has_shares: bool,
}

/// One operation of STREAM.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StreamRow {
    /// `copy`, `scale`, `add` or `triad`.
    pub name: &'static str,
    /// Median with 95 % interval for each head; empty if not measured.
    pub rates: Vec<String>,
    /// The rate of the largest number of ranks, relative to the bandwidth of all cores on the machine card; empty without a card.
    pub share: String,
}

/// Returns the table if all samples are of STREAM's kernel and include its four operations.
///
/// # Errors
/// If a column is missing.
pub fn answer(samples: &Samples, card: Option<&Card>, cores: Option<u32>) -> Result<Option<Stream>> {
    let good = samples.good();
    if good.words("kernel") != [KERNEL] || good.varies("region_bytes") {
        return Ok(None);
    }
    let accesses = good.words("access");
    if !OPERATIONS.iter().all(|operation| accesses.contains(operation)) {
        return Ok(None);
    }
    let ranks = good.distinct_numbers("ranks");
    let mut counts: Vec<f64> = ranks.first().into_iter().chain(ranks.last()).copied().collect();
    counts.dedup();
    let head = |count: &f64| plain_name(&[("ranks".to_owned(), Value::Integer(*count as u64))], cores);
    let peak = card.and_then(|card| card.get(catalogue::NODE_BANDWIDTH_BYTES_PER_SECOND.name));
    let cells = good.cells(&["access", "ranks"])?;
    let rows = OPERATIONS.map(|name| {
        let find = |count: &f64| {
            let cell = cells.iter().find(|cell| cell.by == [Value::from(name), Value::Integer(*count as u64)])?;
            cell.summary(RATE)
        };
        let rates = counts.iter().map(find).map(|summary| match summary.map(|s| (s.median, s.interval)) {
            Some((median, Some(ends))) if units::is_informative(ends) => {
                let (median, interval) = (rate(median), units::interval(ends, Unit::BytesPerSecond));
                format!("{median} ({interval})")
            }
            Some((median, _)) => rate(median),
            None => String::new(),
        });
        let last = counts.last().and_then(find);
        let share = last.zip(peak).map(|(summary, peak)| format!("{:.0} %", 100.0 * summary.median / peak));
        StreamRow { name, rates: rates.collect(), share: share.unwrap_or_default() }
    });
    Ok(Some(Stream { heads: counts.iter().map(head).collect(), rows: rows.into(), has_shares: peak.is_some() }))
}

fn rate(value: f64) -> String {
    units::quantity(value, Unit::BytesPerSecond)
}

impl Stream {
    /// Returns the table for a terminal.
    pub fn text(&self) -> String {
        let mut aligned = vec![Align::Left; 1 + self.heads.len()];
        aligned.extend(self.has_shares.then_some(Align::Right));
        let mut table = TextTable::new(aligned).with_indent(2);
        let share_head = self.has_shares.then_some("of the card");
        table.add_row(std::iter::once("").chain(self.heads.iter().map(String::as_str)).chain(share_head));
        for row in &self.rows {
            let share = self.has_shares.then_some(row.share.as_str());
            table.add_row(std::iter::once(row.name).chain(row.rates.iter().map(String::as_str)).chain(share));
        }
        let note =
            if self.has_shares { ", and the share of the bandwidth at which all cores read on the card" } else { "" };
        format!("STREAM: medians with 95 % intervals{note}\n{table}")
    }
}
