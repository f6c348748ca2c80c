//! Converts journals to a table: one row per sample, also for samples that are not good.

use crate::disk::record::Record;
use crate::table::Table;
use crate::table::bound_columns::bound_values;
use crate::table::builder::{ColumnHandle, TableBuilder};
use crate::table::columns::{NODE_TYPE, USED_NODES, own_name};
use crate::table::derived_columns::{self, BOUND_BY};
use crate::table::disturbance_columns::{self, References};
use apexmap_base::disturbance::Fact;
use apexmap_base::point::Point;
use apexmap_base::sample::{Launch, Sample};
use apexmap_measure::kernels;
use apexmap_measure::kernels::command::{COMMAND, is_own_parameter};
use apexmap_theory::bounds::Limits;
use std::collections::HashMap;

/// Converts journals to a table, for tests: [`Folder::table`](super::Folder::table) holds at most one sample at a time. Samples
/// whose key is not `current` are `stale`: of another build, machine or plan.
pub fn tabulate(records: &[Record], current: impl Fn(&str) -> bool) -> Table {
    let mut table = Tabulation::new(None);
    for record in records {
        let add = |sample: &Sample| table.add(sample, record.launch.as_ref(), current(&sample.key));
        record.samples.iter().for_each(add);
        table.end_launch(record);
    }
    table.finish()
}

