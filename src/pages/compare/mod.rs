//! Comparison of machines: matched points, ratios with their uncertainty, and shapes of surfaces.
//!
//! SOURCE: Apex-Map paper, Sections 3.2 and 3.3, Figures 5 to 7.
//!
//! The first machine is the base: ratios are speeds of the others relative to its speed. A speed is the kernel's headline rate,
//! or the reciprocal if the headline is a time.
//!
//! Points are matched ([`matching`]), grouped ([`groups`]) and compared ([`ratio`]) once, into a [`Comparison`]. The HTML page is
//! a list of [`sections`] that are made from it. To add a section, add a file there and a line in its list.

pub mod comparability;
pub mod control;
pub mod groups;
pub mod limit;
pub mod machine;
pub mod matching;
pub mod points;
pub mod published_machines;
pub mod ratio;
pub mod sections;
pub mod terms;

use apexmap_base::error::{Error, Result};
use apexmap_results::samples::distance;
use apexmap_results::samples::health::Health;
use apexmap_results::table::columns;
use apexmap_results::table::quietness::Quietness;
use apexmap_theory::codes::{self, Code};
use comparability::Difference;
use groups::MatchedGroup;
use machine::{Machine, Origin};
use matching::Matching;
use points::{Point, PointData, Points, Scope};
use ratio::{Decision, ScopeRatios, TestedRatio};

pub use sections::write;

/// Machines with matched points, and the results that several sections share.
#[derive(Clone, Debug)]
pub struct Comparison<'a> {
    pub machines: &'a [Machine],
    pub points: Points,
    /// Labels of the points, without values that are the same at all points.
    pub names: Vec<String>,
    /// Unfair differences that were allowed.
    pub differences: Vec<Difference>,
    /// Indices of the points that at least two machines have, finished or not.
    pub matched: Vec<usize>,
    pub matching: Matching,
    /// How to decide which ratios differ from 1.
    pub decision: Decision,
    /// Known codes, whose ratios the page shows.
    pub codes: Vec<Code>,
    /// Maps and curves of the matched points.
    pub groups: Vec<MatchedGroup>,
    /// Ratios of each machine to the first one over all matched points; empty for the first machine.
    pub ratios: Vec<ScopeRatios>,
    /// Ratios of each machine to the first one by role of the rank count; empty if ranks are matched by number.
    pub by_role: Vec<Vec<ScopeRatios>>,
}

/// Matches and compares the points of machines; the first machine is the base.
///
/// # Errors
/// If there are fewer than two machines, a difference is not allowed, a point would mix samples of one machine, or measured
/// machines have no point in common.
pub fn compare(machines: &[Machine], matching: Matching) -> Result<Comparison<'_>> {
    if machines.len() < 2 {
        return Err(Error::input("a comparison needs two machines", "name at least two: apexmap compare A B"));
    }
    let points = matching::match_points(machines, &matching)?;
    let matched: Vec<usize> = (0..points.points.len()).filter(|&index| points.points[index].is_matched()).collect();
    let differences = comparability::require_allowed(comparability::differences(machines, &points), matching.allowed)?;
    if matched.is_empty() && machines.iter().all(|machine| machine.origin == Origin::Measured) {
        return Err(comparability::no_common_point(machines, &points));
    }
    let varying = points.varying();
    let names = points.points.iter().map(|point| point.short(&varying)).collect();
    let groups = groups::group_points(&points, &matched);
    let matched_of = |machine: usize| if machine == 0 { Vec::new() } else { matched.clone() };
    let ratios = (0..machines.len())
        .map(|machine| ScopeRatios::new(&points, Scope::All, matched_of(machine), machine))
        .collect();
    let roles = if points.roles.is_some() { Scope::roles(&points.points, &matched) } else { Vec::new() };
    let scopes = |machine: usize| {
        let role_ratios =
            |(scope, members): &(Scope, Vec<usize>)| ScopeRatios::new(&points, *scope, members.clone(), machine);
        roles.iter().map(role_ratios).collect()
    };
    let by_role = (0..machines.len()).map(scopes).collect();
    let (decision, codes) = (Decision::default(), codes::list_known());
    Ok(Comparison { machines, names, differences, matched, matching, decision, codes, groups, ratios, by_role, points })
}

