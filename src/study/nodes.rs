//! Compares the nodes of a sweep that each node ran alone, and names the slow ones.
//!
//! Nodes are compared at each point with the nodes of their type. A node is slow at a point if all of these hold:
//!
//! * its speed is more than 5 % below the median of the nodes;
//! * the distance is an outlier: in scaled median absolute deviations of the logarithms, it exceeds the limit for the number of
//!   comparisons, see [`outliers`]. The deviation is the larger of those at the point and over all points of the kernel, because
//!   few nodes may agree at one point by chance;
//! * the 95 % interval of the node's median, if known, does not reach the median of the nodes.

mod write;

pub use write::{csv, percent, remarks, text};

use apexmap_base::error::Result;
use apexmap_base::point::{NODE, Value};
use apexmap_base::units::Unit;
use apexmap_results::samples::{Samples, groups::key_label, health::Health};
use apexmap_results::table::{columns, quietness::Quietness};
use apexmap_theory::statistics::{median, outliers};
use serde::Serialize;
use std::collections::BTreeMap;

/// Differences of speed up to this share are never called slow.
pub const MIN_DIFFERENCE: f64 = 0.05;
/// Smallest number of nodes of a type that are compared. In simulations of three equal nodes, one sweep in five names a slow node.
pub const MIN_NODES: usize = 4;

