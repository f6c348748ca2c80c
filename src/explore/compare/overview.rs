//! What a manager reads first: who is faster, by how much, how sure that is.

use super::Comparison;
use super::machine::{Machine, Origin};
use super::pictures::of_point;
use super::points::Point;
use super::ranking::MachineRank;
use super::ratio::{Basis, GeometricMean, geometric_mean};
use super::regression::RegressionCheck;
use super::statistics::MannWhitney;
use super::summary::{ends, written};
use crate::explore::html::{Tile, utc};
use crate::units::{plural, significant};

/// A machine against the base, over all points.
struct MachineOverview<'a> {
    of: &'a str,
    base: &'a str,
    mean: GeometricMean,
    faster: usize,
    slower: usize,
    /// Points whose 95 % interval includes 1.
    open: usize,
    /// Points without an interval.
    bare: usize,
    failed: usize,
    /// The least and the largest ratio and where they are.
    least: (f64, String),
    most: (f64, String),
}

fn machine_overview<'a>(comparison: &'a Comparison, of: usize) -> Option<MachineOverview<'a>> {
    let mut tests = MannWhitney::default();
    let mean = geometric_mean(&comparison.matched_points(), of, 0, &mut tests)?;
    let (mut faster, mut slower, mut open, mut bare, mut failed) = (0, 0, 0, 0, 0);
    let mut found = Vec::new();
    for &at in &comparison.matched {
        match of_point(comparison, at, of, &mut tests) {
            Some(ratio) => {
                match (ratio.is_decided(), ratio.value > 1.0) {
                    (false, _) if ratio.interval.is_none() => bare += 1,
                    (false, _) => open += 1,
                    (true, true) => faster += 1,
                    (true, false) => slower += 1,
                }
                found.push((ratio.value, at));
            }
            None => failed += usize::from(both(&comparison.points.points[at], of)),
        }
    }
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    let varying = comparison.points.varying();
    let place = |(ratio, at): &(f64, usize)| (*ratio, comparison.points.points[*at].short(&varying));
    let (least, most) = (place(found.first()?), place(found.last()?));
    let name = |machine: usize| comparison.machines[machine].name.as_str();
    Some(MachineOverview { of: name(of), base: name(0), mean, faster, slower, open, bare, failed, least, most })
}

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
            plural(mean.cells, "point"),
            self.counts(),
            written(self.least.0),
            self.least.1,
            written(self.most.0),
            self.most.1
        )
    }

    /// `Faster at 46 points, slower at 0, undecided at 3`; a count is left out where it cannot differ from zero.
    fn counts(&self) -> String {
        let points = |count: usize| plural(count, "point");
        let mut parts = Vec::new();
        if self.faster + self.slower + self.open > 0 {
            let faster = points(self.faster);
            parts.push(format!("Faster at {faster}, slower at {}, undecided at {}", self.slower, self.open));
        }
        if self.bare > 0 {
            parts.push(format!("No interval at {}", points(self.bare)));
        }
        if self.failed > 0 {
            parts.push(format!("Unfinished at {}", points(self.failed)));
        }
        parts.join(". ")
    }

    fn tiles(&self, alone: bool) -> Vec<Tile> {
        let tile = |label: String, value: String, note: String| Tile { value, label, note };
        let times = |ratio: f64| format!("{} \u{d7}", written(ratio));
        let interval = match (self.mean.interval, self.mean.basis) {
            (Some((low, high)), Basis::Pairs | Basis::Launches | Basis::Samples) => {
                format!("95 % interval {} to {}, ", written(low), written(high))
            }
            _ => String::new(),
        };
        let mean = tile(
            format!("{} / {}", self.of, self.base),
            times(self.mean.value),
            format!("{interval}geometric mean over {}", plural(self.mean.cells, "point")),
        );
        if !alone {
            return vec![mean];
        }
        let won = format!("{} of {}", self.faster, self.mean.cells);
        vec![
            mean,
            tile(format!("Points where {} is faster", self.of), won, self.counts()),
            tile(format!("Best for {}", self.of), times(self.most.0), format!("at {}", self.most.1)),
            tile(format!("Worst for {}", self.of), times(self.least.0), format!("at {}", self.least.1)),
        ]
    }
}

/// What is read first.
pub struct Overview {
    /// Who is faster, where, and how sure that is, for each machine but the base; nothing where no point matches.
    pub verdicts: Vec<String>,
    /// The key numbers.
    pub tiles: Vec<Tile>,
}

impl Overview {
    pub fn of(comparison: &Comparison, ranks: &[MachineRank], check: Option<&RegressionCheck>) -> Self {
        let all: Vec<Option<MachineOverview>> =
            (1..comparison.machines.len()).map(|of| machine_overview(comparison, of)).collect();
        let verdict = |(overview, machine): (&Option<MachineOverview>, &Machine)| match overview {
            Some(overview) => overview.sentence(),
            None => format!("{} and {} have no common point with a value.", machine.name, comparison.machines[0].name),
        };
        let verdicts = match comparison.matched.is_empty() {
            true => Vec::new(),
            false => all.iter().zip(&comparison.machines[1..]).map(verdict).collect(),
        };
        let mut tiles = judged(ranks, check);
        tiles.extend(all.iter().flatten().flat_map(|overview| overview.tiles(all.len() == 1)));
        Self { verdicts, tiles }
    }
}

/// The outcome of the check, and the first of the ranking.
fn judged(ranks: &[MachineRank], check: Option<&RegressionCheck>) -> Vec<Tile> {
    let mut tiles = Vec::new();
    if let Some(check) = check {
        tiles.push(Tile {
            label: format!("More than {} % slower?", significant(100.0 * (check.limit - 1.0))),
            value: if check.has_failed() { "failed" } else { "passed" }.into(),
            note: format!(
                "{} of {} slower, {} unfinished",
                check.slower.len(),
                plural(check.tested, "point"),
                check.not_finished.len()
            ),
        });
    }
    if let Some(first) = ranks.iter().find(|rank| rank.rank == 1) {
        let sure = first.first.map(|share| format!("first in {:.1} % of draws", 100.0 * share));
        tiles.push(Tile {
            label: "Fastest overall".into(),
            value: first.machine.clone(),
            note: sure.unwrap_or_default(),
        });
    }
    tiles
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
