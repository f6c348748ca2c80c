//! The corners of the ratios between machines, for the first screen.

use super::Comparison;
use super::groups::MatchedGroup;
use super::pictures::of_point;
use super::summary::{ends, written};
use crate::html::{CornerCell, Corners};
use apexmap_theory::statistics::rank_tests::MannWhitney;
use std::cell::RefCell;

/// Ratios beside each other; the maps have the others.
const MOST_RATIOS: usize = 2;

/// The ratios to the first machine on the first surface, and on the next with the same axes; `None` without a surface.
pub fn of(comparison: &Comparison, groups: &[MatchedGroup]) -> Option<Corners> {
    let points = &comparison.points;
    let surfaces: Vec<&MatchedGroup> = groups.iter().filter(|group| group.is_surface()).collect();
    let axes = |group: &MatchedGroup| [group.values(points, 0), group.values(points, 1)];
    let [blocks, alphas] = axes(surfaces.first()?);
    let same = surfaces.into_iter().filter(|group| axes(group) == [blocks.clone(), alphas.clone()]);
    let machines = 1..comparison.machines.len();
    let shown: Vec<(&MatchedGroup, usize)> =
        same.flat_map(|group| machines.clone().map(move |of| (group, of))).take(MOST_RATIOS).collect();
    let label = |(group, of): &(&MatchedGroup, usize)| format!("{}: {}", comparison.machines[*of].name, group.label);
    let tests = RefCell::new(MannWhitney::default());
    let cell = |at: usize, alpha: f64, block: f64| {
        let (group, of) = shown[at];
        let corner = |&at: &usize| {
            let number = |axis: usize| points.points[at].number(&group.axes[axis]);
            (number(0), number(1)) == (Some(block), Some(alpha))
        };
        let found = group.points.iter().copied().find(corner);
        let ratio = found.and_then(|at| of_point(comparison, at, of, &mut tests.borrow_mut()));
        ratio.map_or_else(CornerCell::default, |ratio| CornerCell {
            value: format!("{} \u{d7}", written(ratio.value)),
            interval: ends(ratio.interval).unwrap_or_default(),
            limit: String::new(),
        })
    };
    Corners::of(shown.iter().map(label).collect(), &alphas, &blocks, cell)
}
