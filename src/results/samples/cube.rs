//! Cubes: arrays over named axes, such as medians over alpha, L, M and the ranks.

use crate::samples::cells::single_points;
use crate::samples::{Samples, ascending};
use crate::table::columns;
use apexmap_base::error::{Error, Result};
use apexmap_base::name_lookup::suggest;
use apexmap_base::point::Value;
use ndarray::{Array, Axis, Dim, Dimension, Ix, RemoveAxis};

/// An axis of a [`Cube`]: a column and its values in ascending order.
#[derive(Clone, Debug, PartialEq)]
pub struct CubeAxis {
    /// Name of the column: `block_words`.
    pub name: String,
    /// Values of the axis, one per index of the array along this axis.
    pub values: Vec<f64>,
}

/// An array over the combinations of its axes' values.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct Cube<T, D: Dimension> {
    /// Axes in the order of the array's dimensions.
    pub axes: Vec<CubeAxis>,
    /// The values. The last axis is contiguous.
    pub values: Array<T, D>,
}

impl Samples {
    /// Returns the medians of a column over some numeric columns; NaN where no sample exists.
    pub fn cube<const N: usize>(&self, axes: [&str; N], column: &str) -> Result<Cube<f64, Dim<[Ix; N]>>>
    where
        Dim<[Ix; N]>: Dimension,
    {
        let (axes, column) = (axes.map(|axis| self.resolve(axis)), self.resolve(column));
        self.require_numbers(column)?;
        let cells = self.cells(&axes)?;
        single_points(&cells, &axes).map_err(|mixed| {
            Error::input(
                format!("several points have the same coordinates ({} = {})", mixed.name, mixed.values),
                format!("select one value: {}, or make the parameter an axis", mixed.choice),
            )
        })?;
        let mut items = Vec::with_capacity(cells.len());
        for cell in cells {
            let mut place = [0.0; N];
            for (number, value) in place.iter_mut().zip(&cell.by) {
                *number = coordinate(value)?;
            }
            items.push((place, cell.samples.median(column)));
        }
        Ok(Cube::scatter(axes, items).numbers(|median| *median))
    }
}

pub fn coordinate(value: &Value) -> Result<f64> {
    value.as_f64().ok_or_else(|| {
        Error::input(format!("\"{value}\" is text, but an axis needs numbers"), "use it in --where instead")
    })
}

impl<T, const N: usize> Cube<Option<T>, Dim<[Ix; N]>>
where
    Dim<[Ix; N]>: Dimension,
{
    /// Places each item at its coordinates. If several items have the same coordinates, the last one remains.
    pub fn scatter(names: [&str; N], items: Vec<([f64; N], T)>) -> Self {
        let axis = |(axis, name): (usize, &str)| {
            let values = ascending(items.iter().map(|(place, _)| place[axis]));
            CubeAxis { name: name.to_owned(), values }
        };
        let axes: Vec<CubeAxis> = names.into_iter().enumerate().map(axis).collect();
        let index = |of_axis: &dyn Fn(usize) -> usize| {
            let mut index = Dim::<[Ix; N]>::zeros(N);
            (0..N).for_each(|axis| index[axis] = of_axis(axis));
            index
        };
        let mut values = Array::from_shape_simple_fn(index(&|axis| axes[axis].values.len()), || None);
        for (place, item) in items {
            // The axis is sorted and contains each coordinate.
            let index = index(&|axis| axes[axis].values.partition_point(|value| *value < place[axis]));
            values[index] = Some(item);
        }
        Self { axes, values }
    }
}

impl<T, D: Dimension> Cube<Option<T>, D> {
    /// Converts each item to a number; NaN where no item exists.
    pub fn numbers(&self, number: impl Fn(&T) -> Option<f64>) -> Cube<f64, D> {
        let values = self.values.map(|item| item.as_ref().and_then(&number).unwrap_or(f64::NAN));
        Cube { axes: self.axes.clone(), values }
    }
}

