//! Figures from plain data: surfaces, contours, heat maps and curves, as SVG or PNG.
//!
//! The font is part of the program; pictures are for a screen, 900 by 640 pixels, or for a column of a paper.
//!
//! ```
//! use apexmap::explore::figure::{self, CurvePoint, Curves, Figure, Quantity, Series};
//! use apexmap::units::Unit;
//!
//! let at = |x: f64, y: f64| CurvePoint { x, y, low: 0.95 * y, high: 1.05 * y };
//! let quantity = |label: &str, unit| Quantity { label: label.into(), unit, log: true };
//! let svg = figure::svg(&Figure::Curves(Curves {
//!     title: "Messages".into(),
//!     subtitle: "made up".into(),
//!     x: quantity("message", Unit::Bytes),
//!     y: quantity("rate", Unit::PerSecond),
//!     series: vec![Series { label: "node A".into(), points: vec![at(8.0, 4e6), at(64.0, 3e6), at(512.0, 1e6)] }],
//!     marks: Vec::new(),
//! }))?;
//! assert!(svg.starts_with("<svg") && svg.contains("node A"));
//! # Ok::<(), apexmap::error::Error>(())
//! ```

pub mod bands;
mod bitmap;
mod canvas;
mod classes;
pub mod colour;
mod compact;
mod compared;
mod contour;
mod curves;
mod frame;
mod heat;
pub mod layers;
pub mod legend;
mod panels;
mod regions;
mod sheet;
mod solid;
mod surface;
pub mod table;
mod text;
pub mod ticks;
pub mod view;

use std::path::Path;

use ndarray::Array2;
use plotters::backend::{BitMapBackend, DrawingBackend, SVGBackend};

use crate::error::{Error, Result};
use crate::units::Unit;
pub use canvas::Spot;
use canvas::{BITMAP, Canvas, Flavour, Rect, SVG, WHITE};
pub use compared::{MOST_WINNERS, Ratios, Winners};
pub use panels::{MOST_PANELS, Panels};
pub use sheet::{Sheet, Style};
pub use view::View;

/// What is measured along an axis or as a colour.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantity {
    /// As on an axis title: "alpha (temporal locality)".
    pub label: String,
    pub unit: Unit,
    /// Drawn on a log scale; values must then be positive.
    pub log: bool,
}

/// One axis of a grid.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    pub quantity: Quantity,
    /// The values measured at, strictly ascending.
    pub values: Vec<f64>,
}

/// A quantity measured over two others.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    pub title: String,
    /// Machine, ranks, page size, number of samples and the like; after a line break what must be known before using it, which
    /// stands on paper too.
    pub subtitle: String,
    pub x: Axis,
    pub y: Axis,
    pub z: Quantity,
    /// Values at [y, x]; NaN is a gap.
    pub values: Array2<f64>,
    /// Cells (y, x) whose measurement failed, to be marked.
    pub failed: Vec<(usize, usize)>,
}

