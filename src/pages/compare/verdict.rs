//! Who is faster: the one verdict on a machine relative to the first one, over the points of a scope. Sections only word it.

use super::comparison::Comparison;
use super::geometric_mean::{GeometricMean, Scope, ScopeRatios};
use super::points::Point;
use super::ratio::{Basis, Direction, EXACT};
use apexmap_base::reservation::Reservation;

#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    pub scope: Scope,
    pub mean: GeometricMean,
    pub direction: Direction,
    pub reservations: Vec<Reservation>,
    /// Points at which the machine is faster or slower, as [`super::ratio::Decision`] decides.
    pub faster: usize,
    pub slower: usize,
    pub equal: usize,
    pub undecided: usize,
    /// Faster and slower, each point decided separately.
    pub unadjusted: [usize; 2],
    pub without_interval: Vec<usize>,
    /// Points that both have and that at least one did not finish.
    pub unfinished: usize,
    /// Smallest and largest ratio, with their points.
    pub extremes: [(usize, f64); 2],
}

/// One, or one for each role of the rank count; none for scopes without a ratio.
pub fn verdicts(comparison: &Comparison, machine: usize) -> Vec<Verdict> {
    comparison.scopes(machine).iter().filter_map(|over| verdict(comparison, machine, over)).collect()
}

fn verdict(comparison: &Comparison, machine: usize, over: &ScopeRatios) -> Option<Verdict> {
    let mean = over.mean?;
    let least = over.ratios.iter().min_by(|a, b| a.1.ratio.value.total_cmp(&b.1.ratio.value))?;
    let most = over.ratios.iter().max_by(|a, b| a.1.ratio.value.total_cmp(&b.1.ratio.value))?;
    let both = |point: &&usize| comparison.point(**point).has_both(machine, 0);
    let mut verdict = Verdict {
        scope: over.scope,
        mean,
        direction: mean.direction(),
        reservations: reservations(comparison, [machine, 0], &mean, &over.points),
        faster: 0,
        slower: 0,
        equal: 0,
        undecided: 0,
        unadjusted: [0; 2],
        without_interval: Vec::new(),
        unfinished: over.points.iter().filter(both).count() - over.ratios.len(),
        extremes: [least, most].map(|(point, tested)| (*point, tested.ratio.value)),
    };
    for (point, tested) in &over.ratios {
        let (ratio, is_slower) = (tested.ratio, tested.ratio.value <= 1.0);
        match comparison.decision.differs(tested) {
            true if is_slower => verdict.slower += 1,
            true => verdict.faster += 1,
            false if ratio.basis == Basis::Exact => verdict.equal += 1,
            false if ratio.interval.is_none() => verdict.without_interval.push(*point),
            false => verdict.undecided += 1,
        }
        verdict.unadjusted[usize::from(is_slower)] += usize::from(ratio.is_decided());
    }
    Some(verdict)
}

/// Besides noise: single launches, or a disturbance of the slower side that may have cost as much as the difference. Values of other
/// programs have no launches.
pub fn reservations(
    comparison: &Comparison,
    sides: [usize; 2],
    mean: &GeometricMean,
    points: &[usize],
) -> Vec<Reservation> {
    if let Some(side) = mean.explained_by() {
        let factor = Some(mean.slowed[side]).filter(|factor| factor.is_finite());
        return vec![Reservation::Disturbed { name: comparison.name(sides[side]).to_owned(), factor }];
    }
    let is_import = |side: usize| comparison.machines[side].samples.imported_programs().is_some();
    match mean.basis {
        Basis::Samples => {}
        Basis::Nothing if !sides.into_iter().any(is_import) => {}
        _ => return Vec::new(),
    }
    let has_single = |side: &usize| {
        let mut data = points.iter().filter_map(|&index| comparison.point(index).by_machine[*side].as_ref());
        data.any(|data| !data.exact && data.launches.len() == 1)
    };
    let single = |side: usize| Reservation::SingleLaunch { name: comparison.name(side).to_owned() };
    sides.into_iter().filter(has_single).map(single).collect()
}

/// Either the machine or the first one has them, but not both.
pub fn points_on_one_side<'a>(comparison: &'a Comparison, machine: usize) -> impl Iterator<Item = &'a Point> {
    let is_on_one = move |point: &&Point| point.by_machine[machine].is_some() != point.by_machine[0].is_some();
    comparison.points.points.iter().filter(is_on_one)
}

pub struct BasisWords {
    pub mean: &'static str,
    pub short: &'static str,
    pub points: &'static str,
}

impl BasisWords {
    pub fn new(basis: Basis) -> Self {
        let [mean, short, points] = match basis {
            Basis::Exact => [EXACT, EXACT, "exact for these cards, simulated or predicted"],
            Basis::Pairs => [
                "95 % interval over launches of one run, compared in pairs",
                "launches of one run, in pairs",
                "from launches of one run, compared in pairs",
            ],
            Basis::Launches => ["95 % interval over launches", "launches", "from the variation between launches"],
            Basis::Samples => [
                "95 % interval within single launches; launch-to-launch variation is not included",
                "samples within single launches",
                "from the variation within single launches; launch-to-launch variation is not included",
            ],
            Basis::Card => [
                "95 % interval of the card's numbers",
                "numbers of the card",
                "from the intervals of the card's numbers",
            ],
            Basis::Nothing => [
                "the interval covers only the choice of points, because the points have no intervals",
                "choice of points",
                "without an interval because of too few samples",
            ],
        };
        Self { mean, short, points }
    }
}
