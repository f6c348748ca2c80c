//! Which figures a result deserves.

use super::groups::{ALPHA, BLOCK, Group, key_columns};
use super::summary::BANDWIDTH;
use crate::error::Result;
use crate::figure::select::{Kind, Request, figure};
use crate::figure::{self, Figure};
use crate::store::cells::cells;
use crate::store::{Folder, Table, columns};
use serde::Serialize;

/// Surfaces shown in full; further groups are named in the report and can be drawn with `apexmap plot`.
pub const MOST_SURFACES: usize = 8;

/// A figure in the report and in the folder.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Picture {
    /// Name of its files, without ending.
    pub file: String,
    pub title: String,
    pub caption: String,
    pub svg: String,
}

/// Figures of one group: surface, contours, heat map, and the curves of both axes.
pub fn of_group(folder: &Folder, table: &Table, group: &Group, number: usize) -> Result<Vec<Picture>> {
    let label = group.label();
    let mut pictures = Vec::new();
    let mut add = |kind: Kind, name: &str, x: &str, by: &str, caption: &str| -> Result<()> {
        let title = format!("{}: {label}", capital(name));
        let request = Request { kind, title, x: x.into(), by: vec![by.into()], z: BANDWIDTH.into() };
        let drawn = figure(table, &group.rows, &request)?;
        let file = format!("{}-{number}", name.replace(' ', "-"));
        pictures.push(picture(folder, &drawn, file, request.title, caption.into())?);
        Ok(())
    };
    if group.is_surface() {
        add(
            Kind::Surface,
            "performance surface",
            ALPHA,
            BLOCK,
            "Bandwidth of a process over spatial locality L and temporal locality alpha (as Figures 3 and 4 of the Apex-Map paper). Dots are measured.",
        )?;
        add(
            Kind::Contour,
            "contours",
            BLOCK,
            ALPHA,
            "Lines of equal bandwidth (as Figure 7 of the paper). Lines along L: spatial locality hardly matters there; lines along alpha: temporal locality hardly matters.",
        )?;
        add(Kind::Heat, "heat map", BLOCK, ALPHA, "Median of every measured point.")?;
    }
    if group.blocks.len() > 1 {
        add(Kind::Curves, "bandwidth over L", BLOCK, ALPHA, "Medians; the bands are 95 % intervals of the median.")?;
    }
    if group.alphas.len() > 1 {
        add(
            Kind::Curves,
            "bandwidth over alpha",
            ALPHA,
            BLOCK,
            "Medians; the bands are 95 % intervals of the median.",
        )?;
    }
    Ok(pictures)
}

/// The effect of every other parameter that the sweep varies: bandwidth over it at the corners of alpha and L, the
/// remaining parameters at their most frequent values.
pub fn of_parameters(folder: &Folder, table: &Table, rows: &[usize]) -> Result<Vec<Picture>> {
    let keys = key_columns(table, rows)?;
    let mut pictures = Vec::new();
    for &axis in &keys {
        let numeric = rows.iter().any(|&row| !table.number(axis, row).is_nan());
        if !numeric {
            continue;
        }
        let mut chosen: Vec<usize> = rows.iter().copied().filter(|&row| !table.number(axis, row).is_nan()).collect();
        for &other in keys.iter().filter(|&&key| key != axis) {
            chosen = at_most_frequent(table, chosen, other, axis)?;
        }
        chosen = corners(table, chosen);
        if cells(table, &chosen, &[axis], BANDWIDTH)?.len() < 2 {
            continue;
        }
        let title = format!("Effect of {}", columns::describe(axis).label);
        let by = [ALPHA, BLOCK].into_iter().filter(|name| table.column(name).is_some()).map(str::to_owned).collect();
        let request = Request { kind: Kind::Curves, title: title.clone(), x: axis.into(), by, z: BANDWIDTH.into() };
        // A parameter that moves together with others has no effect of its own to show.
        let Ok(drawn) = figure(table, &chosen, &request) else { continue };
        let caption = "Medians with 95 % intervals; other parameters at their most frequent values.".to_owned();
        pictures.push(picture(folder, &drawn, format!("effect-of-{}", columns::short(axis)), title, caption)?);
    }
    Ok(pictures)
}

/// Rows at the value of `column` that occurs with the most values of `axis`.
fn at_most_frequent(table: &Table, rows: Vec<usize>, column: &str, axis: &str) -> Result<Vec<usize>> {
    let mut best: Option<(usize, Vec<usize>)> = None;
    for cell in cells(table, &rows, &[column], "ranks")? {
        let spread = cells(table, &cell.rows, &[axis], "ranks")?.len();
        if best.as_ref().is_none_or(|(most, _)| spread > *most) {
            best = Some((spread, cell.rows));
        }
    }
    Ok(best.map_or(rows, |(_, rows)| rows))
}

/// Rows at the least, the middle and the largest alpha and L.
fn corners(table: &Table, rows: Vec<usize>) -> Vec<usize> {
    let picks = |name: &str| {
        let mut values: Vec<f64> = rows.iter().map(|&row| table.number(name, row)).filter(|v| !v.is_nan()).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        let last = values.len().saturating_sub(1);
        [0, last / 2, last].map(|at| values.get(at).copied())
    };
    let (alphas, blocks) = (picks(ALPHA), picks(BLOCK));
    let ends = [(0, 0), (0, 2), (1, 1), (2, 0), (2, 2)];
    let wanted = |row: &usize| {
        let is = |name: &str, value: Option<f64>| value.is_none_or(|value| table.number(name, *row) == value);
        ends.iter().any(|&(a, b)| is(ALPHA, alphas[a]) && is(BLOCK, blocks[b]))
    };
    rows.iter().copied().filter(wanted).collect()
}

fn picture(folder: &Folder, drawn: &Figure, file: String, title: String, caption: String) -> Result<Picture> {
    let svg = figure::svg(drawn)?;
    folder.replace_text(&folder.figures().join(format!("{file}.svg")), &svg)?;
    figure::png(drawn, &folder.figures().join(format!("{file}.png")))?;
    Ok(Picture { file, title, caption, svg })
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}
