//! Makes figures from samples.

mod subtitle;

use crate::figure::{
    Axis, Categories, CellText, CurvePoint, Curves, Figure, FigureOptions, Grid, Place, Quantity, Series, View, text,
};
use apexmap_base::error::{Error, Result};
use apexmap_base::point::Value;
use apexmap_base::provenance::PlainNode;
use apexmap_base::units::{Unit, WORD_BYTES, capitalize};
use apexmap_results::samples::Samples;
use apexmap_results::samples::cells::{Cell, compare, single_points};
use apexmap_results::samples::code_rates::bytes_per_rank;
use apexmap_results::samples::cube::{Cube, CubeAxis, coordinate};
use apexmap_results::samples::plain_names::plain_name;
use apexmap_results::table::columns::{self, ColumnDescription, Role, label};
use apexmap_results::table::derived_columns::{ATTAINABLE, BOUND_BY, bound_column};
use apexmap_theory::bounds;
use apexmap_theory::codes::{Code, unplaceable};
use apexmap_theory::places::NoRate;
use apexmap_theory::statistics::Summary;
use ndarray::Ix2;
use subtitle::subtitle;

/// A kind of figure, by the name that `apexmap plot` accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FigureKind {
    /// 3-D surface over two axes.
    Surface,
    /// Filled contours with labelled iso-lines, over two axes.
    Contour,
    /// Heat map over two axes.
    Heat,
    /// Lines with 95 % intervals over one axis; the columns of [`Request::by`] distinguish them.
    Curves,
    /// The limit that binds, with the share of it that was reached.
    Bottleneck,
    /// The power of the first axis with which the quantity grows, over two axes.
    Elasticity,
}

impl FigureKind {
    /// All kinds with their names: `("surface", FigureKind::Surface)`.
    pub const ALL: [(&'static str, FigureKind); 6] = [
        ("surface", FigureKind::Surface),
        ("contour", FigureKind::Contour),
        ("heat", FigureKind::Heat),
        ("curves", FigureKind::Curves),
        ("bottleneck", FigureKind::Bottleneck),
        ("elasticity", FigureKind::Elasticity),
    ];

    pub fn name(self) -> &'static str {
        Self::ALL.into_iter().find(|(_, kind)| *kind == self).map_or("figure", |(name, _)| name)
    }
}

/// A figure to draw: its kind and its columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// Kind of the figure.
    pub kind: FigureKind,
    /// Title of the figure.
    pub title: String,
    /// Column of the horizontal axis: `alpha`, `memory_words`.
    pub x: String,
    /// Further columns. A grid takes one, its second axis; curves are distinguished by all of them.
    pub by: Vec<String>,
    /// Column of the quantity shown: `bytes_per_second`. Each value is the median of its samples.
    pub z: String,
}

impl Request {
    /// Returns the request with the axes of a surface in the order of every report: alpha at the left, L at the right.
    pub fn orient(mut self) -> Self {
        if let (FigureKind::Surface, columns::BLOCK, [second]) = (self.kind, self.x.as_str(), self.by.as_mut_slice())
            && second == columns::ALPHA
        {
            std::mem::swap(&mut self.x, second);
        }
        self
    }

    pub fn axes(&self) -> Vec<&str> {
        std::iter::once(&self.x).chain(&self.by).map(String::as_str).collect()
    }

    /// Returns the axes that need several values: both of a grid, the horizontal one of curves.
    pub fn spanned_axes(&self) -> impl Iterator<Item = &str> {
        let count = if self.kind == FigureKind::Curves { 1 } else { 2 };
        self.axes().into_iter().take(count)
    }
}

struct CellValue {
    cell: Cell,
    summary: Option<Summary>,
}

/// If the horizontal axis is a measurement, each point lies at its median.
fn cell_values(samples: &Samples, request: &Request, column: &str) -> Result<Vec<CellValue>> {
    let cell_value = |cell: Cell| CellValue { summary: cell.summary(column), cell };
    if request.kind != FigureKind::Curves || !matches!(columns::describe(&request.x).role, Role::Output | Role::Rate) {
        return Ok(samples.cells(&request.axes())?.into_iter().map(cell_value).collect());
    }
    samples.require_numbers(&request.x)?;
    let by: Vec<&str> = request.by.iter().map(String::as_str).collect();
    let mut values = Vec::new();
    for curve in samples.cells(&by)? {
        for point in curve.samples.good().group_by(&["key"]) {
            let Some(x) = point.median(&request.x).filter(|x| x.is_finite()) else { continue };
            let by = std::iter::once(Value::Real(x)).chain(curve.by.iter().cloned()).collect();
            values.push(cell_value(Cell { by, samples: point, failures: Vec::new() }));
        }
    }
    values.sort_by(|a, b| compare(&a.cell.by, &b.cell.by));
    Ok(values)
}

