//! The report of a sweep that each node ran alone: one page that names the slow nodes.

use super::head::Head;
use super::manifest;
use super::prelude::*;
use super::warnings::{self, Remarks};
use crate::html;
use apexmap_base::units::NumberStyle;
use apexmap_draw::figure::{Strip, StripItem};
use apexmap_study::nodes::{self, MIN_DIFFERENCE, NodeCheck, NodePoint, NodeRow, NodeValue, percent, remarks};
use serde_json::{Value, json};

const TEMPLATE: &str = include_str!("nodes.html");
const MAX_PICTURES: usize = 6;
/// Points with a table, and rows of all tables.
const MAX_POINTS: usize = 60;
const MAX_ROWS: usize = 4000;

#[derive(Serialize)]
struct Context<'a> {
    #[serde(flatten)]
    head: Head<'a>,
    sentence: String,
    rule: String,
    slow: bool,
    typed: bool,
    pictures: Vec<Picture>,
    undrawn: Vec<String>,
    nodes: Vec<Value>,
    point_count: usize,
    points: Vec<Value>,
    points_left_out: usize,
}

/// Returns warnings. `redrawn`: see [`Additions`](super::Additions).
pub fn make(folder: &Folder, samples: &Samples, redrawn: Option<&str>) -> Result<Vec<String>> {
    let manifest = manifest(folder)?;
    let current = samples.current();
    let check = nodes::compare(&current)?;
    let health = Health::from_samples(&current);
    let remarks = Remarks::new(&manifest, &current);
    let warnings = warnings::list(&manifest, &current, &remarks, samples.len() - current.len());
    let mut undrawn = Vec::new();
    let shown = choose_points(&check);
    let pictures = draw(folder, &check, &shown, &current, &mut undrawn)?;
    let mut labels: Vec<&str> = check.points.iter().map(|point| point.point.as_str()).collect();
    labels.dedup();
    let context = Context {
        head: Head::new((folder, &manifest), &current, &health, warnings.clone(), redrawn)?,
        sentence: check.sentence(),
        rule: check.rule(),
        slow: !check.slow_nodes().is_empty(),
        typed: check.has_types(),
        pictures,
        undrawn,
        nodes: check.nodes.iter().map(row).collect(),
        point_count: labels.len(),
        points_left_out: check.points.len() - shown.len(),
        points: shown.into_iter().map(point_table).collect(),
    };
    let page = html::render(TEMPLATE, &context)?;
    html::remove_unmade(&folder.figures(), &page)?;
    folder.replace_text(&folder.report(), &page)?;
    Ok(warnings)
}

fn choose_points(check: &NodeCheck) -> Vec<&NodePoint> {
    let mut points: Vec<&NodePoint> = check.points.iter().collect();
    let slowest = |point: &NodePoint| point.nodes.first().map_or(0.0, |node| node.difference);
    let is_fine = |point: &NodePoint| !point.nodes.iter().any(|node| node.slow);
    points.sort_by(|a, b| is_fine(a).cmp(&is_fine(b)).then(slowest(a).total_cmp(&slowest(b))));
    let rows = points.iter().scan(0, |rows, point| {
        *rows += point.nodes.len();
        Some(*rows)
    });
    let fitting = rows.take_while(|rows| *rows <= MAX_ROWS).count().clamp(1, MAX_POINTS);
    points.truncate(fitting);
    points
}

fn draw(
    folder: &Folder,
    check: &NodeCheck,
    points: &[&NodePoint],
    samples: &Samples,
    undrawn: &mut Vec<String>,
) -> Result<Vec<Picture>> {
    let figures = folder.figures();
    std::fs::create_dir_all(&figures).map_err(|e| Error::file("create", &figures, e))?;
    let mut pictures = Vec::new();
    let mut add = |strip: Strip, file: String, caption: String| -> Result<()> {
        let title = strip.title.clone();
        pictures.extend(Drawing::new(Figure::Strip(strip), file, title, caption).draw(&figures, undrawn)?);
        Ok(())
    };
    let band = format!("The band is the median of the nodes ± {:.0} %", 100.0 * MIN_DIFFERENCE);
    if check.points.len() > 1 {
        let caption =
            format!("Each node: its speed relative to the median of the nodes, as the median over all points. {band}.");
        add(overall(check, samples), "nodes".into(), caption)?;
    }
    for (number, point) in points.iter().take(MAX_PICTURES).enumerate() {
        let caption = format!("Medians of the nodes with 95 % intervals. {band}; diamonds are slow nodes.");
        add(at_point(point, check, samples), format!("nodes-{}", number + 1), caption)?;
    }
    Ok(pictures)
}

