//! The control of comparisons: launches of one build on one machine, alternately called A and B. Every difference found between
//! them is false. Their rate shows whether the intervals of comparisons are wide enough on this machine.

use super::comparison::Comparison;
use super::geometric_mean::GeometricMean;
use super::points::PointData;
use super::ratio::{FALSE_FINDINGS, Ratio, TestedRatio, format_with_interval, ratio};
use apexmap_base::error::{Error, Result};
use apexmap_base::units::{plural, short_number};
use apexmap_results::samples::Samples;
use apexmap_theory::statistics::rank_tests::MannWhitney;
use serde::Serialize;
use statrs::distribution::{Beta, ContinuousCDF};
use std::collections::BTreeSet;
use std::fmt::Write;

/// The names of the two sides.
pub const SIDES: [&str; 2] = ["A", "B"];

/// Returns the samples of the first, third, fifth ... launch of each rank count, and those of the other launches.
///
/// # Errors
/// If the samples do not state their launch.
pub fn sides(samples: &Samples) -> Result<[Samples; 2]> {
    let block = samples.require("block")?;
    Ok([0, 1].map(|side| samples.filter_rows(|row| block.number(row) % 2.0 == f64::from(side))))
}

/// Findings of a control.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Control {
    /// Points with an interval.
    pub points: usize,
    /// Points whose 95 % interval excludes 1.
    pub found: usize,
    /// Fraction of points found, and its 95 % interval (Clopper and Pearson, Biometrika 26, 1934), for independent points.
    pub rate: f64,
    pub interval: (f64, f64),
    /// Points found after adjustment for their number.
    pub found_adjusted: usize,
    /// Fraction of points found over all ways to divide the launches into two sides, and the number of ways; `None` if there are
    /// too many.
    pub over_all_ways: Option<(f64, usize)>,
    /// Points without an interval, or without a value on one side.
    pub untested: usize,
    /// Maximum number of launches of a side at a point.
    pub launches: usize,
    /// Speed of B relative to A over all points.
    pub ratio: f64,
    pub ratio_interval: Option<(f64, f64)>,
}

/// Counts the findings of a comparison of A and B.
///
/// # Errors
/// If no point has an interval.
pub fn count_findings(comparison: &Comparison) -> Result<Control> {
    let mut tests = MannWhitney::default();
    let pairs: Vec<(&PointData, &PointData)> = comparison
        .matched_points()
        .into_iter()
        .filter_map(|point| Some((point.by_machine[1].as_ref()?, point.by_machine[0].as_ref()?)))
        .collect();
    let over = &comparison.ratios[1];
    let with_launches = |tested: &&TestedRatio| tested.ratio.basis.includes_launches();
    let ratios: Vec<&TestedRatio> = over.ratios.values().filter(with_launches).collect();
    let Some(GeometricMean { value, interval: ratio_interval, .. }) = over.mean.filter(|_| !ratios.is_empty()) else {
        return Err(Error::input(
            "no point of this control has an interval",
            "measure more launches of each side: --launches 3",
        ));
    };
    let found_count = ratios.iter().filter(|tested| excludes_one(&tested.ratio)).count();
    Ok(Control {
        points: ratios.len(),
        found: found_count,
        rate: found_count as f64 / ratios.len() as f64,
        interval: binomial(found_count, ratios.len()),
        found_adjusted: ratios.iter().filter(|tested| tested.q.is_some_and(|q| q <= FALSE_FINDINGS)).count(),
        over_all_ways: rate_over_all_ways(&pairs, &mut tests),
        untested: comparison.points.points.len() - ratios.len(),
        launches: pairs
            .iter()
            .map(|(machine, base)| machine.launches.len().max(base.launches.len()))
            .max()
            .unwrap_or(0),
        ratio: value,
        ratio_interval,
    })
}

/// Returns whether the interval excludes 1. Disturbance, which also keeps comparisons from deciding, must not hide intervals that are
/// too narrow.
fn excludes_one(ratio: &Ratio) -> bool {
    Ratio { slowed: [1.0; 2], ..*ratio }.is_decided()
}

