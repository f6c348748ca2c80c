//! Maps of a sweep: the values of its points over the first two axes of each group, filled sample by sample.

use apexmap_base::error::Result;
use apexmap_base::point::{Point, Value};
use apexmap_base::provenance::PlainNode;
use apexmap_base::sample::{Sample, Status};
use apexmap_base::units::{self, Unit, WORD_BYTES};
use apexmap_draw::plot::FigureKind;
use apexmap_measure::kernels;
use apexmap_measure::numerics::statistics::median;
use apexmap_results::disk::Folder;
use apexmap_results::disk::reader::Reader;
use apexmap_results::disk::record::Record;
use apexmap_results::disk::tabulate::Tabulation;
use apexmap_results::samples::Samples;
use apexmap_results::samples::cells::Cell;
use apexmap_results::samples::groups::{SampleGroup, key_label};
use apexmap_results::samples::plain_names::plain_name;
use apexmap_results::table::columns::{ALPHA, ColumnDescription, describe};
use apexmap_results::table::derived_columns;
use apexmap_run::sweep::figures::SweepFigure;
use std::collections::{BTreeMap, HashMap};

/// Largest number of curves that a terminal can show.
const MAX_CURVES: usize = 8;

/// The maps of a sweep.
#[derive(Default)]
pub struct Maps {
    pub maps: Vec<Map>,
    /// The number of the map that draws the first figure of the sweep.
    pub figure: Option<usize>,
    /// The type of nodes whose samples the maps show.
    node_type: Option<String>,
    /// Maps and cells of each point, by its key.
    places: HashMap<String, Vec<(usize, usize)>>,
}

/// The map of one group of points.
pub struct Map {
    /// Columns that distinguish the points of the map from those of others.
    key: Vec<(String, Value)>,
    /// Name in plain words: `1 core, 2 MiB pages`; the title of a figure of the sweep.
    pub label: String,
    /// Whether it is drawn as curves over `x`, one for each value of `y`.
    pub is_chart: bool,
    is_figure: bool,
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

    /// Returns the number of cells.
    pub fn size(&self) -> usize {
        self.cells.len()
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
    /// Creates the maps of planned points and of a figure of the sweep, without values.
    pub fn from_points<'a>(
        points: impl Iterator<Item = (&'a str, &'a Point)>,
        figure: Option<&SweepFigure>,
    ) -> Result<Self> {
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
        Self::from_samples(&Samples::from(table.finish()), figure)
    }

    /// Creates the maps of the points that these samples measured and of a figure of the sweep, without values.
    pub fn from_samples(samples: &Samples, figure: Option<&SweepFigure>) -> Result<Self> {
        let mut maps = Self::default();
        figure.and_then(|figure| maps.add_figure(samples, figure));
        for group in samples.groups()? {
            maps.add_group(&group)?;
        }
        Ok(maps)
    }

    /// Adds a figure of the sweep, if it draws few curves or a map over values that are planned.
    fn add_figure(&mut self, samples: &Samples, figure: &SweepFigure) -> Option<()> {
        let chosen = samples.choose(figure.condition.as_deref()).ok()?;
        let (x, by) = figure.axes.split_first()?;
        let is_planned = |name: &String| chosen.numbers(name).len() == chosen.rows().len();
        let headline = chosen.headline(kernels::find(chosen.first_word("kernel")).ok()?);
        let shown = figure.z.as_deref().unwrap_or(headline);
        match (figure.kind, by) {
            _ if !is_planned(x) => return None,
            (FigureKind::Curves, by) => self.add_curves(&chosen, shown, x, by)?,
            (FigureKind::Surface | FigureKind::Contour | FigureKind::Heat, [y]) if is_planned(y) => {
                self.add_map(&chosen, &[], shown, [Some(x), Some(y)]);
            }
            _ => return None,
        }
        let map = self.maps.first_mut()?;
        map.label = figure.title.clone().unwrap_or_else(|| "The sweep's figure".to_owned());
        map.is_figure = true;
        self.figure = Some(0);
        Some(())
    }

