//! A part of the points of a large design, evenly spread.

use super::{Observation, bits, different};
use crate::numerics::mix::mix;
use std::collections::HashSet;

/// Which observations to fit to, so that they are of about `most` points; `None` for all.
///
/// Of the points in order one is drawn of each stretch, so that steps of the design and of the choice do not fall together; the
/// first with the least and with the largest value of each variable stay too. The same points always give the same choice.
pub fn kept(data: &[Observation], most: usize) -> Option<Vec<bool>> {
    let mut points = different(data);
    if points.len() <= most {
        return None;
    }
    points.sort_by(|a, b| {
        a.iter().zip(*b).map(|(a, b)| a.total_cmp(b)).find(|o| o.is_ne()).unwrap_or(a.len().cmp(&b.len()))
    });
    let stretches = most.max(1);
    let of_stretch = |stretch: usize| {
        let (from, to) = (stretch * points.len() / stretches, (stretch + 1) * points.len() / stretches);
        points[from + (mix(stretch as u64) % (to - from) as u64) as usize]
    };
    let mut chosen: HashSet<Vec<u64>> = (0..stretches).map(|stretch| bits(of_stretch(stretch))).collect();
    for at in 0..points[0].len() {
        let by = |a: &&&[f64], b: &&&[f64]| a[at].total_cmp(&b[at]);
        chosen.extend(points.iter().min_by(by).map(|x| bits(x)));
        chosen.extend(points.iter().max_by(by).map(|x| bits(x)));
    }
    Some(data.iter().map(|seen| chosen.contains(&bits(&seen.x))).collect())
}
