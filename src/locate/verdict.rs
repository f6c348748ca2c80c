//! Whether memory or computation takes the time of a program: I / T, the time of all misses relative to the program's, or what pages of
//! 2 MiB save.

use crate::change::{Gain, LineTime, gains};
use crate::costs::{Access, Costs};
use crate::located::Located;
use apexmap_base::error::{Error, Result};
use apexmap_base::units::{NumberStyle, bytes, number, seconds};
use apexmap_theory::places::{Kind, SAME_SIZE};
use apexmap_theory::statistics::median;
use serde::Serialize;

/// I / T below the first is computation, above the second memory.
const BORDERS: [f64; 2] = [0.1, 0.5];
/// Misses behind pointers overlap if they would take this many times the program's time one by one.
const OVERLAP: f64 = 4.0;
/// The shortest time with a verdict, in seconds, and the largest deviation from the median of all runs but one.
const SHORTEST: f64 = 0.01;
const SPREAD: f64 = 0.2;
/// The least share of the accesses in the trace for a verdict other than memory.
const MOST_ACCESSES: f64 = 0.9;
/// Costs up to here, or up to four last caches, hold for larger data, too.
const LARGEST_NEEDED: f64 = (512 << 20) as f64;

/// The plain program in time.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Timing {
    /// T, processor time: the median on pages of 4 KiB.
    pub seconds: f64,
    /// The speed with pages of 2 MiB relative to pages of 4 KiB, and its interval.
    pub huge_pages: Option<[f64; 3]>,
    /// A sentence about disturbed runs.
    pub note: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    Compute,
    Between,
    Memory,
    /// Memory, and at least half of the time of chains and pointers.
    Chain,
}

#[derive(Clone, Debug, Serialize)]
pub struct Verdict {
    pub class: Class,
    /// I / T.
    pub memory_share: f64,
    /// The line with the largest part of I, its kind and this part.
    pub line: String,
    pub kind: Kind,
    pub line_share: f64,
    /// The share of the program's accesses in the trace.
    pub traced_share: f64,
    pub gains: Vec<Gain>,
    /// Their origin.
    pub costs: String,
    #[serde(flatten)]
    pub timing: Timing,
}

impl Timing {
    /// Takes the median of several runs. Fails with the reason if they allow no verdict.
    pub fn new(runs: &[f64], huge_pages: Option<[f64; 3]>, note: Option<String>) -> Result<Self> {
        let middle = median(runs).unwrap_or(0.0);
        let mut deviations: Vec<f64> = runs.iter().map(|run| (run / middle - 1.0).abs()).collect();
        deviations.sort_by(|a, b| b.total_cmp(a));
        let deviation = deviations.get(1).copied().unwrap_or(0.0);
        let refuse = |message: String, help: &str| Err(Error::measurement(message, help));
        if middle < SHORTEST {
            return refuse(
                format!("the program runs for {}", seconds(middle)),
                "Let it repeat its work for 10 ms or more.",
            );
        } else if deviation > SPREAD {
            let percent = 100.0 * deviation;
            return refuse(format!("two runs differ by {percent:.0} % from the median"), "Use a quiet machine.");
        }
        Ok(Self { seconds: middle, huge_pages, note })
    }

    /// The share of the time that pages of 2 MiB save at least: walks of page tables, which I does not have where caches hit.
    fn saving(&self) -> f64 {
        self.huge_pages.map_or(0.0, |[_, low, _]| 1.0 - 1.0 / low)
    }
}

