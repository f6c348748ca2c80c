//! Maps of a sweep: the values of its points over the first two axes of each group, filled sample by sample.

use crate::disk::Folder;
use crate::disk::load::Planned;
use crate::disk::reader::Reader;
use crate::disk::record::Record;
use crate::disk::tabulate::tabulate_points;
use crate::samples::Samples;
use crate::samples::groups::SampleGroup;
use crate::samples::plain_names::plain_name;
use crate::table::column::Column;
use crate::table::columns::{ALPHA, ColumnDescription, describe};
use crate::table::derived_columns;
use apexmap_base::error::Result;
use apexmap_base::point::{Point, Value};
use apexmap_base::provenance::PlainNode;
use apexmap_base::sample::{Sample, Status};
use apexmap_base::units::{self, Unit, WORD_BYTES};
use apexmap_measure::numerics::statistics::median;
use std::collections::{BTreeMap, HashMap};

#[derive(Default)]
pub struct Maps {
    pub maps: Vec<Map>,
    node_type: Option<String>,
    /// Map and cell of each point, by its key.
    places: HashMap<String, (usize, usize)>,
}

pub struct Map {
    /// Columns that distinguish the points of the map from those of others, kernel and ranks first.
    key: Vec<(String, Value)>,
    pub label: String,
    pub quantity: ColumnDescription,
    pub x: MapAxis,
    pub y: MapAxis,
    /// Cells row by row, from the lowest value of `y`.
    cells: Vec<MapCell>,
}

/// The planned values of an axis, ascending. A group that varies one column has an axis without a name.
pub struct MapAxis {
    /// Name in the papers: `L`.
    pub name: String,
    pub labels: Vec<String>,
}

#[derive(Clone, Default)]
struct MapCell {
    is_planned: bool,
    has_failed: bool,
    /// Values by block and launch: a block's launches are one launch that was interrupted and resumed.
    values_by_launch: BTreeMap<(u32, String), Vec<f64>>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shown {
    /// The median of the samples, as in reports.
    Value(f64),
    Failed,
    Waiting,
    Unplanned,
}

impl MapCell {
    fn shown(&self) -> Shown {
        let mut blocks: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        self.values_by_launch.iter().for_each(|((block, _), values)| blocks.entry(*block).or_default().extend(values));
        let logarithms: Vec<f64> = blocks.values().filter_map(|values| median(values)).map(f64::ln).collect();
        match self {
            _ if !logarithms.is_empty() => {
                Shown::Value((logarithms.iter().sum::<f64>() / logarithms.len() as f64).exp())
            }
            MapCell { has_failed: true, .. } => Shown::Failed,
            MapCell { is_planned: true, .. } => Shown::Waiting,
            _ => Shown::Unplanned,
        }
    }
}

impl Shown {
    pub fn value(self) -> Option<f64> {
        if let Shown::Value(value) = self { Some(value) } else { None }
    }
}

impl Map {
    pub fn shown(&self) -> Vec<Shown> {
        self.cells.iter().map(MapCell::shown).collect()
    }

    pub fn is_surface(&self) -> bool {
        self.x.labels.len() > 1 && self.y.labels.len() > 1
    }

    pub fn has_several_cells(&self) -> bool {
        self.cells.len() > 1
    }

    pub fn has_values(&self) -> bool {
        self.cells.iter().any(|cell| !cell.values_by_launch.is_empty())
    }

    /// Returns whether this map with a new value replaces another one: a strip replaces no surface of its kernel and ranks.
    pub fn replaces(&self, other: &Map) -> bool {
        let is_of_same_kernel = self.key.iter().take(2).eq(other.key.iter().take(2));
        self.has_several_cells() && !(is_of_same_kernel && other.is_surface() && !self.is_surface())
    }
}

impl Maps {
    pub fn from_points<'a>(entries: impl Iterator<Item = (&'a str, &'a Point)> + Clone) -> Result<Self> {
        let mut table = tabulate_points(entries.clone().map(|(_, point)| point));
        table.insert("key", Column::from_words(entries.map(|(key, _)| Some(key))));
        Self::from_samples(&Samples::from(table))
    }

    pub fn from_plan(folder: &Folder) -> Result<Option<Self>> {
        let Some(points) = folder.plan_lines::<Planned>()? else { return Ok(None) };
        Self::from_points(points.iter().map(|line| (line.key.as_str(), &line.point))).map(Some)
    }

    pub fn from_samples(samples: &Samples) -> Result<Self> {
        let mut maps = Self::default();
        samples.groups()?.iter().try_for_each(|group| maps.add_group(group))?;
        Ok(maps)
    }

    /// Adds a group. Values of a third and further axes have separate maps.
    fn add_group(&mut self, group: &SampleGroup) -> Result<()> {
        let (shown, further) = group.axes.split_at(group.axes.len().min(2));
        let further: Vec<&str> = further.iter().map(String::as_str).collect();
        for cell in group.samples.cells(&further)? {
            let beyond = further.iter().map(|name| (*name).to_owned()).zip(cell.by);
            let key = group.key.iter().cloned().chain(beyond).collect();
            // Alpha is the first axis of Apex-Map, and every figure has it upwards.
            let axes = match shown {
                [alpha, block] if alpha == ALPHA => [Some(block), Some(alpha)],
                axes => [axes.first(), axes.get(1)],
            };
            self.add_map(&cell.samples, key, group.headline, axes);
        }
        Ok(())
    }

