//! The corners of a result's surfaces, for its first screen.

use super::summary;
use crate::html::{CornerCell, Corners};
use apexmap_base::error::Result;
use apexmap_base::provenance::PlainNode;
use apexmap_results::samples::groups::SampleGroup;

/// Maximum number of surfaces side by side; the table of all points contains the others.
const MAX_SURFACES: usize = 2;

/// Returns the corners of the first surface, and of the next one with the same axes; `None` without a surface.
pub fn from_groups(groups: &[SampleGroup], node: &PlainNode) -> Result<Option<Corners>> {
    let surfaces: Vec<&SampleGroup> = groups.iter().filter(|group| group.is_surface()).collect();
    let Some(first) = surfaces.first() else { return Ok(None) };
    let same = |group: &&&SampleGroup| group.alphas == first.alphas && group.blocks == first.blocks;
    let shown: Vec<&SampleGroup> = surfaces.iter().filter(same).take(MAX_SURFACES).copied().collect();
    let rows: Vec<_> = shown.iter().map(|group| summary::rows(group, node)).collect::<Result<_>>()?;
    let cell = |group: usize, alpha: f64, block: f64| {
        let row = rows[group].iter().find(|row| row.at == [Some(alpha), Some(block)]);
        row.map_or_else(CornerCell::default, |row| CornerCell {
            value: row.median.clone(),
            interval: row.interval.clone(),
            limit: row.limit.clone(),
        })
    };
    let labels = shown.iter().map(|group| group.plain_label(node)).collect();
    Ok(Corners::new(labels, &first.alphas, &first.blocks, cell))
}
