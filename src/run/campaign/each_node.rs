//! `--each-node`: every node runs all points of a sweep alone, so that slow nodes show.

use super::carriers::batch;
use super::carriers::batch::partition::{Listing, list_nodes};
use super::{Campaign, Planner, Request};
use crate::batch::BatchSystem;
use crate::batch::nodes::ListedNode;
use crate::batch::options::SubmitTable;
use crate::launch::{HostsSource, allocation, hosts};
use crate::sweep::Sweep;
use crate::sweep::plan::Entry;
use apexmap_base::error::{Error, Result};
use apexmap_base::point::{MAX_NODE_NAME, NODE, NodeName, Point};
use apexmap_base::terminal::note;
use apexmap_base::units::plural;
use apexmap_measure::comm::TransportKind;
use apexmap_results::disk::Folder;
use std::collections::{BTreeSet, HashSet};
use std::path::Path;

/// The nodes that each run all points of a sweep alone.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EachNode {
    names: BTreeSet<NodeName>,
}

impl EachNode {
    /// Returns the nodes with these names.
    ///
    /// # Errors
    /// If a name is not that of a host. Names become parts of scripts.
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

    /// Returns whether the nodes are not known yet.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Gives the sweep each of its points once per node, and its budget once per node. Nodes with samples in the result `folder` stay
    /// in the plan, even if they are down now.
    ///
    /// # Errors
    /// If a point does not fit on one node, or the result cannot be read.
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

/// Checks that one node can run a point.
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

/// Returns the nodes that have samples in a result of these points.
fn measured_nodes(folder: &Folder, points: &[Point]) -> Result<BTreeSet<String>> {
    let labels: HashSet<String> = points.iter().map(Point::label).collect();
    let is_same = |point: &Point| {
        let mut point = point.clone();
        point.params.remove(NODE);
        labels.contains(&point.label())
    };
    let entries: Vec<Entry> = folder.plan_lines()?.unwrap_or_default();
    let entries: Vec<Entry> =
        entries.into_iter().filter(|entry| entry.point.node().is_some() && is_same(&entry.point)).collect();
    if entries.is_empty() {
        return Ok(BTreeSet::new());
    }
    let records = folder.outcomes()?;
    let keys: HashSet<&str> =
        records.iter().flat_map(|record| &record.samples).map(|sample| sample.key.as_str()).collect();
    let measured = entries.iter().filter(|entry| keys.contains(entry.key.as_str()));
    Ok(measured.filter_map(|entry| entry.point.node().map(str::to_owned)).collect())
}

/// Finds the nodes: those of `--hosts`, `--hostfile` or the sweep, else those of the partition of its jobs, else those of this
/// allocation. Nodes that cannot run jobs are named and left out.
///
/// # Errors
/// If no source names nodes, no node can run jobs, or threads would have to start on other nodes.
pub fn find(request: &Request, flags: &SubmitTable) -> Result<EachNode> {
    let base = Planner::new(&Request { each_node: Some(EachNode::default()), ..request.clone() })?.plan()?;
    let source = hosts::choose_source(&request.hosts, request.hostfile.as_deref()).or(base.sweep.launch.hosts.clone());
    let given = source.as_ref().map(HostsSource::read).transpose()?.map(|hosts| hosts.names);
    if request.is_job {
        return EachNode::new(given.unwrap_or_default().iter().map(String::as_str));
    }
    if request.submit != BatchSystem::None || batch::is_wanted(&base)? {
        return find_usable(&base, flags, given);
    }
    if base.plan.context.transport == TransportKind::Threads {
        return Err(Error::input(
            "--each-node cannot start threads on other nodes, and the ranks of this sweep are threads",
            "add --submit, so that a job of each node starts them, or choose a sweep with transport = \"mpi\"",
        ));
    }
    if !(base.plan.context.launcher.make)(&base.sweep.launch.command)?.takes_hosts() {
        return Err(Error::input(
            format!("launcher \"{}\" does not accept hosts, so it cannot choose a node", base.plan.context.launcher.id),
            "choose openmpi, mpich, srun, pals or flux, or add {hosts} to the command of launcher \"custom\"",
        ));
    }
    let names = match given {
        Some(names) => names,
        None => allocation::list_nodes(|name| std::env::var(name).ok())?.ok_or_else(|| {
            Error::input(
                "--each-node does not know the nodes",
                "add --submit for all nodes of a partition, list them with --hosts n01,n02 or --hostfile FILE, or run in an allocation",
            )
        })?,
    };
    EachNode::new(names.iter().map(String::as_str))
}

/// Returns those of the `given` nodes, or of all nodes of the partition, that jobs may get.
fn find_usable(base: &Campaign, flags: &SubmitTable, given: Option<Vec<String>>) -> Result<EachNode> {
    let Listing { options, template, name, nodes } = list_nodes(base, flags)?;
    let (listed, program) = nodes.map_or_else(Default::default, |(table, _, program)| (table.nodes(), program));
    if listed.is_empty() {
        let names = given.ok_or_else(|| {
            Error::input(
                format!("{} does not list the nodes of {name}", template.name),
                "list them with --hosts n01,n02 or --hostfile FILE",
            )
        })?;
        return EachNode::new(names.iter().map(String::as_str));
    }
    if let Some(unknown) = given.iter().flatten().find(|node| listed.iter().all(|other| other.name != **node)) {
        let message = format!("according to {program}, {name} has no node {unknown}");
        return Err(Error::input(message, "correct the list of hosts, or choose another --partition"));
    }
    let is_given = |node: &ListedNode| given.as_ref().is_none_or(|names| names.contains(&node.name));
    let is_usable = |node: &ListedNode| template.is_usable(&node.state, options.reservation.is_some());
    let (usable, skipped): (Vec<_>, Vec<_>) = listed.into_iter().filter(is_given).partition(is_usable);
    let skipped_text: Vec<String> = skipped.iter().map(|node| format!("{} ({})", node.name, node.state)).collect();
    if usable.is_empty() {
        return Err(Error::environment(
            format!("no node of {name} can run a job now: {}", skipped_text.join(", ")),
            "wait until nodes are back, or choose another --partition; nodes of a reservation need --reservation",
        ));
    }
    if !skipped.is_empty() {
        let (left_out, used) = (plural(skipped.len(), "node"), plural(usable.len(), "node"));
        note(&format!("note: {left_out} of {name} cannot run a job now: {}; {used} remain", skipped_text.join(", ")));
    }
    EachNode::new(usable.iter().map(|node| node.name.as_str()))
}
