//! Figures from plain data: surfaces, contours, heat maps and curves, as SVG, PNG or PDF.

pub mod bands;
mod bitmap;
mod canvas;
mod categories;
mod cells;
pub mod colour;
mod contour;
mod curves;
mod frame;
mod geometry;
mod grid;
mod heat;
pub mod legend;
mod panels;
mod pdf;
mod place;
mod prelude;
mod ratios;
mod series_style;
mod sheet;
mod solid;
mod strip;
mod surface;
mod svg;
pub mod table;
pub mod text;
pub mod ticks;
pub mod view;

use apexmap_base::error::{Error, Result};
use apexmap_base::new_file;
use bitmap::Bitmap;
pub use canvas::Spot;
use canvas::{Canvas, Painter};
pub use categories::{Categories, CellText, MAX_WINNERS};
use contour::Contour;
use curves::CurvePlot;
pub use curves::{CurvePoint, Curves, Series};
pub use grid::{Axis, Grid, Quantity};
use heat::{Heat, Palette};
use ndarray::Array2;
pub use panels::{MAX_PANELS, Panels};
use pdf::Pdf;
pub use place::{Landmark, LandmarkStyle, Place};
use ratios::RatioFigure;
pub use ratios::{RatioForm, Ratios};
use sheet::Room;
pub use sheet::{Sheet, Style};
use std::path::Path;
pub use strip::{Strip, StripItem};
use surface::Surface;
use svg::Svg;
use table::FigureTable;
pub use view::View;

/// A figure with all its data. [`svg()`] and [`save`] draw it.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub enum Figure {
    /// 3-D performance surface (Apex-Map paper, Figures 3 to 6).
    Surface(Grid, View),
    /// Filled contours with labelled lines; failed points carry a cross.
    Contour(Grid),
    /// Every cell as a coloured rectangle; failed cells carry a cross.
    Heat(Grid),
    /// Heat map of ratios: red below 1, white at 1, blue above, on a log scale symmetric about 1.
    Ratio(Grid),
    /// Heat map of elasticities: red below 0, white at 0, blue above; the scale reaches at least to 1.
    Elasticity(Grid),
    /// Lines with markers and 95 % intervals, over one axis.
    Curves(Curves),
    /// Ratio of one machine to another (Apex-Map paper, Figures 5 and 6).
    Ratios(Ratios, RatioForm),
    /// Map of the category of each cell, such as the limit that binds or the fastest machine.
    Categories(Categories),
    /// Values of named items, such as nodes, from the lowest to the highest.
    Strip(Strip),
    /// Contours side by side on one scale (Apex-Map paper, Figure 7).
    Panels(Panels),
    /// Pairs of series in one colour: a measurement as markers, and its model as a line with a band.
    Model(Curves),
    /// Triples of series in one colour: a measurement as markers, its bound as a line, and the attainable rate as dots.
    Limited(Curves),
    /// A figure with options that not every figure has.
    With(Box<Figure>, FigureOptions),
}

/// Options of figures. Figures without such an option ignore it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FigureOptions {
    /// The range that heights and colours of a surface, contour plot or heat map span, so that figures can be compared.
    pub range: Option<(f64, f64)>,
    /// Named places on a contour plot or a heat map of magnitudes; those outside the axes are not drawn.
    pub places: Vec<Place>,
    /// Bounds of the points of a surface by [y, x], drawn as a net above it.
    pub bounds: Option<Array2<f64>>,
    /// A value at which curves have a horizontal line.
    pub level: Option<f64>,
}

impl Figure {
    /// Returns the figure with these options.
    pub fn with(self, options: FigureOptions) -> Self {
        Self::With(Box::new(self), options)
    }

    /// Returns the figure's values.
    pub fn table(&self) -> FigureTable {
        self.as_drawable().table()
    }

    /// Returns a short description of the figure.
    pub fn description(&self) -> String {
        self.as_drawable().description()
    }