    fn add_map(&mut self, samples: &Samples, key: Vec<(String, Value)>, headline: &str, axes: [Option<&String>; 2]) {
        let values = axes.map(|name| name.map_or(vec![f64::NAN], |name| samples.distinct_numbers(name)));
        // Samples of another program's file may lack an axis.
        if values.iter().any(Vec::is_empty) {
            return;
        }
        let columns = values[0].len();
        let mut cells = vec![MapCell::default(); columns * values[1].len()];
        for &row in samples.rows() {
            let place = |axis: usize| {
                let value = axes[axis].and_then(|name| samples.column(name)).map(|column| column.number(row));
                value.and_then(|value| values[axis].iter().position(|other| *other == value)).unwrap_or(0)
            };
            let cell = place(1) * columns + place(0);
            cells[cell].is_planned = true;
            self.places.insert(samples.table().word("key", row).to_owned(), (self.maps.len(), cell));
        }
        let [x, y] = [0, 1].map(|axis| MapAxis::new(axes[axis], &values[axis]));
        let label = plain_name(&key, &PlainNode::default());
        self.maps.push(Map { key, label, quantity: samples.describe(headline), x, y, cells });
    }

    pub fn set_node(&mut self, node: &PlainNode) {
        self.maps.iter_mut().for_each(|map| map.label = plain_name(&map.key, node));
    }

    /// Shows the samples on this type of nodes from now on, and forgets those on others.
    pub fn show_node_type(&mut self, node_type: &str) {
        if self.node_type.as_deref() == Some(node_type) {
            return;
        }
        if self.node_type.replace(node_type.to_owned()).is_some() {
            self.cells().for_each(|cell| cell.values_by_launch.clear());
        }
    }

    pub fn forget_launch(&mut self, launch: &str) {
        self.cells().for_each(|cell| cell.values_by_launch.retain(|(_, name), _| name != launch));
    }

    fn cells(&mut self) -> impl Iterator<Item = &mut MapCell> {
        self.maps.iter_mut().flat_map(|map| &mut map.cells)
    }

    /// Adds a sample with its value of the quantity of its map; `None` if it failed. Returns the number of the map.
    fn add(&mut self, key: &str, launch: (u32, &str), value: impl Fn(&str) -> Option<f64>) -> Option<usize> {
        let &(number, cell) = self.places.get(key)?;
        let map = &mut self.maps[number];
        let cell = &mut map.cells[cell];
        match value(&map.quantity.name) {
            Some(value) => cell.values_by_launch.entry((launch.0, launch.1.to_owned())).or_default().push(value),
            None => cell.has_failed = true,
        }
        Some(number)
    }

    /// Adds a sample as the worker sent it. Returns the number of its map, as [`Maps::add_samples`] does.
    pub fn add_sample(&mut self, sample: &Sample, launch: &str, hertz: Option<f64>) -> Option<usize> {
        let is_good = sample.status == Status::Ok;
        let value = |column: &str| sample_value(sample, column, hertz).filter(|_| is_good);
        self.add(&sample.key, (sample.block, launch), value)
    }

    /// Adds the samples of a table, which must be of one type of nodes. Returns the number of the map with the newest one.
    pub fn add_samples(&mut self, samples: &Samples) -> Option<usize> {
        let table = samples.table();
        let mut newest: Option<(usize, f64)> = None;
        for &row in samples.rows() {
            let is_good = samples.failure(row).is_none();
            let value = |column: &str| Some(table.number(column, row)).filter(|value| is_good && !value.is_nan());
            let launch = (table.number("block", row) as u32, table.word("launch", row));
            let Some(map) = self.add(table.word("key", row), launch, value) else { continue };
            let seconds = table.number("unix_seconds", row);
            if newest.is_none_or(|(_, latest)| seconds > latest) {
                newest = Some((map, seconds));
            }
        }
        newest.map(|(map, _)| map)
    }

    pub fn add_journals(&mut self, folder: &Folder) -> Result<()> {
        let add = |sample: Sample, record: &mut Record<()>| {
            let launch = record.launch.as_ref();
            launch.iter().for_each(|launch| self.show_node_type(&launch.node_type()));
            let hertz = launch.and_then(|launch| launch.host.cycle_hertz);
            self.add_sample(&sample, launch.map_or("", |launch| &launch.launch), hertz);
        };
        Reader::default().read_each(&folder.journal_files()?, add).map(|_| ())
    }

    pub fn in_order(&self, is_wanted: impl Fn(&Map) -> bool) -> Vec<&Map> {
        let mut maps: Vec<&Map> = self.maps.iter().filter(|map| is_wanted(map)).collect();
        maps.sort_by_key(|map| usize::MAX - map.cells.len());
        maps
    }
}

impl MapAxis {
    fn new(column: Option<&String>, values: &[f64]) -> Self {
        let Some(described) = column.map(|name| describe(name)) else {
            return Self { name: String::new(), labels: vec![String::new()] };
        };
        let label = |value: &f64| match described.unit {
            Unit::Words => units::bytes(value * WORD_BYTES as f64),
            Unit::None => units::exact_number(*value),
            unit => units::amount(*value, unit),
        };
        Self { labels: values.iter().map(label).collect(), name: described.symbol }
    }
}

/// Returns the value of a column of a sample: a rate, the time, or an output of the kernel.
fn sample_value(sample: &Sample, column: &str, hertz: Option<f64>) -> Option<f64> {
    let rate = derived_columns::COLUMNS.iter().position(|derived| derived.column == column);
    match rate {
        Some(index) => derived_columns::rates(sample, hertz)[index],
        None if column == "seconds" => sample.seconds,
        None => sample.outputs.get(column).and_then(Value::as_f64),
    }
}
