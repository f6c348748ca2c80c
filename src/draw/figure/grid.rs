//! The data of figures: quantities, axes, and grids of a quantity over two others.

use super::ticks::{self, Scale};
use apexmap_base::error::{Error, Result};
use apexmap_base::units::Unit;
use ndarray::Array2;

/// A quantity along an axis or as a colour.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantity {
    /// Text of the axis title: "alpha (temporal locality)".
    pub label: String,
    /// Unit of the values; it determines how ticks are labelled.
    pub unit: Unit,
    /// Whether the scale is logarithmic; all values must then be positive.
    pub log: bool,
}

/// One axis of a grid.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// Quantity of the axis.
    pub quantity: Quantity,
    /// Measured values, strictly ascending.
    pub values: Vec<f64>,
}

/// A quantity over two others.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    /// Title of the figure.
    pub title: String,
    /// Line below the title: machine, ranks, page size, number of samples. Text after a line break is a warning, which
    /// figures for papers show too.
    pub subtitle: String,
    /// Horizontal axis: the columns of `values`.
    pub x: Axis,
    /// Vertical axis, the depth of a surface: the rows of `values`.
    pub y: Axis,
    /// Quantity of `values`: heights or colours.
    pub z: Quantity,
    /// Values at [y, x], one row per value of `y` and one column per value of `x`. NaN is a gap.
    pub values: Array2<f64>,
    /// Cells (y, x) whose measurement failed; they are marked.
    pub failed: Vec<(usize, usize)>,
}

impl Axis {
    /// Checks that the values ascend strictly.
    pub fn check(&self) -> Result<()> {
        if self.values.windows(2).all(|pair| pair[0] < pair[1]) {
            return Ok(());
        }
        Err(Error::input(
            format!("the values of the axis \"{}\" do not ascend", self.quantity.label),
            "sort them and name each only once",
        ))
    }

    /// Returns the scale that spans the values.
    pub fn scale(&self) -> Result<Scale> {
        Scale::from_values(self.values.iter().copied(), self.quantity.log, &self.quantity.label)
    }
}

impl Grid {
    /// Creates a grid whose cells have no value.
    pub fn without_values(title: String, subtitle: String, x: Axis, y: Axis) -> Self {
        let values = Array2::from_elem((y.values.len(), x.values.len()), f64::NAN);
        let z = Quantity::linear(String::new(), Unit::None);
        Self { title, subtitle, x, y, z, values, failed: Vec::new() }
    }

    /// Returns the grid with its axes exchanged.
    pub fn transpose(&self) -> Self {
        Self {
            x: self.y.clone(),
            y: self.x.clone(),
            values: self.values.t().to_owned(),
            failed: self.failed.iter().map(|(row, column)| (*column, *row)).collect(),
            ..self.clone()
        }
    }

    /// Checks that the sizes of the parts match.
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

    /// Checks that each axis has at least two values, as interpolation needs them.
    pub fn check_two_by_two(&self, figure: &str) -> Result<()> {
        let Some(axis) = [&self.x, &self.y].into_iter().find(|axis| axis.values.len() < 2) else { return Ok(()) };
        Err(Error::input(
            format!(
                "a {figure} needs at least two values of \"{}\", but it has {}",
                axis.quantity.label,
                axis.values.len()
            ),
            "draw curves or a heat map instead",
        ))
    }

    /// Returns the scales of x, y and the values, which also covers `range`. Fails if the grid has nothing to draw.
    pub fn scales(&self, range: Option<(f64, f64)>) -> Result<[Scale; 3]> {
        self.check()?;
        self.check_two_by_two("surface")?;
        Ok([self.x.scale()?, self.y.scale()?, self.z_scale(range)?.round_outwards()])
    }

    /// Returns the cells (y, x) that hold a value or a failure, row by row.
    pub fn filled_cells(&self) -> Vec<(usize, usize)> {
        let is_filled = |&((j, i), value): &((usize, usize), &f64)| !value.is_nan() || self.failed.contains(&(j, i));
        self.values.indexed_iter().filter(is_filled).map(|(cell, _)| cell).collect()
    }

    /// Returns the scale of the values. It also covers `range`.
    pub fn z_scale(&self, range: Option<(f64, f64)>) -> Result<Scale> {
        let measured = self.values.iter().copied().filter(|z| !z.is_nan());
        let ends = range.into_iter().flat_map(|(low, high)| [low, high]);
        Scale::from_values(measured.chain(ends), self.z.log, &self.z.label)
    }
}

impl Quantity {
    /// Creates a quantity with a linear scale.
    pub fn linear(label: impl Into<String>, unit: Unit) -> Self {
        Self { label: label.into(), unit, log: false }
    }

    /// Creates a quantity with a logarithmic scale.
    pub fn log(label: impl Into<String>, unit: Unit) -> Self {
        Self { label: label.into(), unit, log: true }
    }

    /// Returns the axis title without the explanation in parentheses: `L (words)`.
    pub fn short_title(&self) -> String {
        let label = self.label.split(" (").next().unwrap_or_default().to_owned();
        Self { label, ..self.clone() }.title()
    }

    /// Returns the axis title, with the unit unless the tick labels include it.
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