    /// Adds curves over a column, one for each combination of values of these columns, if they are few.
    fn add_curves(&mut self, samples: &Samples, shown: &str, x: &String, by: &[String]) -> Option<()> {
        let names: Vec<&str> = by.iter().map(String::as_str).collect();
        let curves = samples.cells(&names).ok().filter(|curves| curves.len() <= MAX_CURVES)?;
        let values = samples.distinct_numbers(x);
        let mut cells = vec![MapCell::default(); values.len() * curves.len()];
        for (number, curve) in curves.iter().enumerate() {
            for &row in curve.samples.rows() {
                let value = curve.samples.column(x)?.number(row);
                let cell = number * values.len() + values.iter().position(|other| *other == value)?;
                cells[cell].is_planned = true;
                self.add_place(samples.table().word("key", row), cell);
            }
        }
        let label = |curve: &Cell| key_label(&by.iter().cloned().zip(curve.by.clone()).collect::<Vec<_>>());
        let y = MapAxis { name: String::new(), labels: curves.iter().map(label).collect() };
        self.maps.push(Map {
            key: Vec::new(),
            label: String::new(),
            is_chart: true,
            is_figure: true,
            kernel_and_ranks: String::new(),
            quantity: samples.describe(shown),
            x: MapAxis::new(Some(x), &values),
            y,
            cells,
        });
        Some(())
    }

    /// Records that a point has this cell of the map that is being added.
    fn add_place(&mut self, key: &str, cell: usize) {
        let place = (self.maps.len(), cell);
        let places = self.places.entry(key.to_owned()).or_default();
        if !places.contains(&place) {
            places.push(place);
        }
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
            self.add_place(samples.table().word("key", row), cell);
        }
        let [x, y] = [0, 1].map(|axis| MapAxis::new(axes[axis], &values[axis]));
        let kernel_and_ranks = key_label(&key[..key.len().min(2)]);
        let quantity = samples.describe(headline);
        let (key, label) = (key.to_vec(), plain_name(key, &PlainNode::default()));
        let (is_chart, is_figure) = (false, false);
        self.maps.push(Map { key, label, is_chart, is_figure, kernel_and_ranks, quantity, x, y, cells });
    }

    /// Names the maps for this node.
    pub fn set_node(&mut self, node: &PlainNode) {
        for map in self.maps.iter_mut().filter(|map| !map.is_figure) {
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

    /// Adds a sample of a launch, with its value in each map; `None` if it failed. Returns the number of its map; `None` for a point
    /// that is not in the plan.
    fn add(
        &mut self,
        key: &str,
        (block, launch): (u32, &str),
        value: &dyn Fn(&ColumnDescription) -> Option<f64>,
    ) -> Option<usize> {
        let places = self.places.get(key)?;
        for &(number, cell) in places {
            let map = &mut self.maps[number];
            let (value, cell) = (value(&map.quantity), &mut map.cells[cell]);
            match value {
                Some(value) => cell.values_by_launch.entry((block, launch.to_owned())).or_default().push(value),
                None => cell.has_failed = true,
            }
        }
        places.last().map(|(map, _)| *map)
    }

    /// Adds a sample as the worker sent it.
    pub fn add_sample(&mut self, sample: &Sample, launch: &str, hertz: Option<f64>) -> Option<usize> {
        let is_good = sample.status == Status::Ok;
        let value = |shown: &ColumnDescription| headline_value(sample, &shown.name, hertz).filter(|_| is_good);
        self.add(&sample.key, (sample.block, launch), &value)
    }

    /// Adds the samples of a table, which must be of one type of nodes. Returns the number of the map with the newest one.
    pub fn add_samples(&mut self, samples: &Samples) -> Option<usize> {
        let table = samples.table();
        let time = samples.column("unix_seconds");
        let mut newest = None;
        for &row in samples.rows() {
            let is_good = samples.failure(row).is_none();
            let value = |shown: &ColumnDescription| {
                let value = samples.column(&shown.name).map(|column| column.number(row));
                value.filter(|value| !value.is_nan() && is_good)
            };
            let launch = (table.number("block", row) as u32, table.word("launch", row));
            let Some(map) = self.add(table.word("key", row), launch, &value) else { continue };
            let seconds = time.map_or(0.0, |column| column.number(row));
            newest = newest.filter(|(_, latest)| *latest >= seconds).or(Some((map, seconds)));
        }
        newest.map(|(map, _)| map)
    }

    /// Returns the number of the map that draws the first figure of the sweep, if it has a value.
    pub fn measured_figure(&self) -> Option<usize> {
        self.figure.filter(|&figure| self.maps[figure].has_values())
    }

    /// Returns the maps that meet a condition: the figure of the sweep first, then the largest.
    pub fn in_order(&self, is_wanted: impl Fn(&Map) -> bool) -> Vec<&Map> {
        let mut maps: Vec<&Map> = self.maps.iter().filter(|map| is_wanted(map)).collect();
        maps.sort_by_key(|map| (!map.is_figure, usize::MAX - map.size()));
        maps
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
