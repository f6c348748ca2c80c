//! The time for the launches of a sweep: its division among groups, points that do not fit, and the budget to advise.

use super::cost::{self, SampleCosts, describe_seconds};
use super::{groups::Group, plan::Plan};
use apexmap_base::error::{Error, Result};
use apexmap_base::units::{self, plural};
use std::collections::BTreeSet;
use std::time::Duration;

#[derive(Clone, Copy)]
pub struct Budget {
    /// Its share among all groups.
    pub share: f64,
    /// Its share among the groups of its block, while points have no sample: every point is measured once before launches repeat.
    pub first_round: f64,
    /// The time of all groups.
    total: f64,
}

impl Budget {
    /// Divides seconds among groups, each a block and a number of points, by their points, and returns those of the first.
    pub fn of_first_group(total: f64, groups: &[(u32, usize)]) -> Self {
        let points = |block: Option<u32>| {
            let is_counted = |group: &&(u32, usize)| block.is_none_or(|block| group.0 == block);
            groups.iter().filter(is_counted).map(|group| group.1).sum::<usize>() as f64
        };
        let (block, own) = groups[0];
        Self { share: total * own as f64 / points(None), first_round: total * own as f64 / points(Some(block)), total }
    }

    /// The rest after some seconds; `None` if the group may not be launched again.
    pub fn after(self, seconds: f64, group: &Group) -> Option<Self> {
        let left = |whole: f64| (whole - seconds).max(0.0);
        let rest = Self { share: left(self.share), first_round: left(self.first_round), total: left(self.total) };
        let has_first_round = rest.first_round > 0.0 && group.has_unmeasured_point();
        (rest.share > 0.0 || has_first_round).then_some(rest)
    }

    /// When a launch is ended within a sample. The worker starts no sample after its group's time, but one may take longer.
    pub fn limit(self) -> Duration {
        /// Fraction of the budget by which a sample may exceed it, and the least such time in seconds.
        const OVERRUN: (f64, f64) = (0.1, 0.5);
        let overrun = (OVERRUN.0 * self.total).max(OVERRUN.1);
        Duration::try_from_secs_f64(self.total + overrun).unwrap_or(Duration::MAX)
    }
}

/// Removes the points with samples that take longer than the whole budget, and returns a note about them.
pub fn remove_long_points(plan: &Plan, groups: &mut Vec<Group>, costs: &SampleCosts) -> Result<Option<String>> {
    /// Factor by which estimates without a sample are often too long.
    const TOO_LONG: f64 = 2.0;
    let Some(budget) = plan.repeat.budget_seconds else { return Ok(None) };
    let seconds = |&entry: &usize| costs.cost(&plan.entries[entry]) + cost::filling(&plan.entries[entry].point);
    let is_long = |entry: &usize| {
        let is_measured = costs.mean_of(&plan.entries[*entry]).is_some();
        seconds(entry) > if is_measured { budget } else { TOO_LONG * budget }
    };
    let entries: BTreeSet<usize> = groups.iter().flat_map(|group| &group.pending).map(|point| point.entry).collect();
    let long_points: Vec<f64> = entries.iter().filter(|entry| is_long(entry)).map(seconds).collect();
    let Some(shortest) = long_points.iter().copied().reduce(f64::min) else { return Ok(None) };
    let (time, budget) = (describe_seconds(shortest), units::seconds(budget));
    // One sample of each point.
    let advice = advise(entries.iter().map(seconds).sum());
    if long_points.len() == entries.len() {
        let message = format!("one sample takes {time}, longer than the budget of {budget}");
        return Err(Error::input(message, format!("nothing was measured; give more time: {advice}")));
    }
    groups.iter_mut().for_each(|group| group.pending.retain(|pending| !is_long(&pending.entry)));
    groups.retain(|group| !group.pending.is_empty());
    let points = plural(long_points.len(), "point");
    Ok(Some(format!(
        "note: {points} left out: one sample takes {time} or more, longer than the budget of {budget}; {advice} measures all"
    )))
}

/// The flag for a budget that suffices for a run of this time: `--budget 3min`.
pub fn advise(seconds: f64) -> String {
    /// Estimates are rough, and launches take time to start.
    const MARGIN: f64 = 1.2;
    const MINUTE: f64 = 60.0;
    const HOUR: f64 = 3600.0;
    let seconds = MARGIN * seconds;
    let (unit, name) = match seconds {
        _ if seconds <= MINUTE / 2.0 => (1.0, "s"),
        _ if seconds <= HOUR / 2.0 => (MINUTE, "min"),
        _ => (HOUR, "h"),
    };
    let steps = [1.0, 2.0, 3.0, 5.0, 10.0, 20.0, 30.0];
    let count = seconds / unit;
    let count = steps.into_iter().find(|&step| step >= count).unwrap_or((count / 10.0).ceil() * 10.0);
    format!("--budget {count}{name}")
}