pub fn title(samples: &Samples, kind: FigureKind, x: &str, z: &str) -> String {
    let label = samples.describe(z).label;
    match kind {
        FigureKind::Elasticity => format!("Elasticity of {label} in {}", columns::short(x)),
        _ => capitalize(&label),
    }
}

/// Makes the figure of a request from these samples.
///
/// # Errors
/// If a column is missing or holds words, a grid has one axis, nothing is left to draw, or points or unlike nodes are mixed.
pub fn figure(samples: &Samples, request: &Request) -> Result<Figure> {
    let by = request.axes();
    if request.kind != FigureKind::Curves && by.len() != 2 {
        return Err(Error::input("a grid needs two axes", "name exactly one second axis with --y"));
    }
    if request.kind == FigureKind::Bottleneck && samples.column(BOUND_BY).is_none() {
        return Err(Error::input(
            "this result has no machine card, hence no bounds",
            "add the card of its machine: run apexmap calibrate there, then apexmap report on this result with --card results/calibrate/card.toml",
        ));
    }
    samples.require_numbers(&request.z)?;
    samples.require_one_node_type(&by)?;
    let values = cell_values(samples, request, &request.z)?;
    if values.iter().all(|shown| shown.summary.is_none()) {
        return Err(Error::input(
            format!("nothing to draw: no successful sample has {} and {}", by.join(", "), request.z),
            "widen --where, or see `apexmap status` for points that failed",
        ));
    }
    single_points(values.iter().map(|shown| &shown.cell), &by).map_err(|mixed| {
        Error::input(
            format!("several points share a cell of the figure ({} = {})", mixed.name, mixed.values),
            format!("fix one value with --where '{}', or put the parameter on an axis", mixed.choice),
        )
    })?;
    let subtitle = subtitle(samples, request, &values);
    let z = samples.describe(&request.z);
    let on_grid = |subtitle: String, values: Vec<CellValue>| {
        let cells = grid_cells(request, values)?;
        Ok::<_, Error>((grid(request, subtitle, z.clone(), &cells), cells))
    };
    Ok(match request.kind {
        FigureKind::Curves => Figure::Curves(curves(request, subtitle, z, &values)),
        FigureKind::Surface => {
            let grid = on_grid(subtitle, values)?.0;
            let view = View::of_grid(&grid);
            Figure::Surface(grid, view)
        }
        FigureKind::Contour => Figure::Contour(on_grid(subtitle, values)?.0),
        FigureKind::Heat => Figure::Heat(on_grid(subtitle, values)?.0),
        FigureKind::Bottleneck => {
            let (grid, cells) = on_grid(subtitle, values)?;
            Figure::Categories(bottleneck(grid, &cells))
        }
        FigureKind::Elasticity => {
            let (grid, cells) = on_grid(subtitle, values)?;
            Figure::Elasticity(elasticity(request, grid, &cells)?)
        }
    })
}

/// Adds codes to a map over alpha and L that has their rate; the subtitle names the others, with the reason.
pub fn add_codes(samples: &Samples, request: &Request, drawn: Figure, codes: &[Code]) -> Result<Figure> {
    let along: Option<fn(&Code) -> [f64; 2]> = match request.axes()[..] {
        [columns::BLOCK, columns::ALPHA] => Some(|code| [code.block_words, code.alpha]),
        [columns::ALPHA, columns::BLOCK] => Some(|code| [code.alpha, code.block_words]),
        _ => None,
    };
    let (mut drawn, Some(along)) = (drawn, along) else { return Err(unplaceable("axes other than alpha and L")) };
    let (Figure::Contour(grid) | Figure::Heat(grid)) = &mut drawn else {
        return Err(unplaceable(&format!("a figure of the kind {}", request.kind.name())));
    };
    let (chains, size) = (samples.chains(), bytes_per_rank(samples));
    let (mut places, mut others) = (Vec::new(), Vec::<(String, Vec<&str>)>::new());
    for code in codes {
        let place = Place { x: along(code)[0], y: along(code)[1], label: code.name.clone() };
        let outside = || if place.is_within(grid) { Ok(()) } else { Err(NoRate::Outside) };
        match code.check_place(chains, size).and_then(|()| outside()) {
            Ok(()) => places.push(place),
            Err(reason) => {
                let reason = reason.to_string();
                match others.iter_mut().find(|(other, _)| *other == reason) {
                    Some((_, names)) => names.push(&code.name),
                    None => others.push((reason, vec![&code.name])),
                }
            }
        }
    }
    for (reason, names) in others {
        grid.subtitle = text::add_remark(&grid.subtitle, &format!("{reason}: {}", names.join(", ")));
    }
    Ok(drawn.with(FigureOptions { places, ..FigureOptions::default() }))
}

