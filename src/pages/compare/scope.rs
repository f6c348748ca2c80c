//! Subsets of the matched points with separate means: by role of the rank count, or by number of processes against a device.

use super::points::{ALL_CORES, ONE_CORE, Point};
use apexmap_base::point::Value;
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// With ranks matched by number.
    All,
    OneCore,
    /// Rates of the whole machines.
    AllCores,
    PerCore,
    /// Without a role, matched by number.
    OtherRanks,
    /// One of several that are compared with a device.
    Processes {
        ranks: u64,
        /// They use all cores of their node.
        all_cores: bool,
    },
}

impl Scope {
    /// With the indices of their points.
    pub fn roles(points: &[Point], matched: &[usize]) -> Vec<(Self, Vec<usize>)> {
        let of_role = |role: Option<&str>| -> Vec<usize> {
            let is = |index: &&usize| match (points[**index].value("ranks"), role) {
                (Some(Value::Text(word)), role) => Some(word.as_str()) == role,
                (_, role) => role.is_none(),
            };
            matched.iter().filter(is).copied().collect()
        };
        let all_cores = of_role(Some(ALL_CORES));
        let rates =
            all_cores.iter().any(|&index| points[index].by_machine.iter().flatten().any(|data| data.total.is_some()));
        let per_core = if rates { all_cores.clone() } else { Vec::new() };
        let scopes = [
            (Self::OneCore, of_role(Some(ONE_CORE))),
            (Self::AllCores, all_cores),
            (Self::PerCore, per_core),
            (Self::OtherRanks, of_role(None)),
        ];
        scopes.into_iter().filter(|(_, points)| !points.is_empty()).collect()
    }

    /// One for each number of processes. `cores`: of the processes' machines, if known.
    pub fn processes(points: &[Point], matched: &[usize], cores: &[Option<u64>]) -> Vec<(Self, Vec<usize>)> {
        let mut scopes: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        for &index in matched {
            let ranks = points[index].number("ranks").unwrap_or(1.0);
            scopes.entry(ranks as u64).or_default().push(index);
        }
        let scope = |(ranks, points)| (Self::Processes { ranks, all_cores: cores.contains(&Some(ranks)) }, points);
        scopes.into_iter().map(scope).collect()
    }

    pub fn label(self) -> String {
        match self {
            Self::All => "all compared points".into(),
            Self::OneCore => "one core".into(),
            Self::AllCores => "all cores, whole machine".into(),
            Self::PerCore => "all cores, per core".into(),
            Self::OtherRanks => "other rank counts".into(),
            Self::Processes { ranks: 1, .. } => "one process at P = 1".into(),
            Self::Processes { ranks, all_cores: true } => format!("one node at P = {ranks}"),
            Self::Processes { ranks, all_cores: false } => format!("{ranks} processes at P = {ranks}"),
        }
    }

    /// Logarithm that converts a ratio of headlines, which are rates per rank or of all ranks, to this scope.
    pub fn factor(self, point: &Point, machine: usize, base: usize) -> f64 {
        let (Some(a), Some(b)) = (&point.by_machine[machine], &point.by_machine[base]) else { return 0.0 };
        let ranks = (a.ranks / b.ranks).ln();
        match (self, a.total) {
            (Self::AllCores, Some(false)) => ranks,
            (Self::PerCore, Some(true)) => -ranks,
            _ => 0.0,
        }
    }
}