/// Returns Clopper and Pearson's 95 % interval of the fraction `successes` / `trials`.
pub fn binomial(successes: usize, trials: usize) -> (f64, f64) {
    let quantile =
        |a: usize, b: usize, share: f64| Beta::new(a as f64, b as f64).map_or(f64::NAN, |beta| beta.inverse_cdf(share));
    let low = if successes == 0 { 0.0 } else { quantile(successes, trials - successes + 1, 0.025) };
    let high = if successes == trials { 1.0 } else { quantile(successes + 1, trials - successes, 0.975) };
    (low, high)
}

/// Maximum number of blocks; more can be divided in too many ways.
const MAX_BLOCKS: usize = 12;

/// Returns the fraction of points found over all ways to divide the blocks of launches into two equal sides, and the number of
/// ways.
fn rate_over_all_ways(pairs: &[(&PointData, &PointData)], tests: &mut MannWhitney) -> Option<(f64, usize)> {
    let both = || pairs.iter().flat_map(|(machine, base)| machine.launches.iter().chain(&base.launches));
    let blocks: Option<BTreeSet<u64>> = both().map(|launch| launch.block).collect();
    let blocks: Vec<u64> = blocks?.into_iter().collect();
    if blocks.len() > MAX_BLOCKS || blocks.len() % 2 == 1 || blocks.len() < 4 {
        return None;
    }
    // The first block is always on the first side, because exchanging the sides changes nothing.
    let halves = (0u32..1 << blocks.len()).filter(|way| way & 1 == 1 && way.count_ones() as usize * 2 == blocks.len());
    let (mut ways, mut decided, mut tested) = (0, 0, 0);
    for way in halves {
        let first: BTreeSet<u64> =
            blocks.iter().enumerate().filter(|(index, _)| way >> index & 1 == 1).map(|(_, block)| *block).collect();
        ways += 1;
        for (machine, base) in pairs {
            let side = |wanted: bool| {
                let launches = machine.launches.iter().chain(&base.launches);
                let launches =
                    launches.filter(|launch| launch.block.is_some_and(|block| first.contains(&block)) == wanted);
                PointData { launches: launches.cloned().collect(), ..(*machine).clone() }
            };
            let Some(ratio) = ratio(&side(true), &side(false), tests).filter(|ratio| ratio.basis.includes_launches())
            else {
                continue;
            };
            tested += 1;
            decided += usize::from(excludes_one(&ratio));
        }
    }
    (tested > 0).then(|| (decided as f64 / tested as f64, ways))
}

/// Formats the findings for a terminal.
pub fn text(control: &Control, sweep: &str) -> String {
    let percent = |share: f64| format!("{} %", short_number(100.0 * share));
    let (low, high) = control.interval;
    let mut text = format!(
        "{sweep}: {} each of A and B, alternating, with one build on one machine\n",
        plural(control.launches, "launch")
    );
    let _ = writeln!(
        text,
        "false findings: {} of {} ({}; 95 % interval {} to {}, as if points were independent), expected at most {}: {}",
        control.found,
        plural(control.points, "point"),
        percent(control.rate),
        percent(low),
        percent(high),
        percent(FALSE_FINDINGS),
        match low > FALSE_FINDINGS {
            true => "MORE THAN EXPECTED, intervals of comparisons are too narrow on this machine",
            false => "as expected",
        }
    );
    let _ = writeln!(text, "adjusted for the number of points: {}", plural(control.found_adjusted, "point"));
    if let Some((rate, ways)) = control.over_all_ways {
        let _ = writeln!(text, "over all {ways} ways to divide these launches into two sides: {}", percent(rate));
    }
    let ratio = format_with_interval(control.ratio, control.ratio_interval);
    let _ = writeln!(text, "B / A over all points: {ratio}");
    if control.untested > 0 {
        let _ = writeln!(text, "not tested: {}", plural(control.untested, "point"));
    }
    text
}
