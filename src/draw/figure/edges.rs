//! What the vertical axis of curves shows, and what of their intervals lies beyond it.

use super::ticks::Scale;
use apexmap_base::units::is_known;

/// The ends of intervals widen the axis by at most this factor beyond all values.
const ROOM: f64 = 3.0;

/// A value with the ends of its interval, which are NaN if there is none.
#[derive(Clone, Copy)]
pub struct Span {
    pub y: f64,
    pub low: f64,
    pub high: f64,
}

/// What the axis must show: all values, and the ends of intervals that say something, as far as there is room for them. The lower end
/// may be 0 or less where a log axis ends long before.
pub fn reach(points: impl Iterator<Item = Span> + Clone, log: bool) -> Vec<f64> {
    let mut values: Vec<f64> = points.clone().map(|point| point.y).collect();
    let (least, most) = values.iter().fold((f64::INFINITY, 0.0_f64), |(l, m), y| (l.min(*y), m.max(*y)));
    let known = points.filter(|point| is_known((point.low, point.high)));
    let ends = known.flat_map(|point| [point.low, point.high]).filter(|end| end.is_finite() && (!log || *end > 0.0));
    values.extend(ends.map(|end| if least > 0.0 { end.clamp(least / ROOM, most * ROOM) } else { end }));
    values
}

/// Whether the lower end of an interval lies below an axis, and the upper end above it.
pub fn is_beyond(point: Span, y: &Scale) -> (bool, bool) {
    let banded = point.low.is_finite() && point.high.is_finite();
    (banded && point.low < y.low, banded && point.high > y.high)
}

/// A subtitle that explains the arrows.
pub fn with_arrows(subtitle: &str) -> String {
    const ARROWS: &str = "arrows: intervals that continue beyond the axis";
    let (words, warning) = subtitle.split_once('\n').unwrap_or((subtitle, ""));
    let words = if words.is_empty() { ARROWS.to_owned() } else { format!("{words}; {ARROWS}") };
    if warning.is_empty() { words } else { format!("{words}\n{warning}") }
}