impl Comparison<'_> {
    /// Returns the ratio of a machine to the first one at a point.
    pub fn ratio(&self, machine: usize, point: usize) -> Option<&TestedRatio> {
        self.ratios[machine].ratios.get(&point)
    }

    /// Returns the ratios of a machine to the first one over all matched points, or by role if ranks are matched by role.
    pub fn scopes(&self, machine: usize) -> &[ScopeRatios] {
        if self.points.roles.is_some() { &self.by_role[machine] } else { std::slice::from_ref(&self.ratios[machine]) }
    }

    pub fn name(&self, machine: usize) -> &str {
        &self.machines[machine].name
    }

    /// Returns whether cards determine all matched values, so that every ratio is exact.
    pub fn is_exact(&self) -> bool {
        self.is_exact_at(&self.matched)
    }

    /// Returns whether cards determine all values at these points.
    pub fn is_exact_at(&self, points: &[usize]) -> bool {
        let mut data = points.iter().flat_map(|&index| self.points.points[index].by_machine.iter().flatten());
        data.all(PointData::is_of_card)
    }

    /// Returns `b / a`.
    pub fn title(&self, machine: usize) -> String {
        format!("{} / {}", self.name(machine), self.name(0))
    }

    /// Returns the subtitle of a figure of these points, with its warnings on a separate line.
    pub fn subtitle(&self, text: String, points: &[usize]) -> String {
        let stamps = self.stamps_at(points);
        if stamps.is_empty() { text } else { format!("{text}\n{}", stamps.join(". ")) }
    }

    /// Returns the names of the first two machines with the same samples, if any. Machines without samples have none in common, and
    /// equal simulations are two runs.
    pub fn same_samples(&self) -> Option<[&str; 2]> {
        let seconds = |k: usize| {
            let samples = &self.machines[k].samples;
            samples.rows().iter().map(|&row| samples.table().number("seconds", row).to_bits())
        };
        let machines = 0..self.machines.len();
        let pairs = machines.clone().flat_map(|a| machines.clone().skip(a + 1).map(move |b| (a, b)));
        let measured = |k: usize| {
            let Machine { origin, samples, .. } = &self.machines[k];
            *origin == Origin::Measured && !samples.is_empty() && samples.describe_origin().is_none()
        };
        let mut same = pairs.filter(|&(a, b)| measured(a) && measured(b) && seconds(a).eq(seconds(b)));
        same.next().map(|(a, b)| [a, b].map(|k| self.machines[k].name.as_str()))
    }

    /// Returns the warnings of every HTML page: allowed differences, ignored parameters, disturbed machines, and numbers that
    /// were not measured.
    pub fn stamps(&self) -> Vec<String> {
        let mut stamps = self.conditions();
        stamps.extend(
            self.disturbed_machines().map(|(name, health)| format!("DISTURBED: {name} was {}", health.sentence())),
        );
        stamps.extend(self.distance_differences().into_iter().map(|text| format!("OTHER DISTANCE: {text}")));
        stamps.extend(self.oversubscription(&(0..self.points.points.len()).collect::<Vec<_>>()));
        for machine in self.machines {
            let remarks = machine.samples.remarks().into_iter();
            stamps.extend(remarks.map(|remark| format!("{}: {}", machine.name, remark.trim_end_matches('.'))));
        }
        stamps
    }

    /// Returns the warnings in a short form, for a figure of these points.
    pub fn stamps_at(&self, points: &[usize]) -> Vec<String> {
        let mut stamps = self.conditions();
        stamps.extend(self.disturbed_line());
        stamps.extend((!self.distance_differences().is_empty()).then(|| "OTHER DISTANCE between ranks".to_owned()));
        stamps.extend(self.oversubscription(points));
        stamps
    }

    /// Returns `DISTURBED: old (38 of 112 samples)`; `None` if all machines were quiet.
    pub fn disturbed_line(&self) -> Option<String> {
        let describe = |(name, health): (&str, Health)| {
            format!("{name} ({} of {} samples)", health.disturbed_count(), health.sample_count())
        };
        let disturbed: Vec<String> = self.disturbed_machines().map(describe).collect();
        (!disturbed.is_empty()).then(|| format!("DISTURBED: {}", disturbed.join(", ")))
    }

    /// Returns the machines that were disturbed.
    pub fn disturbed_machines(&self) -> impl Iterator<Item = (&str, Health)> {
        let health = |machine: &Machine| Health::from_samples(&machine.samples);
        let each = self.machines.iter().map(move |machine| (machine.name.as_str(), health(machine)));
        each.filter(|(_, health)| health.verdict() == Quietness::Disturbed)
    }

    /// Returns warnings about allowed differences, simulated ranks, ignored parameters, matching by role and published numbers.
    fn conditions(&self) -> Vec<String> {
        let mut stamps: Vec<String> =
            self.differences.iter().map(|difference| format!("UNEQUAL CONDITIONS: {}", difference.text)).collect();
        let cards = self.machines.iter().filter_map(|machine| machine.samples.describe_simulation());
        let cards: Vec<String> = cards.map(|text| text.replace("simulated, ", "")).collect();
        stamps.extend((!cards.is_empty()).then(|| format!("SIMULATED, not measured: {}", cards.join(" and "))));
        stamps.extend(self.machines.iter().filter_map(|machine| {
            let origin = machine.samples.describe_import()?.replacen("imported", "IMPORTED", 1);
            Some(format!("{origin}, not measured by apexmap: {}", machine.name))
        }));
        if !self.matching.ignored.is_empty() {
            let names: Vec<&str> = self.matching.ignored.iter().map(|column| columns::short(column)).collect();
            stamps.push(format!("IGNORED IN MATCHING: {}", names.join(", ")));
        }
        if let Some(roles) = &self.points.roles {
            let each = self.machines.iter().zip(&roles.cores).map(|(m, cores)| format!("{} has {cores}", m.name));
            let mut text = format!("MATCHED BY ROLE: one core, all cores ({})", each.collect::<Vec<_>>().join(", "));
            if !self.points.own_sizes.is_empty() {
                let names: Vec<&str> = self.points.own_sizes.iter().map(String::as_str).collect();
                text += &format!("; {} as in each machine's sweep", names.join(", "));
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
        for machine in self.machines {
            let origins =
                machine.samples.words("origin").into_iter().filter(|origin| origin.starts_with("extrapolated"));
            stamps.extend(origins.map(|origin| format!("EXTRAPOLATED: some rates of {}, {origin}", machine.name)));
        }
        stamps
    }

    /// Describes results whose ranks were at different distances from each other.
    fn distance_differences(&self) -> Vec<String> {
        let mut differences = Vec::new();
        for (k, machine) in self.machines.iter().enumerate().filter(|(_, machine)| machine.origin == Origin::Measured) {
            let others = self.machines[k + 1..].iter().filter(|machine| machine.origin == Origin::Measured);
            let texts = others.filter_map(|other| {
                distance::comparison_warning((&machine.name, &machine.samples), (&other.name, &other.samples))
            });
            differences.extend(texts);
        }
        differences
    }

    /// Counts the points with oversubscription.
    fn oversubscription(&self, points: &[usize]) -> Option<String> {
        let is_crowded =
            |point: &Point| point.by_machine.iter().flatten().any(|data| data.facts.oversubscribed == Some(true));
        let crowded = points.iter().filter(|&&index| is_crowded(&self.points.points[index])).count();
        (crowded > 0).then(|| {
            format!("OVERSUBSCRIBED: more ranks than hardware threads at {crowded} of {} points", points.len())
        })
    }

    /// Returns the points that at least two machines have.
    pub fn matched_points(&self) -> Vec<&Point> {
        self.matched.iter().map(|&index| &self.points.points[index]).collect()
    }

    /// Returns the points that not all machines have.
    pub fn unmatched_points(&self) -> impl Iterator<Item = &Point> {
        self.points.points.iter().filter(|point| !point.is_in_all())
    }
}
