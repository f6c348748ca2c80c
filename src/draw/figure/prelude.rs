//! Names that most figures use.

pub(super) use super::Drawable;
pub(super) use super::canvas::Canvas;
pub(super) use super::colour::{
    CLASSES, GREY, HATCH, HATCH_LINE, INK, PALE, PANEL, SERIES, WHITE, diverging, ramp, readable_on, viridis,
};
pub(super) use super::geometry::{Rect, Xy};
pub(super) use super::grid::{Axis, Grid, Quantity};
pub(super) use super::sheet::{Room, Sheet, Style};
pub(super) use super::table::{self, FigureTable, column, in_words, interval_cells};
pub(super) use super::text::{self, Font, Side};
pub(super) use super::ticks::{self, Scale};
pub(super) use apexmap_base::error::{Error, Result};
pub(super) use apexmap_base::units::{Unit, plural};
pub(super) use ndarray::Array2;
pub(super) use plotters::style::RGBColor;
