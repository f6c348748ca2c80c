//! The figures of a report.

use super::prelude::*;
use super::regimes;
use crate::html::{capitalize, file_name};
use apexmap_draw::figure::{Landmark, LandmarkStyle};
use apexmap_draw::plot::{FigureKind, Request, add_bounds, add_codes, figure};
use apexmap_results::table::derived_columns::SHARE;
use apexmap_study::answers::memory_sizes::RateStep;

/// The report lists further groups, which `apexmap plot` can draw.
pub const MAX_SURFACES: usize = 6;
/// Every point is in six figures, and a report should stay below 6 MB.
pub const MAX_POINTS: usize = 3500;
/// If a figure has more, some are drawn, evenly spread.
const MAX_CURVES: usize = 12;

#[derive(Serialize)]
pub struct GroupPictures {
    pub slices: Vec<Picture>,
    pub views: Vec<Picture>,
    pub bottleneck: Option<Picture>,
}

pub fn draw_group(input: &Input, group: &SampleGroup) -> Result<GroupPictures> {
    let label = group.plain_label(&input.node);
    let draw = |title: String, kind: FigureKind, name: &str, x: &str, by: &[&str], caption: &str| -> Result<Picture> {
        let z = if kind == FigureKind::Bottleneck { SHARE } else { group.headline };
        let request = Request { kind, title, x: x.into(), by: by.iter().map(|&by| by.into()).collect(), z: z.into() };
        let mut drawn = figure(&group.samples, &request)?;
        let mut caption = caption.to_owned();
        if let Figure::Curves(curves) = &mut drawn
            && curves.series.len() > MAX_CURVES
        {
            caption.push_str(&format!(" {MAX_CURVES} of {} curves.", curves.series.len()));
            let kept = evenly_spread(curves.series.len(), MAX_CURVES);
            curves.series = kept.into_iter().map(|index| curves.series[index].clone()).collect();
        }
        if kind == FigureKind::Surface {
            check_dense(group)?;
            drawn = add_bounds(&group.samples, &request, drawn)?;
        }
        if kind == FigureKind::Contour {
            drawn = add_codes(&group.samples, &request, drawn, &input.codes)?;
        }
        Drawing::new(drawn, file_name(name, &label), request.title, caption).picture(&input.folder.figures())
    };
    let add = |kind: FigureKind, name: &str, x: &str, by: &[&str], caption: &str| {
        let title = format!("{}: {label}", capitalize(name));
        input.if_drawable(&title, draw(title.clone(), kind, name, x, by, caption))
    };
    let (mut slices, mut views, mut bottleneck) = (Vec::new(), Vec::new(), None);
    let intervals = describe_medians(group.headline, &group.samples)?;
    if group.blocks.len() > 1 {
        // Uniform blocks have no alpha: draw a curve for each region, or for each remote share.
        let others = || group.samples.axes().into_iter().filter(|&axis| axis != BLOCK).collect();
        let (name, by) = match group.alphas.is_empty() {
            true => (group.samples.describe(group.headline).label + " over L", others()),
            false => ("bandwidth over L".to_owned(), vec![ALPHA]),
        };
        slices.extend(add(FigureKind::Curves, &name, BLOCK, &by, &intervals)?);
    }
    if group.alphas.len() > 1 {
        slices.extend(add(FigureKind::Curves, "bandwidth over alpha", ALPHA, &[BLOCK], &intervals)?);
    }
    if group.is_surface() {
        let caption = "Bandwidth per process over spatial locality L and temporal locality alpha (as in Figures 3 and 4 of \
                       the Apex-Map paper). Dots mark measured points.";
        views.extend(add(FigureKind::Surface, "performance surface", ALPHA, &[BLOCK], caption)?);
        let caption = "Lines of equal bandwidth (as in Figure 7 of the paper). Where lines run parallel to an axis, that kind \
                       of locality hardly matters. Diamonds are codes at their estimated alpha and L; `apexmap codes` lists them.";
        views.extend(add(FigureKind::Contour, "contours", BLOCK, &[ALPHA], caption)?);
        views.extend(add(FigureKind::Heat, "heat map", BLOCK, &[ALPHA], "Median of each measured point.")?);
        let caption = "Benefit of longer blocks: d log(bandwidth) / d log(L), the power of L with which the bandwidth grows. At 1 twice \
                       the block length gives twice the bandwidth, at 0 it has no effect. Central differences of the logarithms of \
                       the medians at neighbouring points; one-sided at the edges and next to missing points.";
        views.extend(add(FigureKind::Elasticity, "elasticity in L", BLOCK, &[ALPHA], caption)?);
        if group.samples.has(SHARE) {
            let caption = "The limit that is the bottleneck at each point, and the fraction of it that was reached.";
            bottleneck = add(FigureKind::Bottleneck, "bottleneck", BLOCK, &[ALPHA], caption)?;
        }
    }
    Ok(GroupPictures { slices, views, bottleneck })
}