impl Verdict {
    /// Fails with the reason if there is none.
    pub fn new(located: &Located, costs: &Costs, timing: Timing, traced_share: f64) -> Result<Self> {
        let total = timing.seconds;
        let alone = times(located, costs, Access::Dependent);
        let pointers = if alone.1 > OVERLAP * total { Access::Independent } else { Access::Dependent };
        let (lines, memory_seconds) = times(located, costs, pointers);
        let largest = lines.first().ok_or_else(|| Error::input("the trace has no accesses", ""))?;
        let memory_share = memory_seconds / total;
        let is_chain = |kind: Kind| kind == Kind::Chain || (kind, pointers) == (Kind::Pointer, Access::Dependent);
        let chains = lines.iter().filter(|line| is_chain(line.part.kind())).map(|line| line.seconds);
        let class = match memory_share.max(timing.saving()) {
            share if share < BORDERS[0] => Class::Compute,
            share if share <= BORDERS[1] => Class::Between,
            _ if chains.sum::<f64>() >= 0.5 * memory_seconds => Class::Chain,
            _ => Class::Memory,
        };
        if traced_share < MOST_ACCESSES && matches!(class, Class::Compute | Class::Between) {
            let percent = 100.0 * traced_share;
            let message = format!("the trace has {percent:.0} % of the accesses, with I / T = {memory_share:.2}");
            return Err(Error::measurement(message, "The others may take the time: leave --from out."));
        }
        // No way of the accesses is faster than from the first cache.
        let hits = located.program.accesses as f64 * costs.seconds(Access::Independent, 1.0, 0.0);
        let gains = if class == Class::Compute { Vec::new() } else { gains(&lines, [total, hits]) };
        Ok(Self {
            class,
            memory_share,
            line: largest.part.name.clone(),
            kind: largest.part.kind(),
            line_share: largest.seconds / memory_seconds.max(f64::MIN_POSITIVE),
            traced_share,
            gains,
            costs: costs.source.clone(),
            timing,
        })
    }

    /// Returns at most three sentences for the begin of the screen.
    pub fn sentences(&self) -> Vec<String> {
        let percent = 100.0 * self.traced_share;
        let traced = if percent < 99.0 { format!(" with {percent:.0} % of the accesses") } else { String::new() };
        let saving = Some(self.timing.saving()).filter(|saving| *saving > self.memory_share.max(BORDERS[0]));
        let pages = saving.map_or(String::new(), |saving| format!("; 2 MiB pages save {:.0} %", 100.0 * saving));
        let ratio = format!("(I / T = {:.2}{traced}{pages})", self.memory_share);
        let whole = if pages.is_empty() { "it" } else { "I" };
        let line = format!("{:.0} % of {whole} at {} ({})", 100.0 * self.line_share, self.line, self.kind);
        let verdict = match self.class {
            Class::Compute => format!("Computation takes the time, and misses take little {ratio}."),
            Class::Between => format!("Memory takes part of the time {ratio}, {line}."),
            Class::Memory => format!("Memory takes most of the time {ratio}, {line}."),
            Class::Chain => format!("Chains take most of the time {ratio}, {line}."),
        };
        let pages = self.timing.huge_pages.map(|ends| {
            let [ratio, low, high] = ends.map(|ratio| number(ratio, NumberStyle::Ratio));
            format!("2 MiB pages: {ratio} times as fast ({low} to {high}), measured.")
        });
        [Some(verdict), self.gains.first().map(Gain::sentence), pages].into_iter().flatten().collect()
    }

    /// Returns the other gains, the origin of the costs, and disturbed runs.
    pub fn notes(&self) -> Vec<String> {
        let origin = format!("Costs of memory are those of {}.", self.costs);
        self.gains.iter().skip(1).map(Gain::sentence).chain([origin]).chain(self.timing.note.clone()).collect()
    }
}

/// Returns why these costs do not hold for a program: they end before its data.
pub fn explain_short_reach(located: &Located, costs: &Costs) -> Option<String> {
    let (end, data, last) = (costs.reach(), located.program.footprint, located.machine.caches[1].1 as f64);
    let is_short = SAME_SIZE * end < data.min(4.0 * last).min(LARGEST_NEEDED);
    let [end, data] = [end, data].map(bytes);
    is_short.then(|| format!("{} has no costs beyond {end}, and the program reaches {data}", costs.source))
}

/// Returns the lines, the longest time first, and the sum of their times.
fn times<'a>(located: &'a Located, costs: &Costs, pointers: Access) -> (Vec<LineTime<'a>>, f64) {
    let times = located.lines.iter().map(|part| LineTime::new(part, located, costs, pointers));
    let mut times: Vec<LineTime> = times.collect();
    times.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    let sum = times.iter().map(|line| line.seconds).sum();
    (times, sum)
}
