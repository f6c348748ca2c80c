//! Journals to a table: one row a sample, whether good or not.

use super::build::{Handle, TableBuilder};
use super::journal::Record;
use super::table::Table;
use super::{derive, disturbance_columns};
use crate::measure::kernels;
use crate::sample::{Launch, Sample};
use std::collections::HashMap;

/// One row a sample of these journals.
///
/// `stale` marks samples whose key is not among `current`: measured by another build, on another machine or for a plan
/// that has changed.
pub fn tabulate(records: &[Record], current: impl Fn(&str) -> bool) -> Table {
    let mut table = Tabulation::new();
    for record in records {
        let hertz = record.launch.as_ref().and_then(|launch| launch.host.cycle_hertz);
        for sample in &record.samples {
            table.builder.begin_row();
            table.add_sample(sample, current(&sample.key));
            if let Some(launch) = &record.launch {
                table.add_launch(launch);
            }
            for (at, rate) in derive::rates(sample, hertz).into_iter().enumerate() {
                if let Some(rate) = rate {
                    table.builder.set_number(table.rates[at], rate);
                }
            }
        }
    }
    let mut table = table.builder.finish();
    disturbance_columns::add(&mut table, records);
    table
}

/// Columns of every sample, in the order of [`Tabulation::add_sample`].
const SAMPLE: [&str; 12] = [
    "key",
    "kernel",
    "ranks",
    "status",
    "message",
    "stale",
    "block",
    "repetition",
    "unix_seconds",
    "load",
    "pages_elsewhere",
    "seconds",
];

/// Words of every launch, in the order of [`Tabulation::add_launch`].
const LAUNCH: [&str; 7] = ["launch", "transport", "library", "launcher", "host", "cpu_model", "build"];

struct Tabulation {
    builder: TableBuilder,
    sample: [Handle; SAMPLE.len()],
    launch: [Handle; LAUNCH.len()],
    place: Handle,
    oversubscribed: Handle,
    rates: [Handle; derive::COLUMNS.len()],
    /// By kernel, the columns of its parameters and outputs in their order.
    kernels: HashMap<String, [Names; 2]>,
}

/// Names with their columns, in the order in which a kernel's samples have them.
type Names = Vec<(String, Handle)>;

impl Tabulation {
    fn new() -> Self {
        let mut builder = TableBuilder::default();
        Self {
            sample: SAMPLE.map(|name| builder.column(name)),
            launch: LAUNCH.map(|name| builder.column(name)),
            place: builder.column("place"),
            oversubscribed: builder.column("oversubscribed"),
            rates: derive::COLUMNS.map(|derived| builder.column(derived.column)),
            builder,
            kernels: HashMap::new(),
        }
    }

    fn add_sample(&mut self, sample: &Sample, current: bool) {
        let [key, kernel, ranks, status, message, stale, block, repetition, unix_seconds, load, elsewhere, seconds] =
            self.sample;
        let id = &sample.point.kernel;
        if !self.kernels.contains_key(id) {
            self.kernels.insert(id.clone(), [Names::new(), Names::new()]);
        }
        let [parameters, outputs] = self.kernels.get_mut(id).expect("inserted above");
        let table = &mut self.builder;
        table.set_word(key, &sample.key);
        table.set_word(kernel, id);
        table.set_integer(ranks, sample.point.ranks as u64);
        for (at, (name, value)) in sample.point.params.iter().enumerate() {
            let column = known(parameters, at, name, || parameter(table, id, name));
            table.set_value(column, value);
        }
        table.set_word(status, sample.status.name());
        if !sample.message.is_empty() {
            table.set_word(message, &sample.message);
        }
        table.set_integer(stale, u64::from(!current));
        table.set_integer(block, u64::from(sample.block));
        table.set_integer(repetition, u64::from(sample.repetition));
        table.set_number(unix_seconds, sample.unix_seconds);
        if let Some(value) = sample.load {
            table.set_number(load, value);
        }
        if let Some(value) = sample.pages_elsewhere {
            table.set_number(elsewhere, value);
        }
        if let Some(value) = sample.seconds {
            table.set_number(seconds, value);
        }
        for (at, (name, value)) in sample.outputs.iter().enumerate() {
            let column = known(outputs, at, name, || table.column(name));
            table.set_value(column, value);
        }
    }

    fn add_launch(&mut self, launch: &Launch) {
        let host = &launch.host;
        let words = [
            &launch.launch,
            &launch.transport,
            &launch.library,
            &launch.launcher,
            &host.name,
            &host.cpu_model,
            &launch.build,
        ];
        for (column, word) in self.launch.into_iter().zip(words) {
            self.builder.set_word(column, word);
        }
        if let Some(place) = launch.place {
            self.builder.set_word(self.place, place.name());
        }
        self.builder.set_integer(self.oversubscribed, u64::from(launch.oversubscribed));
    }
}

/// The column of a name, which mostly stands where it stood in the sample before.
fn known(names: &mut Names, at: usize, name: &str, find: impl FnOnce() -> Handle) -> Handle {
    match names.get(at) {
        Some((known, column)) if known == name => *column,
        _ => {
            let column = find();
            names.truncate(at);
            names.push((name.to_owned(), column));
            column
        }
    }
}

/// The column of a parameter that a sample has by the paper's name.
fn parameter(table: &mut TableBuilder, kernel: &str, name: &str) -> Handle {
    let parameters = kernels::find(kernel).map(|kernel| kernel.parameters()).unwrap_or(&[]);
    table.column(parameters.iter().find(|p| p.name == name).map_or(name, |p| p.column))
}
