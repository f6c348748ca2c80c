//! Maps of a sweep: the values of its points over the first two axes of each group, filled sample by sample.

use apexmap_base::error::Result;
use apexmap_base::point::{Point, Value};
use apexmap_base::provenance::PlainNode;
use apexmap_base::sample::{Sample, Status};
use apexmap_base::units::{self, Unit, WORD_BYTES};
use apexmap_measure::numerics::statistics::median;
use apexmap_results::disk::Folder;
use apexmap_results::disk::reader::Reader;
use apexmap_results::disk::record::Record;
use apexmap_results::disk::tabulate::Tabulation;
use apexmap_results::samples::Samples;
use apexmap_results::samples::groups::{SampleGroup, key_label};
use apexmap_results::samples::plain_names::plain_name;
use apexmap_results::table::columns::{ALPHA, ColumnDescription, describe};
use apexmap_results::table::derived_columns;
use std::collections::{BTreeMap, HashMap};

/// The maps of a sweep.
#[derive(Default)]
pub struct Maps {
    pub maps: Vec<Map>,
    /// The type of nodes whose samples the maps show.
    node_type: Option<String>,
    /// Map and cell of each point, by its key.
    places: HashMap<String, (usize, usize)>,
}

/// The map of one group of points.
pub struct Map {
    /// Columns that distinguish the points of the map from those of others.
    key: Vec<(String, Value)>,
    /// Name in plain words: `1 core, 2 MiB pages`.
    pub label: String,
    /// The first of these: `apex_map.sequential, P = 1`.
    pub kernel_and_ranks: String,
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

/// The samples of a cell so far.
#[derive(Clone, Default)]
struct MapCell {
    is_planned: bool,
    has_failed: bool,
    /// Values by block and launch: a block's launches are one launch that was interrupted and resumed.
    values_by_launch: BTreeMap<(u32, String), Vec<f64>>,
}

/// The content of a cell of a map.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shown {
    Value(f64),
    Failed,
    Waiting,
    /// The sweep has no such point.
    Unplanned,
}

impl Map {
    /// Returns what a cell shows: the median of its samples, as in reports.
    pub fn shown(&self, x: usize, y: usize) -> Shown {
        let cell = &self.cells[y * self.x.labels.len() + x];
        let mut blocks: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        cell.values_by_launch.iter().for_each(|((block, _), values)| blocks.entry(*block).or_default().extend(values));
        let logarithms: Vec<f64> = blocks.values().filter_map(|values| median(values)).map(f64::ln).collect();
        match cell {
            _ if !logarithms.is_empty() => {
                Shown::Value((logarithms.iter().sum::<f64>() / logarithms.len() as f64).exp())
            }
            MapCell { has_failed: true, .. } => Shown::Failed,
            MapCell { is_planned: true, .. } => Shown::Waiting,
            _ => Shown::Unplanned,
        }
    }

    /// Returns what each cell shows, row by row.
    pub fn all_shown(&self) -> Vec<Shown> {
        let columns = self.x.labels.len();
        (0..self.cells.len()).map(|cell| self.shown(cell % columns, cell / columns)).collect()
    }

    /// Returns whether both axes have several values.
    pub fn is_surface(&self) -> bool {
        self.x.labels.len() > 1 && self.y.labels.len() > 1
    }

    /// Returns whether the map has more than one cell.
    pub fn has_cells(&self) -> bool {
        self.cells.len() > 1
    }

    /// Returns whether a point of the map has a sample.
    pub fn has_values(&self) -> bool {
        self.cells.iter().any(|cell| !cell.values_by_launch.is_empty())
    }
}

