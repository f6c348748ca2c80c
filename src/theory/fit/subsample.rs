//! Selects an evenly spread part of the points of a large design.

use super::{Observation, bits, distinct_points};
use apexmap_measure::numerics::mix::mix;
use std::collections::HashSet;

/// Selects observations of about `max_points` points; `None` if all fit. One point is drawn per stretch of the ordered
/// points, so that the selection does not follow the steps of the design. The first and last points at the ends of each
/// variable are added, which keeps the corners of a surface. Equal points give equal selections.
pub fn choose(data: &[Observation], max_points: usize) -> Option<Vec<bool>> {
    let mut points = distinct_points(data);
    if points.len() <= max_points {
        return None;
    }
    points.sort_by(|a, b| {
        a.iter().zip(*b).map(|(a, b)| a.total_cmp(b)).find(|o| o.is_ne()).unwrap_or(a.len().cmp(&b.len()))
    });
    let stretches = max_points.max(1);
    let draw_point = |stretch: usize| {
        let (from, to) = (stretch * points.len() / stretches, (stretch + 1) * points.len() / stretches);
        points[from + (mix(stretch as u64) % (to - from) as u64) as usize]
    };
    let mut chosen: HashSet<Vec<u64>> = (0..stretches).map(|stretch| bits(draw_point(stretch))).collect();
    for variable in 0..points[0].len() {
        let values = || points.iter().map(|x| x[variable]);
        for end in [values().min_by(f64::total_cmp), values().max_by(f64::total_cmp)].into_iter().flatten() {
            let is_at_end = |x: &&&[f64]| x[variable].total_cmp(&end).is_eq();
            chosen.extend(points.iter().find(is_at_end).map(|x| bits(x)));
            chosen.extend(points.iter().rfind(is_at_end).map(|x| bits(x)));
        }
    }
    Some(data.iter().map(|observation| chosen.contains(&bits(&observation.x))).collect())
}
