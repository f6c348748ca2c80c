//! Steps and slopes of the bandwidth over the size of memory, the reported sizes that probably cause them, and the effect of huge
//! pages: from uniform random accesses to single words.
//!
//! The rate falls at one size if a cache serves all of a smaller memory, and slowly if the farther cache keeps only a part of what
//! this core reads. Independent accesses overlap, so they show a level only if many overlapping reads are slower beyond it. That is
//! rarely so for the first level, and a virtual machine may see only a part of the last one. The steps are therefore no list of
//! levels; the dependent reads of a calibration are.

use crate::calibrate::levels;
use crate::calibrate::staircase::{Bend, Rung, bends};
use apexmap_base::error::Result;
use apexmap_base::provenance::Host;
use apexmap_base::units::{self, NumberStyle, Unit, WORD_BYTES};
use apexmap_results::samples::Samples;
use apexmap_results::table::columns::{ALPHA, BLOCK, NODE_TYPE};
use serde::Serialize;

const KERNEL: &str = "apex_map.sequential";
const RATE: &str = "bytes_per_second_per_rank";
const MIN_SIZES: usize = 5;
/// Largest ratio between a step and a reported size that probably causes it. Caches show their steps where they serve about half
/// of the reads, and other programs may use a part of them.
const NEAR: f64 = 2.5;
/// Smallest ratio of the ends of a slope. A step between two measured sizes spans a factor of two.
const MIN_SLOPE: f64 = 4.0;
/// Smallest ratio of successive slopes of time over size. A calibration, whose times are more exact, uses a larger one.
const MIN_RISE_RATIO: f64 = 1.3;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MemorySizes {
    /// The pages of the steps: `huge` if these were measured.
    pub pages: String,
    pub steps: Vec<RateStep>,
    /// The smallest and the largest measured memory in bytes.
    pub range: (f64, f64),
    /// Sizes that the system reports, in bytes; `None` for those that it does not report.
    pub reported: Vec<(&'static str, Option<f64>)>,
    /// Sizes of memory in bytes, with the rate on huge pages relative to that on base pages.
    pub page_gains: Vec<(f64, f64)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RateStep {
    /// Size of the memory at the step, in bytes; of a slope, its middle.
    pub size: f64,
    /// The measured sizes between which the rate falls; `size` for a step at one size.
    pub from: f64,
    pub to: f64,
    /// Rates in the middle between this step and its neighbours, in bytes per second.
    pub below: f64,
    pub above: f64,
}

/// If the samples are of one core of one type of nodes over five or more sizes, with uniform accesses to words (alpha = 1, L = 1).
pub fn answer(samples: &Samples, host: &Host) -> Result<Option<MemorySizes>> {
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
    let range = (chosen[0].0, chosen[chosen.len() - 1].0);
    let page_bytes = uniform.with_word("pages", &[pages]).median("page_bytes");
    let [first, second, third] = levels::reported_sizes(host);
    let reach = page_bytes.filter(|bytes| *bytes > 0.0).and_then(|bytes| host.tlb_reach(bytes));
    let reported = vec![("L1", first), ("L2", second), ("L3", third), ("the TLB reach", reach)];
    Ok(Some(MemorySizes { pages: pages.into(), steps: steps(chosen), range, reported, page_gains }))
}

/// Sizes in bytes, ascending, with the median rate of each.
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

fn steps(rates: &[(f64, f64)]) -> Vec<RateStep> {
    let times = rates.iter().map(|&(size, rate)| (size, WORD_BYTES as f64 / rate));
    let rungs: Vec<Rung> =
        times.map(|(size, seconds)| Rung { size, seconds, low: seconds, high: seconds, part: seconds }).collect();
    let places: Vec<(f64, f64, f64)> = bends(&rungs, MIN_RISE_RATIO)
        .into_iter()
        .map(|Bend { size, from, to }| if to[0] >= MIN_SLOPE * from { (size, from, to[1]) } else { (size, size, size) })
        .collect();
    let (first, last) = (rates[0].0, rates[rates.len() - 1].0);
    let rate_between = |low: f64, high: f64| {
        let distance = |size: f64| (size / (low * high).sqrt()).ln().abs();
        let nearest = rates.iter().min_by(|a, b| distance(a.0).total_cmp(&distance(b.0)));
        nearest.map_or(f64::NAN, |(_, rate)| *rate)
    };
    let step = |(index, &(size, from, to)): (usize, &(f64, f64, f64))| {
        let before = if index == 0 { first } else { places[index - 1].2 };
        let after = places.get(index + 1).map_or(last, |(_, next, _)| *next);
        RateStep { size, from, to, below: rate_between(before, from), above: rate_between(to, after) }
    };
    places.iter().enumerate().map(step).collect()
}

impl MemorySizes {
    /// One line for each step, and lines for the reported sizes without a step and for huge pages.
    pub fn text(&self) -> String {
        let rate = |value: f64| units::quantity(value, Unit::BytesPerSecond);
        let mut lines = vec![format!("Single words at random addresses (alpha = 1, L = 1), {} pages:", self.pages)];
        for step in &self.steps {
            let (size, below, above) = (units::bytes(step.size), rate(step.below), rate(step.above));
            lines.push(match step.is_slope() {
                true => format!("  falls {}: {below} below, {above} above", self.ends(step)),
                false => format!("  a step at about {size}: {below} below, {above} above; {}", self.cause(step.size)),
            });
        }
        if self.steps.is_empty() {
            lines.push("  no step within these sizes".into());
        }
        let sizes = self.reported.iter().filter_map(|&(name, size)| Some((name, size?)));
        let list =
            |chosen: Vec<String>, rest: &str| (!chosen.is_empty()).then(|| format!("  {}{rest}", chosen.join(", ")));
        let invisible: Vec<String> = sizes
            .filter(|(_, size)| (self.range.0..=self.range.1).contains(size))
            .filter(|(_, size)| self.steps.iter().all(|step| !step.spans(*size)))
            .map(|(name, size)| format!("{name} = {}", units::bytes(size)))
            .collect();
        let verb = if invisible.len() == 1 { "is" } else { "are" };
        lines.extend(list(invisible, &format!(" {verb} not visible to independent reads: see apexmap calibrate")));
        let unknown = self.reported.iter().filter(|(_, size)| size.is_none()).map(|(name, _)| (*name).to_owned());
        lines.extend(list(unknown.collect(), ": not reported by this system"));
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

    /// The ends of a slope with the reported sizes there: `from 512 KiB (L2) to 8 MiB (L3)`.
    fn ends(&self, slope: &RateStep) -> String {
        let middle = (slope.from * slope.to).sqrt();
        let end = |measured: f64| {
            // A reported size between the measured sizes next to an end is this end.
            let is_end = |size: f64| ratio(size, measured) <= 2.0 && (size <= middle) == (measured <= middle);
            let sizes =
                self.reported.iter().filter_map(|&(name, size)| Some((name, size.filter(|size| is_end(*size))?)));
            match sizes.min_by(|a, b| ratio(a.1, measured).total_cmp(&ratio(b.1, measured))) {
                Some((name, size)) => format!("{} ({name})", units::bytes(size)),
                None => units::bytes(measured),
            }
        };
        format!("from {} to {}", end(slope.from), end(slope.to))
    }

    /// The reported size that probably causes a step, or how far away the nearest one is. A size causes at most one step.
    fn cause(&self, step: f64) -> String {
        let sizes = self.reported.iter().filter_map(|&(name, size)| Some((name, size?)));
        let nearest = sizes.min_by(|a, b| ratio(a.1, step).total_cmp(&ratio(b.1, step)));
        let Some((name, size)) = nearest else { return "no reported size to compare with".into() };
        let (bytes, factor) = (units::bytes(size), ratio(size, step));
        if factor <= NEAR && self.steps.iter().all(|other| ratio(size, other.size) >= factor) {
            return format!("probably {name} = {bytes}, the nearest reported size");
        }
        let factor = units::number(factor, NumberStyle::Rounded(2));
        let smaller = if size < step { "smaller" } else { "larger" };
        format!(
            "nearest reported size: {name} = {bytes}, {factor} x {smaller}, so perhaps address translation or a part of a shared cache"
        )
    }
}

impl RateStep {
    fn is_slope(&self) -> bool {
        self.from < self.to
    }

    fn spans(&self, size: f64) -> bool {
        self.from / NEAR <= size && size <= self.to * NEAR
    }

    /// The name for a figure: `step: 2 MiB`, `fall: 512 KiB to 8 MiB`.
    pub fn label(&self) -> String {
        match self.is_slope() {
            true => format!("fall: {} to {}", units::bytes(self.from), units::bytes(self.to)),
            false => format!("step: {}", units::bytes(self.size)),
        }
    }
}

fn ratio(a: f64, b: f64) -> f64 {
    (a / b).max(b / a)
}
