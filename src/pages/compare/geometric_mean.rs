//! Geometric means of ratios over points, with intervals over launches, and scopes: subsets of the points with separate means.

use super::points::{ALL_CORES, ONE_CORE, Point, PointData, Points};
use super::ratio::{Basis, Direction, Ratio, TestedRatio, adjust, ratio, scaled_ratio};
use apexmap_base::point::Value;
use apexmap_results::samples::estimate::{self, Mean};
use apexmap_results::samples::health::Slowing;
use apexmap_theory::statistics::rank_tests::MannWhitney;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GeometricMean {
    pub value: f64,
    /// 95 %, of the choice of points if the basis is [`Basis::Nothing`]; `None` for a single point without uncertainty.
    pub interval: Option<(f64, f64)>,
    pub basis: Basis,
    pub cells: usize,
    /// Points that the mean does not include: without an interval, or with single launches.
    pub left_out: usize,
    /// Factors by which disturbance can have slowed the machine and the base; infinite if unknown.
    pub slowed: [f64; 2],
    pub least: f64,
    pub most: f64,
}

impl GeometricMean {
    pub fn direction(&self) -> Direction {
        Direction::new(self.interval, self.basis, self.slowed)
    }

    /// The side, 0 for the machine or 1 for the base, whose disturbance alone keeps the mean from deciding.
    pub fn explained_by(&self) -> Option<usize> {
        let slower_side = match Direction::new(self.interval, self.basis, [1.0; 2]) {
            Direction::Slower => 0,
            Direction::Faster => 1,
            _ => return None,
        };
        (self.direction() == Direction::Undecided).then_some(slower_side)
    }

    /// Multiplies by the geometric mean of the points' factors, given as logarithms. The extremes keep their points.
    pub fn scale(self, factor: impl Fn(&Point) -> f64, points: &[&Point]) -> Self {
        let total: f64 = points.iter().map(|point| factor(point)).sum();
        let times = (total / points.len().max(1) as f64).exp();
        let interval = self.interval.map(|(low, high)| (low * times, high * times));
        Self { value: self.value * times, interval, least: self.least * times, most: self.most * times, ..self }
    }
}

/// Half-width of a 95 % interval of the standard normal distribution.
const NORMAL: f64 = 1.959_964;

#[derive(Clone, Copy)]
struct Member<'a> {
    weight: f64,
    machine: &'a PointData,
    base: &'a PointData,
    ratio: Ratio,
}

impl<'a> Member<'a> {
    fn new(point: &'a Point, weight: f64, machine: usize, base: usize, tests: &mut MannWhitney) -> Option<Self> {
        let (machine, base) = (point.by_machine[machine].as_ref()?, point.by_machine[base].as_ref()?);
        Some(Self { weight, machine, base, ratio: ratio(machine, base, tests)? })
    }
}

/// The interval is that of the mean over exactly these points. Launches are the unit, each with all its points, because a slow launch
/// is slow at all of them. With single launches on a side, the points' own intervals are combined as if independent. Points without an
/// interval are excluded if others have one, and those with single launches if more than half of the points have several.
pub fn geometric_mean(
    points: &[&Point],
    machine: usize,
    base: usize,
    tests: &mut MannWhitney,
) -> Option<GeometricMean> {
    let members: Vec<Member> =
        points.iter().filter_map(|point| Member::new(point, 1.0, machine, base, tests)).collect();
    let mean = mean_of_points(&members)?;
    let only = |is_kept: fn(&Ratio) -> bool| -> Vec<Member> {
        members.iter().filter(|member| is_kept(&member.ratio)).copied().collect()
    };
    let with_launches = only(|ratio| ratio.basis.includes_launches());
    // A few points with single launches must not hide what the others decide.
    let kept = match 2 * with_launches.len() > members.len() {
        true => with_launches,
        false => only(|ratio| ratio.interval.is_some()),
    };
    if mean.basis.includes_launches() || kept.len() == members.len() {
        return Some(mean);
    }
    let part = mean_of_points(&kept).filter(|part| part.basis != Basis::Nothing);
    let left_out = members.len() - kept.len();
    Some(part.map_or(mean, |part| GeometricMean { left_out, ..part }))
}

