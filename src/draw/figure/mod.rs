//! Figures from plain data: surfaces, contours, heat maps and curves, as SVG or PNG.
//!
//! The program contains the font. Pictures are for a screen, 900 by 640 pixels, or for a column of a paper.

pub mod bands;
mod bitmap;
mod camera;
mod canvas;
mod cells;
mod classes;
pub mod colour;
mod compared_cells;
mod contour;
mod curves;
mod drawable;
mod edges;
mod frame;
mod geometry;
mod grid;
mod heat;
mod landmark;
pub mod legend;
mod painter;
mod panels;
mod ratios;
mod regions;
mod sheet;
mod solid;
mod surface;
mod svg;
pub mod table;
pub mod text;
pub mod ticks;
pub mod view;
mod winners;

use apexmap_base::new_file;
use std::path::Path;

use ndarray::Array2;

use apexmap_base::error::{Error, Result};
pub use canvas::Spot;
pub use classes::Classes;
pub use curves::{CurvePoint, Curves, Series};
pub use grid::{Axis, Grid, Quantity};
pub use landmark::{Landmark, LandmarkStyle};
pub use panels::{MAX_PANELS, Panels};
pub use ratios::Ratios;
pub use regions::Regions;
pub use sheet::{Sheet, Style};
pub use view::View;
pub use winners::{MAX_WINNERS, Winners};

use bitmap::Bitmap;
use canvas::Canvas;
use contour::Contour;
use curves::CurvePlot;
use drawable::Drawable;
use heat::{Heat, Palette};
use ratios::{RatioContour, RatioMap, RatioSurface};
use surface::Surface;
use svg::Svg;
use table::FigureTable;

/// A figure with all its data. [`svg()`] and [`png`](png()) draw it.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub enum Figure {
    /// 3-D performance surface (Apex-Map paper, Figures 3 to 6).
    Surface(Grid, View),
    /// Coloured rectangles, one per cell; failed cells carry a cross.
    Contour(Grid),
    /// Every cell as a coloured rectangle; failed cells carry a cross.
    Heat(Grid),
    /// Heat map of ratios: red below 1, white at 1, blue above, on a log scale symmetric about 1.
    Ratio(Grid),
    /// Heat map of elasticities: red below 0, white at 0, blue above; the scale reaches at least to 1.
    Elasticity(Grid),
    /// Map of the bottleneck of each cell, by name.
    Regions(Regions),
    /// Lines with markers and 95 % intervals, over one axis.
    Curves(Curves),
    /// Ratio of one machine to another: a map of cells (Apex-Map paper, Figures 5 and 6).
    RatioMap(Ratios),
    /// Ratio of one machine to another as a 3-D surface.
    RatioSurface(Ratios, View),
    /// Ratio of one machine to another as filled contours.
    RatioContour(Ratios),
    /// A ratio over one axis, with a line at 1.
    RatioCurve(Curves),
    /// Map of the fastest machine of each cell.
    Winners(Winners),
    /// Contours side by side on one scale (Apex-Map paper, Figure 7).
    Panels(Panels),
    /// Pairs of series in one colour: a measurement as markers, and its model as a line with a band.
    Model(Curves),
    /// Triples of series in one colour: a measurement as markers, its bound as a line, and the attainable rate as dots.
    Limited(Curves),
    /// A surface, and above it a net of the bounds of its points, by [y, x].
    Layers(Grid, Array2<f64>, View),
    /// A class and a value for each cell.
    Classes(Classes),
    /// A surface, contour or heat map whose heights and colours span this range, so that figures can be compared.
    Within(Box<Figure>, (f64, f64)),
}

impl Figure {
    /// Returns the figure's values.
    pub fn table(&self) -> FigureTable {
        self.drawable(None).table()
    }

    /// Returns a short description of the figure.
    pub fn description(&self) -> String {
        self.drawable(None).description()
    }

