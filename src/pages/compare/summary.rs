//! A comparison in few lines: geometric means of ratios, with interval and number of points.

use super::Comparison;
use super::groups::MatchedGroup;
use super::points::Point;
use super::ranking::{MachineRank, Matrix};
use super::ratio::{Basis, GeometricMean, geometric_mean};
use super::regression::{RegressionCheck, Tested};
use super::scope::Scope;
use crate::html::capital;
use apexmap_base::units::{NumberStyle, is_known, number, significant};
use apexmap_theory::statistics::rank_tests::MannWhitney;
use serde::Serialize;

/// The geometric mean of one machine over the base for one group of points, or for all.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MeanLine {
    pub machine: String,
    pub group: String,
    pub cells: usize,
    pub mean: String,
    pub interval: String,
    pub least: String,
    pub most: String,
    /// By what the interval is known.
    pub basis: &'static str,
}

/// Groups first, then all compared points together, by role where ranks are matched by role.
pub fn lines(comparison: &Comparison, groups: &[MatchedGroup]) -> Vec<MeanLine> {
    let mut tests = MannWhitney::default();
    let mut lines = Vec::new();
    for of in 1..comparison.machines.len() {
        let of_all = |at: &[usize]| at.iter().map(|&at| &comparison.points.points[at]).collect::<Vec<&Point>>();
        for group in groups.iter().filter(|_| groups.len() > 1) {
            if let Some(mean) = geometric_mean(&of_all(&group.points), of, 0, &mut tests) {
                lines.push(line(&comparison.machines[of].name, &group.label, mean));
            }
        }
        for (scope, at) in Scope::of(&comparison.points.points, &comparison.matched, comparison.points.roles.is_some())
        {
            let points = of_all(&at);
            if let Some(mean) = geometric_mean(&points, of, 0, &mut tests) {
                let mean = mean.scaled(|point| scope.factor(point, of, 0), &points);
                lines.push(line(&comparison.machines[of].name, scope.label(), mean));
            }
        }
    }
    lines
}

fn line(machine: &str, group: &str, mean: GeometricMean) -> MeanLine {
    MeanLine {
        machine: machine.to_owned(),
        group: group.to_owned(),
        cells: mean.cells,
        mean: written(mean.value),
        interval: ends(mean.interval).unwrap_or_else(|| "none".into()),
        least: written(mean.least),
        most: written(mean.most),
        basis: match mean.basis {
            Basis::Pairs => "launches of one run, in pairs",
            Basis::Launches => "launches",
            Basis::Samples => "samples within single launches",
            Basis::Nothing => "choice of points",
        },
    }
}

/// A ratio in three digits, or in up to five if needed to differ from 1.
pub fn written(ratio: f64) -> String {
    number(ratio, NumberStyle::Ratio)
}

pub fn ends(interval: Option<(f64, f64)>) -> Option<String> {
    interval.map(|(low, high)| match is_known((low, high)) {
        true => format!("[{}, {}]", written(low), written(high)),
        false => "[not known]".to_owned(),
    })
}

/// The matrix as text: `1.23 [1.2, 1.26]`.
pub fn matrix(matrix: &Matrix) -> Vec<Vec<String>> {
    let cell = |mean: &Option<GeometricMean>| match mean {
        None => "\u{2013}".to_owned(),
        Some(mean) => {
            let interval = ends(mean.interval).map(|ends| format!(" {ends}")).unwrap_or_default();
            format!("{}{interval}, n = {}", written(mean.value), mean.cells)
        }
    };
    matrix.means.iter().map(|row| row.iter().map(cell).collect()).collect()
}

/// A regression check for the page.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Checked {
    /// The check with its numbers.
    #[serde(flatten)]
    pub check: RegressionCheck,
    pub percent: String,
    /// What it could have found.
    pub power: String,
    /// Point, slowdown, interval, p and adjusted p of every finding.
    pub rows: Vec<[String; 5]>,
}

/// `stamps`: the warnings that the page has already.
pub fn checked(check: &RegressionCheck, stamps: &[String]) -> Checked {
    let row = |tested: &Tested| {
        let interval = ends(tested.interval).unwrap_or_default();
        [tested.point.clone(), written(tested.slowdown), interval, significant(tested.p), significant(tested.q)]
    };
    Checked {
        percent: significant(100.0 * (check.limit - 1.0)),
        rows: check.slower.iter().map(row).collect(),
        power: capital(&check.power()),
        check: RegressionCheck {
            warnings: check.warnings.iter().filter(|warning| !stamps.contains(warning)).cloned().collect(),
            ..check.clone()
        },
    }
}

/// A ranking for the page: rank, machine, speed, range of ranks, share of draws in which it is first.
pub fn ranked(ranks: &[MachineRank]) -> Vec<[String; 5]> {
    let unknown = || "unknown".to_owned();
    let row = |rank: &MachineRank| {
        let range = rank.range.map_or_else(unknown, |(low, high)| match low == high {
            true => low.to_string(),
            false => format!("{low} to {high}"),
        });
        let first = rank.first.map_or_else(unknown, |share| format!("{:.1} %", 100.0 * share));
        [rank.rank.to_string(), rank.machine.clone(), written(rank.speed), range, first]
    };
    ranks.iter().map(row).collect()
}
