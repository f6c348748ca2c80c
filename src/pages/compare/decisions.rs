//! Which ratios differ from 1: point by point, or with all points of two machines in mind.
//!
//! One of twenty points without any difference has a 95 % interval that excludes 1. A map of many points therefore also has
//! decisions that are adjusted: of the points that they call different at most 5 % are not, on average (Benjamini and
//! Hochberg, see [`apexmap_theory::statistics::rank_tests`]).

use super::Comparison;
use super::ratio::{Ratio, scaled_ratio};
use super::scope::Scope;
use apexmap_theory::statistics::rank_tests::{MannWhitney, adjusted};
use std::collections::BTreeMap;

/// The share of false findings that is accepted.
pub const FALSE_FINDINGS: f64 = 0.05;

/// How it is decided whether a ratio differs from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Decision {
    /// Over all points of two machines together: at most 5 % of those called different are not, on average
    #[default]
    Adjusted,
    /// Each point for itself: its 95 % interval excludes 1; of points without a difference one in twenty is called different
    Unadjusted,
}

impl Decision {
    /// As captions say it.
    pub fn text(self) -> &'static str {
        match self {
            Self::Adjusted => "adjusted for the number of points: at most 5 % of the points called different are not",
            Self::Unadjusted => "unadjusted: each point for itself, its 95 % interval excludes 1",
        }
    }

    /// As legends mark what is not decided.
    pub fn undecided(self) -> &'static str {
        match self {
            Self::Adjusted => "n.s. (adjusted)",
            Self::Unadjusted => "n.s. (unadjusted)",
        }
    }

    /// Whether each of some ratios, which were tested together, is decided; in their order.
    pub fn of(self, ratios: &[Ratio]) -> Vec<bool> {
        match self {
            Self::Unadjusted => ratios.iter().map(Ratio::is_decided).collect(),
            Self::Adjusted => {
                // The intervals of few samples are wider than their test: what they leave open stays so.
                let found =
                    |(ratio, q): (&Ratio, Option<f64>)| ratio.is_decided() && q.is_some_and(|q| q <= FALSE_FINDINGS);
                ratios.iter().zip(adjusted_p(ratios)).map(found).collect()
            }
        }
    }
}

/// The adjusted p values of ratios that were tested together; `None` where there is no test.
fn adjusted_p(ratios: &[Ratio]) -> Vec<Option<f64>> {
    let tested: Vec<f64> = ratios.iter().filter_map(|ratio| ratio.p).collect();
    let mut adjusted = adjusted(&tested).into_iter();
    ratios.iter().map(|ratio| ratio.p.and_then(|_| adjusted.next())).collect()
}

/// A ratio and what is decided of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decided {
    pub ratio: Ratio,
    /// Its p value adjusted for all matched points.
    pub q: Option<f64>,
    /// Whether it differs from 1, by the comparison's [`Decision`].
    pub decided: bool,
}

/// The ratios of a machine to the first one at those of some points that have one, as a scope takes them, by the point's index.
pub fn all(comparison: &Comparison, of: usize, scope: Scope, points: &[usize]) -> BTreeMap<usize, Decided> {
    let mut tests = MannWhitney::default();
    let ratio = |&at: &usize| {
        let point = &comparison.points.points[at];
        let (a, b) = (point.by_machine[of].as_ref()?, point.by_machine[0].as_ref()?);
        Some((at, scaled_ratio(a, b, scope.factor(point, of, 0), &mut tests)?))
    };
    let (points, ratios): (Vec<usize>, Vec<Ratio>) = points.iter().filter_map(ratio).unzip();
    let decided = comparison.decision.of(&ratios);
    let each = ratios.iter().zip(adjusted_p(&ratios)).zip(decided);
    let each = each.map(|((ratio, q), decided)| Decided { ratio: *ratio, q, decided });
    points.into_iter().zip(each).collect()
}
