//! Machines with matched points, their groups and ratios, and the warnings of every page and figure.

use super::comparability::{self, Difference};
use super::devices;
use super::geometric_mean::{Scope, ScopeRatios};
use super::groups::{self, MatchedGroup};
use super::machine::{Machine, Origin, Source};
use super::matching::{self, Matching};
use super::points::{Point, PointData, Points};
use super::ratio::{Decision, TestedRatio};
use apexmap_base::error::{Error, Result};
use apexmap_draw::figure::Axis;
use apexmap_results::samples::cube::Cube;
use apexmap_results::samples::distance;
use apexmap_results::samples::health::Health;
use apexmap_results::samples::stamp::Stamp;
use apexmap_results::table::columns;
use apexmap_results::table::quietness::Quietness;
use apexmap_theory::codes::{self, Code};
use apexmap_theory::models::formula::FormulaModel;
use ndarray::Array2;
use std::fmt;
use std::ops::Deref;

pub const DISTURBED: &str = "DISTURBED";
const OTHER_DISTANCE: &str = "OTHER DISTANCE";

#[derive(Clone, Debug, PartialEq)]
pub struct Warning {
    /// Stands for the warning in a list of several.
    pub kind: String,
    pub text: String,
}

impl Warning {
    fn new(kind: impl Into<String>, text: impl Into<String>) -> Self {
        Self { kind: kind.into(), text: text.into() }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}: {}", self.kind, self.text)
    }
}

#[derive(Clone, Debug)]
pub struct Comparison<'a> {
    pub machines: &'a [Machine],
    pub points: Points,
    pub names: Vec<String>,
    pub differences: Vec<Difference>,
    /// Points that at least two machines have, finished or not.
    pub matched: Vec<usize>,
    pub matching: Matching,
    pub decision: Decision,
    pub codes: Vec<Code>,
    pub models: Vec<&'static FormulaModel>,
    pub groups: Vec<MatchedGroup>,
    /// To the first machine over all matched points; empty for itself.
    pub ratios: Vec<ScopeRatios>,
    /// For each role, or number of processes if others are devices; empty if ranks are matched by number.
    pub by_scope: Vec<Vec<ScopeRatios>>,
}

pub fn compare(machines: &[Machine], matching: Matching) -> Result<Comparison<'_>> {
    if machines.len() < 2 {
        return Err(Error::input("a comparison needs two machines", "name at least two: apexmap compare A B"));
    }
    let points = matching::match_points(machines, &matching)?;
    let matched: Vec<usize> = (0..points.points.len()).filter(|&index| points.points[index].is_matched()).collect();
    let differences = comparability::require_allowed(comparability::differences(machines, &points), &matching.allowed)?;
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
    let cores: Vec<Option<u64>> = machines.iter().map(|machine| machine.cores).collect();
    let scopes = match points.roles {
        Some(_) => Scope::roles(&points.points, &matched),
        None if points.devices.is_empty() => Vec::new(),
        None => Scope::processes(&points.points, &matched, &cores),
    };
    let ratios_of = |machine: usize| {
        let of_scope =
            |(scope, members): &(Scope, Vec<usize>)| ScopeRatios::new(&points, *scope, members.clone(), machine);
        scopes.iter().map(of_scope).collect()
    };
    let by_scope = (0..machines.len()).map(ratios_of).collect();
    Ok(Comparison {
        machines,
        names,
        differences,
        matched,
        matching,
        decision: Decision::default(),
        codes: codes::list_known(),
        models: Vec::new(),
        groups,
        ratios,
        by_scope,
        points,
    })
}

#[derive(Clone, Copy)]
pub struct Group<'a> {
    pub comparison: &'a Comparison<'a>,
    group: &'a MatchedGroup,
}

impl Deref for Group<'_> {
    type Target = MatchedGroup;

    fn deref(&self) -> &MatchedGroup {
        self.group
    }
}

impl Group<'_> {
    pub fn values(&self, axis: usize) -> Vec<f64> {
        self.comparison.points.numbers(self.points.iter().copied(), &self.axes[axis])
    }

    pub fn axis(&self, axis: usize) -> Axis {
        let values = self.values(axis);
        Axis { quantity: groups::quantity(&self.axes[axis], &values), values }
    }

    pub fn grid(&self) -> Array2<Option<usize>> {
        let place = |&index: &usize| {
            let number = |axis: usize| self.comparison.point(index).number(&self.axes[axis]);
            Some(([number(1)?, number(0)?], index))
        };
        Cube::scatter([&self.axes[1], &self.axes[0]], self.points.iter().filter_map(place).collect()).values
    }

    /// At [y, x]; NaN for missing points.
    pub fn speeds(&self, machine: usize) -> Array2<f64> {
        self.grid().map(|index| index.and_then(|index| self.comparison.speed(machine, index)).unwrap_or(f64::NAN))
    }

    pub fn subtitle(&self, text: &str) -> String {
        self.comparison.subtitle(format!("{}: {text}", self.label), &self.points)
    }

    pub fn is_exact(&self) -> bool {
        self.comparison.is_exact_at(&self.points)
    }
}

