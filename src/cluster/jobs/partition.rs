//! Adapts a sweep to the partition of its jobs: to its nodes, and to its limits of time and nodes.

use super::{options::job_options, part::Part};
use crate::batch::nodes::{Limits, NodeTable};
use crate::{batch::System, cluster::Cluster};
use apexmap_base::error::{Error, Result};
use apexmap_base::terminal::note;
use apexmap_base::units::{self, plural};
use apexmap_run::campaign::{Campaign, Request};
use apexmap_run::drive::plan::largest_memory;
use apexmap_run::sweep::{Machine, submit_table::SubmitTable};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A partition or queue, as the batch system reports it.
pub struct Partition {
    /// For messages: `partition batch`.
    name: String,
    limits: Limits,
    program: String,
}

pub struct Listing {
    pub options: SubmitTable,
    pub system: System,
    pub name: String,
    /// With the requested features, the words that name this selection, and the program. `None` if the batch system reports no nodes.
    pub nodes: Option<(NodeTable, String, String)>,
}

pub fn list_nodes(campaign: &Campaign, cluster: &Cluster) -> Result<Listing> {
    let (options, template) = job_options(campaign, cluster)?;
    let name = options.partition.clone().map_or("the default partition".into(), |name| format!("partition {name}"));
    let system = System::new(template, PathBuf::from("."));
    let nodes = match system.nodes(options.partition.as_deref()) {
        Some((table, program)) => {
            let (table, selection) = apply_constraint(table, options.constraint.as_deref(), &program, &name)?;
            Some((table, selection, program))
        }
        None => None,
    };
    Ok(Listing { options, system, name, nodes })
}

/// Plans the sweep again for the nodes of its partition, if the batch system reports their size.
pub fn plan_for_nodes(
    campaign: Campaign,
    cluster: &Cluster,
    (name, nodes): (String, Option<(NodeTable, String, String)>),
    request: &Request,
) -> Result<(Campaign, Option<Partition>)> {
    let Some((table, selection, program)) = nodes else { return Ok((campaign, None)) };
    let is_wanted = |node: &str| request.each_node.as_ref().is_none_or(|nodes| nodes.contains(node));
    let table = table.filter_by_names(is_wanted);
    let Some(node) = table.size() else { return Ok((campaign, None)) };
    let limits = table.limits();
    let machine = Machine {
        cores: node.cores,
        hardware_threads: node.hardware_threads,
        cores_of_numa_node: Some(node.cores_of_socket),
        numa_cores: BTreeMap::new(),
        memory_nodes: Vec::new(),
        memory: node.memory,
        ..campaign.machine.clone()
    };
    let (cores, memory) = (plural(node.cores, "core"), units::bytes(node.memory as f64));
    let source = format!("according to {program}, a node of {name}{selection} has {cores} and {memory}");
    let mut campaign =
        Campaign { sized_for: Some(source.clone()), ..cluster.planner(request).with_machine(machine.clone()).plan()? };
    note(&format!("note: {source}; \"cores\" and sizes that depend on the machine use these numbers"));
    let needs_ranks_per_node = |campaign: &Campaign| {
        campaign.plan.by_size().into_keys().any(|size| campaign.plan.context.node_count(size).is_none())
    };
    if needs_ranks_per_node(&campaign) {
        // Neither the sweep nor the user sets the ranks per node.
        let request = Request { ranks_per_node: u32::try_from(node.cores).ok(), ..request.clone() };
        campaign =
            Campaign { sized_for: Some(source.clone()), ..cluster.planner(&request).with_machine(machine).plan()? };
        note(&format!(
            "note: each node gets {}, one per core; --ranks-per-node changes this",
            plural(node.cores, "rank")
        ));
    }
    let (bytes, ranks) = largest_memory(&campaign.plan);
    if bytes > node.memory {
        let (ranks, needed) = (plural(ranks, "rank"), units::bytes(bytes as f64));
        let message = format!("{}: {ranks} on a node take {needed}, but {source}", campaign.sweep.path.display());
        let help =
            "reduce M or the ranks per node, or choose another partition or nodes with more memory (--constraint)";
        return Err(Error::input(message, help));
    }
    Ok((campaign, Some(Partition { name, limits, program })))
}

fn apply_constraint(
    table: NodeTable,
    constraint: Option<&str>,
    program: &str,
    name: &str,
) -> Result<(NodeTable, String)> {
    let Some(constraint) = constraint else { return Ok((table, String::new())) };
    // The batch system itself judges a constraint with other syntax. The smallest node of the partition is then assumed.
    let Some(selected) = table.filter_by_features(constraint) else { return Ok((table, String::new())) };
    if selected.is_empty() && table.size().is_some() {
        let features: Vec<&str> = table.features().into_iter().collect();
        let features = if features.is_empty() { "none".to_owned() } else { features.join(", ") };
        return Err(Error::input(
            format!("according to {program}, no node of {name} has the features {constraint}"),
            format!("choose among the features of its nodes (--constraint): {features}"),
        ));
    }
    Ok((selected, format!(" with {constraint}")))
}

impl Partition {
    /// The requested time of a job in seconds, or else the longest one allowed. A job for which the partition is too small waits forever.
    pub fn limit_time(&self, requested: Option<f64>, has_qos: bool, parts: &[Part]) -> Result<Option<f64>> {
        let Self { name, limits, program } = self;
        let largest = parts.iter().max_by_key(|part| part.nodes);
        if let (Some(max_nodes), Some(part)) = (limits.nodes, largest)
            && part.nodes > max_nodes
        {
            let ranks_text =
                part.ranks_per_node.map_or(String::new(), |ranks| format!(" with {} on each", plural(ranks, "rank")));
            return Err(Error::input(
                format!(
                    "a job would need {}{ranks_text}, but according to {program}, {name} allows at most {max_nodes}",
                    plural(part.nodes, "node")
                ),
                "use fewer ranks in the sweep, more ranks per node (--ranks-per-node) or another partition (--partition)",
            ));
        }
        match (requested, limits.seconds) {
            // A QOS may allow more than the partition.
            (Some(limit), Some(max_seconds)) if limit > max_seconds && !has_qos => Err(Error::input(
                format!(
                    "a time limit of {} is too long: according to {program}, {name} allows at most {}",
                    units::seconds(limit),
                    units::seconds(max_seconds)
                ),
                "set a shorter time with --time-limit, or leave it out; what a job leaves, the next one measures",
            )),
            (requested, max_seconds) => Ok(requested.or(max_seconds)),
        }
    }
}
