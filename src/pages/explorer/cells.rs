//! The cells of a result with their summaries, as plain data.

use super::{AppliedModel, CellTerms, Explorer, terms_at};
use crate::html::map_colours;
use apexmap_base::distinct::distinct;
use apexmap_base::error::Result;
use apexmap_base::point::Value;
use apexmap_base::units::plural;
use apexmap_draw::plot::{axis_quantity, quantity};
use apexmap_measure::kernels::Kernel;
use apexmap_results::samples::Samples;
use apexmap_results::samples::cells::Cell;
use apexmap_results::samples::code_rates::bytes_per_rank;
use apexmap_results::samples::estimate::unknown_interval_basis;
use apexmap_results::samples::health::Health;
use apexmap_results::table::columns::{self, ALPHA, BLOCK, Role};
use apexmap_results::table::derived_columns::{BOUND_BY, SHARE, bound_column};
use apexmap_results::table::quietness::Quietness;
use apexmap_theory::codes::Code;
use apexmap_theory::statistics::Summary;
use serde::Serialize;
use std::collections::BTreeMap;

const MAX_CELLS: usize = 10_000;
/// About 35 bytes each: the panel adds at most 1.4 MB to a page.
const MAX_MEDIANS: usize = 40_000;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KernelCells {
    pub kernel: String,
    pub axes: Vec<Axis>,
    /// Default axes of the map; `None` if only one axis is numeric.
    pub x: usize,
    pub y: Option<usize>,
    /// The headline first.
    pub quantities: Vec<Quantity>,
    /// Fraction of the bound; `None` without a card.
    pub share: Option<usize>,
    pub codes: Vec<CodePlace>,
    pub cells: Vec<ExplorerCell>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CodePlace {
    pub name: String,
    /// Names of axes with values.
    pub at: BTreeMap<&'static str, f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Axis {
    pub name: String,
    pub symbol: String,
    pub label: String,
    pub numeric: bool,
    pub log: bool,
    /// As `apexmap query` prints them; they are in the address.
    pub values: Vec<String>,
    /// As the report prints them: `512 MiB`.
    pub names: Vec<String>,
    pub numbers: Vec<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Quantity {
    pub name: String,
    pub label: String,
    pub unit: &'static str,
    pub log: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound: Option<usize>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExplorerCell {
    pub at: Vec<usize>,
    pub n: usize,
    pub launches: usize,
    #[serde(skip_serializing_if = "is_zero")]
    pub failed: usize,
    /// `quiet`, or `disturbed, 3 of 6`; empty without a verdict.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub quietness: String,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub disturbed: bool,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub bound_by: String,
    pub summaries: Vec<Option<ValueSummary>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub terms: Vec<CellTerms>,
    #[serde(skip)]
    first_row: Option<usize>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum ValueSummary {
    WithInterval([f64; 3]),
    /// Too few samples for an interval.
    WithoutInterval([f64; 1]),
    /// With the number of launches or samples, which is too small for a useful interval.
    UnknownInterval(f64, String),
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl Explorer {
    pub fn add_terms(&mut self, samples: &Samples, models: &[AppliedModel]) -> Result<()> {
        for cell in self.kernels.iter_mut().flat_map(|kernel| &mut kernel.cells) {
            if let Some(row) = cell.first_row {
                cell.terms = terms_at(&samples.with_rows(vec![row]), models)?;
            }
        }
        Ok(())
    }
}

/// Without predictions; `None` if no number varies. `first`: columns of the axes to begin with, if they vary.
pub fn explorer(samples: &Samples, first: &[String], codes: &[Code]) -> Result<Option<Explorer>> {
    let (mut kernels, mut notes): (Vec<KernelCells>, Vec<String>) = (Vec::new(), Vec::new());
    let (mut cells_left, mut medians_left) = (MAX_CELLS, MAX_MEDIANS);
    for (kernel, samples) in samples.kernels() {
        let id = kernel.id;
        let axes = samples.axes();
        let Some((x, y)) = default_axes(&samples, &axes, first) else { continue };
        let mut cells = samples.cells(&axes)?;
        let count = cells.len();
        cells = keep_slices(cells, x, y, cells_left);
        if cells.is_empty() {
            notes.push(format!("{id}: all {count} cells are omitted. apexmap query prints them."));
            continue;
        }
        if cells.len() < count {
            notes
                .push(format!("{id}: {} of {count} cells, in whole maps. apexmap query prints the rest.", cells.len()));
        }
        let mut names = quantity_columns(&samples, kernel);
        let fitting = (medians_left / cells.len()).max(1);
        if fitting < names.len() {
            let omitted = plural(names.len() - fitting, "column");
            notes.push(format!("{id}: {omitted} of results are omitted. apexmap query prints them."));
            names.truncate(fitting);
        }
        cells_left -= cells.len();
        medians_left = medians_left.saturating_sub(cells.len() * names.len());
        let codes = code_places(&samples, codes);
        kernels.push(KernelCells { codes, ..kernel_cells(&samples, (&axes, x, y), &names, &cells)? });
    }
    Ok((!kernels.is_empty()).then(|| Explorer { colours: map_colours(), kernels, notes }))
}

/// Places of the codes whose rates these samples have, if all have one size.
fn code_places(samples: &Samples, codes: &[Code]) -> Vec<CodePlace> {
    let place = |code: &Code| CodePlace {
        name: code.name.clone(),
        at: BTreeMap::from([(BLOCK, code.block_words), (ALPHA, code.alpha)]),
    };
    let (chains, size) = (samples.chains(), bytes_per_rank(samples));
    codes.iter().filter(|code| size.is_some() && code.check_place(chains, size).is_ok()).map(place).collect()
}

/// Those of `first`, then L and alpha, then other numbers, as far as they vary.
fn default_axes(samples: &Samples, axes: &[&str], first: &[String]) -> Option<(usize, Option<usize>)> {
    let numeric = |index: &usize| is_numeric(samples, axes[*index]);
    let position = |wanted: &str| axes.iter().position(|name| *name == wanted);
    // A surface has alpha at the left; a map has L along x.
    let is_surface = first == [ALPHA, BLOCK];
    let wanted = first.iter().map(String::as_str).filter(|_| !is_surface).chain([BLOCK, ALPHA]);
    let chosen = distinct(wanted.filter_map(position).chain(0..axes.len()).filter(numeric));
    Some((*chosen.first()?, chosen.get(1).copied()))
}

fn is_numeric(samples: &Samples, name: &str) -> bool {
    samples.column(name).is_some_and(|column| !column.is_words())
}

/// Those of the first maps, at most `most`.
fn keep_slices(mut cells: Vec<Cell>, x: usize, y: Option<usize>, most: usize) -> Vec<Cell> {
    if cells.len() <= most {
        return cells;
    }
    let map_of = |cell: &Cell| {
        let others = cell.by.iter().enumerate().filter(|(index, _)| *index != x && Some(*index) != y);
        others.map(|(_, value)| value.to_string()).collect::<Vec<_>>()
    };
    // The cells of a map are together, so the cut omits whole maps.
    cells.sort_by_cached_key(map_of);
    let cut = map_of(&cells[most]);
    let end = cells[..most].iter().rposition(|cell| map_of(cell) != cut).map_or(0, |last| last + 1);
    cells.truncate(end);
    cells
}

/// Measured or computed numbers: the headline, its share of the bound, then others that vary.
fn quantity_columns(samples: &Samples, kernel: &Kernel) -> Vec<String> {
    let first = [samples.headline(kernel), SHARE];
    let points = columns::point_columns(samples.table());
    let is_result = |name: &&str| match columns::describe(name).role {
        Role::Output | Role::Rate | Role::Bound => true,
        Role::Unknown => kernel.has_own_parameters && !points.contains(name),
        _ => false,
    };
    let others =
        samples.table().names().iter().map(String::as_str).filter(|name| !first.contains(name)).filter(is_result);
    let is_shown = |name: &&str| is_numeric(samples, name) && (samples.varies(name) || first.contains(name));
    first.into_iter().chain(others).filter(is_shown).filter(|name| samples.has(name)).map(str::to_owned).collect()
}

fn kernel_cells(
    samples: &Samples,
    (axis_names, x, y): (&[&str], usize, Option<usize>),
    names: &[String],
    cells: &[Cell],
) -> Result<KernelCells> {
    let axes: Vec<Axis> =
        axis_names.iter().enumerate().map(|(index, name)| axis(samples, name, index, cells)).collect();
    let cells: Vec<ExplorerCell> = cells.iter().map(|cell| explorer_cell(cell, &axes, names)).collect();
    let position = |wanted: &str| names.iter().position(|name| name == wanted);
    let describe = |(index, name): (usize, &String)| {
        let described = samples.describe(name);
        let medians = cells.iter().filter_map(|cell| cell.summaries[index].as_ref()).map(ValueSummary::median);
        Quantity {
            name: name.clone(),
            log: quantity(name, medians).log,
            label: described.label,
            unit: described.unit.symbol(),
            bound: bound_column(name).and_then(position),
        }
    };
    Ok(KernelCells {
        kernel: samples.first_word("kernel").to_owned(),
        x,
        y,
        quantities: names.iter().enumerate().map(describe).collect(),
        share: position(SHARE),
        codes: Vec::new(),
        axes,
        cells,
    })
}

fn axis(samples: &Samples, name: &str, index: usize, cells: &[Cell]) -> Axis {
    let mut values: Vec<_> = cells.iter().map(|cell| cell.by[index].clone()).collect();
    values.sort_by(columns::order);
    values.dedup();
    let numeric = is_numeric(samples, name);
    let numbers: Vec<f64> =
        if numeric { values.iter().filter_map(|value| value.as_f64()).collect() } else { Vec::new() };
    let drawn = axis_quantity(name, numbers.iter().copied());
    Axis {
        symbol: samples.describe(name).symbol,
        label: drawn.title(),
        log: drawn.log,
        numeric,
        values: values.iter().map(|value| value.to_string()).collect(),
        names: values.iter().map(|value| columns::value_name(name, value)).collect(),
        numbers,
        name: name.to_owned(),
    }
}

fn explorer_cell(cell: &Cell, axes: &[Axis], names: &[String]) -> ExplorerCell {
    let samples = &cell.samples;
    let index = |(axis, value): (&Axis, &Value)| {
        let text = value.to_string();
        axis.values.iter().position(|candidate| *candidate == text).unwrap_or_default()
    };
    let health = Health::from_judged(samples);
    ExplorerCell {
        at: axes.iter().zip(&cell.by).map(index).collect(),
        n: samples.len(),
        launches: samples.launches().len(),
        failed: cell.failures.len(),
        quietness: health.as_ref().map_or(String::new(), Health::brief),
        disturbed: health.is_some_and(|health| health.verdict() == Quietness::Disturbed),
        bound_by: samples.first_word(BOUND_BY).to_owned(),
        summaries: names.iter().map(|name| cell.summary(name).and_then(ValueSummary::from_summary)).collect(),
        terms: Vec::new(),
        first_row: samples.rows().first().copied(),
    }
}

impl ValueSummary {
    /// Nine digits, more than any measurement has; `None` for an infinite median.
    fn from_summary(summary: Summary) -> Option<Self> {
        let rounded = |value: f64| format!("{value:.8e}").parse().unwrap_or(value);
        let median = rounded(summary.median);
        if !median.is_finite() {
            return None;
        }
        Some(match (unknown_interval_basis(&summary), summary.interval) {
            (Some(over), _) => Self::UnknownInterval(median, over),
            (None, Some((low, high))) => Self::WithInterval([median, rounded(low), rounded(high)]),
            (None, None) => Self::WithoutInterval([median]),
        })
    }

    fn median(&self) -> f64 {
        match self {
            Self::WithInterval([median, ..]) | Self::WithoutInterval([median]) | Self::UnknownInterval(median, _) => {
                *median
            }
        }
    }
}
