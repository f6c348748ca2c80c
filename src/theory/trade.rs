//! Trade-off between temporal and spatial locality: the L that keeps a bandwidth constant as alpha grows.
//!
//! SOURCE: Apex-Map paper, Section 3.3, which reads such pairs off its surfaces for 1 and 10 MB/s.

use serde::Serialize;

/// Block length that just reaches a bandwidth at one alpha.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RequiredBlock {
    /// Between two measured points, interpolated in the logarithms of both.
    Words(f64),
    /// At most this length: the shortest measured block is already fast enough.
    AtMost(f64),
    /// The longest measured block is too slow.
    Never,
}

/// Returns where the curve of `bandwidths` over ascending `blocks` first reaches `level`. NaN marks a gap.
pub fn required_block(blocks: &[f64], bandwidths: &[f64], level: f64) -> RequiredBlock {
    let measured: Vec<(f64, f64)> =
        blocks.iter().copied().zip(bandwidths.iter().copied()).filter(|(_, bandwidth)| *bandwidth > 0.0).collect();
    let Some(index) = measured.iter().position(|(_, bandwidth)| *bandwidth >= level) else {
        return RequiredBlock::Never;
    };
    let (block, bandwidth) = measured[index];
    if index == 0 {
        return RequiredBlock::AtMost(block);
    }
    let (before, below) = measured[index - 1];
    let share = (level / below).ln() / (bandwidth / below).ln();
    RequiredBlock::Words(before * (block / before).powf(share))
}

/// Block lengths for one bandwidth at all alphas.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Trade {
    /// Bytes per second.
    pub level: f64,
    /// Block length for each alpha, as text: `64`, `≤ 1` or `–`.
    pub words: Vec<String>,
    /// Factor by which L grows from the smallest to the largest alpha; absent if the bandwidth is not reached there.
    pub factor: Option<String>,
}

/// Computes one row of the trade-off. `bandwidths[a][b]` belongs to the a-th alpha (ascending) and the b-th block.
pub fn trade(blocks: &[f64], bandwidths: &[Vec<f64>], level: f64) -> Trade {
    let needs: Vec<RequiredBlock> = bandwidths.iter().map(|row| required_block(blocks, row, level)).collect();
    let words = |need: &RequiredBlock| match need {
        RequiredBlock::Words(words) => apexmap_base::units::short_number(*words),
        RequiredBlock::AtMost(words) => format!("\u{2264} {words}"),
        RequiredBlock::Never => "\u{2013}".into(),
    };
    let factor = match (needs.first(), needs.last()) {
        (Some(RequiredBlock::Words(low)), Some(RequiredBlock::Words(high))) => {
            Some(apexmap_base::units::short_number(high / low))
        }
        (Some(RequiredBlock::AtMost(low)), Some(RequiredBlock::Words(high))) => {
            Some(format!("\u{2265} {}", apexmap_base::units::short_number(high / low)))
        }
        _ => None,
    };
    Trade { level, words: needs.iter().map(words).collect(), factor }
}

/// Returns bandwidths worth a line: the paper's 1 and 10 MB/s, and round values near the quarters of the logarithmic range.
pub fn levels(bandwidths: &[Vec<f64>]) -> Vec<f64> {
    let values = || bandwidths.iter().flatten().copied().filter(|v| *v > 0.0);
    let (low, high) = values().fold((f64::INFINITY, 0.0_f64), |(low, high), v| (low.min(v), high.max(v)));
    if low >= high {
        return Vec::new();
    }
    let round = |v: f64| {
        let decade = 10f64.powf(v.log10().floor());
        [1.0, 2.0, 5.0, 10.0]
            .into_iter()
            .map(|m| m * decade)
            .min_by(|a, b| (a / v).ln().abs().total_cmp(&(b / v).ln().abs()))
    };
    let quarters = (1..4).filter_map(|k| round(low * (high / low).powf(f64::from(k) / 4.0)));
    let mut levels: Vec<f64> = [1e6, 1e7].into_iter().chain(quarters).filter(|v| *v > low && *v < high).collect();
    levels.sort_by(f64::total_cmp);
    levels.dedup();
    levels
}