/// Most points have no value, as after an interrupted run: the surface would be an empty box.
fn check_dense(group: &SampleGroup) -> Result<()> {
    let (points, measured) = (group.alphas.len() * group.blocks.len(), group.measured_cells(group.headline)?.len());
    if 2 * measured >= points {
        return Ok(());
    }
    let help = "look at the heat map, or measure the rest";
    Err(Error::input(format!("only {measured} of its {points} points are measured"), help))
}

fn describe_medians(column: &str, samples: &Samples) -> Result<String> {
    let intervals =
        samples.cells(&["key"])?.iter().any(|cell| cell.summary(column).is_some_and(|s| s.interval.is_some()));
    Ok(match intervals {
        true => "Medians; the bands are their 95 % intervals (see Method).".into(),
        false => "Medians, without intervals: too few samples.".into(),
    })
}

pub fn evenly_spread(count: usize, most: usize) -> Vec<usize> {
    let spread = |k: usize| k * (count - 1) / (most - 1).max(1);
    if count <= most { (0..count).collect() } else { (0..most).map(spread).collect() }
}

/// One figure for each parameter that the sweep varies, with all kernels of one headline.
pub fn draw_effects(input: &Input) -> Result<Vec<Picture>> {
    let samples = input.samples;
    let mut by_headline: Vec<(&str, Vec<usize>)> = Vec::new();
    for (kernel, samples) in &input.kernels {
        let (headline, rows) = (samples.headline(kernel), samples.rows());
        match by_headline.iter_mut().find(|(column, _)| *column == headline) {
            Some((_, group_rows)) => group_rows.extend(rows),
            None => by_headline.push((headline, rows.to_vec())),
        }
    }
    let mut pictures = Vec::new();
    let several = by_headline.len() > 1;
    for (headline, rows) in by_headline {
        let suffix = if several { format!("-{}", headline.replace('_', "-")) } else { String::new() };
        let samples = samples.with_rows(rows);
        let keys = samples.key_columns();
        for &axis in &keys {
            let Some((request, chosen)) = effect(&samples, &keys, axis, headline)? else { continue };
            let Some(mut drawn) = input.if_drawable(&request.title, figure(&chosen, &request))? else { continue };
            if let (Figure::Curves(curves), "memory_words") = (&mut drawn, axis) {
                curves.marks = size_marks(input, &chosen);
            }
            let medians = describe_medians(headline, &chosen)?;
            let caption = format!("{medians} Other parameters have the values in the line below the title.");
            let file = format!("effect-of-{}{suffix}", columns::short(axis));
            if let Some(efficiency) = efficiency(&drawn, axis, headline) {
                let caption = "Rate per rank on P ranks / rate of a single rank, from medians; intervals, if any, are those \
                     of the rate.";
                let file = format!("efficiency{suffix}");
                pictures.extend(input.draw(Drawing::new(efficiency, file, "Parallel efficiency", caption))?);
            }
            let drawn = add_bounds(&chosen, &request, drawn)?;
            pictures.extend(input.draw(Drawing::new(drawn, file, request.title, caption))?);
        }
    }
    Ok(pictures)
}

/// With its samples; `None` if the parameter has no effect to show.
fn effect(samples: &Samples, keys: &[&str], axis: &str, headline: &str) -> Result<Option<(Request, Samples)>> {
    let chosen = samples.filter_rows(|row| !samples.table().number(axis, row).is_nan());
    let surface = chosen.has(ALPHA);
    let is_word = |name: &&str| samples.column(name).is_some_and(|column| column.is_words());
    let by: Vec<&str> = match surface {
        true => vec![ALPHA, BLOCK],
        // Uniform blocks have no alpha.
        false => keys.iter().copied().filter(is_word).chain([BLOCK]).filter(|name| chosen.varies(name)).collect(),
    };
    let others: Vec<&str> = keys.iter().copied().filter(|&key| key != axis && !by.contains(&key)).collect();
    let chosen = match surface {
        true => select_corners(chosen, &others, axis)?,
        false => select_curves(chosen, &others, axis, &by)?,
    };
    // A parameter that follows from those of the curves varies between the curves, but not along any.
    if !chosen.cells(&by)?.iter().any(|curve| curve.samples.varies(axis)) {
        return Ok(None);
    }
    let title = format!("{} over {}", capitalize(&samples.describe(headline).label), columns::describe(axis).label);
    let by = by.into_iter().map(str::to_owned).collect();
    Ok(Some((Request { kind: FigureKind::Curves, title, x: axis.into(), by, z: headline.into() }, chosen)))
}

/// As memory follows the ranks, and the number of messages their length.
fn follows(samples: &Samples, other: &str, axis: &str) -> Result<bool> {
    let cells = match axis {
        "ranks" | "message_bytes" => samples.cells(&[axis])?,
        _ => Vec::new(),
    };
    Ok(!cells.is_empty() && cells.iter().all(|cell| cell.samples.is_constant(other)))
}

/// Each remaining parameter has the value of most points.
fn select_corners(mut chosen: Samples, others: &[&str], axis: &str) -> Result<Samples> {
    for &other in others {
        if other == "kernel" || !follows(&chosen, other, axis)? {
            chosen = select_most_frequent(chosen, other, axis)?;
        }
    }
    Ok(corners(&chosen))
}

