//! Machines against each other: points matched, ratios with their uncertainty, and what the shapes say.
//!
//! SOURCE: Apex-Map paper, Sections 3.2 and 3.3, Figures 5 to 7.
//!
//! The first machine is the base: ratios are speeds of the others by its speed. Speeds are what a kernel is judged by, or one
//! over it where that is a time.

pub mod about;
pub mod attribution;
pub mod cards;
pub mod comparability;
pub mod control;
mod corners;
pub mod decisions;
pub mod explained;
pub mod facts;
pub mod fits;
pub mod groups;
pub mod machine;
pub mod overview;
mod page;
pub mod pictures;
pub mod points;
pub mod published;
pub mod ranking;
mod rates;
pub mod ratio;
pub mod regression;
pub mod roles;
pub mod scope;
pub mod sensitivity;
mod summary;
mod tables;
mod term_pictures;
pub mod terms;

use apexmap_base::error::{Error, Result};
use apexmap_results::samples::distance;
use apexmap_results::samples::health::Health;
use apexmap_results::table::quietness::Quietness;
use comparability::Difference;
use decisions::Decision;
use machine::{Machine, Origin};
use points::{Matching, Point, Points};

pub use page::write;

/// Machines whose points are matched.
#[derive(Clone, Debug)]
pub struct Comparison<'a> {
    pub machines: &'a [Machine],
    pub points: Points,
    /// Unfair differences that were allowed.
    pub differences: Vec<Difference>,
    /// Indices of the points that at least two machines have, with a number or without.
    pub matched: Vec<usize>,
    pub matching: Matching,
    /// How it is decided which ratios differ from 1.
    pub decision: Decision,
}

/// Matches the points of machines, the first of which is the base.
///
/// # Errors
/// If there are fewer than two machines, an unfair difference was not allowed, a machine's points would be mixed, or measured
/// machines have no point in common.
pub fn compare(machines: &[Machine], matching: Matching) -> Result<Comparison<'_>> {
    if machines.len() < 2 {
        return Err(Error::input("a comparison needs two machines", "name at least two: apexmap compare A B"));
    }
    let points = points::matched(machines, &matching)?;
    let matched: Vec<usize> = (0..points.points.len()).filter(|&at| points.points[at].is_matched()).collect();
    let differences = comparability::admitted(comparability::differences(machines, &points), matching.allowed)?;
    if matched.is_empty() && machines.iter().all(|machine| machine.origin == Origin::Measured) {
        return Err(nothing_in_common(machines, &points));
    }
    Ok(Comparison { machines, points, differences, matched, matching, decision: Decision::default() })
}

/// Which parameters keep the points apart.
fn nothing_in_common(machines: &[Machine], points: &Points) -> Error {
    let names: Vec<&str> = machines.iter().map(|machine| machine.given.as_str()).collect();
    let of = |k: usize| points.points.iter().filter(move |point| point.by_machine[k].is_some());
    let mut apart = Vec::new();
    let columns: std::collections::BTreeSet<&str> =
        points.points.iter().flat_map(|point| &point.at).map(|(column, _)| column.as_str()).collect();
    for column in columns {
        let values = |k: usize| -> std::collections::BTreeSet<String> {
            of(k).flat_map(|point| &point.at).filter(|(name, _)| name == column).map(|(_, v)| v.to_string()).collect()
        };
        let first = values(0);
        if (1..machines.len()).any(|k| values(k).is_disjoint(&first)) {
            let shown = |k: usize| match values(k).into_iter().take(4).collect::<Vec<_>>() {
                none if none.is_empty() => "none".to_owned(),
                some => some.join(", "),
            };
            let each: Vec<String> = (0..machines.len()).map(shown).collect();
            apart.push((apexmap_results::table::columns::short(column), each.join(" against ")));
        }
    }
    let why = match apart.is_empty() {
        true => "their kernels or combinations of parameters differ".to_owned(),
        false => {
            let all: Vec<String> = apart.iter().map(|(name, each)| format!("{name} ({each})")).collect();
            format!("they differ in {}", all.join(", "))
        }
    };
    let differ = |name: &str| apart.iter().any(|(other, _)| *other == name);
    if differ("pages") {
        return Error::input(
            format!("comparing {} would be unfair because the page sizes differ: {why}", names.join(" and ")),
            "measure both under the same conditions, or accept the difference, which is then printed on every \
             figure: --allow page-size",
        );
    }
    let next = match differ("P") {
        true => {
            "run the same sweep on both; points with different numbers of ranks are matched only where they are all cores of \
             their machine: --match-ranks role"
        }
        false => {
            "run the same sweep on both, or exclude parameters from the matching with --ignore, and kernels with \
             --allow kernel"
        }
    };
    Error::input(format!("{} have no point in common: {why}", names.join(" and ")), next)
}