impl Comparison<'_> {
    pub fn groups(&self) -> impl Iterator<Item = Group<'_>> {
        self.groups.iter().map(|group| Group { comparison: self, group })
    }

    pub fn point(&self, index: usize) -> &Point {
        &self.points.points[index]
    }

    pub fn speed(&self, machine: usize, point: usize) -> Option<f64> {
        self.point(point).by_machine[machine].as_ref()?.speed()
    }

    pub fn ratio(&self, machine: usize, point: usize) -> Option<&TestedRatio> {
        self.ratios[machine].ratios.get(&point)
    }

    pub fn scopes(&self, machine: usize) -> &[ScopeRatios] {
        match self.by_scope[machine].as_slice() {
            [] if self.points.roles.is_none() => std::slice::from_ref(&self.ratios[machine]),
            scopes => scopes,
        }
    }

    pub fn name(&self, machine: usize) -> &str {
        &self.machines[machine].name
    }

    /// Cards determine all matched values, so every ratio is exact.
    pub fn is_exact(&self) -> bool {
        self.is_exact_at(&self.matched)
    }

    pub fn is_exact_at(&self, points: &[usize]) -> bool {
        let mut data = points.iter().flat_map(|&index| self.point(index).by_machine.iter().flatten());
        data.all(PointData::is_of_card)
    }

    pub fn title(&self, machine: usize) -> String {
        format!("{} / {}", self.name(machine), self.name(0))
    }

    pub fn subtitle(&self, text: String, points: &[usize]) -> String {
        let warnings = self.warnings_at(points);
        if warnings.is_empty() { text } else { format!("{text}\n{}", warnings.join(". ")) }
    }

    pub fn same_samples(&self) -> Option<[&str; 2]> {
        let machines = 0..self.machines.len();
        let mut pairs = machines.clone().flat_map(|a| machines.clone().skip(a + 1).map(move |b| [a, b]));
        let same = pairs.find(|&[a, b]| self.machines[a].has_same_samples(&self.machines[b]))?;
        Some(same.map(|k| self.name(k)))
    }

    pub fn warnings(&self) -> Vec<Warning> {
        let mut warnings = self.conditions();
        let disturbed =
            |(name, health): (&str, Health)| Warning::new(DISTURBED, format!("{name} was {}", health.sentence()));
        warnings.extend(self.disturbed_machines().map(disturbed));
        warnings.extend(self.distance_differences().into_iter().map(|text| Warning::new(OTHER_DISTANCE, text)));
        warnings.extend(self.oversubscription(&(0..self.points.points.len()).collect::<Vec<_>>()));
        for machine in self.machines {
            let remarks = machine.samples.remarks(&machine.plain_node()).into_iter();
            warnings.extend(remarks.map(|remark| Warning::new(&machine.name, remark.trim_end_matches('.'))));
        }
        warnings
    }

    pub fn warnings_at(&self, points: &[usize]) -> Vec<String> {
        let mut warnings: Vec<String> = self.conditions().iter().map(Warning::to_string).collect();
        warnings.extend(self.disturbed_line());
        warnings.extend((!self.distance_differences().is_empty()).then(|| format!("{OTHER_DISTANCE} between ranks")));
        warnings.extend(self.oversubscription(points).map(|warning| warning.to_string()));
        warnings
    }

    pub fn disturbed_line(&self) -> Option<String> {
        let describe = |(name, health): (&str, Health)| {
            format!("{name} ({} of {} samples)", health.disturbed_count(), health.sample_count())
        };
        let disturbed: Vec<String> = self.disturbed_machines().map(describe).collect();
        (!disturbed.is_empty()).then(|| Warning::new(DISTURBED, disturbed.join(", ")).to_string())
    }

    pub fn disturbed_machines(&self) -> impl Iterator<Item = (&str, Health)> {
        let each = self.machines.iter().map(|machine| (machine.name.as_str(), Health::from_samples(&machine.samples)));
        each.filter(|(_, health)| health.verdict() == Quietness::Disturbed)
    }

    fn conditions(&self) -> Vec<Warning> {
        let unequal = |difference: &Difference| Warning::new("UNEQUAL CONDITIONS", &difference.text);
        let mut warnings: Vec<Warning> = self.differences.iter().map(unequal).collect();
        warnings.extend(self.different_things().map(|text| Warning::new("DIFFERENT THINGS", text)));
        let cards: Vec<String> =
            self.machines.iter().filter_map(|machine| machine.samples.simulated_machine()).collect();
        warnings.extend((!cards.is_empty()).then(|| Warning::new("SIMULATED, not measured", cards.join(" and "))));
        warnings.extend(self.machines.iter().filter_map(|machine| {
            let stamp = Stamp::Imported(machine.samples.imported_programs()?);
            Some(Warning::new(format!("{stamp}, not measured by apexmap"), &machine.name))
        }));
        if !self.matching.ignored.is_empty() {
            let names: Vec<&str> = self.matching.ignored.iter().map(|column| columns::short(column)).collect();
            warnings.push(Warning::new("IGNORED IN MATCHING", names.join(", ")));
        }
        if let Some(roles) = &self.points.roles {
            let each = self.machines.iter().zip(&roles.cores).map(|(m, cores)| format!("{} has {cores}", m.name));
            let mut text = format!("one core, all cores ({})", each.collect::<Vec<_>>().join(", "));
            if !self.points.own_sizes.is_empty() {
                let names: Vec<&str> = self.points.own_sizes.iter().map(String::as_str).collect();
                text += &format!("; {} as in each machine's sweep", names.join(", "));
            }
            warnings.push(Warning::new("MATCHED BY ROLE", text));
        }
        let published = self.machines.iter().filter(|machine| machine.origin == Origin::Published);
        let published: Vec<&str> = published.map(|machine| machine.name.as_str()).collect();
        if !published.is_empty() {
            let text = format!("{} (published or predicted)", published.join(", "));
            warnings.push(Warning::new("NOT MEASURED HERE", text));
        }
        for machine in self.machines {
            let origins = machine.origins(Source::Extrapolated).into_iter();
            warnings.extend(
                origins.map(|origin| Warning::new("EXTRAPOLATED", format!("some rates of {}, {origin}", machine.name))),
            );
        }
        warnings
    }

    /// Which of one process, one node and one device is compared; `None` without devices.
    fn different_things(&self) -> Option<String> {
        let devices = &self.points.devices;
        let describe = |(index, machine): (usize, &Machine)| {
            if devices.contains(&index) {
                return devices::describe(machine);
            }
            let has = |point: &usize| self.point(*point).by_machine[index].is_some();
            let matched: Vec<usize> = self.matched.iter().copied().filter(has).collect();
            let scopes = Scope::processes(&self.points.points, &matched, &[machine.cores]).into_iter();
            let each = scopes.map(|(scope, _)| scope.label());
            format!("{} is {}", machine.name, each.collect::<Vec<_>>().join(", "))
        };
        let each = || self.machines.iter().enumerate().map(describe).collect::<Vec<_>>().join("; ");
        (!devices.is_empty()).then(each)
    }

    fn distance_differences(&self) -> Vec<String> {
        let measured = self.machines.iter().filter(|machine| machine.origin == Origin::Measured);
        let results: Vec<_> = measured.map(|machine| (machine.name.as_str(), &machine.samples)).collect();
        let pairs = (0..results.len()).flat_map(|a| (a + 1..results.len()).map(move |b| (a, b)));
        pairs.filter_map(|(a, b)| distance::comparison_warning(results[a], results[b])).collect()
    }

    fn oversubscription(&self, points: &[usize]) -> Option<Warning> {
        let is_crowded =
            |point: &Point| point.by_machine.iter().flatten().any(|data| data.facts.oversubscribed == Some(true));
        let crowded = points.iter().filter(|&&index| is_crowded(self.point(index))).count();
        (crowded > 0).then(|| {
            let text = format!("more ranks than hardware threads at {crowded} of {} points", points.len());
            Warning::new("OVERSUBSCRIBED", text)
        })
    }

    pub fn matched_points(&self) -> Vec<&Point> {
        self.matched.iter().map(|&index| self.point(index)).collect()
    }

    pub fn unmatched_points(&self) -> impl Iterator<Item = &Point> {
        self.points.points.iter().filter(|point| !point.is_in_all())
    }
}
