//! Figures from plain data: surfaces, contours, heat maps and curves, as SVG or PNG.
//!
//! The font is part of the program; pictures are 900 by 640 pixels.
//!
//! ```
//! use apexmap::figure::{self, CurvePoint, Curves, Figure, Quantity, Series};
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
mod canvas;
mod colour;
mod contour;
mod curves;
mod frame;
mod heat;
pub mod select;
mod surface;
mod text;
pub mod ticks;
pub mod view;

use std::path::Path;

use ndarray::Array2;
use plotters::backend::{BitMapBackend, DrawingBackend, SVGBackend};

use crate::error::{Error, Result};
use crate::units::Unit;
use canvas::{BITMAP, Canvas, Flavour, HEIGHT, Rect, SVG, WHITE, WIDTH};
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
    /// Machine, ranks, page size, number of samples and the like.
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
    Curves(Curves),
}

/// The figure as an SVG document.
///
/// Errors say what about the data cannot be drawn.
pub fn svg(figure: &Figure) -> Result<String> {
    let mut document = String::new();
    let large = ((WIDTH * SVG.scale) as u32, (HEIGHT * SVG.scale) as u32);
    let mut backend = SVGBackend::with_string(&mut document, large);
    draw(figure, &mut backend, SVG)?;
    drop(backend);
    // The backend knows whole numbers only; the view box stays large, for tenths of pixels.
    let size = |width: f64, height: f64| format!("<svg width=\"{width}\" height=\"{height}\"");
    Ok(document.replacen(&size(large.0.into(), large.1.into()), &size(WIDTH, HEIGHT), 1))
}

/// Writes the figure as a PNG file; `path` must end in `.png`.
///
/// Errors say what about the data cannot be drawn, or why the file cannot be written.
pub fn png(figure: &Figure, path: &Path) -> Result<()> {
    if !path.extension().is_some_and(|e| e.eq_ignore_ascii_case("png")) {
        return Err(Error::input(format!("{} is not the name of a PNG file", path.display()), "let it end in .png"));
    }
    let times = BITMAP.scale as usize;
    let (width, height) = (WIDTH as usize, HEIGHT as usize);
    let large = ((width * times) as u32, (height * times) as u32);
    let mut pixels = vec![255; width * times * height * times * 3];
    let mut backend = BitMapBackend::with_buffer(&mut pixels, large);
    draw(figure, &mut backend, BITMAP)?;
    drop(backend);
    let small = averaged(&pixels, width, height, times);
    let written = |e: &dyn std::fmt::Display| Error::file("write", path, e);
    let size = (width as u32, height as u32);
    let mut file = BitMapBackend::new(path, size);
    file.blit_bitmap((0, 0), size, &small).map_err(|e| written(&e))?;
    file.present().map_err(|e| written(&e))
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

fn draw<DB: DrawingBackend>(figure: &Figure, backend: &mut DB, flavour: Flavour) -> Result<()> {
    text::register()?;
    let mut canvas = Canvas::new(backend, flavour);
    canvas.fill(Rect { left: 0.0, top: 0.0, right: WIDTH, bottom: HEIGHT }, WHITE)?;
    match figure {
        Figure::Surface(grid, view) => surface::draw(&mut canvas, grid, *view)?,
        Figure::Contour(grid) => contour::draw(&mut canvas, grid)?,
        Figure::Heat(grid) => heat::draw(&mut canvas, grid)?,
        Figure::Curves(curves) => curves::draw(&mut canvas, curves)?,
    }
    canvas.present()
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

    fn z_scale(&self) -> Result<ticks::Scale> {
        let measured = self.values.iter().copied().filter(|z| !z.is_nan());
        ticks::Scale::spanning(measured, self.z.log, &self.z.label)
    }
}

impl Quantity {
    /// The axis title, with the unit unless the tick labels say it.
    fn title(&self) -> String {
        let symbol = self.unit.symbol();
        if symbol.is_empty() || ticks::labels_carry(self.unit) {
            return self.label.clone();
        }
        format!("{} ({symbol})", self.label)
    }
}