/// A curve for each combination of words. The others have the values of most points, unless each curve has one value or they follow the axis.
fn select_curves(mut chosen: Samples, others: &[&str], axis: &str, by: &[&str]) -> Result<Samples> {
    for &other in others {
        let mut own = true;
        for curve in chosen.cells(by)? {
            own &= follows(&curve.samples, other, axis)? || !curve.samples.varies(other);
        }
        if !own {
            chosen = select_most_covering(&chosen, other, axis, by)?;
        }
    }
    let curves = chosen.cells(by)?.into_iter().filter(|curve| curve.samples.varies(axis));
    Ok(chosen.with_rows(curves.flat_map(|curve| curve.samples.rows().to_vec()).collect()))
}

/// The value that covers most points of the curves, and samples without a value.
fn select_most_covering(samples: &Samples, column: &str, axis: &str, by: &[&str]) -> Result<Samples> {
    let places: Vec<&str> = by.iter().copied().chain([axis]).collect();
    let mut kept = samples.filter_rows(|row| samples.table().value(column, row).is_none()).rows().to_vec();
    let mut best = (0, Vec::new());
    for cell in samples.cells(&[column])? {
        let covered = cell.samples.cells(&places)?.len();
        if covered > best.0 {
            best = (covered, cell.samples.rows().to_vec());
        }
    }
    kept.extend(best.1);
    Ok(samples.with_rows(kept))
}

/// Relative to one rank, if the curves include it.
fn efficiency(drawn: &Figure, axis: &str, headline: &str) -> Option<Figure> {
    let Figure::Curves(curves) = drawn else { return None };
    let mut curves = curves.clone();
    curves.series.retain(|series| series.points.iter().any(|point| point.x == 1.0 && point.y > 0.0));
    if axis != "ranks" || curves.series.is_empty() {
        return None;
    }
    for series in &mut curves.series {
        let single_rank = *series.points.iter().find(|point| point.x == 1.0)?;
        for point in &mut series.points {
            *point = point.ratio_to(&single_rank, if headline.ends_with("_per_rank") { 1.0 } else { point.x });
        }
    }
    curves.title = "Parallel efficiency".into();
    curves.y = Quantity::linear("parallel efficiency", Unit::None);
    Some(Figure::Curves(curves))
}

/// Global sizes in bytes where a rank's part exceeds a cache or the reach of the TLB, and the steps that the result shows.
pub fn size_marks(input: &Input, samples: &Samples) -> Vec<Landmark> {
    let ranks = samples.first_value("ranks").and_then(|value| value.as_f64()).unwrap_or(f64::NAN);
    let Some(launch) = input.launch_of(samples) else { return Vec::new() };
    let mark = |x: f64, label: String, style| Landmark { x, label, style };
    let reach = |page: f64| {
        let label = format!("TLB reach, {} pages", units::bytes(page));
        Some(mark(launch.host.tlb_reach(page)? * ranks, label, LandmarkStyle::Line))
    };
    let steps = input.answers.sizes.iter().flat_map(|sizes| &sizes.steps);
    let step = |step: &RateStep| mark(step.size, step.label(), LandmarkStyle::Range(step.from, step.to));
    let pages = input.samples.distinct_numbers("page_bytes").into_iter().filter(|bytes| *bytes > 0.0);
    let caches = regimes::rank_caches(launch, input.card.as_ref()).into_iter();
    let caches = caches.map(|cache| mark(cache.bytes * ranks, format!("L{}", cache.level), LandmarkStyle::Line));
    caches.chain(pages.filter_map(reach)).chain(steps.map(step)).filter(|mark| mark.x.is_finite()).collect()
}

/// The value of `column` with the most values of `axis`.
fn select_most_frequent(samples: Samples, column: &str, axis: &str) -> Result<Samples> {
    let mut best: Option<(usize, Samples)> = None;
    for cell in samples.cells(&[column])? {
        let spread = cell.samples.cells(&[axis])?.len();
        if best.as_ref().is_none_or(|(most, _)| spread > *most) {
            best = Some((spread, cell.samples));
        }
    }
    Ok(best.map_or(samples, |(_, chosen)| chosen))
}

/// At the smallest, the middle and the largest alpha and L.
fn corners(samples: &Samples) -> Samples {
    let picks = |name: &str| {
        let values = samples.distinct_numbers(name);
        let last = values.len().saturating_sub(1);
        [0, last / 2, last].map(|index| values.get(index).copied())
    };
    let (alphas, blocks) = (picks(ALPHA), picks(BLOCK));
    let ends = [(0, 0), (0, 2), (1, 1), (2, 0), (2, 2)];
    samples.filter_rows(|row| {
        let is = |name: &str, value: Option<f64>| value.is_none_or(|value| samples.table().number(name, row) == value);
        ends.iter().any(|&(a, b)| is(ALPHA, alphas[a]) && is(BLOCK, blocks[b]))
    })
}
