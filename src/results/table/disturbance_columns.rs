//! Columns about disturbance: causes, conditions and verdict.

use crate::table::Table;
use crate::table::column::{Column, ColumnBuilder, Kind};
use crate::table::cost::{Signs, free_causes};
pub use crate::table::quietness::{CONDITIONS, DISTURBED_BY, QUIETNESS};
use crate::table::quietness::{Cause, Reference, ReferenceValues, amounts, judge};
use apexmap_base::disturbance::{Fact, Facts};
use apexmap_base::sample::Launch;
use std::collections::HashMap;
use std::ops::Range;

/// References for the speed of the quiet machine, by host of rank 0 and number of ranks.
#[derive(Default)]
pub struct References {
    places: HashMap<(String, usize), usize>,
    place_values: Vec<ReferenceValues>,
    /// Consecutive rows of one launch.
    spans: Vec<Span>,
}

/// Consecutive rows of a launch, or rows without a known launch.
struct Span {
    rows: Range<usize>,
    reference: Option<usize>,
    oversubscribed: bool,
}

impl References {
    pub fn add(&mut self, launch: Option<&Launch>, facts: &Facts) {
        let reference = launch.map(|launch| self.place(launch));
        if let Some(place) = reference {
            self.place_values[place].add(facts);
        }
        let oversubscribed = launch.is_some_and(|launch| launch.oversubscribed);
        match self.spans.last_mut() {
            Some(span) if (span.reference, span.oversubscribed) == (reference, oversubscribed) => span.rows.end += 1,
            last => {
                let row = last.map_or(0, |span| span.rows.end);
                self.spans.push(Span { rows: row..row + 1, reference, oversubscribed });
            }
        }
    }

    /// Adds the facts of the canaries before a launch's first sample.
    pub fn add_preflight(&mut self, launch: &Launch, canaries: &[Facts]) {
        let place = self.place(launch);
        canaries.iter().for_each(|facts| self.place_values[place].add(facts));
    }

    fn place(&mut self, launch: &Launch) -> usize {
        let next = self.place_values.len();
        let index = *self.places.entry((launch.host.name.clone(), launch.ranks)).or_insert(next);
        if index == next {
            self.place_values.push(ReferenceValues::default());
        }
        index
    }
}

#[derive(Clone, Copy)]
struct Row {
    reference: Reference,
    oversubscribed: bool,
}

/// Adds the columns to a table with these references. Does nothing if no sample has facts.
pub fn add_columns(table: &mut Table, references: References) {
    if Fact::ALL.iter().all(|fact| table.column(fact.info().column).is_none()) {
        return;
    }
    let place_references: Vec<Reference> =
        references.place_values.into_iter().map(ReferenceValues::reference).collect();
    let to_row = |span: &Span| Row {
        reference: span.reference.map_or_else(Reference::default, |place| place_references[place]),
        oversubscribed: span.oversubscribed,
    };
    let rows: Vec<(Range<usize>, Row)> =
        references.spans.iter().map(|span| (span.rows.clone(), to_row(span))).collect();
    add_verdicts(table, &rows);
}

struct FactColumns<'a>(Vec<(Fact, &'a Column)>);

impl<'a> FactColumns<'a> {
    fn from_table(table: &'a Table, wanted: &[Fact]) -> Self {
        Self(wanted.iter().filter_map(|&fact| Some((fact, table.column(fact.info().column)?))).collect())
    }

    fn facts(&self, row: usize) -> Facts {
        let mut facts = Facts::default();
        for (fact, column) in &self.0 {
            facts.set(*fact, Some(column.number(row)).filter(|value| !value.is_nan()));
        }
        facts
    }
}

fn add_verdicts(table: &mut Table, rows: &[(Range<usize>, Row)]) {
    let facts = FactColumns::from_table(table, Fact::ALL);
    let signs_of = |(row, context): (usize, &Row)| {
        amounts(&facts.facts(row), &context.reference, context.oversubscribed)
            .map(|amounts| Signs::from_amounts(&amounts))
    };
    let contexts = rows.iter().flat_map(|(rows, context)| rows.clone().map(move |row| (row, context)));
    let signs: Vec<Option<Signs>> = contexts.map(signs_of).collect();
    let free = free_causes(table, &signs);
    let [mut verdicts, mut by, mut conditions] = [(); 3].map(|()| ColumnBuilder::new(Kind::Words));
    for (signs, free) in signs.iter().zip(free) {
        let present = signs.map(|signs| Cause::ALL.into_iter().filter(move |&cause| signs.present()[cause as usize]));
        let (costless, costly): (Vec<Cause>, Vec<Cause>) =
            present.into_iter().flatten().partition(|&cause| free[cause as usize]);
        verdicts.push_word(Some(judge(signs.map(|_| &costly[..])).name()));
        for (column, causes) in [(&mut by, costly), (&mut conditions, costless)] {
            let names: Vec<&str> = causes.into_iter().map(Cause::name).collect();
            column.push_word((!names.is_empty()).then(|| names.join(", ")).as_deref());
        }
    }
    for (name, column) in [(QUIETNESS, verdicts), (DISTURBED_BY, by), (CONDITIONS, conditions)] {
        table.insert(name, column.finish());
    }
}
