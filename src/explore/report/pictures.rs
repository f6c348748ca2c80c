//! Which figures a result deserves.

use super::groups::{ALPHA, BLOCK, Group, kernels_of, key_columns, varies};
use crate::error::Result;
use crate::explore::figure::select::{Kind, Request, figure, with_bounds};
use crate::explore::figure::{Figure, Landmark, Quantity, Series};
use crate::explore::html::{Picture, capital, picture};
use crate::explore::store::bound_columns;
use crate::explore::store::cells::cells;
use crate::explore::store::manifest::Manifest;
use crate::explore::store::table::Column;
use crate::explore::store::{Folder, Table, columns};
use crate::provenance::Cache;
use crate::units::Unit;

/// Surfaces shown in full; further groups are named in the report and can be drawn with `apexmap plot`.
pub const MOST_SURFACES: usize = 6;
/// And points in all of them: every one is in five figures, and a page shall stay below 6 MB.
pub const MOST_POINTS: usize = 4000;
/// Curves in a figure; of more, some evenly spread are drawn.
const MOST_CURVES: usize = 12;

/// Figures of one group: surface, contours, heat map, and the curves of both axes.
pub fn of_group(folder: &Folder, table: &Table, group: &Group, number: usize) -> Result<Vec<Picture>> {
    let label = group.label();
    let mut pictures = Vec::new();
    let mut add = |kind: Kind, name: &str, x: &str, by: &str, caption: &str| -> Result<()> {
        let title = format!("{}: {label}", capital(name));
        let request = Request { kind, title, x: x.into(), by: vec![by.into()], z: group.headline.into() };
        let mut drawn = figure(table, &group.rows, &request)?;
        let mut caption = caption.to_owned();
        if let Figure::Curves(curves) = &mut drawn
            && curves.series.len() > MOST_CURVES
        {
            caption.push_str(&format!(" {MOST_CURVES} of {} curves.", curves.series.len()));
            thin(&mut curves.series);
        }
        if kind == Kind::Surface {
            drawn = with_bounds(table, &group.rows, &request, drawn)?;
        }
        let file = format!("{}-{number}", name.replace(' ', "-"));
        pictures.push(picture(&folder.figures(), &drawn, file, request.title, caption)?);
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
    if group.is_surface() && has_bounds(table, &group.rows) {
        let title = format!("What binds: {label}");
        let by = vec![ALPHA.into()];
        let request = Request { kind: Kind::Bottleneck, title, x: BLOCK.into(), by, z: bound_columns::SHARE.into() };
        let drawn = figure(table, &group.rows, &request)?;
        let caption = "The limit of the machine that binds at each point, and the share of it that was reached.";
        let file = format!("binding-{number}");
        pictures.push(picture(&folder.figures(), &drawn, file, request.title, caption.into())?);
    }
    Ok(pictures)
}

fn has_bounds(table: &Table, rows: &[usize]) -> bool {
    rows.iter().any(|&row| !table.number(bound_columns::SHARE, row).is_nan())
}

/// Leaves as many as can be told apart, evenly spread, the first and the last among them.
fn thin(series: &mut Vec<Series>) {
    let last = series.len() - 1;
    let kept: Vec<usize> = (0..MOST_CURVES).map(|k| k * last / (MOST_CURVES - 1)).collect();
    let mut at = 0..;
    series.retain(|_| at.next().is_some_and(|k| kept.contains(&k)));
}

/// The effect of every other parameter that the sweep varies, for all kernels judged by the same column together;
/// and, in words, what could not be drawn.
pub fn of_parameters(
    folder: &Folder,
    table: &Table,
    rows: &[usize],
    manifest: &Manifest,
) -> Result<(Vec<Picture>, Vec<String>)> {
    let mut by_headline: Vec<(&str, Vec<usize>)> = Vec::new();
    for (kernel, rows) in kernels_of(table, rows) {
        let headline = kernel.about().headline;
        match by_headline.iter_mut().find(|(known, _)| *known == headline) {
            Some((_, all)) => all.extend(rows),
            None => by_headline.push((headline, rows)),
        }
    }
    let (mut pictures, mut undrawn) = (Vec::new(), Vec::new());
    let several = by_headline.len() > 1;
    for (headline, rows) in by_headline {
        let which = if several { format!("-{}", headline.replace('_', "-")) } else { String::new() };
        let keys = key_columns(table, &rows)?;
        for &axis in &keys {
            let Some((request, chosen)) = effect(table, &rows, &keys, axis, headline)? else { continue };
            let mut drawn = match figure(table, &chosen, &request) {
                Ok(drawn) => drawn,
                Err(error) => {
                    undrawn.push(format!("{} is not drawn: {}.", request.title, error.what));
                    continue;
                }
            };
            if let (Figure::Curves(curves), "memory_words") = (&mut drawn, axis) {
                curves.marks = landmarks(table, &chosen, manifest);
            }
            let caption = "Medians with 95 % intervals; parameters not named are at the values of most points.";
            let file = format!("effect-of-{}{which}", columns::short(axis));
            if let Some(efficiency) = efficiency(&drawn, axis, headline) {
                let caption = "Rate of a rank among P over the rate of one alone, by the medians; intervals are those of the rate.";
                let file = format!("efficiency{which}");
                pictures.push(picture(
                    &folder.figures(),
                    &efficiency,
                    file,
                    "Parallel efficiency".into(),
                    caption.into(),
                )?);
            }
            let drawn = with_bounds(table, &chosen, &request, drawn)?;
            pictures.push(picture(&folder.figures(), &drawn, file, request.title, caption.into())?);
        }
    }
    Ok((pictures, undrawn))
}

/// What shows the effect of one parameter, and the rows for it. `None` if it has no effect to show.
fn effect(
    table: &Table,
    rows: &[usize],
    keys: &[&str],
    axis: &str,
    headline: &str,
) -> Result<Option<(Request, Vec<usize>)>> {
    let chosen: Vec<usize> = rows.iter().copied().filter(|&row| !table.number(axis, row).is_nan()).collect();
    let surface = chosen.iter().any(|&row| !table.number(ALPHA, row).is_nan());
    let is_word = |name: &&str| matches!(table.column(name), Some(Column::Words { .. }));
    let by: Vec<&str> = match surface {
        true => vec![ALPHA, BLOCK],
        false => keys.iter().copied().filter(is_word).filter(|name| varies(table, name, &chosen)).collect(),
    };
    let others: Vec<&str> = keys.iter().copied().filter(|&key| key != axis && !by.contains(&key)).collect();
    let chosen = match surface {
        true => at_corners(table, chosen, &others, axis, headline)?,
        false => by_words(table, chosen, &others, axis, &by)?,
    };
    if chosen.is_empty() || cells(table, &chosen, &[axis], headline)?.len() < 2 {
        return Ok(None);
    }
    let title = format!("{} over {}", capital(&columns::describe(headline).label), columns::describe(axis).label);
    let by = by.into_iter().map(str::to_owned).collect();
    Ok(Some((Request { kind: Kind::Curves, title, x: axis.into(), by, z: headline.into() }, chosen)))
}

/// Rows at the corners of alpha and L; the remaining parameters at the values of most points.
fn at_corners(
    table: &Table,
    mut chosen: Vec<usize>,
    others: &[&str],
    axis: &str,
    headline: &str,
) -> Result<Vec<usize>> {
    for &other in others {
        // What grows with the ranks, as memory does, goes with them; so does the number of messages with their length.
        let column = table.require(other)?;
        let may_follow = matches!(axis, "ranks" | "message_bytes") && other != "kernel";
        if may_follow
            && cells(table, &chosen, &[axis], headline)?.iter().all(|cell| columns::constant(column, &cell.rows))
        {
            continue;
        }
        chosen = at_most_frequent(table, chosen, other, axis)?;
    }
    Ok(corners(table, chosen))
}

/// Rows for a curve for every algorithm and other choice. The remaining parameters are at the values of most points, but
/// for those that an algorithm has at one value of its own, and those that go with the ranks, as memory does.
fn by_words(table: &Table, mut chosen: Vec<usize>, others: &[&str], axis: &str, by: &[&str]) -> Result<Vec<usize>> {
    let curves = |rows: &[usize]| -> Result<Vec<Vec<usize>>> {
        Ok(cells(table, rows, by, "ranks")?.into_iter().map(|cell| cell.rows).collect())
    };
    for &other in others {
        let column = table.require(other)?;
        let mut own = true;
        for curve in curves(&chosen)? {
            let parts = if matches!(axis, "ranks" | "message_bytes") {
                cells(table, &curve, &[axis], "ranks")?
            } else {
                Vec::new()
            };
            let follows = !parts.is_empty() && parts.iter().all(|cell| columns::constant(column, &cell.rows));
            own &= follows || !varies(table, other, &curve);
        }
        if !own {
            chosen = at_most_covering(table, chosen, other, axis, by)?;
        }
    }
    let mut kept = Vec::new();
    for curve in curves(&chosen)? {
        if varies(table, axis, &curve) {
            kept.extend(curve);
        }
    }
    Ok(kept)
}

/// Rows at the value of `column` that occurs at most places of the curves, and those that have no such value.
fn at_most_covering(table: &Table, rows: Vec<usize>, column: &str, axis: &str, by: &[&str]) -> Result<Vec<usize>> {
    let places: Vec<&str> = by.iter().copied().chain([axis]).collect();
    let (has, mut kept): (Vec<usize>, Vec<usize>) =
        rows.into_iter().partition(|&row| table.value(column, row).is_some());
    let mut best = (0, Vec::new());
    for cell in cells(table, &has, &[column], "ranks")? {
        let covered = cells(table, &cell.rows, &places, "ranks")?.len();
        if covered > best.0 {
            best = (covered, cell.rows);
        }
    }
    kept.extend(best.1);
    Ok(kept)
}

/// Curves over P become efficiencies against one rank, where there is one.
fn efficiency(drawn: &Figure, axis: &str, headline: &str) -> Option<Figure> {
    let Figure::Curves(curves) = drawn else { return None };
    let mut curves = curves.clone();
    curves.series.retain(|series| series.points.iter().any(|point| point.x == 1.0 && point.y > 0.0));
    if axis != "ranks" || curves.series.is_empty() {
        return None;
    }
    for series in &mut curves.series {
        let one = series.points.iter().find(|point| point.x == 1.0)?.y;
        for point in &mut series.points {
            let ideal = if headline.ends_with("_per_rank") { one } else { one * point.x };
            (point.y, point.low, point.high) = (point.y / ideal, point.low / ideal, point.high / ideal);
        }
    }
    curves.title = "Parallel efficiency".into();
    curves.y = Quantity { label: "parallel efficiency".into(), unit: Unit::None, log: false };
    Some(Figure::Curves(curves))
}

/// The global memory at which the ranks' shares outgrow a cache or the reach of the TLB.
fn landmarks(table: &Table, rows: &[usize], manifest: &Manifest) -> Vec<Landmark> {
    let Some(&row) = rows.first() else { return Vec::new() };
    let launch = manifest.launches.iter().find(|end| end.launch.launch == table.word("launch", row));
    let (Some(launch), ranks) = (launch, table.number("ranks", row)) else { return Vec::new() };
    let host = &launch.launch.host;
    let on_node = launch.launch.placement.iter().filter(|place| place.node == host.name).count().max(1) as u32;
    let words = |bytes: f64| bytes / 8.0 * ranks;
    let cache = |cache: &Cache| Landmark {
        x: words(cache.bytes as f64 / f64::from(cache.shared_by.min(on_node).max(1))),
        label: format!("L{}", cache.level),
    };
    let page = table.number("page_bytes", row);
    let entries = if page > 65536.0 { host.tlb_entries_2m } else { host.tlb_entries_4k };
    let reach = entries.map(|entries| Landmark { x: words(f64::from(entries) * page), label: "TLB reach".into() });
    host.caches.iter().map(cache).chain(reach).filter(|mark| mark.x.is_finite()).collect()
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
        let values = table.distinct(name, &rows);
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