pub fn tabulate_points<'p>(points: impl IntoIterator<Item = &'p Point>) -> Table {
    let mut table = Tabulation::new(None);
    for point in points {
        table.builder.begin_row();
        table.add_point(point);
    }
    table.builder.finish()
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

/// Text columns of every launch, in the order of [`Tabulation::add_launch`].
const LAUNCH: [&str; 8] = ["launch", "transport", "library", "launcher", "host", "cpu_model", NODE_TYPE, "build"];

/// A table to which samples are added as they are read, so that memory holds little more than the table.
pub struct Tabulation {
    builder: TableBuilder,
    sample: [ColumnHandle; SAMPLE.len()],
    launch: [ColumnHandle; LAUNCH.len()],
    place: ColumnHandle,
    oversubscribed: ColumnHandle,
    nodes: ColumnHandle,
    environment: ColumnHandle,
    rates: [ColumnHandle; derived_columns::COLUMNS.len()],
    facts: [ColumnHandle; Fact::COUNT],
    bounds: [ColumnHandle; derived_columns::BOUNDS.len()],
    bound_by: ColumnHandle,
    /// Columns of each kernel's parameters and of its outputs, in their order.
    kernels: HashMap<String, [Names; 2]>,
    limits: Option<Limits>,
    references: References,
}

/// Names and columns, in the order of a kernel's samples.
type Names = Vec<(String, ColumnHandle)>;

impl Tabulation {
    /// Creates a table. With `limits`, rows have the bounds of their machine.
    pub fn new(limits: Option<Limits>) -> Self {
        let mut builder = TableBuilder::default();
        Self {
            sample: SAMPLE.map(|name| builder.column(name)),
            launch: LAUNCH.map(|name| builder.column(name)),
            place: builder.column("place"),
            oversubscribed: builder.column("oversubscribed"),
            nodes: builder.column(USED_NODES),
            environment: builder.column("environment"),
            rates: derived_columns::COLUMNS.map(|derived| builder.column(derived.column)),
            facts: std::array::from_fn(|index| builder.column(Fact::ALL[index].info().column)),
            bounds: derived_columns::BOUNDS.map(|bound| builder.column(bound.column)),
            bound_by: builder.column(BOUND_BY),
            builder,
            kernels: HashMap::new(),
            limits,
            references: References::default(),
        }
    }

    /// Adds a sample. `current`: its point is in the present plan, with the present build and machine.
    pub fn add(&mut self, sample: &Sample, launch: Option<&Launch>, current: bool) {
        self.builder.begin_row();
        self.add_sample(sample, current);
        if let Some(launch) = launch {
            self.add_launch(launch);
        }
        let rates = derived_columns::rates(sample, launch.and_then(|launch| launch.host.cycle_hertz));
        self.set_numbers(&self.rates.clone(), rates);
        self.set_numbers(&self.facts.clone(), Fact::ALL.iter().map(|&fact| sample.disturbance.get(fact)));
        let bound = self.limits.as_ref().zip(launch).and_then(|(limits, launch)| bound_values(sample, launch, limits));
        if let Some((numbers, by)) = bound {
            self.set_numbers(&self.bounds.clone(), numbers);
            self.builder.set_word(self.bound_by, by);
        }
        self.references.add(launch, &sample.disturbance);
    }

    fn set_numbers(&mut self, columns: &[ColumnHandle], values: impl IntoIterator<Item = Option<f64>>) {
        for (column, value) in columns.iter().zip(values) {
            if let Some(value) = value {
                self.builder.set_number(*column, value);
            }
        }
    }

    /// Adds the facts of a journal that are not in its samples.
    pub fn end_launch<S>(&mut self, record: &Record<S>) {
        if let Some(launch) = &record.launch {
            self.references.add_preflight(launch, &record.preflight);
        }
    }

    pub fn finish(self) -> Table {
        let mut table = self.builder.finish();
        disturbance_columns::add_columns(&mut table, self.references);
        table
    }

    fn add_sample(&mut self, sample: &Sample, current: bool) {
        let [key, _, _, status, message, stale, block, repetition, unix_seconds, load, elsewhere, seconds] =
            self.sample;
        self.builder.set_word(key, &sample.key);
        self.add_point(&sample.point);
        let table = &mut self.builder;
        table.set_word(status, sample.status.name());
        if !sample.message.is_empty() {
            table.set_word(message, &sample.message);
        }
        table.set_integer(stale, u64::from(!current));
        table.set_integer(block, u64::from(sample.block));
        table.set_integer(repetition, u64::from(sample.repetition));
        table.set_number(unix_seconds, sample.unix_seconds);
        self.set_numbers(&[load, elsewhere, seconds], [sample.load, sample.pages_elsewhere, sample.seconds]);
        let [_, outputs] = self.kernels.get_mut(&sample.point.kernel).expect("added with the point");
        let table = &mut self.builder;
        for (index, (name, value)) in sample.outputs.iter().enumerate() {
            let column = cached_column(outputs, index, name, || table.column(name));
            table.set_value(column, value);
        }
    }

    fn add_point(&mut self, point: &Point) {
        let [_, kernel, ranks, ..] = self.sample;
        let id = &point.kernel;
        if !self.kernels.contains_key(id) {
            self.kernels.insert(id.clone(), [Names::new(), Names::new()]);
        }
        let [parameters, _] = self.kernels.get_mut(id).expect("inserted above");
        let table = &mut self.builder;
        table.set_word(kernel, id);
        table.set_integer(ranks, point.ranks as u64);
        for (index, (name, value)) in point.params.iter().enumerate() {
            let column = cached_column(parameters, index, name, || parameter_column(table, id, name));
            table.set_value(column, value);
        }
    }

    fn add_launch(&mut self, launch: &Launch) {
        let host = &launch.host;
        let node_type = launch.node_type();
        let words: [&str; LAUNCH.len()] = [
            &launch.launch,
            &launch.transport,
            &launch.library,
            &launch.launcher,
            &host.name,
            &host.cpu_model,
            &node_type,
            &launch.build,
        ];
        for (column, word) in self.launch.into_iter().zip(words) {
            self.builder.set_word(column, word);
        }
        if let Some(place) = launch.place {
            self.builder.set_word(self.place, place.name());
        }
        if !launch.environment.is_empty() {
            let each: Vec<String> = launch.environment.iter().map(|(name, value)| format!("{name}={value}")).collect();
            self.builder.set_word(self.environment, &each.join(" "));
        }
        self.builder.set_integer(self.oversubscribed, u64::from(launch.oversubscribed));
        if let Some(nodes) = launch.nodes() {
            self.builder.set_integer(self.nodes, nodes as u64);
        }
    }
}

/// Returns the column of a name. Usually it is at the same position as in the previous sample.
fn cached_column(names: &mut Names, index: usize, name: &str, find: impl FnOnce() -> ColumnHandle) -> ColumnHandle {
    match names.get(index) {
        Some((cached_name, column)) if cached_name == name => *column,
        _ => {
            let column = find();
            names.truncate(index);
            names.push((name.to_owned(), column));
            column
        }
    }
}

/// Returns the column of a parameter, which a sample has under the paper's name.
fn parameter_column(table: &mut TableBuilder, kernel: &str, name: &str) -> ColumnHandle {
    let kernel = kernels::find(kernel).ok();
    if kernel.is_some_and(|kernel| kernel.has_own_parameters) && name != COMMAND && is_own_parameter(name) {
        return table.column(&own_name(name));
    }
    let parameters = kernel.map_or(&[][..], |kernel| kernel.parameters);
    table.column(parameters.iter().find(|p| p.name == name).map_or(name, |p| p.column))
}