fn overall(check: &NodeCheck, samples: &Samples) -> Strip {
    let mut items: Vec<StripItem> = (check.nodes.iter())
        .filter_map(|row| {
            let value = 1.0 + row.difference?;
            Some(StripItem { name: row.node.clone(), value, interval: None, marked: row.slow_points > 0 })
        })
        .collect();
    items.sort_by(|a, b| a.value.total_cmp(&b.value));
    let points = plural(check.points.len(), "point");
    Strip {
        title: "Speed of the nodes over all points".into(),
        subtitle: samples.stamp_subtitle(format!("{}, median of {points}", plural(items.len(), "node"))),
        items_label: "nodes, from the slowest to the fastest".into(),
        value: Quantity::linear("speed relative to the median of the nodes", Unit::None),
        items,
        median: 1.0,
        expected: (1.0 - MIN_DIFFERENCE, 1.0 + MIN_DIFFERENCE),
    }
}

fn at_point(point: &NodePoint, check: &NodeCheck, samples: &Samples) -> Strip {
    let item = |node: &NodeValue| StripItem {
        name: node.node.clone(),
        value: node.median,
        interval: node.interval,
        marked: node.slow,
    };
    let described = samples.describe(point.column);
    let title = if check.has_types() { format!("{}, {}", point.point, point.node_type) } else { point.point.clone() };
    Strip {
        title,
        subtitle: samples.stamp_subtitle(plural(point.nodes.len(), "node")),
        items_label: "nodes, from the slowest to the fastest".into(),
        value: Quantity::linear(described.label, point.unit),
        items: point.nodes.iter().map(item).collect(),
        median: point.median,
        expected: (point.median * (1.0 - MIN_DIFFERENCE), point.median * (1.0 + MIN_DIFFERENCE)),
    }
}

fn row(row: &NodeRow) -> Value {
    let (worst, worst_point) =
        row.worst.clone().map_or_else(Default::default, |(difference, point)| (percent(difference), point));
    json!({
        "node": row.node,
        "node_type": row.node_type,
        "speed": row.difference.map_or("-".into(), percent),
        "slow": row.slow_points > 0,
        "slow_at": format!("{} of {}", row.slow_points, row.points),
        "worst": worst,
        "worst_point": worst_point,
        "samples": row.samples,
        "remarks": remarks(row),
    })
}

fn point_table(point: &NodePoint) -> Value {
    let slow: Vec<&str> = point.nodes.iter().filter(|node| node.slow).map(|node| node.node.as_str()).collect();
    json!({
        "label": point.point,
        "node_type": point.node_type,
        "column": point.column,
        "median": units::quantity(point.median, point.unit),
        "slow": slow.join(", "),
        "compared": point.compared,
        "nodes": point.nodes.iter().map(|node| point_row(node, point.unit)).collect::<Vec<_>>(),
    })
}

fn point_row(node: &NodeValue, unit: Unit) -> Value {
    let words = [(node.slow, "slow"), (node.disturbed, "DISTURBED")];
    let remarks: Vec<&str> = words.iter().filter(|(holds, _)| *holds).map(|(_, word)| *word).collect();
    json!({
        "node": node.node,
        "median": units::quantity(node.median, unit),
        "interval": node.interval.map_or(String::new(), |interval| units::interval(interval, unit)),
        "difference": percent(node.difference),
        "score": node.score.map_or(String::new(), |score| units::number(score, NumberStyle::Fixed(1))),
        "remarks": remarks.join(", "),
    })
}