/// The comparison of the nodes of a result. The fields are those of `apexmap query --each-node --format json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NodeCheck {
    /// Score that a slow node exceeds.
    pub limit: f64,
    /// Nodes, the slow ones first, then by their typical difference.
    pub nodes: Vec<NodeRow>,
    /// Points by kernel and type of node, in the order of their parameters.
    pub points: Vec<NodePoint>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NodeRow {
    pub node: String,
    pub node_type: String,
    /// Number of measured points, and of those at which the node is slow.
    pub points: usize,
    pub slow_points: usize,
    /// Difference of its speed from the median of the nodes: the median over all points. `None` without a measured point.
    pub difference: Option<f64>,
    /// The smallest such difference, and its point.
    pub worst: Option<(f64, String)>,
    pub samples: usize,
    pub failed_samples: usize,
    pub disturbed: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NodePoint {
    pub point: String,
    pub node_type: String,
    pub column: &'static str,
    #[serde(skip)]
    pub unit: Unit,
    pub median: f64,
    /// Whether there are enough nodes for a comparison.
    pub compared: bool,
    /// Sorted from the slowest to the fastest.
    pub nodes: Vec<NodeValue>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NodeValue {
    pub node: String,
    pub median: f64,
    pub interval: Option<(f64, f64)>,
    /// Difference of its speed from the median of the nodes: -0.1 is 10 % slower.
    pub difference: f64,
    /// Distance in scaled median absolute deviations, negative if slower; `None` if all nodes are equal.
    pub score: Option<f64>,
    pub slow: bool,
    pub disturbed: bool,
}

impl NodeCheck {
    pub fn slow_nodes(&self) -> Vec<&str> {
        self.nodes.iter().filter(|row| row.slow_points > 0).map(|row| row.node.as_str()).collect()
    }

    /// Whether any nodes were compared.
    pub fn is_decided(&self) -> bool {
        self.points.iter().any(|point| point.compared)
    }

    pub fn has_types(&self) -> bool {
        self.nodes.iter().any(|row| row.node_type != self.nodes[0].node_type)
    }
}

pub fn is_of_each_node(samples: &Samples) -> bool {
    samples.has(NODE)
}

/// `samples` are those of the current plan.
pub fn compare(samples: &Samples) -> Result<NodeCheck> {
    let (mut points, has_kernels) = (Vec::new(), samples.varies("kernel"));
    for (kernel, samples) in samples.kernels() {
        let about = kernel;
        let parameters = columns::point_columns(samples.table()).into_iter();
        let varying: Vec<&str> =
            parameters.filter(|name| ![NODE, "kernel"].contains(name) && samples.varies(name)).collect();
        let labelled = samples.independent_columns(&varying);
        let mut of_kernel = Vec::new();
        for point in samples.good().group_by(&varying) {
            let values = labelled.iter().filter_map(|name| Some((name.to_string(), point.first_value(name)?)));
            let mut key: Vec<(String, Value)> = values.collect();
            if has_kernels || key.is_empty() {
                key.insert(0, ("kernel".to_owned(), about.id.into()));
            }
            let mut types: BTreeMap<String, Vec<Samples>> = BTreeMap::new();
            for node in point.group_by(&[NODE]) {
                types.entry(node_type(&node)).or_default().push(node);
            }
            let compared =
                |(node_type, nodes)| compare_point(key_label(&key), node_type, samples.headline(about), nodes);
            of_kernel.extend(types.into_iter().filter_map(compared));
        }
        points.push(of_kernel);
    }
    let comparisons = points.iter().flatten().filter(|point| point.compared).map(|point| point.nodes.len()).sum();
    let limit = outliers::limit(comparisons);
    points.iter_mut().for_each(|points| judge(points, limit));
    let points: Vec<NodePoint> = points.into_iter().flatten().collect();
    Ok(NodeCheck { limit, nodes: rows(samples, &points), points })
}

/// In results without types of nodes, its processor.
fn node_type(samples: &Samples) -> String {
    let column = if samples.has("node_type") { "node_type" } else { "cpu_model" };
    samples.first_word(column).to_owned()
}

/// A point on nodes of one type, without scores.
fn compare_point(point: String, node_type: String, column: &'static str, nodes: Vec<Samples>) -> Option<NodePoint> {
    let unit = nodes[0].describe(column).unit;
    let value = |samples: Samples| {
        let summary = samples.summary(column).filter(|summary| summary.median > 0.0)?;
        Some(NodeValue {
            node: samples.first_word(NODE).to_owned(),
            median: summary.median,
            interval: summary.interval,
            difference: 0.0,
            score: None,
            slow: false,
            disturbed: Health::from_samples(&samples).verdict() == Quietness::Disturbed,
        })
    };
    let mut nodes: Vec<NodeValue> = nodes.into_iter().filter_map(value).collect();
    let logs: Vec<f64> = nodes.iter().map(|node| node.median.ln()).collect();
    let median = median(&logs)?.exp();
    for node in &mut nodes {
        node.difference = speed(node.median, unit) / speed(median, unit) - 1.0;
    }
    nodes.sort_by(|a, b| a.difference.total_cmp(&b.difference));
    let compared = nodes.len() >= MIN_NODES;
    Some(NodePoint { point, node_type, column, unit, median, compared, nodes })
}

fn speed(value: f64, unit: Unit) -> f64 {
    if unit == Unit::Seconds { 1.0 / value } else { value }
}

fn judge(points: &mut [NodePoint], limit: f64) {
    let residual = |node: &NodeValue| (1.0 + node.difference).ln();
    let mut of_types: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for point in points.iter().filter(|point| point.compared) {
        of_types.entry(point.node_type.clone()).or_default().extend(point.nodes.iter().map(residual));
    }
    for point in points.iter_mut().filter(|point| point.compared) {
        let of_point: Vec<f64> = point.nodes.iter().map(residual).collect();
        let deviations =
            [&of_point, &of_types[&point.node_type]].map(|residuals| outliers::median_deviation(residuals));
        let scale = outliers::deviation_factor(point.nodes.len()) * deviations[0].max(deviations[1]);
        let middle = speed(point.median, point.unit);
        for node in &mut point.nodes {
            // Without deviations, the scale is 0.
            node.score = Some(residual(node) / scale).filter(|score| score.is_finite());
            let is_outlier = residual(node) < -limit * scale;
            let ends = node.interval.map(|(low, high)| [low, high].map(|end| speed(end, point.unit)));
            let is_certain = ends.is_none_or(|ends| ends.iter().all(|end| *end < middle));
            node.slow = node.difference < -MIN_DIFFERENCE && is_outlier && is_certain;
        }
    }
}

fn rows(samples: &Samples, points: &[NodePoint]) -> Vec<NodeRow> {
    let row = |samples: Samples| {
        let node = samples.first_word(NODE);
        let value_at = |point: &NodePoint| point.nodes.iter().find(|value| value.node == node).cloned();
        let values: Vec<(NodeValue, &NodePoint)> =
            points.iter().filter_map(|point| Some((value_at(point)?, point))).collect();
        let differences: Vec<f64> = values.iter().map(|(value, _)| value.difference).collect();
        let worst = values.iter().min_by(|(a, _), (b, _)| a.difference.total_cmp(&b.difference));
        let good = samples.good();
        NodeRow {
            node: node.to_owned(),
            node_type: node_type(&samples),
            points: values.len(),
            slow_points: values.iter().filter(|(value, _)| value.slow).count(),
            difference: median(&differences),
            worst: worst.map(|(value, point)| (value.difference, point.point.clone())),
            samples: good.len(),
            failed_samples: samples.len() - good.len(),
            disturbed: Health::from_samples(&good).verdict() == Quietness::Disturbed,
        }
    };
    let named = samples.group_by(&[NODE]).into_iter().filter(|node| !node.first_word(NODE).is_empty());
    let mut rows: Vec<NodeRow> = named.map(row).collect();
    let order = |row: &NodeRow| (row.slow_points == 0, row.difference.unwrap_or(f64::NEG_INFINITY));
    rows.sort_by(|a, b| {
        let ((a_fine, a_difference), (b_fine, b_difference)) = (order(a), order(b));
        a_fine.cmp(&b_fine).then(a_difference.total_cmp(&b_difference)).then(a.node.cmp(&b.node))
    });
    rows
}
