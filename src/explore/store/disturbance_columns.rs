//! Beside each sample what disturbed it, the verdict about that, and its rates corrected for how slow the machine was.

use super::build::WordsBuilder;
use super::correction::{self, Run};
use super::derive::{self, CORRECTED, CORRECTION};
use super::journal::Record;
use super::quietness::{Reference, causes, judge};
use super::table::{Column, Table};
use crate::disturbance::{Fact, Facts};
use crate::sample::{Launch, Sample, Status};
use std::collections::{BTreeMap, HashMap};

/// Column of the verdict about a sample, a word such as `quiet`.
pub const QUIETNESS: &str = "quietness";
/// Column of what disturbed it: such as `run delay, steal`.
pub const DISTURBED_BY: &str = "disturbed_by";

/// Samples with their launches, in the order of the table.
type Rows<'a> = Vec<(&'a Sample, Option<&'a Launch>)>;

/// Adds the columns to the table of these records; none where no sample tells anything.
pub fn add(table: &mut Table, records: &[Record]) {
    let rows: Rows = records
        .iter()
        .flat_map(|record| record.samples.iter().map(|sample| (sample, record.launch.as_ref())))
        .collect();
    if rows.iter().all(|(sample, _)| sample.disturbance.is_empty()) {
        return;
    }
    for &fact in Fact::ALL {
        let values: Vec<f64> =
            rows.iter().map(|(sample, _)| sample.disturbance.get(fact).unwrap_or(f64::NAN)).collect();
        if values.iter().any(|value| !value.is_nan()) {
            table.insert(fact.about().column, Column::Numbers(values));
        }
    }
    let of_hosts = References::of(records);
    let references: Vec<Reference> = rows.iter().map(|(_, launch)| of_hosts.get(*launch)).collect();
    add_verdicts(table, &rows, &references);
    add_corrections(table, &rows, &references);
}

/// How fast the quiet machine is, by what it was measured with: the host of rank 0, and the number of ranks.
struct References<'a>(HashMap<(&'a str, usize), Reference>);

impl<'a> References<'a> {
    fn of(records: &'a [Record]) -> Self {
        let mut facts: HashMap<_, Vec<&Facts>> = HashMap::new();
        for record in records {
            let Some(launch) = &record.launch else { continue };
            let of = facts.entry((launch.host.name.as_str(), launch.ranks)).or_default();
            of.extend(&record.preflight);
            of.extend(record.samples.iter().map(|sample| &sample.disturbance));
        }
        Self(facts.into_iter().map(|(key, facts)| (key, Reference::of(facts))).collect())
    }

    fn get(&self, launch: Option<&Launch>) -> Reference {
        let of = |launch: &Launch| self.0.get(&(launch.host.name.as_str(), launch.ranks)).copied();
        launch.and_then(of).unwrap_or_default()
    }
}

fn add_verdicts(table: &mut Table, rows: &Rows, references: &[Reference]) {
    let (mut verdicts, mut by) = (WordsBuilder::default(), WordsBuilder::default());
    for ((sample, launch), reference) in rows.iter().zip(references) {
        let oversubscribed = launch.is_some_and(|launch| launch.oversubscribed);
        let causes = causes(&sample.disturbance, reference, oversubscribed);
        verdicts.push(Some(judge(causes.as_deref()).name()));
        let names: Vec<&str> = causes.iter().flatten().map(|(cause, _)| cause.name()).collect();
        by.push((!names.is_empty()).then(|| names.join(", ")).as_deref());
    }
    table.insert(QUIETNESS, verdicts.finish());
    table.insert(DISTURBED_BY, by.finish());
}

fn add_corrections(table: &mut Table, rows: &Rows, references: &[Reference]) {
    let mut points: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (row, (sample, _)) in rows.iter().enumerate() {
        let told = sample.disturbance.get(Fact::CacheCanary).is_some();
        if told && sample.status == Status::Ok && sample.seconds.is_some_and(|seconds| seconds > 0.0) {
            points.entry(&sample.key).or_default().push(row);
        }
    }
    let mut factors = vec![f64::NAN; rows.len()];
    for point in points.into_values() {
        let run = |&row: &usize| Run {
            seconds: rows[row].0.seconds.unwrap_or(f64::NAN),
            facts: &rows[row].0.disturbance,
            reference: &references[row],
        };
        let runs: Vec<Run> = point.iter().map(run).collect();
        for (row, factor) in point.into_iter().zip(correction::factors(&runs)) {
            factors[row] = factor;
        }
    }
    for (corrected, rate) in CORRECTED.iter().zip(derive::CORRECTABLE) {
        let numbers = factors.iter().enumerate().map(|(row, factor)| factor * table.number(rate, row)).collect();
        table.insert(corrected.column, Column::Numbers(numbers));
    }
    table.insert(CORRECTION, Column::Numbers(factors));
}
