//! The range of the vertical axis of curves, and intervals that exceed it.

use super::ticks::Scale;
use apexmap_base::units::is_informative;

/// Ends of intervals widen the axis by at most this factor beyond all values.
const ROOM: f64 = 3.0;

/// A value with the ends of its interval. The ends are NaN if it has no interval.
#[derive(Clone, Copy)]
pub struct Span {
    pub y: f64,
    pub low: f64,
    pub high: f64,
}

/// Returns the values that the axis must cover: all points, and the ends of known intervals up to a factor of `ROOM`
/// beyond them. On a log axis a lower end may be 0 or less; such ends are ignored.
pub fn axis_values(points: impl Iterator<Item = Span> + Clone, log: bool) -> Vec<f64> {
    let mut values: Vec<f64> = points.clone().map(|point| point.y).collect();
    let (least, most) = values.iter().fold((f64::INFINITY, 0.0_f64), |(l, m), y| (l.min(*y), m.max(*y)));
    let bounded = points.filter(|point| is_informative((point.low, point.high)));
    let ends = bounded.flat_map(|point| [point.low, point.high]).filter(|end| end.is_finite() && (!log || *end > 0.0));
    values.extend(ends.map(|end| if least > 0.0 { end.clamp(least / ROOM, most * ROOM) } else { end }));
    values
}

/// Returns whether the lower end of an interval is below the axis, and whether the upper end is above it.
pub fn is_beyond(point: Span, y: &Scale) -> (bool, bool) {
    let has_interval = point.low.is_finite() && point.high.is_finite();
    (has_interval && point.low < y.low, has_interval && point.high > y.high)
}

pub fn explain_arrows(subtitle: &str) -> String {
    const ARROWS: &str = "arrows: intervals that continue beyond the axis";
    let (words, warning) = subtitle.split_once('\n').unwrap_or((subtitle, ""));
    let words = if words.is_empty() { ARROWS.to_owned() } else { format!("{words}; {ARROWS}") };
    if warning.is_empty() { words } else { format!("{words}\n{warning}") }
}