/// Returns the figure unchanged if the result has no bounds.
pub fn add_bounds(samples: &Samples, request: &Request, drawn: Figure) -> Result<Figure> {
    let Some(column) = bound_column(&request.z).filter(|column| samples.column(column).is_some()) else {
        return Ok(drawn);
    };
    let values = cell_values(samples, request, column)?;
    if values.iter().all(|shown| shown.summary.is_none()) {
        return Ok(drawn);
    }
    Ok(match drawn {
        Figure::Surface(measured, view) => {
            let bounds = medians(&grid_cells(request, values)?).values;
            // Cells without a bound can make its grid smaller.
            let fit = bounds.dim() == measured.values.dim();
            let surface = Figure::Surface(measured, view);
            if fit { surface.with(FigureOptions { bounds: Some(bounds), ..FigureOptions::default() }) } else { surface }
        }
        Figure::Curves(mut figure_curves) if figure_curves.series.len() <= MAX_BOUNDED => {
            let curves_of = |column: &str, values: &[CellValue]| {
                curves(request, String::new(), samples.describe(column), values).series
            };
            let bounds = curves_of(column, &values);
            let predicted = request.z == PREDICTED && samples.column(ATTAINABLE).is_some();
            let attainable = if predicted { cell_values(samples, request, ATTAINABLE)? } else { Vec::new() };
            let is_limited = attainable.iter().any(|shown| shown.summary.is_some());
            let attainable = is_limited.then(|| curves_of(ATTAINABLE, &attainable));
            let with_companions = |series: Series| {
                let limit = companion(&series, &bounds, "limit");
                let model = attainable.as_ref().map(|attainable| companion(&series, attainable, "attainable"));
                [series, limit].into_iter().chain(model)
            };
            figure_curves.series = figure_curves.series.into_iter().flat_map(with_companions).collect();
            if is_limited { Figure::Limited(figure_curves) } else { Figure::Model(figure_curves) }
        }
        other => other,
    })
}

/// The curve of the same label in `others`, without intervals, with a suffix to its name.
fn companion(series: &Series, others: &[Series], suffix: &str) -> Series {
    let matching = others.iter().find(|other| other.label == series.label);
    let points = matching.into_iter().flat_map(|other| &other.points);
    let points = points.map(|point| CurvePoint::new(point.x, point.y, None)).collect();
    Series { label: format!("{} {suffix}", series.label).trim().to_owned(), points }
}

const PREDICTED: &str = "bytes_per_second_per_rank";

const MAX_BOUNDED: usize = 7;

fn elasticity(request: &Request, grid: Grid, cells: &CellGrid) -> Result<Grid> {
    let values = medians(cells).elasticity(&request.x)?.values;
    let x = columns::short(&request.x);
    if values.iter().all(|value| value.is_nan()) {
        return Err(Error::input(
            format!("an elasticity needs two values of {x} with the same {}", columns::short(&request.by[0])),
            "choose another axis with --x, or draw curves instead",
        ));
    }
    let z = Quantity { label: format!("elasticity in {x}"), unit: Unit::None, log: false };
    Ok(Grid { z, values, ..grid })
}

/// The limit that binds most samples of each cell.
fn bottleneck(grid: Grid, cells: &CellGrid) -> Categories {
    let class = |shown: &CellValue| {
        let samples = &shown.cell.samples;
        let count =
            |name: &str| samples.rows().iter().filter(|&&row| samples.table().word(BOUND_BY, row) == name).count();
        let most = bounds::NAMES.iter().enumerate().max_by_key(|(_, name)| count(name));
        most.filter(|(_, name)| count(name) > 0).map(|(class, _)| class)
    };
    let cells = cells.values.map(|shown| shown.as_ref().and_then(class));
    Categories { grid, cells, names: bounds::NAMES.map(str::to_owned).to_vec(), shown: CellText::Value }
}

