//! Grids: what there is at each combination of two numbers.

use crate::samples::Samples;
use crate::samples::cells::Cell;
use apexmap_base::error::{Error, Result};
use apexmap_base::point::Value;
use ndarray::Array2;

/// Something at each combination of the values of two axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Pivot<T> {
    /// The values along each axis, ascending.
    pub x: Vec<f64>,
    pub y: Vec<f64>,
    /// By [y, x]; `None` where there is nothing.
    pub cells: Array2<Option<T>>,
}

impl<T> Pivot<T> {
    /// Puts each item at its x and y; of several at one place the last stays.
    pub fn of(items: Vec<(f64, f64, T)>) -> Self {
        let ascending = |values: &mut dyn Iterator<Item = f64>| {
            let mut values: Vec<f64> = values.collect();
            values.sort_by(f64::total_cmp);
            values.dedup();
            values
        };
        let x = ascending(&mut items.iter().map(|(x, ..)| *x));
        let y = ascending(&mut items.iter().map(|(_, y, _)| *y));
        let mut cells = Array2::from_shape_simple_fn((y.len(), x.len()), || None);
        let place = |axis: &[f64], value: f64| axis.iter().position(|known| *known == value);
        for (at_x, at_y, item) in items {
            if let (Some(column), Some(row)) = (place(&x, at_x), place(&y, at_y)) {
                cells[(row, column)] = Some(item);
            }
        }
        Self { x, y, cells }
    }

    /// A value of each item; NaN where there is none.
    pub fn values(&self, value: impl Fn(&T) -> Option<f64>) -> Array2<f64> {
        self.cells.map(|item| item.as_ref().and_then(&value).unwrap_or(f64::NAN))
    }
}

impl Samples {
    /// The cells by two columns of numbers.
    ///
    /// # Errors
    /// If a column is missing or holds words.
    pub fn grid(&self, x: &str, y: &str) -> Result<Pivot<Cell>> {
        pivot(self.cells(&[x, y])?, |cell| &cell.by)
    }
}

/// What belongs to cells by two columns, as a grid.
///
/// # Errors
/// If a column holds words.
pub fn pivot<T>(items: Vec<T>, by: impl Fn(&T) -> &[Value]) -> Result<Pivot<T>> {
    let number = |value: &Value| {
        value.as_f64().ok_or_else(|| {
            Error::input(format!("\"{value}\" is text, but an axis needs numbers"), "use it in --where instead")
        })
    };
    let place = |item: T| {
        let at = by(&item);
        Ok::<_, Error>((number(&at[0])?, number(&at[1])?, item))
    };
    Ok(Pivot::of(items.into_iter().map(place).collect::<Result<_>>()?))
}
