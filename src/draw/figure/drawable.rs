//! What every figure can do.

use super::canvas::Canvas;
use super::sheet::Room;
use super::table::FigureTable;
use apexmap_base::error::Result;

/// A figure: how it is drawn, and what it shows for those who cannot see it.
pub trait Drawable {
    /// Draws it, with a spot on the canvas for each row of its table that is shown.
    ///
    /// Errors say what about the data cannot be drawn.
    fn draw(&self, canvas: &mut Canvas) -> Result<()>;

    /// Its values.
    fn table(&self) -> FigureTable;

    /// What it shows, in a few words.
    fn description(&self) -> String;

    /// What a sheet of paper makes room for.
    fn room(&self) -> Room {
        Room::Flat
    }
}