impl Comparison<'_> {
    /// The first two machines that are the same samples under two names, if there are any.
    pub fn same_samples(&self) -> Option<[&str; 2]> {
        let seconds = |k: usize| {
            let samples = &self.machines[k].samples;
            samples.rows().iter().map(|&row| samples.table().number("seconds", row).to_bits())
        };
        let all = 0..self.machines.len();
        let pairs = all.clone().flat_map(|a| all.clone().skip(a + 1).map(move |b| (a, b)));
        let measured = |k: usize| self.machines[k].origin == Origin::Measured;
        let mut same = pairs.filter(|&(a, b)| measured(a) && measured(b) && seconds(a).eq(seconds(b)));
        same.next().map(|(a, b)| [a, b].map(|k| self.machines[k].name.as_str()))
    }

    /// What must stand on every page: what was allowed, what was ignored, and which numbers were never measured.
    pub fn stamps(&self) -> Vec<String> {
        let mut stamps = self.conditions();
        stamps.extend(self.disturbed().map(|(name, health)| format!("DISTURBED: {name} was {}", health.sentence())));
        stamps.extend(self.distances().into_iter().map(|text| format!("OTHER DISTANCE: {text}")));
        stamps.extend(self.crowded(&(0..self.points.points.len()).collect::<Vec<_>>()));
        stamps
    }

    /// The same for a figure of these points, which has room for few words.
    pub fn stamps_at(&self, points: &[usize]) -> Vec<String> {
        let mut stamps = self.conditions();
        let one =
            |(name, health): (&str, Health)| format!("{name} ({} of {} samples)", health.disturbed(), health.samples());
        let disturbed: Vec<String> = self.disturbed().map(one).collect();
        stamps.extend((!disturbed.is_empty()).then(|| format!("DISTURBED: {}", disturbed.join(", "))));
        stamps.extend((!self.distances().is_empty()).then(|| "OTHER DISTANCE between ranks".to_owned()));
        stamps.extend(self.crowded(points));
        stamps
    }

    /// The machines that were disturbed.
    pub fn disturbed(&self) -> impl Iterator<Item = (&str, Health)> {
        let health = |machine: &Machine| Health::of(&machine.samples);
        let each = self.machines.iter().map(move |machine| (machine.name.as_str(), health(machine)));
        each.filter(|(_, health)| health.verdict() == Quietness::Disturbed)
    }

    /// What was allowed, ignored, matched by role, and never measured.
    fn conditions(&self) -> Vec<String> {
        let mut stamps: Vec<String> =
            self.differences.iter().map(|difference| format!("UNEQUAL CONDITIONS: {}", difference.text)).collect();
        if !self.matching.ignored.is_empty() {
            let names: Vec<&str> =
                self.matching.ignored.iter().map(|column| apexmap_results::table::columns::short(column)).collect();
            stamps.push(format!("IGNORED IN MATCHING: {}", names.join(", ")));
        }
        if let Some(roles) = &self.points.roles {
            let each = self.machines.iter().zip(&roles.cores).map(|(m, cores)| format!("{} has {cores}", m.name));
            let mut text = format!("MATCHED BY ROLE: one core, all cores ({})", each.collect::<Vec<_>>().join(", "));
            if !self.points.own_sizes.is_empty() {
                let names: Vec<&str> = self.points.own_sizes.iter().map(String::as_str).collect();
                text += &format!("; {} as each machine's sweep made it", names.join(", "));
            }
            stamps.push(text);
        }
        let published: Vec<&str> = self
            .machines
            .iter()
            .filter(|machine| machine.origin == Origin::Published)
            .map(|machine| machine.name.as_str())
            .collect();
        if !published.is_empty() {
            stamps.push(format!("NOT MEASURED HERE: {} (published or predicted)", published.join(", ")));
        }
        stamps
    }

    /// Where ranks were at another distance from each other than in another result.
    fn distances(&self) -> Vec<String> {
        let mut found = Vec::new();
        for (k, machine) in self.machines.iter().enumerate().filter(|(_, machine)| machine.origin == Origin::Measured) {
            let others = self.machines[k + 1..].iter().filter(|machine| machine.origin == Origin::Measured);
            let told = others.filter_map(|other| {
                distance::between((&machine.name, &machine.samples), (&other.name, &other.samples))
            });
            found.extend(told);
        }
        found
    }

    /// At how many of these points ranks shared hardware threads.
    fn crowded(&self, points: &[usize]) -> Option<String> {
        let is_crowded =
            |point: &Point| point.by_machine.iter().flatten().any(|data| data.facts.oversubscribed == Some(true));
        let crowded = points.iter().filter(|&&at| is_crowded(&self.points.points[at])).count();
        (crowded > 0).then(|| {
            format!("OVERSUBSCRIBED: more ranks than hardware threads at {crowded} of {} points", points.len())
        })
    }

    /// The points that at least two machines have.
    pub fn matched_points(&self) -> Vec<&Point> {
        self.matched.iter().map(|&at| &self.points.points[at]).collect()
    }

    /// Points that not all machines have.
    pub fn unmatched(&self) -> impl Iterator<Item = &Point> {
        self.points.points.iter().filter(|point| !point.is_in_all())
    }
}
