//! Finds the nodes of `--each-node`.

use crate::jobs::partition::{Listing, list_nodes};
use crate::{batch::nodes::ListedNode, cluster::Cluster, jobs};
use apexmap_base::error::{Error, Result};
use apexmap_base::terminal::note;
use apexmap_base::units::plural;
use apexmap_measure::comm::TransportKind;
use apexmap_run::campaign::{Campaign, Request, each_node::EachNode};
use apexmap_run::launch::{HostsSource, allocation, hosts};

/// Those of the flags or the sweep, else of its partition, else of this allocation. Unusable ones are named and left out.
pub fn find(cluster: &Cluster, request: &Request) -> Result<EachNode> {
    let empty_request = Request { each_node: Some(EachNode::default()), ..request.clone() };
    let base = cluster.planner(&empty_request).plan()?;
    let source = hosts::choose_source(&request.hosts, request.hostfile.as_deref()).or(base.sweep.launch.hosts.clone());
    let given = source.as_ref().map(HostsSource::read).transpose()?.map(|hosts| hosts.names);
    if cluster.submits || jobs::is_wanted(&base) {
        return find_usable(&base, cluster, given);
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

/// Those of the `given` nodes, or of all nodes of the partition, that jobs may get.
fn find_usable(base: &Campaign, cluster: &Cluster, given: Option<Vec<String>>) -> Result<EachNode> {
    let Listing { options, system, name, nodes } = list_nodes(base, cluster)?;
    let (listed, program) = nodes.map_or_else(Default::default, |(table, _, program)| (table.nodes(), program));
    if listed.is_empty() {
        let names = given.ok_or_else(|| {
            Error::input(
                format!("{} does not list the nodes of {name}", system.template.name),
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
    let is_usable = |node: &ListedNode| system.template.is_usable(&node.state, options.reservation.is_some());
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
