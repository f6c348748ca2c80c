//! Where each level of the memory hierarchy ends, its bandwidth inside and outside, and the effect of huge pages: from uniform
//! random accesses to single words in memories of many sizes.

use crate::calibrate::staircase::{Rung, places};
use apexmap_base::error::Result;
use apexmap_base::units::{self, NumberStyle, Unit, WORD_BYTES};
use apexmap_results::samples::Samples;
use apexmap_results::table::columns::{ALPHA, BLOCK, NODE_TYPE};
use serde::Serialize;

const KERNEL: &str = "apex_map.sequential";
const RATE: &str = "bytes_per_second_per_rank";
/// Fewest sizes of memory that show levels.
const MIN_SIZES: usize = 5;

/// The levels that the samples show.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MemorySizes {
    /// The pages of the levels: `huge` if these were measured.
    pub pages: String,
    pub levels: Vec<LevelEnd>,
    /// Sizes of memory in bytes, with the rate on huge pages relative to that on base pages.
    pub page_gains: Vec<(f64, f64)>,
}

/// The end of a level.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LevelEnd {
    /// Size of the memory at which the level ends, in bytes.
    pub size: f64,
    /// Rates well inside the level and in the middle of the next one, in bytes per second.
    pub inside: f64,
    pub outside: f64,
}

/// Returns the levels if the samples are of one core of one type of nodes over at least five sizes of memory, with accesses to single words at uniform
/// addresses (alpha = 1, L = 1).
///
/// # Errors
/// If a column is missing.
pub fn answer(samples: &Samples) -> Result<Option<MemorySizes>> {
    let good = samples.good();
    let is_one_core = good.distinct_numbers("ranks") == [1.0] && good.is_constant(NODE_TYPE);
    if good.words("kernel") != [KERNEL] || !is_one_core {
        return Ok(None);
    }
    let table = good.table();
    let uniform = good.filter_rows(|row| table.number(ALPHA, row) == 1.0 && table.number(BLOCK, row) == 1.0);
    let on_pages = |pages: &str| rates(&uniform.with_word("pages", &[pages]));
    let (huge, base) = (on_pages("huge")?, on_pages("base")?);
    let (pages, chosen) = if huge.len() >= MIN_SIZES { ("huge", &huge) } else { ("base", &base) };
    if chosen.len() < MIN_SIZES {
        return Ok(None);
    }
    let gain = |&(size, rate): &(f64, f64)| {
        let (_, base) = base.iter().find(|(other, _)| *other == size)?;
        Some((size, rate / base))
    };
    let page_gains = huge.iter().filter_map(gain).collect();
    Ok(Some(MemorySizes { pages: pages.into(), levels: levels(chosen), page_gains }))
}

/// Returns sizes in bytes, ascending, with the median rate of each.
fn rates(samples: &Samples) -> Result<Vec<(f64, f64)>> {
    if samples.is_empty() {
        return Ok(Vec::new());
    }
    let to_rate = |cell: apexmap_results::samples::cells::Cell| {
        let size = cell.by[0].as_f64()? * WORD_BYTES as f64;
        Some((size, cell.summary(RATE)?.median))
    };
    Ok(samples.cells(&["memory_words"])?.into_iter().filter_map(to_rate).collect())
}

/// Returns the ends of the levels that the time per access shows.
fn levels(rates: &[(f64, f64)]) -> Vec<LevelEnd> {
    let rung = |&(size, rate): &(f64, f64)| {
        let seconds = WORD_BYTES as f64 / rate;
        Rung { size, seconds, low: seconds, high: seconds, part: seconds }
    };
    let ends = places(&rates.iter().map(rung).collect::<Vec<_>>());
    let (first, last) = (rates[0].0, rates[rates.len() - 1].0);
    let rate_between = |low: f64, high: f64| {
        let distance = |size: f64| (size / (low * high).sqrt()).ln().abs();
        let nearest = rates.iter().min_by(|a, b| distance(a.0).total_cmp(&distance(b.0)));
        nearest.map_or(f64::NAN, |(_, rate)| *rate)
    };
    let level = |(index, &size): (usize, &f64)| {
        let before = if index == 0 { first } else { ends[index - 1] };
        let after = ends.get(index + 1).copied().unwrap_or(last);
        LevelEnd { size, inside: rate_between(before, size), outside: rate_between(size, after) }
    };
    ends.iter().enumerate().map(level).collect()
}

impl MemorySizes {
    /// Returns one line for each level, and one for huge pages.
    pub fn text(&self) -> String {
        let rate = |value: f64| units::quantity(value, Unit::BytesPerSecond);
        let mut lines = vec![format!("Single words at random addresses (alpha = 1, L = 1), {} pages:", self.pages)];
        for (index, level) in self.levels.iter().enumerate() {
            let (size, number) = (units::bytes(level.size), index + 1);
            let (inside, outside) = (rate(level.inside), rate(level.outside));
            lines.push(format!("  level {number} ends at about {size}: {inside} inside, {outside} outside"));
        }
        if self.levels.is_empty() {
            lines.push("  no level ends within these sizes".into());
        }
        let gain = |(size, gain): &(f64, f64)| {
            format!("{} x at {}", units::number(*gain, NumberStyle::Rounded(2)), units::bytes(*size))
        };
        let most = self.page_gains.iter().max_by(|a, b| a.1.total_cmp(&b.1));
        if let (Some(most), Some(last)) = (most, self.page_gains.last()) {
            let further = if most == last { String::new() } else { format!(", {}", gain(last)) };
            lines.push(format!("  huge pages: {}{further}, relative to base pages", gain(most)));
        }
        lines.join("\n") + "\n"
    }
}
