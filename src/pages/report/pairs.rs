//! The figure of a paired comparison: the ratio of each pair.

use super::input::Input;
use crate::html::{Picture, picture};
use apexmap_base::error::Result;
use apexmap_base::units::Unit;
use apexmap_draw::figure::{CurvePoint, Curves, Figure, Quantity, Series};
use apexmap_study::paired::pairs_of;

/// Draws the ratios of the pairs over their numbers, with the ratio of all; `None` for other results.
pub fn draw(input: &Input) -> Result<Option<Picture>> {
    let Some(pairs) = pairs_of(input.samples) else { return Ok(None) };
    let Some(ratio) = pairs.ratio() else { return Ok(None) };
    let point = |x: f64, y: f64| CurvePoint { x, y, low: f64::NAN, high: f64::NAN };
    let single = (0..).map(f64::from).zip(&pairs.logarithms).map(|(x, logarithm)| point(x, logarithm.exp())).collect();
    // Lines need only their ends.
    let ends = [0.0, pairs.logarithms.len() as f64 - 1.0];
    let overall = |x| CurvePoint { low: ratio.low, high: ratio.high, ..point(x, ratio.value) };
    let series =
        [("pair", single), ("all pairs", ends.map(overall).into()), ("equal", ends.map(|x| point(x, 1.0)).into())];
    let title = "Speed of B relative to A, by pair";
    let curves = Curves {
        title: title.into(),
        subtitle: input.samples.stamp_subtitle(String::new()),
        x: Quantity { label: "number of the pair, in the order of the runs".into(), unit: Unit::None, log: false },
        y: Quantity { label: "speed of B / speed of A".into(), unit: Unit::None, log: false },
        series: series.map(|(label, points)| Series { label: label.into(), points }).into(),
        marks: Vec::new(),
        ordered: false,
    };
    let caption = "Each point is a pair of neighbouring runs of A and B. The band is the interval of the ratio of all pairs, \
                   their geometric mean; it covers at least 95 %. Above 1, B is faster.";
    let folder = input.folder.figures();
    picture(&folder, &Figure::Curves(curves), "pairs".into(), title.into(), caption.into()).map(Some)
}
