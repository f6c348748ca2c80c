//! What a manager reads first: who is faster, by how much, how sure that is.

use super::Comparison;
use super::decisions::{self, Decided, Decision};
use super::machine::{Machine, Origin};
use super::points::{Point, list_first};
use super::ranking::MachineRank;
use super::ratio::{Basis, GeometricMean, geometric_mean};
use super::regression::{RegressionCheck, Verdict};
use super::scope::Scope;
use super::summary::{ends, written};
use crate::html::{capital, utc};
use apexmap_base::units::{plural, significant};
use apexmap_results::table::columns::label;
use apexmap_theory::statistics::rank_tests::MannWhitney;
use std::collections::BTreeMap;

/// A machine against the base, over the points of a scope.
struct MachineOverview<'a> {
    scope: Scope,
    decision: Decision,
    /// Points that only one of the two has.
    dropped: usize,
    of: &'a str,
    base: &'a str,
    mean: GeometricMean,
    faster: usize,
    slower: usize,
    /// Points whose difference from 1 is not significant.
    open: usize,
    /// Faster and slower points by their intervals alone.
    unadjusted: (usize, usize),
    /// Points without an interval.
    bare: Vec<String>,
    failed: usize,
    /// The least and the largest ratio and where they are.
    least: (f64, String),
    most: (f64, String),
}

fn machine_overview<'a>(
    comparison: &'a Comparison,
    of: usize,
    scope: Scope,
    at: &[usize],
) -> Option<MachineOverview<'a>> {
    let points: Vec<&Point> = at.iter().map(|&at| &comparison.points.points[at]).collect();
    let mean = geometric_mean(&points, of, 0, &mut MannWhitney::default())?
        .scaled(|point| scope.factor(point, of, 0), &points);
    let (mut faster, mut slower, mut open, mut bare, mut failed) = (0, 0, 0, Vec::new(), 0);
    let varying = comparison.points.varying();
    let mut unadjusted = (0, 0);
    let mut found = Vec::new();
    let decided = decisions::all(comparison, of, scope, at);
    for &at in at {
        let point = &comparison.points.points[at];
        match decided.get(&at) {
            Some(Decided { ratio, decided, .. }) => {
                match (*decided, ratio.value > 1.0) {
                    (false, _) if ratio.interval.is_none() => bare.push(point.short(&varying)),
                    (false, _) => open += 1,
                    (true, true) => faster += 1,
                    (true, false) => slower += 1,
                }
                unadjusted.0 += usize::from(ratio.is_decided() && ratio.value > 1.0);
                unadjusted.1 += usize::from(ratio.is_decided() && ratio.value < 1.0);
                found.push((ratio.value, at));
            }
            None => failed += usize::from(both(point, of)),
        }
    }
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    let place = |(ratio, at): &(f64, usize)| (*ratio, comparison.points.points[*at].short(&varying));
    let (least, most) = (place(found.first()?), place(found.last()?));
    let name = |machine: usize| comparison.machines[machine].name.as_str();
    let (dropped, decision) = (dropped_of(comparison, of).count(), comparison.decision);
    Some(MachineOverview {
        scope,
        decision,
        dropped,
        of: name(of),
        base: name(0),
        mean,
        faster,
        slower,
        open,
        unadjusted,
        bare,
        failed,
        least,
        most,
    })
}

/// The points that only one of a machine and the base has.
fn dropped_of<'a>(comparison: &'a Comparison, of: usize) -> impl Iterator<Item = &'a Point> {
    comparison.points.points.iter().filter(move |point| point.by_machine[of].is_some() != point.by_machine[0].is_some())
}

