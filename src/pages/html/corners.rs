//! The four corners of a map, in words and numbers.

use apexmap_base::units::{WORD_BYTES, bytes, short_number};
use serde::Serialize;

/// Of groups that share the same axes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Corners {
    pub groups: Vec<String>,
    /// A value has an interval.
    pub intervals: bool,
    pub rows: Vec<CornerRow>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CornerRow {
    /// None, temporal, spatial or both.
    pub locality: &'static str,
    pub place: String,
    pub cells: Vec<CornerCell>,
}

/// Empty if not measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CornerCell {
    pub value: String,
    pub interval: String,
    /// Fraction of the limit, and bottleneck.
    pub limit: Vec<String>,
}

impl Corners {
    /// Axes ascend; `None` unless both have two values. `cell`: the value for a group's index, alpha and L.
    pub fn new(
        groups: Vec<String>,
        alphas: &[f64],
        blocks: &[f64],
        cell: impl Fn(usize, f64, f64) -> CornerCell,
    ) -> Option<Self> {
        let rows = corner_places(alphas, blocks)?.map(|(locality, alpha, block)| CornerRow {
            locality,
            place: format!("alpha = {}, L = {}", short_number(alpha), block_length(block)),
            cells: (0..groups.len()).map(|group| cell(group, alpha, block)).collect(),
        });
        let rows: Vec<CornerRow> = rows.into();
        let intervals = rows.iter().flat_map(|row| &row.cells).any(|cell| !cell.interval.is_empty());
        Some(Self { groups, intervals, rows })
    }
}

/// `64 words (512 B)`
pub fn block_length(words: f64) -> String {
    let name = if words == 1.0 { "word" } else { "words" };
    format!("{} {name} ({})", short_number(words), bytes(words * WORD_BYTES as f64))
}

/// Locality, alpha and L; `None` unless both ascending axes have two values.
pub fn corner_places(alphas: &[f64], blocks: &[f64]) -> Option<[(&'static str, f64, f64); 4]> {
    let (&[reused, .., random], &[short, .., long]) = (alphas, blocks) else { return None };
    Some([("none", random, short), ("temporal", reused, short), ("spatial", random, long), ("both", reused, long)])
}