/// Quantities over one axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Curves {
    pub title: String,
    pub subtitle: String,
    pub x: Quantity,
    pub y: Quantity,
    pub series: Vec<Series>,
    /// Values of x worth a line, such as cache sizes; those beyond the points are left out.
    pub marks: Vec<Landmark>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Landmark {
    pub x: f64,
    pub label: String,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    pub label: String,
    pub points: Vec<CurvePoint>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CurvePoint {
    pub x: f64,
    /// NaN is a gap: the line breaks.
    pub y: f64,
    /// The 95 % interval; NaN if there is none.
    pub low: f64,
    pub high: f64,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Figure {
    /// 3-D performance surface (Apex-Map paper, Figures 3 to 6).
    Surface(Grid, View),
    /// Filled contours with labelled iso-lines (Apex-Map paper, Figure 7).
    Contour(Grid),
    Heat(Grid),
    /// Heat map of ratios: red below 1, white at 1, blue above, as far up as down in logarithms.
    Ratio(Grid),
    /// Cells by name: what binds where.
    Regions(Regions),
    Curves(Curves),
    /// The ratio of one machine to another: every cell, as a surface (Apex-Map paper, Figures 5 and 6), as contours.
    RatioMap(Ratios),
    RatioSurface(Ratios, View),
    RatioContour(Ratios),
    /// A ratio over one axis, with a line at 1.
    RatioCurve(Curves),
    /// Which machine is fastest where.
    Winners(Winners),
    /// Contours next to each other on one scale (Apex-Map paper, Figure 7).
    Panels(Panels),
    /// Series in pairs: a measurement as markers, then a model of it as a line with its band, in one colour.
    Model(Curves),
    /// A surface, and over it as a net the bound that belongs to each of its points, by [y, x].
    Layers(Grid, Array2<f64>, View),
    /// What each cell is, and its value.
    Classes(Classes),
    /// A surface, contour or heat map whose heights and colours span this range, so that several can be compared.
    Within(Box<Figure>, (f64, f64)),
}

/// A name over two quantities.
#[derive(Clone, Debug, PartialEq)]
pub struct Regions {
    pub title: String,
    pub subtitle: String,
    pub x: Axis,
    pub y: Axis,
    pub names: Vec<String>,
    /// Indices of names at [y, x]; `None` is a gap.
    pub cells: Array2<Option<usize>>,
}

/// What each cell is, by name.
#[derive(Clone, Debug, PartialEq)]
pub struct Classes {
    /// What is written into the cells; pure numbers as per cent.
    pub grid: Grid,
    /// By [y, x], from `names`.
    pub classes: Array2<Option<usize>>,
    /// At most eleven; those that occur are in the key.
    pub names: Vec<String>,
}

/// A figure drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawing {
    pub svg: String,
    /// Width and height that `spots` are given in.
    pub size: (f64, f64),
    /// Where the rows of the figure's table lie.
    pub spots: Vec<Spot>,
}

/// The figure as an SVG document, for a screen.
///
/// Errors say what about the data cannot be drawn.
pub fn svg(figure: &Figure) -> Result<String> {
    Ok(drawing(figure, Style::Screen)?.svg)
}

/// The figure as an SVG document, and where its values lie in it.
///
/// Errors say what about the data cannot be drawn.
pub fn drawing(figure: &Figure, style: Style) -> Result<Drawing> {
    text::register()?;
    let sheet = Sheet::of(style, figure);
    let mut document = String::new();
    let large = ((sheet.width * SVG.scale).round() as u32, (sheet.height * SVG.scale).round() as u32);
    let mut backend = SVGBackend::with_string(&mut document, large);
    let spots = draw(figure, &mut backend, SVG, sheet)?;
    drop(backend);
    // The backend knows whole numbers only; the view box stays large, for tenths of pixels.
    let size = |width: &str, height: &str| format!("<svg width=\"{width}\" height=\"{height}\"");
    let printed = |pixels: f64| match style {
        Style::Screen => pixels.to_string(),
        Style::Paper => format!("{:.3}in", pixels / sheet.inch),
    };
    let (before, after) =
        (size(&large.0.to_string(), &large.1.to_string()), size(&printed(sheet.width), &printed(sheet.height)));
    let svg = compact::compact(&document.replacen(&before, &after, 1));
    Ok(Drawing { svg, size: (sheet.width, sheet.height), spots })
}

/// Writes the figure as a PNG file for a screen; `path` must end in `.png`.
///
/// Errors say what about the data cannot be drawn, or why the file cannot be written.
pub fn png(figure: &Figure, path: &Path) -> Result<()> {
    png_in(figure, Style::Screen, path)
}

/// Writes the figure as a PNG file that knows its size in inches; `path` must end in `.png`.
///
/// Errors say what about the data cannot be drawn, or why the file cannot be written.
pub fn png_in(figure: &Figure, style: Style, path: &Path) -> Result<()> {
    if !path.extension().is_some_and(|e| e.eq_ignore_ascii_case("png")) {
        return Err(Error::input(format!("{} is not the name of a PNG file", path.display()), "let it end in .png"));
    }
    text::register()?;
    let sheet = Sheet::of(style, figure);
    let (width, height) = sheet.png_size();
    let large = ((width * sheet.finer) as u32, (height * sheet.finer) as u32);
    let mut pixels = vec![255; width * height * sheet.finer * sheet.finer * 3];
    let mut backend = BitMapBackend::with_buffer(&mut pixels, large);
    let flavour = Flavour { scale: sheet.dots * sheet.finer as f64, ..BITMAP };
    draw(figure, &mut backend, flavour, sheet)?;
    drop(backend);
    let small = averaged(&pixels, width, height, sheet.finer);
    bitmap::write(path, (width, height), &small, sheet.dots * sheet.inch)
}

/// An RGB picture made smaller by the mean of `times` by `times` pixels.
fn averaged(pixels: &[u8], width: usize, height: usize, times: usize) -> Vec<u8> {
    let mut small = Vec::with_capacity(width * height * 3);
    for y in 0..height {
        for x in 0..width {
            for channel in 0..3 {
                let at = |dx, dy| pixels[((y * times + dy) * width * times + x * times + dx) * 3 + channel];
                let sum: usize = (0..times * times).map(|k| usize::from(at(k % times, k / times))).sum();
                small.push((sum / (times * times)) as u8);
            }
        }
    }
    small
}

fn draw<DB: DrawingBackend>(figure: &Figure, backend: &mut DB, flavour: Flavour, sheet: Sheet) -> Result<Vec<Spot>> {
    let mut canvas = Canvas::new(backend, flavour, sheet);
    canvas.fill(Rect { left: 0.0, top: 0.0, right: sheet.width, bottom: sheet.height }, WHITE)?;
    show(figure, &mut canvas, None)?;
    canvas.present()?;
    Ok(canvas.spots)
}

/// `range` is that of magnitudes; without it, it is that of the data.
fn show<DB: DrawingBackend>(figure: &Figure, canvas: &mut Canvas<DB>, range: Option<(f64, f64)>) -> Result<()> {
    match figure {
        Figure::Surface(grid, view) => surface::draw(canvas, grid, range, *view),
        Figure::Contour(grid) => contour::draw(canvas, grid, range),
        Figure::Heat(grid) => heat::draw(canvas, grid, range, heat::Palette::Magnitude),
        Figure::Ratio(grid) => heat::draw(canvas, grid, range, heat::Palette::Ratio),
        Figure::Regions(regions) => regions::draw(canvas, regions),
        Figure::Curves(curves) => curves::draw(canvas, curves, false, None),
        Figure::Model(curves) => curves::draw(canvas, curves, true, None),
        Figure::RatioCurve(curves) => curves::draw(canvas, curves, false, Some(1.0)),
        Figure::Layers(grid, bounds, view) => layers::draw(canvas, grid, bounds, *view),
        Figure::Classes(map) => classes::draw(canvas, map),
        Figure::RatioMap(ratios) => compared::draw_map(canvas, ratios),
        Figure::RatioSurface(ratios, view) => compared::draw_surface(canvas, ratios, *view),
        Figure::RatioContour(ratios) => compared::draw_contour(canvas, ratios),
        Figure::Winners(winners) => compared::draw_winners(canvas, winners),
        Figure::Panels(panels) => panels::draw(canvas, panels),
        Figure::Within(figure, range) => show(figure, canvas, Some(*range)),
    }
}

impl Axis {
    fn check(&self) -> Result<()> {
        if self.values.windows(2).all(|pair| pair[0] < pair[1]) {
            return Ok(());
        }
        Err(Error::input(
            format!("the values of the axis \"{}\" do not ascend", self.quantity.label),
            "sort them and name each only once",
        ))
    }

    fn scale(&self) -> Result<ticks::Scale> {
        ticks::Scale::spanning(self.values.iter().copied(), self.quantity.log, &self.quantity.label)
    }
}

impl Grid {
    /// With its axes exchanged.
    pub fn turned(&self) -> Self {
        Self {
            x: self.y.clone(),
            y: self.x.clone(),
            values: self.values.t().to_owned(),
            failed: self.failed.iter().map(|(row, column)| (*column, *row)).collect(),
            ..self.clone()
        }
    }

    /// Errors if the parts do not belong together.
    fn check(&self) -> Result<()> {
        self.x.check()?;
        self.y.check()?;
        let (rows, columns) = self.values.dim();
        if (rows, columns) != (self.y.values.len(), self.x.values.len()) {
            return Err(Error::internal(format!(
                "a figure got {rows} x {columns} values for {} rows and {} columns",
                self.y.values.len(),
                self.x.values.len()
            )));
        }
        if self.failed.iter().any(|(j, i)| *j >= rows || *i >= columns) {
            return Err(Error::internal("a figure got a failed cell that lies outside its grid"));
        }
        Ok(())
    }

    /// Errors if there are not two values along each axis, as anything that interpolates needs.
    fn check_two_by_two(&self, what: &str) -> Result<()> {
        let Some(axis) = [&self.x, &self.y].into_iter().find(|axis| axis.values.len() < 2) else { return Ok(()) };
        Err(Error::input(
            format!(
                "a {what} needs at least two values of \"{}\", there are {}",
                axis.quantity.label,
                axis.values.len()
            ),
            "draw curves or a heat map instead",
        ))
    }

    /// The scales of x, y and the values, or one that reaches over `range` too, as the surface is drawn on.
    ///
    /// Errors if there is nothing to draw.
    pub fn scales(&self, range: Option<(f64, f64)>) -> Result<[ticks::Scale; 3]> {
        self.check()?;
        self.check_two_by_two("surface")?;
        Ok([self.x.scale()?, self.y.scale()?, self.z_scale(range)?.rounded()])
    }

    /// Cells (y, x) that hold a value or a failure, row by row.
    pub fn listed(&self) -> Vec<(usize, usize)> {
        let known = |&((j, i), value): &((usize, usize), &f64)| !value.is_nan() || self.failed.contains(&(j, i));
        self.values.indexed_iter().filter(known).map(|(at, _)| at).collect()
    }

    /// The scale of the values, or one that reaches over `range` too.
    fn z_scale(&self, range: Option<(f64, f64)>) -> Result<ticks::Scale> {
        let measured = self.values.iter().copied().filter(|z| !z.is_nan());
        let ends = range.into_iter().flat_map(|(low, high)| [low, high]);
        ticks::Scale::spanning(measured.chain(ends), self.z.log, &self.z.label)
    }
}

impl Regions {
    /// Cells (y, x) that have a name, and its index, row by row.
    pub fn listed(&self) -> Vec<((usize, usize), usize)> {
        self.cells.indexed_iter().filter_map(|(at, name)| Some((at, (*name)?))).collect()
    }
}

impl Quantity {
    /// The axis title, with the unit unless the tick labels say it.
    fn title(&self) -> String {
        let symbol = self.unit.symbol();
        if symbol.is_empty() || ticks::labels_carry(self.unit) {
            return self.label.clone();
        }
        match self.label.strip_suffix(')') {
            Some(label) => format!("{label}, {symbol})"),
            None => format!("{} ({symbol})", self.label),
        }
    }
}
