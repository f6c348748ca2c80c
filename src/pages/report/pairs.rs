//! The figure of a paired comparison: the ratio of each pair.

use super::input::Input;
use crate::html::{Drawing, Picture};
use apexmap_base::error::Result;
use apexmap_base::units::Unit;
use apexmap_draw::figure::{CurvePoint, Curves, Figure, Quantity, Series};
use apexmap_study::paired::pairs_of;

/// Draws the ratios of the pairs over their numbers, with the ratio of all; `None` for other results.
pub fn draw(input: &Input) -> Result<Option<Picture>> {
    let Some(pairs) = pairs_of(input.samples) else { return Ok(None) };
    let Some(ratio) = pairs.ratio() else { return Ok(None) };
    let single = (0..)
        .map(f64::from)
        .zip(&pairs.logarithms)
        .map(|(x, logarithm)| CurvePoint::new(x, logarithm.exp(), None))
        .collect();
    // Lines need only their ends.
    let ends = [0.0, pairs.logarithms.len() as f64 - 1.0];
    let overall = |x| CurvePoint::new(x, ratio.value, Some((ratio.low, ratio.high)));
    let series = [
        ("pair", single),
        ("all pairs", ends.map(overall).into()),
        ("equal", ends.map(|x| CurvePoint::new(x, 1.0, None)).into()),
    ];
    let title = "Speed of B relative to A, by pair";
    let (x, y) = (
        Quantity::linear("number of the pair, in the order of the runs", Unit::None),
        Quantity::linear("speed of B / speed of A", Unit::None),
    );
    let series = series.map(|(label, points)| Series { label: label.into(), points }).into();
    let curves = Curves::new(title, input.samples.stamp_subtitle(String::new()), x, y, series);
    let caption = "Each point is a pair of neighbouring runs of A and B. The band is the interval of the ratio of all pairs, \
                   their geometric mean; it covers at least 95 %. Above 1, B is faster.";
    Drawing::new(Figure::Curves(curves), "pairs", title, caption).picture(&input.folder.figures()).map(Some)
}