pub fn quantity(column: &str, values: impl Iterator<Item = f64>) -> Quantity {
    to_quantity(columns::describe(column), values)
}

fn axis_factor(column: &str) -> f64 {
    if columns::is_memory(column) { WORD_BYTES as f64 } else { 1.0 }
}

pub fn axis_quantity(column: &str, values: impl Iterator<Item = f64>) -> Quantity {
    let drawn = quantity(column, values);
    if columns::is_memory(column) { Quantity { unit: Unit::Bytes, ..drawn } } else { drawn }
}

fn to_quantity(described: ColumnDescription, values: impl Iterator<Item = f64>) -> Quantity {
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    values.filter(|v| !v.is_nan()).for_each(|v| (low, high) = (low.min(v), high.max(v)));
    // Log steps are even for powers of two and for decades.
    Quantity { label: described.label, unit: described.unit, log: low > 0.0 && high / low >= 8.0 }
}

/// Cells over the second axis of a figure (rows) and its first (columns).
type CellGrid = Cube<Option<CellValue>, Ix2>;

fn grid_cells(request: &Request, values: Vec<CellValue>) -> Result<CellGrid> {
    let place = |shown: CellValue| Ok(([coordinate(&shown.cell.by[1])?, coordinate(&shown.cell.by[0])?], shown));
    Ok(Cube::scatter([&request.by[0], &request.x], values.into_iter().map(place).collect::<Result<_>>()?))
}

fn medians(cells: &CellGrid) -> Cube<f64, Ix2> {
    cells.numbers(|shown| shown.summary.map(|summary| summary.median))
}

fn grid(request: &Request, subtitle: String, z: ColumnDescription, cells: &CellGrid) -> Grid {
    let Cube { axes, values } = medians(cells);
    let failed = cells.values.t();
    let failed = failed.indexed_iter().filter(|(_, shown)| shown.as_ref().is_some_and(|s| s.summary.is_none()));
    let axis = |axis: &CubeAxis| {
        let values: Vec<f64> = axis.values.iter().map(|value| value * axis_factor(&axis.name)).collect();
        Axis { quantity: axis_quantity(&axis.name, values.iter().copied()), values }
    };
    Grid {
        title: request.title.clone(),
        subtitle,
        x: axis(&axes[1]),
        y: axis(&axes[0]),
        z: to_quantity(z, values.iter().copied()),
        failed: failed.map(|((x, y), _)| (y, x)).collect(),
        values,
    }
}

fn curves(request: &Request, subtitle: String, y: ColumnDescription, values: &[CellValue]) -> Curves {
    let mut series: Vec<(&[Value], Series)> = Vec::new();
    // Cells are sorted by x first; curves need the order of the columns that distinguish them.
    let mut ordered: Vec<&CellValue> = values.iter().collect();
    ordered.sort_by(|a, b| compare(&a.cell.by[1..], &b.cell.by[1..]));
    let factor = axis_factor(&request.x);
    for CellValue { cell, summary } in ordered {
        let Some(x) = cell.by[0].as_f64().map(|x| x * factor) else { continue };
        let name = &cell.by[1..];
        if series.last().is_none_or(|(key, _)| *key != name) {
            // With several words, the column names are left out: the words suffice, and the legend has little space.
            let text = |(column, value): (&String, &Value)| match value {
                value if column == "pages" => plain_name(&[(column.clone(), value.clone())], &PlainNode::default()),
                Value::Text(word) if name.len() > 1 => columns::caption(word),
                value => label(column, value),
            };
            let labels: Vec<String> = request.by.iter().zip(name).map(text).collect();
            series.push((name, Series { label: labels.join(", "), points: Vec::new() }));
        }
        let point = CurvePoint::new(x, summary.map_or(f64::NAN, |s| s.median), summary.and_then(|s| s.interval));
        if let Some((_, series)) = series.last_mut() {
            series.points.push(point);
        }
    }
    let medians = values.iter().filter_map(|shown| shown.summary).map(|summary| summary.median);
    Curves {
        title: request.title.clone(),
        subtitle,
        x: axis_quantity(&request.x, values.iter().filter_map(|shown| shown.cell.by[0].as_f64()).map(|x| x * factor)),
        y: to_quantity(y, medians),
        series: series.into_iter().map(|(_, series)| series).collect(),
        marks: Vec::new(),
        ordered: request.by.len() == 1 && values.iter().all(|shown| shown.cell.by[1].as_f64().is_some()),
    }
}
