//! Parts of the matched points of which something is said together.

use super::points::Point;
use super::roles::{ALL_CORES, ONE_CORE};
use apexmap_base::point::Value;

/// A part of the matched points of which a mean is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All matched points, where ranks are matched by number.
    All,
    OneCore,
    /// The whole machine against the whole machine.
    AllCores,
    PerCore,
    /// Rank counts that have no role, matched by number.
    OtherRanks,
}

impl Scope {
    /// Those that a comparison has, with the indices of their points.
    pub fn of(points: &[Point], matched: &[usize], by_role: bool) -> Vec<(Self, Vec<usize>)> {
        if !by_role {
            return vec![(Self::All, matched.to_vec())];
        }
        let of_role = |role: Option<&str>| -> Vec<usize> {
            let is = |at: &&usize| match (points[**at].value("ranks"), role) {
                (Some(Value::Text(word)), role) => Some(word.as_str()) == role,
                (_, role) => role.is_none(),
            };
            matched.iter().filter(is).copied().collect()
        };
        let all = of_role(Some(ALL_CORES));
        let rates = all.iter().any(|&at| points[at].by_machine.iter().flatten().any(|data| data.total.is_some()));
        let per_core = if rates { all.clone() } else { Vec::new() };
        let scopes = [
            (Self::OneCore, of_role(Some(ONE_CORE))),
            (Self::AllCores, all),
            (Self::PerCore, per_core),
            (Self::OtherRanks, of_role(None)),
        ];
        scopes.into_iter().filter(|(_, points)| !points.is_empty()).collect()
    }

    /// As tables and sentences name it.
    pub fn label(self) -> &'static str {
        match self {
            Self::All => "all compared points",
            Self::OneCore => "one core",
            Self::AllCores => "all cores, whole machine",
            Self::PerCore => "all cores, per core",
            Self::OtherRanks => "other rank counts",
        }
    }

    /// The logarithm of what a ratio of headlines is to be multiplied by: headlines are rates of a rank, or of all.
    pub fn factor(self, point: &Point, of: usize, to: usize) -> f64 {
        let (Some(a), Some(b)) = (&point.by_machine[of], &point.by_machine[to]) else { return 0.0 };
        let ranks = (a.ranks / b.ranks).ln();
        match (self, a.total) {
            (Self::AllCores, Some(false)) => ranks,
            (Self::PerCore, Some(true)) => -ranks,
            _ => 0.0,
        }
    }
}