impl Maps {
    /// Creates the maps of planned points, without values.
    pub fn from_points<'a>(points: impl Iterator<Item = (&'a str, &'a Point)>) -> Result<Self> {
        let mut table = Tabulation::new(None);
        for (key, point) in points {
            let sample = Sample {
                point: point.clone(),
                key: key.to_owned(),
                block: 0,
                repetition: 0,
                status: Status::Ok,
                message: String::new(),
                unix_seconds: 0.0,
                load: None,
                pages_elsewhere: None,
                disturbance: Default::default(),
                seconds: None,
                outputs: BTreeMap::new(),
            };
            table.add(&sample, None, true);
        }
        Self::from_samples(&Samples::from(table.finish()))
    }

    /// Creates the maps of the points that these samples measured, without values.
    pub fn from_samples(samples: &Samples) -> Result<Self> {
        let mut maps = Self::default();
        for group in samples.groups()? {
            maps.add_group(&group)?;
        }
        Ok(maps)
    }

    /// Adds a group. Values of a third and further axes have separate maps.
    fn add_group(&mut self, group: &SampleGroup) -> Result<()> {
        let (shown, further) = group.axes.split_at(group.axes.len().min(2));
        let further: Vec<&str> = further.iter().map(String::as_str).collect();
        for cell in group.samples.cells(&further)? {
            let beyond = further.iter().map(|name| (*name).to_owned()).zip(cell.by);
            let key: Vec<(String, Value)> = group.key.iter().cloned().chain(beyond).collect();
            // Alpha is the first axis of Apex-Map, and every figure has it upwards.
            let (x, y) = match shown {
                [alpha, block] if alpha == ALPHA => (Some(block), Some(alpha)),
                axes => (axes.first(), axes.get(1)),
            };
            self.add_map(&cell.samples, &key, group.headline, [x, y]);
        }
        Ok(())
    }

    fn add_map(&mut self, samples: &Samples, key: &[(String, Value)], headline: &str, axes: [Option<&String>; 2]) {
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
        let kernel_and_ranks = key_label(&key[..key.len().min(2)]);
        let quantity = samples.describe(headline);
        let (key, label) = (key.to_vec(), plain_name(key, &PlainNode::default()));
        self.maps.push(Map { key, label, kernel_and_ranks, quantity, x, y, cells });
    }

    /// Names the maps for this node.
    pub fn set_node(&mut self, node: &PlainNode) {
        for map in &mut self.maps {
            map.label = plain_name(&map.key, node);
        }
    }

    /// Shows the samples on this type of nodes from now on, and forgets those on others.
    pub fn show_node_type(&mut self, node_type: &str) {
        if self.node_type.as_deref() == Some(node_type) {
            return;
        }
        if self.node_type.replace(node_type.to_owned()).is_some() {
            self.maps.iter_mut().flat_map(|map| &mut map.cells).for_each(|cell| cell.values_by_launch.clear());
        }
    }

    /// Adds a sample of a launch. Returns the number of its map; `None` for a point that is not in the plan.
    pub fn add(&mut self, key: &str, (block, launch): (u32, &str), value: Option<f64>) -> Option<usize> {
        let &(map, cell) = self.places.get(key)?;
        let cell = &mut self.maps[map].cells[cell];
        match value {
            Some(value) => cell.values_by_launch.entry((block, launch.to_owned())).or_default().push(value),
            None => cell.has_failed = true,
        }
        Some(map)
    }

    /// Adds a sample as the worker sent it.
    pub fn add_sample(&mut self, sample: &Sample, launch: &str, hertz: Option<f64>) -> Option<usize> {
        let &(map, _) = self.places.get(&sample.key)?;
        let value = headline_value(sample, &self.maps[map].quantity.name, hertz);
        self.add(&sample.key, (sample.block, launch), value.filter(|_| sample.status == Status::Ok))
    }

    /// Adds the samples of a table, which must be of one type of nodes. Returns the number of the map with the newest one.
    pub fn add_samples(&mut self, samples: &Samples) -> Option<usize> {
        let table = samples.table();
        let time = samples.column("unix_seconds");
        let mut newest = None;
        for &row in samples.rows() {
            let key = table.word("key", row);
            let Some(&(map, _)) = self.places.get(key) else { continue };
            let column = samples.column(&self.maps[map].quantity.name);
            let value = column.map(|column| column.number(row)).filter(|value| !value.is_nan());
            let block = table.number("block", row) as u32;
            self.add(key, (block, table.word("launch", row)), value.filter(|_| samples.failure(row).is_none()));
            let seconds = time.map_or(0.0, |column| column.number(row));
            newest = newest.filter(|(_, latest)| *latest >= seconds).or(Some((map, seconds)));
        }
        newest.map(|(map, _)| map)
    }

    /// Adds the samples of a result's journals.
    pub fn add_journals(&mut self, folder: &Folder) -> Result<()> {
        let add = |sample: Sample, record: &mut Record<()>| {
            let launch = record.launch.as_ref();
            launch.iter().for_each(|launch| self.show_node_type(&launch.node_type()));
            let hertz = launch.and_then(|launch| launch.host.cycle_hertz);
            self.add_sample(&sample, launch.map_or("", |launch| &launch.launch), hertz);
        };
        Reader::default().read_each(&folder.journal_files()?, add).map(|_| ())
    }

    /// Removes the samples of a launch.
    pub fn forget_launch(&mut self, launch: &str) {
        for cell in self.maps.iter_mut().flat_map(|map| &mut map.cells) {
            cell.values_by_launch.retain(|(_, name), _| name != launch);
        }
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
fn headline_value(sample: &Sample, column: &str, hertz: Option<f64>) -> Option<f64> {
    let rate = derived_columns::COLUMNS.iter().position(|derived| derived.column == column);
    match rate {
        Some(index) => derived_columns::rates(sample, hertz)[index],
        None if column == "seconds" => sample.seconds,
        None => sample.outputs.get(column).and_then(Value::as_f64),
    }
}
