//! The interface of every figure.

use super::canvas::Canvas;
use super::sheet::{Room, Style};
use super::table::FigureTable;
use apexmap_base::error::Result;

/// A figure that can be drawn, tabulated and described in words.
pub trait Drawable {
    /// Draws the figure. Records a spot on the canvas for each shown row of its table.
    ///
    /// Fails if the data cannot be drawn; the error names the cause.
    fn draw(&self, canvas: &mut Canvas) -> Result<()>;

    /// Returns the figure's values.
    fn table(&self) -> FigureTable;

    fn description(&self) -> String;

    /// Returns the space that the figure needs on a sheet of this width.
    fn room(&self, _width: f64, _style: Style) -> Room {
        Room::Flat
    }
}