impl<T, D: Dimension> Cube<T, D> {
    fn axis(&self, name: &str) -> Result<usize> {
        let has_name = |axis: &CubeAxis| axis.name == name || axis.name == columns::resolve(name);
        self.axes.iter().position(has_name).ok_or_else(|| {
            let names: Vec<&str> = self.axes.iter().map(|axis| axis.name.as_str()).collect();
            Error::input(format!("the array has no axis \"{name}\""), suggest(name, &names))
        })
    }
}

impl<D: Dimension> Cube<f64, D> {
    /// Returns the values at one value of an axis.
    pub fn slice(&self, axis: &str, value: f64) -> Result<Cube<f64, D::Smaller>>
    where
        D: RemoveAxis,
    {
        let number = self.axis(axis)?;
        let mut axes = self.axes.clone();
        let removed = axes.remove(number);
        let place = removed.values.iter().position(|candidate| *candidate == value).ok_or_else(|| {
            Error::input(format!("the axis \"{axis}\" has no value {value}"), format!("it has {:?}", removed.values))
        })?;
        Ok(Cube { axes, values: self.values.index_axis(Axis(number), place).to_owned() })
    }

    /// Divides by another cube with the same axes; NaN where either value is missing.
    pub fn ratio(&self, base: &Self) -> Result<Self> {
        if self.axes != base.axes {
            return Err(Error::input("the two arrays have different axes", "select samples with the same values"));
        }
        Ok(Self { axes: self.axes.clone(), values: &self.values / &base.values })
    }

    /// Returns the derivative along an axis by central differences: the mean of the slopes to both neighbours, each weighted
    /// with the distance to the other neighbour. This is exact for parabolas. At an end and next to a missing value, it is
    /// the slope to the other neighbour. NaN where the value or both neighbours are missing.
    pub fn gradient(&self, axis: &str) -> Result<Self> {
        let number = self.axis(axis)?;
        Ok(Self { axes: self.axes.clone(), values: slopes(&self.values, number, &self.axes[number].values) })
    }

    /// Returns the local exponent of the values with respect to an axis, d log(value) / d log(axis): 1 where they are
    /// proportional to it, 0 where it has no effect. This is the [`gradient`](Self::gradient) of logarithms. Values that are
    /// not positive count as missing.
    pub fn elasticity(&self, axis: &str) -> Result<Self> {
        let number = self.axis(axis)?;
        let along = &self.axes[number].values;
        if along.iter().any(|value| *value <= 0.0) {
            return Err(Error::input(
                format!("the axis \"{axis}\" has values that are not positive, which have no logarithm"),
                "omit them, or select another axis",
            ));
        }
        let logarithm = |value: &f64| if *value > 0.0 { value.ln() } else { f64::NAN };
        let along: Vec<f64> = along.iter().map(logarithm).collect();
        Ok(Self { axes: self.axes.clone(), values: slopes(&self.values.map(logarithm), number, &along) })
    }
}

/// Returns the slopes of values along an axis; see [`Cube::gradient`].
fn slopes<D: Dimension>(values: &Array<f64, D>, axis: usize, along: &[f64]) -> Array<f64, D> {
    let mut slopes = Array::from_elem(values.raw_dim(), f64::NAN);
    for (line, mut slopes) in values.lanes(Axis(axis)).into_iter().zip(slopes.lanes_mut(Axis(axis))) {
        let slope = |from: usize| (line[from + 1] - line[from]) / (along[from + 1] - along[from]);
        for (k, result) in slopes.iter_mut().enumerate() {
            let before = if k > 0 { slope(k - 1) } else { f64::NAN };
            let after = if k + 1 < along.len() { slope(k) } else { f64::NAN };
            *result = match (before.is_nan(), after.is_nan()) {
                (false, false) => {
                    let (left, right) = (along[k] - along[k - 1], along[k + 1] - along[k]);
                    (right * before + left * after) / (left + right)
                }
                (true, _) => after,
                (_, true) => before,
            };
        }
    }
    slopes
}