    fn as_drawable(&self) -> Box<dyn Drawable + '_> {
        const NONE: &FigureOptions = &FigureOptions { range: None, places: Vec::new(), bounds: None, level: None };
        self.drawable(NONE)
    }

    fn drawable<'a>(&'a self, options: &'a FigureOptions) -> Box<dyn Drawable + 'a> {
        let FigureOptions { range, places, bounds, level } = options;
        let heat = |grid, palette| Box::new(Heat { grid, range: *range, palette, places });
        let curve_plot = |curves, group_size| Box::new(CurvePlot { curves, group_size, level: *level });
        match self {
            Self::Surface(grid, view) => {
                Box::new(Surface { grid, bounds: bounds.as_ref(), view: *view, range: *range })
            }
            Self::Contour(grid) => Box::new(Contour { grid, range: *range, places }),
            Self::Heat(grid) => heat(grid, Palette::Magnitude),
            Self::Ratio(grid) => heat(grid, Palette::Ratio),
            Self::Elasticity(grid) => heat(grid, Palette::Elasticity),
            Self::Curves(curves) => curve_plot(curves, 1),
            Self::Model(curves) => curve_plot(curves, 2),
            Self::Limited(curves) => curve_plot(curves, 3),
            Self::Categories(categories) => Box::new(categories),
            Self::Ratios(ratios, form) => Box::new(RatioFigure { ratios, form: *form }),
            Self::Strip(strip) => Box::new(strip),
            Self::Panels(panels) => Box::new(panels),
            Self::With(figure, options) => figure.drawable(options),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Drawing {
    pub svg: String,
    /// Width and height in the units of `spots`.
    pub size: (f64, f64),
    pub spots: Vec<Spot>,
}

/// Returns the figure as an SVG document for a screen.
///
/// # Errors
/// If the data cannot be drawn: axes that do not ascend, values that are not positive on a log scale, only gaps, or too
/// many curves. The error names the cause.
/// # Panics
/// If [`FigureOptions::bounds`] has more rows or columns than the grid.
pub fn svg(figure: &Figure) -> Result<String> {
    Ok(drawing(figure, Style::Screen)?.svg)
}

fn draw(figure: &Figure, painter: &mut dyn Painter, sheet: Sheet) -> Result<Vec<Spot>> {
    let mut canvas = Canvas::new(painter, sheet)?;
    figure.as_drawable().draw(&mut canvas)?;
    Ok(canvas.spots)
}

fn sheet(figure: &Figure, style: Style) -> Result<Sheet> {
    text::register()?;
    let drawable = figure.as_drawable();
    Ok(Sheet::new(style, |width| drawable.room(width, style)))
}

pub fn drawing(figure: &Figure, style: Style) -> Result<Drawing> {
    let sheet = sheet(figure, style)?;
    let size = (sheet.width, sheet.height);
    let format_length = |pixels: f64| match style {
        Style::Screen => pixels.to_string(),
        Style::Paper => format!("{:.3}in", pixels / sheet.inch),
        Style::Slide | Style::SlideDark => (pixels * sheet.dots).round().to_string(),
    };
    let mut svg = Svg::new(size, [size.0, size.1].map(format_length));
    let spots = draw(figure, &mut svg, sheet)?;
    Ok(Drawing { svg: svg.finish(), size, spots })
}

/// Writes the figure as an SVG, PNG or PDF file for a screen, by the ending of its name. A PNG file records its resolution; a
/// PDF file has only lines and areas, text included, and needs no fonts.
///
/// # Panics
/// As for [`svg()`].
pub fn save(figure: &Figure, path: &Path) -> Result<()> {
    save_in_style(figure, Style::Screen, path)
}

pub fn save_in_style(figure: &Figure, style: Style, path: &Path) -> Result<()> {
    let contents = match ending(path).as_str() {
        "svg" => drawing(figure, style)?.svg.into_bytes(),
        "png" => png_bytes(figure, style)?,
        "pdf" => pdf_bytes(figure, style)?,
        _ => return check_output(path),
    };
    new_file::write_user_file_contents(path, contents)
}

fn ending(path: &Path) -> String {
    path.extension().and_then(|ending| ending.to_str()).unwrap_or_default().to_ascii_lowercase()
}

/// Checks, before a figure is computed, that its file has one of the endings and can be written.
pub fn check_output(path: &Path) -> Result<()> {
    if ["svg", "png", "pdf"].contains(&ending(path).as_str()) {
        return new_file::check_user_file(path);
    }
    Err(Error::input(
        format!("the file name {} ends in none of .svg, .png and .pdf", path.display()),
        format!("--out {}", path.with_extension("svg").display()),
    ))
}

/// The data record their size in inches.
pub fn png_bytes(figure: &Figure, style: Style) -> Result<Vec<u8>> {
    let sheet = sheet(figure, style)?;
    let mut bitmap = Bitmap::new(sheet);
    draw(figure, &mut bitmap.painter(), sheet)?;
    bitmap.encode()
}

pub fn pdf_bytes(figure: &Figure, style: Style) -> Result<Vec<u8>> {
    let sheet = sheet(figure, style)?;
    let mut pdf = Pdf::new(sheet)?;
    draw(figure, &mut pdf, sheet)?;
    Ok(pdf.finish())
}

trait Drawable {
    fn draw(&self, canvas: &mut Canvas) -> Result<()>;

    fn table(&self) -> FigureTable;

    fn description(&self) -> String;

    fn room(&self, _width: f64, _style: Style) -> Room {
        Room::Flat
    }
}
