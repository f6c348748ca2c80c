//! The first thing to read of a map: its four corners, in words and numbers.

use apexmap_base::units::significant;
use serde::Serialize;

/// The corners of some groups that have the same ones.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Corners {
    pub groups: Vec<String>,
    pub rows: Vec<CornerRow>,
}

/// One corner, in each group.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CornerRow {
    /// The kinds of locality that there are.
    pub locality: &'static str,
    pub place: String,
    pub cells: Vec<CornerCell>,
}

/// What was found there; empty where nothing was.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CornerCell {
    pub value: String,
    pub interval: String,
    /// What limits it; empty where that is not known.
    pub limit: String,
}

impl Corners {
    /// The corners of groups over these values of alpha and L, both ascending; `cell` finds what is at a group's number,
    /// alpha and L. `None` unless both axes have two values.
    pub fn of(
        groups: Vec<String>,
        alphas: &[f64],
        blocks: &[f64],
        cell: impl Fn(usize, f64, f64) -> CornerCell,
    ) -> Option<Self> {
        let ([reused, .., random], [short, .., long]) = (alphas, blocks) else { return None };
        let corners =
            [("none", random, short), ("temporal", reused, short), ("spatial", random, long), ("both", reused, long)];
        let rows = corners.map(|(locality, &alpha, &block)| CornerRow {
            locality,
            place: format!("alpha = {}, L = {}", significant(alpha), significant(block)),
            cells: (0..groups.len()).map(|group| cell(group, alpha, block)).collect(),
        });
        Some(Self { groups, rows: rows.into() })
    }
}