/// What of a machine and the base is not compared, because the other lacks it; `None` if all is.
fn dropped(comparison: &Comparison, of: usize) -> Option<String> {
    let side = |machine: usize| -> Option<String> {
        let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
        for point in dropped_of(comparison, of).filter(|point| point.by_machine[machine].is_some()) {
            let ranks = point.value("ranks").map(|ranks| format!(", {}", label("ranks", ranks))).unwrap_or_default();
            *kinds.entry(format!("{}{ranks}", point.class)).or_default() += 1;
        }
        let left: usize = kinds.values().sum();
        let has = |point: &&Point| point.by_machine[machine].is_some();
        let all = comparison.points.points.iter().filter(has).count();
        let mut parts: Vec<String> =
            kinds.iter().take(MOST_KINDS).map(|(kind, count)| format!("{kind}: {count}")).collect();
        parts.extend((kinds.len() > MOST_KINDS).then(|| "...".to_owned()));
        let name = &comparison.machines[machine].name;
        (left > 0).then(|| format!("{left} of {} of {name} ({})", plural(all, "point"), parts.join("; ")))
    };
    let sides: Vec<String> = [0, of].into_iter().filter_map(side).collect();
    (!sides.is_empty()).then(|| format!("Not compared, because the other side lacks them: {}.", sides.join("; ")))
}

/// Kinds of points that a sentence names.
const MOST_KINDS: usize = 4;

/// Whether the base has the point too.
fn both(point: &Point, of: usize) -> bool {
    point.by_machine[of].is_some() && point.by_machine[0].is_some()
}

impl MachineOverview<'_> {
    fn sentence(&self) -> String {
        let MachineOverview { of, base, mean, .. } = self;
        let value = written(mean.value);
        let measured = mean.interval.filter(|_| mean.basis != Basis::Nothing);
        let who = match measured {
            Some((low, _)) if low > 1.0 => format!("{of} is faster than {base}: {of} / {base} = {value}"),
            Some((_, high)) if high < 1.0 => format!("{of} is slower than {base}: {of} / {base} = {value}"),
            Some(_) => format!("No overall difference established: {of} / {base} = {value}"),
            None => format!("{of} / {base} = {value}"),
        };
        let who = match self.scope {
            Scope::All => who,
            scope => format!("{}: {who}", capital(scope.label())),
        };
        let interval = ends(mean.interval).map(|ends| format!(" {ends}")).unwrap_or_default();
        let known = match (mean.basis, mean.interval) {
            (_, None) => "without an interval",
            (Basis::Pairs, _) => "95 % interval over launches of one run, compared in pairs",
            (Basis::Launches, _) => "95 % interval over launches",
            (Basis::Samples, _) => "95 % interval within single launches; launch-to-launch variation is not included",
            (Basis::Nothing, _) => {
                "the interval covers only the choice of points, because the points have no \
                 intervals"
            }
        };
        format!(
            "{who}{interval} (geometric mean over {}, {known}). {}; ratios from {} at {} to {} at {}.",
            self.over(),
            self.counts(),
            written(self.least.0),
            self.least.1,
            written(self.most.0),
            self.most.1
        )
    }

    /// `the 9 points compared`: nothing is said of others.
    fn over(&self) -> String {
        let points = plural(self.mean.cells, "point");
        match (self.mean.left_out, self.dropped) {
            (1.., _) => format!("the {points} that have an interval"),
            (0, 1..) => format!("the {points} compared"),
            (0, 0) => points,
        }
    }

    /// `Faster at 46 points, slower at 0, undecided at 3`; a count is left out where it cannot differ from zero.
    fn counts(&self) -> String {
        let points = |count: usize| plural(count, "point");
        let mut parts = Vec::new();
        if self.faster + self.slower + self.open > 0 {
            let faster = points(self.faster);
            let how = match self.decision {
                Decision::Adjusted => {
                    format!(" (adjusted; unadjusted {} and {})", self.unadjusted.0, self.unadjusted.1)
                }
                Decision::Unadjusted => " (unadjusted)".to_owned(),
            };
            parts.push(format!("Faster at {faster}, slower at {}, undecided at {}{how}", self.slower, self.open));
        }
        if !self.bare.is_empty() {
            let left_out = if self.mean.left_out > 0 { ", which the mean leaves out" } else { "" };
            parts.push(format!("No interval at {}{left_out}: {}", points(self.bare.len()), list_first(&self.bare)));
        }
        if self.failed > 0 {
            parts.push(format!("Unfinished at {}", points(self.failed)));
        }
        parts.join(". ")
    }
}

