//! Chooses what a figure of a result can show: its axes, and one point per cell.

use crate::plot::{FigureKind, Request};
use apexmap_base::error::{Error, Result};
use apexmap_results::samples::Samples;
use apexmap_results::samples::cells::Cell;
use apexmap_results::table::columns::{self, ALPHA, BLOCK, NODE_TYPE, Role};

#[derive(Clone, Debug, PartialEq)]
pub struct Axes {
    pub x: String,
    pub by: Vec<String>,
    /// They are the sweep's, because it does not vary L and alpha.
    pub is_own: bool,
}

/// L and alpha, or the sweep's own axes with most values. `x`: the axis that the user gives.
pub fn default_axes(samples: &Samples, kind: FigureKind, x: Option<&str>) -> Result<Axes> {
    let is_curves = kind == FigureKind::Curves;
    let order = if x.is_some() { [ALPHA, BLOCK] } else { [BLOCK, ALPHA] };
    let locality = order.into_iter().filter(|name| samples.varies(name) && Some(*name) != x);
    let mut numbers: Vec<&str> = locality.collect();
    let is_number = |name: &&str| samples.column(name).is_some_and(|column| !column.is_words());
    let mut others: Vec<&str> = samples.axes().into_iter().filter(is_number).collect();
    others.retain(|name| ![BLOCK, ALPHA].contains(name) && Some(*name) != x);
    others.sort_by_key(|name| std::cmp::Reverse(samples.distinct_numbers(name).len()));
    let needed = if is_curves { 1 } else { 2 } - usize::from(x.is_some());
    let is_own = numbers.len() < needed;
    numbers.extend(others);
    let mut names = x.into_iter().chain(numbers);
    let first = names.next();
    if is_curves {
        let x = first.ok_or_else(|| nothing_varies(samples, kind))?;
        // Without a second axis of numbers, words distinguish the curves.
        let by = match names.next() {
            Some(second) => vec![second],
            None => samples.axes().into_iter().filter(|name| *name != x && !is_number(name)).collect(),
        };
        return Ok(Axes { x: x.to_owned(), by: by.into_iter().map(str::to_owned).collect(), is_own });
    }
    match (first, names.next()) {
        (Some(x), Some(y)) => Ok(Axes { x: x.to_owned(), by: vec![y.to_owned()], is_own }),
        _ => Err(nothing_varies(samples, kind)),
    }
}

fn nothing_varies(samples: &Samples, kind: FigureKind) -> Error {
    let name = kind.name();
    let axes = samples.axes();
    let numbers = axes.iter().find(|name| samples.column(name).is_some_and(|column| !column.is_words()));
    match numbers {
        Some(axis) if kind != FigureKind::Curves => {
            let axis = columns::short(axis);
            Error::input(
                format!("a {name} has two axes, but of the numbers of these samples only {axis} varies"),
                format!("draw curves over it: apexmap plot RESULT curves --x {axis}"),
            )
        }
        _ => Error::input(
            format!("a {name} needs an axis, but these samples are of one point"),
            "select more samples with --where, or print them: apexmap query RESULT",
        ),
    }
}

#[derive(Clone, Debug)]
pub struct Selected {
    pub samples: Samples,
    pub notes: Vec<String>,
}

/// If points differ in a further parameter, and only one value spans the axes, the figure shows that value.
pub fn select(samples: &Samples, request: &Request) -> Result<Selected> {
    let mut selected = Selected { samples: samples.clone(), notes: Vec::new() };
    // A measurement on the axis gives each point its own place.
    if matches!(columns::describe(&request.x).role, Role::Output | Role::Rate) {
        return Ok(selected);
    }
    let (mut conditions, mut question) = (Vec::new(), None);
    while let Some(column) = mixed_column(&selected.samples, &request.axes())? {
        let parts = selected.samples.group_by(&[&column]);
        let spans = |part: &&Samples| request.spanned_axes().all(|axis| part.good().varies(axis));
        let spanning: Vec<&Samples> = parts.iter().filter(spans).collect();
        if let [only] = spanning.as_slice() {
            selected.notes.push(left_out(&column, only, &parts, request));
            selected.samples = (*only).clone();
            continue;
        }
        let mixture = selected.samples.mixture(&column);
        let candidates = if spanning.is_empty() { parts.iter().collect() } else { spanning };
        let points = |part: &Samples| part.group_by(&["key"]).len();
        let ranked = candidates.into_iter().filter_map(|part| Some((part.first_value(&column)?, points(part), part)));
        // The part with the most points; the first one of equal parts, as in the mixture.
        let best = ranked.min_by(|a, b| b.1.cmp(&a.1).then_with(|| columns::order(&a.0, &b.0)));
        let Some((value, _, part)) = best else { break };
        conditions.push(columns::equation(&column, &value));
        question.get_or_insert(mixture);
        selected.samples = part.clone();
    }
    if let Some(mixture) = question {
        return Err(Error::input(
            format!("several points share a cell of the figure ({} = {})", mixture.name, mixture.values),
            format!("choose one value with --where '{}', or put the parameter on an axis", conditions.join(" && ")),
        ));
    }
    let needs_two = matches!(request.kind, FigureKind::Surface | FigureKind::Contour);
    match request.spanned_axes().find(|axis| needs_two && !selected.samples.good().varies(axis)) {
        Some(axis) => Err(flat_axis(&selected.samples, request, axis)),
        None => Ok(selected),
    }
}

/// The type of nodes, or the first column besides the axes that differs within a cell.
fn mixed_column(samples: &Samples, by: &[&str]) -> Result<Option<String>> {
    if !by.contains(&NODE_TYPE) && !samples.is_constant(NODE_TYPE) {
        return Ok(Some(NODE_TYPE.to_owned()));
    }
    let cells: Vec<Cell> = samples.cells(by)?;
    let differs = |name: &&str| cells.iter().any(|cell| !cell.samples.is_constant(name));
    Ok(samples.mixed_columns(by).find(differs).map(str::to_owned))
}

fn left_out(column: &str, shown: &Samples, parts: &[Samples], request: &Request) -> String {
    let name = |part: &Samples| match part.first_value(column) {
        Some(value) => columns::label(column, &value),
        None => format!("points without {}", columns::short(column)),
    };
    let describe = |part: &Samples| {
        let flat = request.spanned_axes().find(|axis| !part.good().varies(axis));
        let value = flat.and_then(|axis| Some(columns::label(axis, &part.good().first_value(axis)?)));
        match value {
            Some(value) => format!("{}, which has only {value}", name(part)),
            None => format!("{}, which has no successful sample", name(part)),
        }
    };
    let others = parts.iter().filter(|part| part.rows() != shown.rows()).map(describe);
    format!("the figure shows {}; it leaves out {}", name(shown), others.collect::<Vec<_>>().join("; "))
}

fn flat_axis(samples: &Samples, request: &Request, axis: &str) -> Error {
    let kind = request.kind.name();
    let value = samples.good().first_value(axis).map(|value| columns::label(axis, &value));
    let other = request.axes().into_iter().find(|other| *other != axis && samples.varies(other));
    let help = match other {
        Some(other) => {
            let (x, y) = (columns::short(other), columns::short(axis));
            format!("draw curves: apexmap plot RESULT curves --x {x} --y {y}, or widen --where")
        }
        None => "widen --where, or choose other axes with --x and --y".to_owned(),
    };
    let message = match value {
        Some(value) => format!("a {kind} needs two values on each axis, but these samples have only {value}"),
        None => format!("a {kind} needs two values on each axis, but no sample has {}", columns::short(axis)),
    };
    Error::input(message, help)
}