/// With an interval as in [`geometric_mean`]; `None` if a point has no ratio.
pub fn weighted_mean(
    points: &[(f64, &Point)],
    machine: usize,
    base: usize,
    tests: &mut MannWhitney,
) -> Option<GeometricMean> {
    let members: Option<Vec<Member>> =
        points.iter().map(|(weight, point)| Member::new(point, *weight, machine, base, tests)).collect();
    mean_of_points(&members?)
}

fn mean_of_points(members: &[Member]) -> Option<GeometricMean> {
    if members.is_empty() {
        return None;
    }
    let total: f64 = members.iter().map(|member| member.weight).sum();
    let logs: Vec<f64> = members.iter().map(|member| member.ratio.value.ln()).collect();
    let value = members.iter().zip(&logs).map(|(member, log)| member.weight * log).sum::<f64>() / total;
    let (least, most) = logs.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, m), v| (l.min(*v), m.max(*v)));
    let side = |pick: fn(&Member) -> Slowing| members.iter().map(pick).fold(Slowing::NONE, Slowing::join).factor();
    let slowed = [side(|member| member.machine.slowing), side(|member| member.base.slowing)];
    let make_mean = |value: f64, interval: Option<(f64, f64)>, basis| GeometricMean {
        value: value.exp(),
        interval: interval.map(|(low, high)| (low.exp(), high.exp())),
        basis,
        cells: members.len(),
        left_out: 0,
        slowed,
        least: least.exp(),
        most: most.exp(),
    };
    if let Some(mean) = paired_mean(members) {
        // A disturbance slows both sides of a pair.
        let mean = make_mean(mean.value, Some(mean.interval()), Basis::Pairs);
        return Some(GeometricMean { slowed: [1.0; 2], ..mean });
    }
    let is_exact = members.iter().all(|member| member.ratio.basis == Basis::Exact);
    let both_exact = members.iter().all(|member| member.machine.exact && member.base.exact);
    // The error of published values is not known, so that of their mean is not known either.
    let no_spread = both_exact && !is_exact;
    let side_mean = |pick: fn(&Member) -> (f64, PointData)| {
        let data: Vec<(f64, PointData)> = members.iter().map(pick).collect();
        mean_over_points(&data)
    };
    let machine = side_mean(|member| (member.weight, member.machine.clone()));
    let base = side_mean(|member| (member.weight, member.base.clone()));
    if let (Some(machine), Some(base), false) = (machine, base, no_spread) {
        let mean = machine.subtract(&base);
        let basis = if is_exact { Basis::Exact } else { Basis::Launches };
        return Some(make_mean(mean.value, Some(mean.interval()), basis));
    }
    let errors = members.iter().map(|member| {
        let (low, high) = member.ratio.interval?;
        Some(member.weight * (high / low).ln() / 2.0 / NORMAL)
    });
    if let Some(errors) = errors.collect::<Option<Vec<f64>>>() {
        let half = NORMAL * errors.iter().map(|error| error * error).sum::<f64>().sqrt() / total;
        return Some(make_mean(value, Some((value - half, value + half)), Basis::Samples));
    }
    Some(make_mean(value, Mean::from_values(&logs).map(|mean| mean.interval()), Basis::Nothing))
}

/// Pairs the sides of one run block by block; `None` unless both sides of each point have two common blocks.
fn paired_mean(members: &[Member]) -> Option<Mean> {
    let mut sets: BTreeMap<BTreeSet<u64>, Vec<(f64, Vec<f64>)>> = BTreeMap::new();
    let mut paired = 0;
    for Member { weight, machine, base, .. } in members.iter().filter(|member| member.machine.same_run(member.base)) {
        let pairs = estimate::pairs(&machine.launches, &base.launches)?;
        sets.entry(pairs.keys().copied().collect()).or_default().push((*weight, pairs.into_values().collect()));
        paired += 1;
    }
    if paired < members.len() { None } else { mean_of_sets(sets.into_values()) }
}

