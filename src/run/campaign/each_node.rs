//! `--each-node`: every node runs all points of a sweep alone, so that slow nodes show.

use crate::{drive::plan::Entry, sweep::Sweep};
use apexmap_base::error::{Error, Result};
use apexmap_base::point::{MAX_NODE_NAME, NODE, NodeName, Point};
use apexmap_results::disk::Folder;
use std::collections::{BTreeSet, HashSet};
use std::path::Path;

/// The nodes that each run all points of a sweep alone.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EachNode {
    names: BTreeSet<NodeName>,
}

impl EachNode {
    /// The nodes with these names, which must be names of hosts, because they become parts of scripts.
    pub fn new<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Self> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
        let parse = |name: &str| match NodeName::from(name) {
            Ok(parsed) if !name.is_empty() && !name.starts_with('-') && name.chars().all(is_plain) => Ok(parsed),
            _ => Err(Error::input(
                format!("{name:?} is not the name of a node"),
                format!("name nodes as hosts, by at most {MAX_NODE_NAME} letters, digits, points and hyphens"),
            )),
        };
        Ok(Self { names: names.into_iter().map(parse).collect::<Result<_>>()? })
    }

    pub fn contains(&self, node: &str) -> bool {
        self.names.contains(node)
    }

    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether the nodes are not known yet.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Each point and the budget count once per node. Nodes with samples in `folder` stay in the plan, even if they are down now.
    pub fn apply(&self, sweep: &mut Sweep, ranks_per_node: Option<usize>, folder: Option<&Path>) -> Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        for point in &sweep.points {
            check_point(point, ranks_per_node)?;
        }
        let mut names: BTreeSet<String> = self.names.iter().map(|name| name.to_string()).collect();
        if let Some(path) = folder {
            names.extend(measured_nodes(&Folder { path: path.to_owned() }, &sweep.points)?);
        }
        // Nodes of earlier commands are not measured again, so they need no time.
        if let Some(budget) = &mut sweep.repeat.budget_seconds {
            *budget *= self.len() as f64;
        }
        let on_node = |name: &String| {
            sweep.points.iter().map(|point| point.clone().with_parameter(NODE, name.as_str())).collect::<Vec<_>>()
        };
        sweep.points = names.iter().flat_map(on_node).collect();
        Ok(())
    }
}

fn check_point(point: &Point, ranks_per_node: Option<usize>) -> Result<()> {
    let size = point.launch_size();
    let most_ranks = size.ranks_per_node.or(ranks_per_node).unwrap_or(usize::MAX);
    if size.nodes.unwrap_or(1) == 1 && size.ranks <= most_ranks {
        return Ok(());
    }
    Err(Error::input(
        format!("--each-node runs every point on one node, but {} does not fit on one", point.label()),
        "use a sweep of one node, such as stream, or leave out the points with more nodes: exclude = ['nodes > 1']",
    ))
}

fn measured_nodes(folder: &Folder, points: &[Point]) -> Result<BTreeSet<String>> {
    let labels: HashSet<String> = points.iter().map(Point::label).collect();
    let is_same = |point: &Point| {
        let mut point = point.clone();
        point.params.remove(NODE);
        labels.contains(&point.label())
    };
    let mut entries: Vec<Entry> = folder.plan_lines()?.unwrap_or_default();
    entries.retain(|entry| entry.point.node().is_some() && is_same(&entry.point));
    if entries.is_empty() {
        return Ok(BTreeSet::new());
    }
    let records = folder.outcomes()?;
    let keys: HashSet<&str> =
        records.iter().flat_map(|record| &record.samples).map(|sample| sample.key.as_str()).collect();
    let measured = entries.iter().filter(|entry| keys.contains(entry.key.as_str()));
    Ok(measured.filter_map(|entry| entry.point.node().map(str::to_owned)).collect())
}
