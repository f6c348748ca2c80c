//! Places on maps: sites of programs, and how to read a map between its points and its sizes.

use apexmap_base::units::bytes;
use serde::{Deserialize, Serialize};
use std::fmt;

/// How a part of a code walks through memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// At a constant stride that leaves out no line.
    Sweep,
    /// At a constant, longer stride.
    Strided,
    /// The address is a constant plus a multiple of the value that the same instruction, or another one of an
    /// unrolled chain, loaded before.
    Chain,
    /// The address is shortly behind one of the last eight loaded words.
    Pointer,
    /// Mostly within the line of the access before.
    Local,
    Random,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Sweep => "sweep",
            Self::Strided => "strided",
            Self::Chain => "chain",
            Self::Pointer => "pointer",
            Self::Local => "local",
            Self::Random => "random",
        })
    }
}

/// A part of a code: accesses of one line and kind.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct CodeSite {
    pub line: String,
    pub kind: Kind,
    pub share: f64,
    /// `None` if Apex-Map has no such miss ratios.
    pub alpha: Option<f64>,
    #[serde(rename = "L")]
    pub block_words: f64,
    /// Distance of consecutive accesses in words, for sweeps and strided walks.
    #[serde(default = "unit_stride")]
    pub stride: f64,
    /// Size of the memory to which alpha refers.
    pub bytes: f64,
    /// Bytes reached between two visits of a line, for half of the visits and for 90 %; `None` without a second visit.
    pub reused: Option<[f64; 2]>,
}

fn unit_stride() -> f64 {
    1.0
}

impl CodeSite {
    pub fn is_valid(&self) -> bool {
        let is_size = |value: f64| value >= 1.0 && value.is_finite();
        let is_share = |value: f64| value > 0.0 && value <= 1.0;
        is_share(self.share)
            && self.alpha.is_none_or(is_share)
            && is_size(self.block_words)
            && is_size(self.bytes)
            && self.reused.is_none_or(|ends| ends.into_iter().all(is_size))
            && self.stride > 0.0
            && self.stride.is_finite()
    }
}

/// Why a map has no rate for accesses. As text, it is a clause.
#[derive(Clone, Debug, PartialEq)]
pub enum NoRate {
    /// The result has no map of such accesses.
    NoMap(Kind),
    /// The map has the other accesses: dependent or independent ones.
    OtherAccesses,
    /// Streams and jumps alternate, and one place has no rate for both.
    Mixed,
    /// The code is a sum of sites, each with its own place.
    Sites,
    /// No size was measured near this one, in bytes.
    Size(f64),
    UnknownSize,
    /// The size of the code is not given, and several were measured.
    SizeMissing,
    /// Apex-Map has no such miss ratios.
    NoPlace,
    /// Half of the visits come back after the first number of bytes, 90 % after the second, and their rates differ.
    Reuse([f64; 2]),
    /// The place is outside the measured values of an axis.
    Outside,
    /// A point around the place has no value.
    Gap,
}

impl fmt::Display for NoRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoMap(kind) => write!(f, "no map has {kind} accesses"),
            Self::OtherAccesses => f.write_str("not on this map"),
            Self::Mixed => f.write_str("streams and jumps mix"),
            Self::Sites => f.write_str("a sum of sites"),
            Self::Size(size) => write!(f, "no measured size is near {}", bytes(*size)),
            Self::UnknownSize => f.write_str("the size of the map is unknown"),
            Self::SizeMissing => f.write_str("its size is not given: add bytes"),
            Self::NoPlace => f.write_str("unlike the accesses of Apex-Map"),
            Self::Reuse([half, most]) => {
                write!(f, "lines come back after {} to {}, at different rates", bytes(*half), bytes(*most))
            }
            Self::Outside => f.write_str("outside the map"),
            Self::Gap => f.write_str("not measured"),
        }
    }
}

const WORDS_PER_LINE: f64 = 8.0;

/// Returns the cache lines of a run of consecutive words, or of a step from word to word: at least one.
pub fn lines_of_words(words: f64) -> f64 {
    (words / WORDS_PER_LINE).max(1.0)
}

/// Returns the words that a strided walk reads in each line that it enters, if it reads `run` consecutive words at each step.
pub fn words_of_line(run: f64) -> f64 {
    run.clamp(1.0, WORDS_PER_LINE)
}

/// The largest ratio of neighbouring sizes between which a rate is interpolated. The caches of most machines grow by more from level to level.
const MAX_STEP: f64 = 4.0;
/// A map also holds for data this many times larger or smaller: a ladder of powers of two has no wider gaps. Rounded up.
pub const SAME_SIZE: f64 = 1.4143;

/// Returns indices of ascending sizes from which to read a rate, with weights of their logarithms; `None` if no size is near.
pub fn sizes_around(sizes: &[f64], size: f64) -> Option<Vec<(usize, f64)>> {
    if let Some((index, share)) = position(sizes, size) {
        if share == 0.0 {
            return Some(vec![(index, 1.0)]);
        }
        if sizes[index + 1] <= MAX_STEP * sizes[index] {
            return Some(vec![(index, 1.0 - share), (index + 1, share)]);
        }
    }
    let distance = |index: &usize| (sizes[*index] / size).ln().abs();
    let nearest = (0..sizes.len()).min_by(|a, b| distance(a).total_cmp(&distance(b)))?;
    (distance(&nearest) <= SAME_SIZE.ln()).then(|| vec![(nearest, 1.0)])
}

/// Reads a map at (x, y), linearly in all logarithms, without extrapolation. `value(i, j)` may be NaN; `xs` and `ys` ascend.
pub fn interpolate(
    [xs, ys]: [&[f64]; 2],
    value: impl Fn(usize, usize) -> f64,
    [x, y]: [f64; 2],
) -> Result<f64, NoRate> {
    let (Some((i, u)), Some((j, v))) = (position(xs, x), position(ys, y)) else { return Err(NoRate::Outside) };
    let mut logarithm = 0.0;
    for (di, dj, weight) in [(0, 0, (1.0 - u) * (1.0 - v)), (1, 0, u * (1.0 - v)), (0, 1, (1.0 - u) * v), (1, 1, u * v)]
    {
        // A point on a line of the grid does not depend on the next line.
        if weight > 0.0 {
            logarithm += weight * value(i + di, j + dj).ln();
        }
    }
    if logarithm.is_finite() { Ok(logarithm.exp()) } else { Err(NoRate::Gap) }
}

/// Returns the index of the last value that is at most `x`, and the share of the way to the next in logarithms.
pub fn position(values: &[f64], x: f64) -> Option<(usize, f64)> {
    // Values such as 0.001 are rounded where they are computed from powers.
    const SAME: f64 = 1e-9;
    if let Some(index) = values.iter().position(|value| (value / x - 1.0).abs() < SAME) {
        return Some((index, 0.0));
    }
    let index = values.windows(2).position(|pair| pair[0] < x && x < pair[1])?;
    Some((index, (x / values[index]).ln() / (values[index + 1] / values[index]).ln()))
}