    /// `range` is the range of magnitudes; `None` takes it from the data.
    fn drawable(&self, range: Option<(f64, f64)>) -> Box<dyn Drawable + '_> {
        let curve_plot = |curves, together, level| Box::new(CurvePlot { curves, group_size: together, level });
        match self {
            Figure::Surface(grid, view) => Box::new(Surface { grid, bounds: None, view: *view, range }),
            Figure::Layers(grid, bounds, view) => Box::new(Surface { grid, bounds: Some(bounds), view: *view, range }),
            Figure::Contour(grid) => Box::new(Contour { grid, range }),
            Figure::Heat(grid) => Box::new(Heat { grid, range, palette: Palette::Magnitude }),
            Figure::Ratio(grid) => Box::new(Heat { grid, range, palette: Palette::Ratio }),
            Figure::Elasticity(grid) => Box::new(Heat { grid, range, palette: Palette::Elasticity }),
            Figure::Curves(curves) => curve_plot(curves, 1, None),
            Figure::Model(curves) => curve_plot(curves, 2, None),
            Figure::Limited(curves) => curve_plot(curves, 3, None),
            Figure::RatioCurve(curves) => curve_plot(curves, 1, Some(1.0)),
            Figure::Regions(regions) => Box::new(regions),
            Figure::Classes(classes) => Box::new(classes),
            Figure::RatioMap(ratios) => Box::new(RatioMap(ratios)),
            Figure::RatioSurface(ratios, view) => Box::new(RatioSurface(ratios, *view)),
            Figure::RatioContour(ratios) => Box::new(RatioContour(ratios)),
            Figure::Winners(winners) => Box::new(winners),
            Figure::Panels(panels) => Box::new(panels),
            Figure::Within(figure, range) => figure.drawable(Some(*range)),
        }
    }
}

/// A drawn figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawing {
    pub svg: String,
    /// Width and height in the units of `spots`.
    pub size: (f64, f64),
    /// Positions of the rows of the figure's table.
    pub spots: Vec<Spot>,
}

/// Returns the figure as an SVG document for a screen.
///
/// # Errors
/// If the data cannot be drawn: axes that do not ascend, values that are not positive on a log scale, only gaps, or too
/// many curves. The error names the cause.
/// # Panics
/// If the bounds of a [`Figure::Layers`] have more rows or columns than its grid.
pub fn svg(figure: &Figure) -> Result<String> {
    Ok(drawing(figure, Style::Screen)?.svg)
}

/// Returns the figure as an SVG document, with the positions of its values.
///
/// Fails if the data cannot be drawn; the error names the cause.
pub fn drawing(figure: &Figure, style: Style) -> Result<Drawing> {
    text::register()?;
    let figure = figure.drawable(None);
    let sheet = Sheet::new(style, figure.room());
    let size = (sheet.width, sheet.height);
    let format_length = |pixels: f64| match style {
        Style::Screen => pixels.to_string(),
        Style::Paper => format!("{:.3}in", pixels / sheet.inch),
    };
    let mut svg = Svg::new(size, [size.0, size.1].map(format_length));
    let mut canvas = Canvas::new(&mut svg, sheet)?;
    figure.draw(&mut canvas)?;
    let spots = canvas.spots;
    Ok(Drawing { svg: svg.finish(), size, spots })
}

/// Writes the figure as a PNG file for a screen; `path` must end in `.png`.
///
/// # Errors
/// As for [`svg()`], and if the name has another ending, or if the file cannot be written.
/// # Panics
/// As for [`svg()`].
pub fn png(figure: &Figure, path: &Path) -> Result<()> {
    write_png(figure, Style::Screen, path)
}

/// Writes the figure as a PNG file that records its size in inches; `path` must end in `.png`.
///
/// Fails if the data cannot be drawn or the file cannot be written.
pub fn write_png(figure: &Figure, style: Style, path: &Path) -> Result<()> {
    if !path.extension().is_some_and(|e| e.eq_ignore_ascii_case("png")) {
        return Err(Error::input(
            format!("{} is not the name of a PNG file", path.display()),
            "use a name that ends in .png",
        ));
    }
    new_file::write_user_file_contents(path, png_bytes(figure, style)?)
}

/// Returns the figure as PNG data that record their size in inches.
///
/// Fails if the data cannot be drawn; the error names the cause.
pub fn png_bytes(figure: &Figure, style: Style) -> Result<Vec<u8>> {
    text::register()?;
    let figure = figure.drawable(None);
    let sheet = Sheet::new(style, figure.room());
    let mut bitmap = Bitmap::new(sheet);
    figure.draw(&mut Canvas::new(&mut bitmap.painter(), sheet)?)?;
    bitmap.encode()
}
