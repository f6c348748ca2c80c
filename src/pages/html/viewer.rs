//! The data of the interactive 3-D viewer: surfaces of one or several machines.

use apexmap_base::error::Result;
use apexmap_draw::figure::ticks::{self, Scale};
use apexmap_draw::figure::{Grid, Quantity, View, colour};
use serde::Serialize;

/// `parts.viewer(viewer)` places it, once per page.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Viewer {
    pub surfaces: Vec<ViewerSurface>,
}

/// With all data that drawing needs; the script only projects and paints.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ViewerSurface {
    pub machine: String,
    pub label: String,
    pub x: ViewerAxis,
    pub y: ViewerAxis,
    pub z: ViewerAxis,
    /// Azimuth and elevation, as in the figure.
    pub home: (f64, f64),
    /// At [row of y][column of x]; `None` for missing points.
    pub values: Vec<Vec<Option<f64>>>,
    /// Cells (row, column).
    pub failed: Vec<(usize, usize)>,
    pub colours: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ViewerAxis {
    pub label: String,
    pub title: String,
    /// After a value: `B/s`; empty for a pure number.
    pub unit: &'static str,
    pub log: bool,
    pub low: f64,
    pub high: f64,
    pub ticks: Vec<Tick>,
    /// Measured; empty for the height.
    pub values: Vec<f64>,
    /// `values` as printed.
    pub names: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tick {
    pub value: f64,
    pub label: String,
}

const MAX_TICKS: usize = 10;
/// The script interpolates between them.
const COLOURS: usize = 33;

pub fn map_colours() -> Vec<String> {
    colour::hexadecimal(colour::viridis, COLOURS)
}

impl ViewerSurface {
    pub fn from_grid(machine: impl Into<String>, label: impl Into<String>, grid: &Grid) -> Result<Self> {
        let [x, y, z] = grid.scales(None)?;
        let view = View::of_grid(grid);
        let finite = |value: &f64| value.is_finite().then_some(*value);
        Ok(Self {
            machine: machine.into(),
            label: label.into(),
            x: axis(&grid.x.quantity, x, &grid.x.values),
            y: axis(&grid.y.quantity, y, &grid.y.values),
            z: axis(&grid.z, z, &[]),
            home: (view.azimuth, view.elevation),
            values: grid.values.rows().into_iter().map(|row| row.iter().map(finite).collect()).collect(),
            failed: grid.failed.clone(),
            colours: map_colours(),
        })
    }
}

fn axis(quantity: &Quantity, scale: Scale, values: &[f64]) -> ViewerAxis {
    let binary = ticks::is_binary(values);
    let sets = ticks::tick_sets(&scale, values, quantity.unit, binary);
    let chosen = sets.iter().find(|set| set.len() <= MAX_TICKS).or(sets.last()).cloned().unwrap_or_default();
    let labels = ticks::labels(&chosen, quantity.unit, binary);
    ViewerAxis {
        label: quantity.label.clone(),
        title: quantity.title(),
        unit: quantity.unit.symbol(),
        log: scale.log,
        low: scale.low,
        high: scale.high,
        ticks: chosen.into_iter().zip(labels).map(|(value, label)| Tick { value, label }).collect(),
        values: values.to_vec(),
        names: ticks::labels(values, quantity.unit, binary),
    }
}
