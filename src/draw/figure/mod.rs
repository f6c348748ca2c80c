//! Figures from plain data: surfaces, contours, heat maps and curves, as SVG or PNG.
//!
//! The font is part of the program; pictures are for a screen, 900 by 640 pixels, or for a column of a paper.

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
pub use panels::{MOST_PANELS, Panels};
pub use ratios::Ratios;
pub use regions::Regions;
pub use sheet::{Sheet, Style};
pub use view::View;
pub use winners::{MOST_WINNERS, Winners};

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

/// A figure, with all that it shows. [`svg()`] and [`png`](png()) draw it.
#[derive(Clone, Debug, PartialEq)]
pub enum Figure {
    /// 3-D performance surface (Apex-Map paper, Figures 3 to 6).
    Surface(Grid, View),
    /// Filled contours with labelled iso-lines (Apex-Map paper, Figure 7).
    Contour(Grid),
    /// Every cell as a coloured rectangle; failed cells carry a cross.
    Heat(Grid),
    /// Heat map of ratios: red below 1, white at 1, blue above, as far up as down in logarithms.
    Ratio(Grid),
    /// Heat map of elasticities: red below 0, white at 0, blue above, to 1 at least.
    Elasticity(Grid),
    /// Cells by name: the bottleneck of each.
    Regions(Regions),
    /// Lines with markers and 95 % intervals, over one axis.
    Curves(Curves),
    /// The ratio of one machine to another: every cell, as a surface (Apex-Map paper, Figures 5 and 6), as contours.
    RatioMap(Ratios),
    /// The same as a 3-D surface.
    RatioSurface(Ratios, View),
    /// The same as filled contours.
    RatioContour(Ratios),
    /// A ratio over one axis, with a line at 1.
    RatioCurve(Curves),
    /// Which machine is fastest where.
    Winners(Winners),
    /// Contours next to each other on one scale (Apex-Map paper, Figure 7).
    Panels(Panels),
    /// Series in pairs: a measurement as markers, then a model of it as a line with its band, in one colour.
    Model(Curves),
    /// Series in threes: a measurement as markers, its bound as a line, and what is attainable as dots, in one colour.
    Limited(Curves),
    /// A surface, and over it as a net the bound that belongs to each of its points, by [y, x].
    Layers(Grid, Array2<f64>, View),
    /// What each cell is, and its value.
    Classes(Classes),
    /// A surface, contour or heat map whose heights and colours span this range, so that several can be compared.
    Within(Box<Figure>, (f64, f64)),
}

impl Figure {
    /// Its values.
    pub fn table(&self) -> FigureTable {
        self.drawable(None).table()
    }

    /// What it shows, in a few words.
    pub fn description(&self) -> String {
        self.drawable(None).description()
    }

    /// `range` is that of magnitudes; without it, it is that of the data.
    fn drawable(&self, range: Option<(f64, f64)>) -> Box<dyn Drawable + '_> {
        let curve_plot = |curves, together, level| Box::new(CurvePlot { curves, together, level });
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
/// # Errors
/// If the data cannot be drawn: axes that do not ascend, values that are not positive on a log scale, nothing but gaps, too
/// many curves. The error says which.
/// # Panics
/// If the bounds of a [`Figure::Layers`] have more rows or columns than its grid.
pub fn svg(figure: &Figure) -> Result<String> {
    Ok(drawing(figure, Style::Screen)?.svg)
}

/// The figure as an SVG document, and where its values lie in it.
///
/// Errors say what about the data cannot be drawn.
pub fn drawing(figure: &Figure, style: Style) -> Result<Drawing> {
    text::register()?;
    let figure = figure.drawable(None);
    let sheet = Sheet::of(style, figure.room());
    let size = (sheet.width, sheet.height);
    let printed = |pixels: f64| match style {
        Style::Screen => pixels.to_string(),
        Style::Paper => format!("{:.3}in", pixels / sheet.inch),
    };
    let mut svg = Svg::new(size, [size.0, size.1].map(printed));
    let mut canvas = Canvas::new(&mut svg, sheet)?;
    figure.draw(&mut canvas)?;
    let spots = canvas.spots;
    Ok(Drawing { svg: svg.finished(), size, spots })
}

/// Writes the figure as a PNG file for a screen; `path` must end in `.png`.
///
/// # Errors
/// As [`svg()`], and if the name has another ending or the file cannot be written.
/// # Panics
/// As [`svg()`].
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
    new_file::write_named_by(path, png_bytes(figure, style)?)
}

/// The figure as a PNG document that knows its size in inches.
///
/// Errors say what about the data cannot be drawn.
pub fn png_bytes(figure: &Figure, style: Style) -> Result<Vec<u8>> {
    text::register()?;
    let figure = figure.drawable(None);
    let sheet = Sheet::of(style, figure.room());
    let mut bitmap = Bitmap::new(sheet);
    figure.draw(&mut Canvas::new(&mut bitmap.painter(), sheet)?)?;
    bitmap.encoded()
}
