//! The operations that a file format provides for a [`super::canvas::Canvas`], all in pixels of a sheet.

use plotters::style::RGBColor;

use super::geometry::{Rect, Xy};
use super::text::{Font, Side};
use apexmap_base::error::Result;

pub trait Painter {
    fn polygon(&mut self, corners: &[Xy], colour: RGBColor, opacity: f64) -> Result<()>;

    fn line(&mut self, points: &[Xy], colour: RGBColor, width: f64) -> Result<()>;

    fn rect(&mut self, rect: Rect, colour: RGBColor) -> Result<()>;

    /// Draws a disc with a rim between the radii `radius` and `outer`.
    fn disc(&mut self, centre: Xy, radius: f64, colour: RGBColor, outer: f64, rim: RGBColor) -> Result<()>;

    /// Draws a line of text. Perpendicular to its direction, its capitals are centred on `position`. It may read
    /// upwards.
    fn text(&mut self, text: &str, position: Xy, side: Side, font: Font, upwards: bool) -> Result<()>;
}
