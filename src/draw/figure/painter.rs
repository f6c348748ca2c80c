//! What a file format must be able to paint for a [`super::canvas::Canvas`]: everything in pixels of a sheet.

use plotters::style::RGBColor;

use super::geometry::{Rect, Xy};
use super::text::{Side, Type};
use apexmap_base::error::Result;

pub trait Painter {
    /// A filled polygon.
    fn polygon(&mut self, corners: &[Xy], colour: RGBColor, opacity: f64) -> Result<()>;

    /// A line from point to point.
    fn line(&mut self, points: &[Xy], colour: RGBColor, width: f64) -> Result<()>;

    /// A filled rectangle.
    fn rect(&mut self, rect: Rect, colour: RGBColor) -> Result<()>;

    /// A disc of this radius within a rim up to the `outer` radius.
    fn disc(&mut self, at: Xy, radius: f64, colour: RGBColor, outer: f64, rim: RGBColor) -> Result<()>;

    /// A line of text whose capitals are centred on `at`, across the direction in which it reads; it may read upwards.
    fn text(&mut self, text: &str, at: Xy, side: Side, kind: Type, upwards: bool) -> Result<()>;
}
