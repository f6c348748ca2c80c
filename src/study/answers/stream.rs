//! STREAM's four numbers, on one core and on all.

use apexmap_base::error::Result;
use apexmap_base::point::Value;
use apexmap_base::provenance::PlainNode;
use apexmap_base::text_table::{Align, TextTable};
use apexmap_base::units::{self, Unit};
use apexmap_results::samples::{Samples, plain_names::plain_name};
use apexmap_results::table::columns::NODE_TYPE;
use apexmap_theory::machine::{Card, catalogue};
use apexmap_theory::statistics::Summary;
use serde::Serialize;

const KERNEL: &str = "calibrate.stream";
const OPERATIONS: [&str; 4] = ["copy", "scale", "add", "triad"];
/// STREAM's rate counts the bytes of all ranks.
const RATE: &str = "bytes_per_second";

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stream {
    /// The smallest and the largest number of ranks: `1 core`, `2 cores`.
    pub heads: Vec<String>,
    pub rows: Vec<StreamRow>,
    /// Whether the rows have a share of the card's bandwidth.
    pub has_shares: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StreamRow {
    pub name: &'static str,
    pub rates: Vec<StreamRate>,
    /// The rate of the largest number of ranks, relative to the bandwidth of all cores on the machine card; empty without a card.
    pub share: String,
}

/// As text; empty if not measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct StreamRate {
    pub median: String,
    /// 95 % interval; empty if not known.
    pub interval: String,
    /// Fraction of the largest median of the table.
    pub fraction_of_best: f64,
}

/// The table, if all samples are of STREAM's kernel on one type of nodes and include its four operations.
pub fn answer(samples: &Samples, card: Option<&Card>, node: &PlainNode) -> Result<Option<Stream>> {
    let good = samples.good();
    if good.words("kernel") != [KERNEL] || good.varies("region_bytes") || !good.is_constant(NODE_TYPE) {
        return Ok(None);
    }
    let accesses = good.words("access");
    if !OPERATIONS.iter().all(|operation| accesses.contains(operation)) {
        return Ok(None);
    }
    let ranks = good.distinct_numbers("ranks");
    let mut counts: Vec<f64> = ranks.first().into_iter().chain(ranks.last()).copied().collect();
    counts.dedup();
    let head = |count: &f64| plain_name(&[("ranks".to_owned(), Value::Integer(*count as u64))], node);
    let peak = card.and_then(|card| card.get(catalogue::NODE_BANDWIDTH_BYTES_PER_SECOND.name));
    let cells = good.cells(&["access", "ranks"])?;
    let summary_of = |name: &str, count: &f64| {
        let cell = cells.iter().find(|cell| cell.by == [Value::from(name), Value::Integer(*count as u64)])?;
        cell.summary(RATE)
    };
    let shown = OPERATIONS.iter().flat_map(|name| counts.iter().filter_map(|count| summary_of(name, count)));
    let best = shown.map(|summary| summary.median).fold(0.0, f64::max);
    let rows = OPERATIONS.map(|name| {
        let rates = counts.iter().map(|count| summary_of(name, count).map(|s| rate(&s, best)).unwrap_or_default());
        let last = counts.last().and_then(|count| summary_of(name, count));
        let share = last.zip(peak).map(|(summary, peak)| format!("{:.0} %", 100.0 * summary.median / peak));
        StreamRow { name, rates: rates.collect(), share: share.unwrap_or_default() }
    });
    Ok(Some(Stream { heads: counts.iter().map(head).collect(), rows: rows.into(), has_shares: peak.is_some() }))
}

fn rate(summary: &Summary, best: f64) -> StreamRate {
    let interval = summary.interval.filter(|ends| units::is_informative(*ends));
    StreamRate {
        median: units::quantity(summary.median, Unit::BytesPerSecond),
        interval: interval.map(|ends| units::interval(ends, Unit::BytesPerSecond)).unwrap_or_default(),
        fraction_of_best: summary.median / best,
    }
}

impl StreamRate {
    fn text(&self) -> String {
        if self.interval.is_empty() { self.median.clone() } else { format!("{} ({})", self.median, self.interval) }
    }
}

impl Stream {
    /// A sentence for each head, with all four operations.
    pub fn sentences(&self) -> Vec<String> {
        let sentence = |(index, head): (usize, &String)| {
            let rates = self.rows.iter().filter(|row| !row.rates[index].median.is_empty());
            let rates: Vec<String> = rates.map(|row| format!("{} {}", row.name, row.rates[index].median)).collect();
            format!("STREAM on {head}: {}.", rates.join(", "))
        };
        self.heads.iter().enumerate().map(sentence).collect()
    }

    /// The table for a terminal.
    pub fn text(&self) -> String {
        let mut aligned = vec![Align::Left; 1 + self.heads.len()];
        aligned.extend(self.has_shares.then_some(Align::Right));
        let mut table = TextTable::new(aligned).with_indent(2);
        let share_head = self.has_shares.then_some("of the card");
        table.add_row(std::iter::once("").chain(self.heads.iter().map(String::as_str)).chain(share_head));
        for row in &self.rows {
            let share = self.has_shares.then(|| row.share.clone());
            table.add_row(
                std::iter::once(row.name.to_owned()).chain(row.rates.iter().map(StreamRate::text)).chain(share),
            );
        }
        let note =
            if self.has_shares { ", and the share of the bandwidth at which all cores read on the card" } else { "" };
        format!("STREAM: medians with 95 % intervals{note}\n{table}")
    }
}
