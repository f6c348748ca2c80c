//! The time of the misses of a line, and the gain of the program if the line walked in another way.

use crate::costs::{Access, Costs};
use crate::located::{Located, Part};
use crate::walk::Kind;
use apexmap_base::units::{NumberStyle, WORD_BYTES, number};
use serde::Serialize;

/// The ratio of a time of misses and its estimate, of nine in ten programs.
const ERROR: f64 = 1.5;
/// Above this factor, the range has no upper end: a small error of the time that stays decides.
const LARGE_GAIN: f64 = 5.0;
/// The smallest factor that is worth a sentence, and the number of lines with one.
const LEAST_GAIN: f64 = 1.1;
const MOST_LINES: usize = 3;
/// Share of the lines of a pass that displace each other, from which on they count as a chain in the next cache.
const CONFLICT: f64 = 0.5;
/// Data this many times the second-level cache come from the next one.
const NEXT_CACHE: f64 = 4.0;
/// A row with fewer misses per access has hot data: its misses in the next cache have the costs of a small size.
const UNIFORM: f64 = 0.3;
const WORDS_PER_LINE: f64 = 8.0;

/// A line with the time of its misses, and with that of the same accesses after the changes that apply to its kind.
pub struct LineTime<'a> {
    pub part: &'a Part,
    pub seconds: f64,
    changes: Vec<(Change, f64)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    UnitStride,
    /// Data that stay in the second-level cache.
    InCache,
    Independent,
}

/// The predicted speed of the program relative to the present one. Large gains have no upper end.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Gain {
    pub line: String,
    pub change: Change,
    pub factor: f64,
    pub low: f64,
    pub high: Option<f64>,
}

impl<'a> LineTime<'a> {
    /// Takes the time of all misses of the second-level cache, if independent ones overlap as measured.
    pub fn new(part: &'a Part, located: &Located, costs: &Costs, pointers: Access) -> Self {
        let (kind, accesses) = (part.kind(), located.program.accesses as f64);
        let [misses, last_misses] = [0, 1].map(|cache| part.misses[cache] * located.miss_ratios[cache] * accesses);
        let [second, last] = located.machine.caches.map(|(_, bytes)| bytes as f64);
        let (to_memory, next) = (last_misses.min(misses), (NEXT_CACHE * second).min(last));
        // Uniform addresses in data of this size have the same share of misses that go to memory.
        let bytes = part.footprint.min(last * misses / (misses - to_memory)).max(next);
        let written = 1.0 + (part.stores as f64 / misses).min(1.0);
        let word = |access: Access, bytes: f64| costs.seconds(access, 1.0, bytes);
        let random = |access: Access| match misses < UNIFORM * part.accesses as f64 {
            false => misses * word(access, bytes),
            true => {
                let far = part.footprint.max(NEXT_CACHE * last);
                (misses - to_memory) * word(access, next) + to_memory * word(access, far)
            }
        };
        let walk = costs.seconds(Access::Strided, part.stride.unsigned_abs() as f64 / WORD_BYTES as f64, bytes);
        let is_displaced = part.conflict.is_some_and(|conflict| conflict.share >= CONFLICT);
        let hit = if is_displaced { word(Access::Displaced, next) } else { walk };
        let seconds = match kind {
            Kind::Sweep => WORDS_PER_LINE * misses * word(Access::Sweep, bytes),
            Kind::Strided => (misses - to_memory) * hit + to_memory * walk.max(hit),
            Kind::Chain => random(Access::Dependent),
            Kind::Pointer => random(pointers),
            Kind::Local | Kind::Random => written * random(Access::Independent),
        };
        let unit_stride = (Change::UnitStride, part.accesses as f64 * word(Access::Sweep, bytes));
        let in_cache = (Change::InCache, misses * word(Access::Independent, second / 2.0));
        let changes = match kind {
            Kind::Strided => vec![unit_stride],
            Kind::Chain | Kind::Pointer => vec![unit_stride, (Change::Independent, random(Access::Independent))],
            Kind::Random => vec![in_cache, unit_stride],
            Kind::Local => vec![in_cache],
            // Records with few words that are read.
            Kind::Sweep if part.stride.unsigned_abs() as f64 > part.step_bytes => vec![unit_stride],
            // A sweep stays in a cache only if it comes back.
            Kind::Sweep if part.reused_after.is_none() => Vec::new(),
            Kind::Sweep => vec![(Change::InCache, WORDS_PER_LINE * misses * word(Access::Sweep, second / 2.0))],
        };
        Self { part, seconds, changes }
    }
}

/// Predicts gains of a program that takes `total` seconds, and at least `fastest`, for lines that begin with the longest time.
pub fn gains(lines: &[LineTime], [total, fastest]: [f64; 2]) -> Vec<Gain> {
    let sum: f64 = lines.iter().map(|line| line.seconds).sum();
    let mut gains = Vec::new();
    for LineTime { part, seconds, changes } in lines.iter().take(MOST_LINES) {
        let most = total * seconds / sum;
        for (change, then) in changes {
            let speed = |error: f64| {
                let now = (error * seconds.min(most)).min(most);
                (total / (total - now + (then / error).min(now)).max(fastest)).max(1.0)
            };
            let [low, factor, high] = [1.0 / ERROR, 1.0, ERROR].map(speed);
            // Misses alone explain the time, so nothing shows what stays: the middle of a small and a large rest.
            let is_open = *seconds >= most || factor > LARGE_GAIN;
            let factor = if is_open { (low * factor).sqrt() } else { factor };
            let high = (!is_open).then_some(high);
            if factor >= LEAST_GAIN {
                gains.push(Gain { line: part.name.clone(), change: *change, factor, low, high });
            }
        }
    }
    gains
}

impl Gain {
    pub fn sentence(&self) -> String {
        let way = match self.change {
            Change::UnitStride => "stride 1",
            Change::InCache => "data in L2",
            Change::Independent => "independent accesses",
        };
        let [low, high] = [Some(self.low), self.high].map(|end| end.map(|end| number(end, NumberStyle::Fixed(2))));
        let range = [low, high].into_iter().flatten().collect::<Vec<_>>().join(" to ");
        let least = if self.high.is_none() { "at least " } else { "" };
        format!("With {way} at {}, it would be {least}{range} times as fast (predicted).", self.line)
    }
}
