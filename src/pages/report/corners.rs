//! The corners of a result's surfaces, for its first screen.

use super::summary::SummaryRow;
use crate::html::{CornerCell, Corners};
use apexmap_base::provenance::PlainNode;
use apexmap_results::samples::groups::SampleGroup;

/// Maximum number of surfaces side by side; the table of all points contains the others.
const MAX_SURFACES: usize = 2;

/// Returns the corners of the first surface, and of the next one with the same axes; `None` without a surface. `rows` are those of all
/// groups.
pub fn from_groups(groups: &[SampleGroup], rows: &[SummaryRow], node: &PlainNode) -> Option<Corners> {
    let surfaces: Vec<&SampleGroup> = groups.iter().filter(|group| group.is_surface()).collect();
    let first = surfaces.first()?;
    let same = |group: &&&SampleGroup| group.alphas == first.alphas && group.blocks == first.blocks;
    let shown: Vec<&SampleGroup> = surfaces.iter().filter(same).take(MAX_SURFACES).copied().collect();
    let names: Vec<String> = shown.iter().map(|group| group.label()).collect();
    let cell = |group: usize, alpha: f64, block: f64| {
        let row = rows.iter().find(|row| row.group == names[group] && row.is_at(alpha, block));
        row.map_or_else(CornerCell::default, |row| CornerCell {
            value: row.median(),
            interval: row.interval(),
            limit: row.limit_lines().into_iter().filter(|line| !line.is_empty()).collect(),
        })
    };
    let labels = shown.iter().map(|group| group.plain_label(node)).collect();
    Corners::new(labels, &first.alphas, &first.blocks, cell)
}