/// Launches are the unit. Points with equal numbers of launches share them: a sweep launches all points of a rank count together.
pub fn mean_over_points(data: &[(f64, PointData)]) -> Option<Mean> {
    let mut exact: Vec<(f64, f64)> = Vec::new();
    let mut sets: BTreeMap<usize, Vec<(f64, Vec<f64>)>> = BTreeMap::new();
    for (weight, point) in data {
        let medians = point.medians();
        if point.exact {
            exact.extend(medians.into_iter().map(|median| (*weight, median)));
        } else {
            sets.entry(medians.len()).or_default().push((*weight, medians));
        }
    }
    if exact.is_empty() {
        return mean_of_sets(sets.into_values());
    }
    let exact_weight: f64 = exact.iter().map(|(weight, _)| weight).sum();
    let value = exact.iter().map(|(weight, median)| weight * median).sum::<f64>() / exact_weight;
    let share = exact_weight / data.iter().map(|(weight, _)| weight).sum::<f64>();
    let exact_mean = (share, Mean::from_exact(value));
    if sets.is_empty() {
        return Some(exact_mean.1);
    }
    let rest = mean_of_sets(sets.into_values())?;
    Some(Mean::sum(&[exact_mean, (1.0 - share, rest)]))
}

/// The rows of a set have one value per launch, in the same launches.
fn mean_of_sets(sets: impl Iterator<Item = Vec<(f64, Vec<f64>)>>) -> Option<Mean> {
    let of_set = |rows: Vec<(f64, Vec<f64>)>| {
        let total: f64 = rows.iter().map(|(weight, _)| weight).sum();
        let mean_in = |launch: usize| rows.iter().map(|(weight, row)| weight * row[launch]).sum::<f64>() / total;
        let mean = Mean::from_values(&(0..rows[0].1.len()).map(mean_in).collect::<Vec<_>>())?;
        Some((total, mean))
    };
    let parts: Vec<(f64, Mean)> = sets.map(of_set).collect::<Option<_>>()?;
    let total: f64 = parts.iter().map(|(weight, _)| weight).sum();
    let parts: Vec<(f64, Mean)> = parts.into_iter().map(|(weight, mean)| (weight / total, mean)).collect();
    (!parts.is_empty()).then(|| Mean::sum(&parts))
}

#[derive(Clone, Debug, PartialEq)]
pub struct ScopeRatios {
    pub scope: Scope,
    pub points: Vec<usize>,
    pub ratios: BTreeMap<usize, TestedRatio>,
    pub mean: Option<GeometricMean>,
}

impl ScopeRatios {
    pub fn new(points: &Points, scope: Scope, members: Vec<usize>, machine: usize) -> Self {
        let mut tests = MannWhitney::default();
        let ratio = |&index: &usize| {
            let point = &points.points[index];
            let (a, b) = (point.by_machine[machine].as_ref()?, point.by_machine[0].as_ref()?);
            Some((index, scaled_ratio(a, b, scope.factor(point, machine, 0), &mut tests)?))
        };
        let (indices, mut ratios): (Vec<usize>, Vec<Ratio>) = members.iter().filter_map(ratio).unzip();
        let chosen: Vec<&Point> = members.iter().map(|&index| &points.points[index]).collect();
        let mean = geometric_mean(&chosen, machine, 0, &mut tests);
        let mean = mean.map(|mean| mean.scale(|point| scope.factor(point, machine, 0), &chosen));
        // What may explain the mean may explain any point.
        if let Some(side) = mean.and_then(|mean| mean.explained_by()) {
            ratios.iter_mut().for_each(|ratio| ratio.slowed[side] = f64::INFINITY);
        }
        Self { scope, ratios: indices.into_iter().zip(adjust(ratios)).collect(), mean, points: members }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// With ranks matched by number.
    All,
    OneCore,
    /// Rates of the whole machines.
    AllCores,
    PerCore,
    OtherRanks,
    /// One of several that are compared with a device.
    Processes {
        ranks: u64,
        all_cores: bool,
    },
}

impl Scope {
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
