//! The hosts of a campaign, for launchers that accept them.

use super::Request;
use crate::launch::HostsSource;
use crate::launch::hosts::{self, Hosts};
use crate::submit::parts;
use crate::sweep::Sweep;
use crate::sweep::plan::Plan;
use apexmap_base::error::{Error, Result};
use apexmap_base::point::LaunchSize;
use apexmap_base::units::plural;

/// Returns the hosts of the request or the sweep, empty if the launcher chooses, and the ranks on each node.
///
/// # Errors
/// If the launcher does not accept the hosts, or needs hosts.
pub fn choose_hosts(
    sweep: &Sweep,
    request: &Request,
    ranks_per_node: Option<usize>,
) -> Result<(Vec<String>, Option<usize>)> {
    let requested = hosts::choose_source(&request.hosts, request.hostfile.as_deref());
    match requested.as_ref().or(sweep.launch.hosts.as_ref()) {
        // Each launch gets the name of its node.
        _ if request.each_node.is_some() => Ok((Vec::new(), ranks_per_node)),
        Some(source) => {
            let hosts = read_hosts(sweep, source)?;
            let ranks = hosts.ranks_per_node(ranks_per_node)?;
            Ok((hosts.names, Some(ranks)))
        }
        None if sweep.launch.command.iter().any(|argument| argument.contains("{hosts}")) => {
            let message = "the command of launcher \"custom\" contains {hosts}, but no hosts are given";
            Err(Error::input(message, "add --hosts (such as --hosts node1,node2), or hosts to [launch]"))
        }
        None => Ok((Vec::new(), ranks_per_node)),
    }
}

/// Reads the hosts, if the launcher accepts hosts.
fn read_hosts(sweep: &Sweep, source: &HostsSource) -> Result<Hosts> {
    let launch = &sweep.launch;
    let hosts = source.read()?;
    match (launch.launcher.make)(&launch.command)?.takes_hosts() {
        true => Ok(hosts),
        false if launch.launcher.takes_command => Err(Error::input(
            "hosts are given, but the command of launcher \"custom\" does not contain {hosts}",
            "add {hosts} to the command (it becomes a list with commas), or remove the hosts",
        )),
        false => Err(Error::input(
            format!("launcher \"{}\" does not accept hosts", launch.launcher.id),
            "remove the hosts, or choose a launcher that accepts them, such as openmpi, mpich or srun",
        )),
    }
}

/// Checks that the largest launch has enough hosts.
pub fn check_host_count(plan: &Plan, hosts: &[String]) -> Result<()> {
    if hosts.is_empty() {
        return Ok(());
    }
    let needed = |size: LaunchSize| (parts::node_count(size, &plan.context).unwrap_or(size.ranks), size);
    match plan.by_size().into_keys().map(needed).max_by_key(|(nodes, _)| *nodes) {
        Some((nodes, size)) if nodes > hosts.len() => Err(Error::input(
            format!(
                "{size} take {}, but the list has {}: {}",
                plural(nodes, "host"),
                plural(hosts.len(), "host"),
                hosts.join(", ")
            ),
            "list more hosts, put more ranks on each with --ranks-per-node, or use fewer ranks in the sweep",
        )),
        _ => Ok(()),
    }
}