/// What is read first.
pub struct Overview {
    /// Who is faster, where, and how sure that is, for each machine but the base; nothing where no point matches.
    pub verdicts: Vec<String>,
    /// The outcome of the check, and the first of the ranking.
    pub judged: Vec<String>,
}

impl Overview {
    pub fn of(comparison: &Comparison, ranks: &[MachineRank], check: Option<&RegressionCheck>) -> Self {
        let scopes = Scope::of(&comparison.points.points, &comparison.matched, comparison.points.roles.is_some());
        let mut verdicts = Vec::new();
        for (of, machine) in comparison.machines.iter().enumerate().skip(1).filter(|_| !comparison.matched.is_empty()) {
            verdicts.extend(dropped(comparison, of));
            let found: Vec<MachineOverview> =
                scopes.iter().filter_map(|(scope, at)| machine_overview(comparison, of, *scope, at)).collect();
            if found.is_empty() {
                let base = &comparison.machines[0].name;
                verdicts.push(format!("{} and {base} have no common point with a value.", machine.name));
            }
            verdicts.extend(found.iter().map(MachineOverview::sentence));
        }
        Self { verdicts, judged: judged(ranks, check) }
    }
}

fn judged(ranks: &[MachineRank], check: Option<&RegressionCheck>) -> Vec<String> {
    let checked = |check: &RegressionCheck| {
        format!(
            "Regression check {}: {} of {} more than {} % slower, {} unfinished; {}.",
            match check.verdict {
                Verdict::Failed => "failed",
                Verdict::Passed => "passed",
                Verdict::Undecided => "undecided",
            },
            check.slower.len(),
            plural(check.tested, "point"),
            significant(100.0 * (check.limit - 1.0)),
            check.not_finished.len(),
            check.power()
        )
    };
    let first = |rank: &MachineRank| {
        let sure = rank.first.map(|share| format!(", first in {:.1} % of draws", 100.0 * share));
        format!("Fastest overall: {}{}.", rank.machine, sure.unwrap_or_default())
    };
    check.map(checked).into_iter().chain(ranks.iter().find(|rank| rank.rank == 1).map(first)).collect()
}

/// When a machine's samples were taken: from, to (seconds since 1970), and the median load average.
pub fn moments(machine: &Machine) -> Option<(f64, f64, f64)> {
    let times = machine.numbers("unix_seconds");
    let load = machine.samples.median("load");
    Some((*times.first()?, *times.last()?, load.unwrap_or(f64::NAN)))
}

/// A warning where results of one host were taken one after the other: launches know nothing of what changed in between.
pub fn one_after_the_other(comparison: &Comparison) -> Option<String> {
    let measured = comparison.machines.iter().filter(|machine| machine.origin == Origin::Measured);
    let mut when: Vec<_> = measured.filter_map(|machine| Some((machine, moments(machine)?))).collect();
    when.sort_by(|a, b| a.1.0.total_cmp(&b.1.0));
    let apart = |pair: &[(&Machine, (f64, f64, f64))]| {
        pair[0].0.words("host") == pair[1].0.words("host") && pair[0].1.1 < pair[1].1.0
    };
    if !when.windows(2).any(apart) {
        return None;
    }
    let one = |(machine, (from, _, load)): &(&Machine, (f64, f64, f64))| {
        let load = if load.is_nan() { String::new() } else { format!(", load average {}", significant(*load)) };
        format!("{} {}{load}", machine.name, utc(*from))
    };
    Some(format!(
        "Measured one after the other on one host ({}): anything else that changed in between appears as a \
         difference and is not covered by the intervals. Alternate the runs, or repeat one of them, to see how \
         large this effect is.",
        when.iter().map(one).collect::<Vec<_>>().join("; ")
    ))
}
