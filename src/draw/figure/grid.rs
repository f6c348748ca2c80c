//! What figures are made of: quantities, axes, and a quantity over two others.

use ndarray::Array2;

use super::ticks::{self, Scale};
use apexmap_base::error::{Error, Result};
use apexmap_base::units::Unit;

/// What is measured along an axis or as a colour.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantity {
    /// As on an axis title: "alpha (temporal locality)".
    pub label: String,
    /// The unit of the values; sets how ticks are labelled.
    pub unit: Unit,
    /// Drawn on a log scale; values must then be positive.
    pub log: bool,
}

/// One axis of a grid.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// What the axis shows.
    pub quantity: Quantity,
    /// The values measured at, strictly ascending.
    pub values: Vec<f64>,
}

/// A quantity measured over two others.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    /// The heading.
    pub title: String,
    /// Machine, ranks, page size, number of samples and the like; after a line break what must be known before using it, which
    /// stands on paper too.
    pub subtitle: String,
    /// The horizontal axis: the columns of `values`.
    pub x: Axis,
    /// The vertical axis, on surfaces the depth: the rows of `values`.
    pub y: Axis,
    /// What `values` are: heights or colours.
    pub z: Quantity,
    /// Values at [y, x], so as many rows as `y` has values and columns as `x`; NaN is a gap.
    pub values: Array2<f64>,
    /// Cells (y, x) whose measurement failed, to be marked.
    pub failed: Vec<(usize, usize)>,
}

impl Axis {
    /// Refuses an axis whose values do not ascend strictly.
    pub fn check(&self) -> Result<()> {
        if self.values.windows(2).all(|pair| pair[0] < pair[1]) {
            return Ok(());
        }
        Err(Error::input(
            format!("the values of the axis \"{}\" do not ascend", self.quantity.label),
            "sort them and name each only once",
        ))
    }

    /// The scale that spans the values.
    pub fn scale(&self) -> Result<Scale> {
        Scale::spanning(self.values.iter().copied(), self.quantity.log, &self.quantity.label)
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
    pub fn check(&self) -> Result<()> {
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
    pub fn check_two_by_two(&self, what: &str) -> Result<()> {
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
    pub fn scales(&self, range: Option<(f64, f64)>) -> Result<[Scale; 3]> {
        self.check()?;
        self.check_two_by_two("surface")?;
        Ok([self.x.scale()?, self.y.scale()?, self.z_scale(range)?.rounded()])
    }

    /// Cells (y, x) that hold a value or a failure, row by row.
    pub fn filled_cells(&self) -> Vec<(usize, usize)> {
        let known = |&((j, i), value): &((usize, usize), &f64)| !value.is_nan() || self.failed.contains(&(j, i));
        self.values.indexed_iter().filter(known).map(|(at, _)| at).collect()
    }

    /// The scale of the values, or one that reaches over `range` too.
    pub fn z_scale(&self, range: Option<(f64, f64)>) -> Result<Scale> {
        let measured = self.values.iter().copied().filter(|z| !z.is_nan());
        let ends = range.into_iter().flat_map(|(low, high)| [low, high]);
        Scale::spanning(measured.chain(ends), self.z.log, &self.z.label)
    }
}

impl Quantity {
    /// The axis title, with the unit unless the tick labels say it.
    pub fn title(&self) -> String {
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
