//! Checks of a campaign before it runs: the result folder, memory and NUMA nodes.

use super::Campaign;
use crate::drive::plan::{Entry, largest_memory};
use crate::{drive::cost, launch::LocalMachine, sweep::Machine};
use apexmap_base::error::{Error, Result};
use apexmap_base::point::Point;
use apexmap_base::terminal::note;
use apexmap_base::units::{self, plural};
use apexmap_measure::hardware::Hardware;
use apexmap_results::disk::{Folder, manifest::Manifest};
use std::collections::HashSet;

impl Campaign {
    /// Describes the result folder if it holds another sweep: no common point, or another name and other points.
    pub fn other_sweep(&self) -> Result<Option<String>> {
        let folder = Folder { path: self.folder.clone() };
        let Some(planned) = folder.planned_points()?.filter(|points| !points.is_empty()) else { return Ok(None) };
        let name = Manifest::read(&folder).map(|manifest| manifest.name);
        let labels: HashSet<String> = self.sweep.points.iter().map(Point::label).collect();
        let common_points = planned.iter().filter(|point| labels.contains(&point.label())).count();
        let is_same = common_points == planned.len() && common_points == labels.len();
        let is_renamed = name.as_ref().is_ok_and(|name| *name != self.sweep.name) && !is_same;
        // An edited sweep keeps its name and some of its points. It continues this result.
        Ok((common_points == 0 || is_renamed).then(|| {
            let name = name.map_or_else(|_| "whose name cannot be read".into(), |name| format!("\"{name}\""));
            format!(
                "{name}: it has {}, {common_points} of them in \"{}\"",
                plural(planned.len(), "point"),
                self.sweep.name
            )
        }))
    }

    /// Checks that the result folder holds no other sweep's result and no imported one. With `replace`, moves any result in it aside.
    pub fn check_result_folder(&self, replace: bool) -> Result<()> {
        let folder = Folder { path: self.folder.clone() };
        if self.folder.is_file() {
            let message = format!("{} is a file, not a folder", self.folder.display());
            return Err(Error::input(message, "--out results/mine"));
        }
        if replace {
            if folder.points().is_file() || folder.manifest().is_file() {
                note(&format!("note: the earlier result is now {}", folder.move_aside()?.display()));
            }
            return Ok(());
        }
        let imported = Manifest::read(&folder).ok().and_then(|manifest| manifest.imported);
        let contents = match (imported, self.other_sweep()?) {
            (Some(import), _) => format!("a result {}, which cannot be measured into", import.label()),
            (None, Some(other)) => format!("the result of another sweep, {other}"),
            (None, None) => return Ok(()),
        };
        let path = self.folder.display();
        Err(Error::input(
            format!("{path} holds {contents}"),
            format!(
                "choose another folder with --out, or start afresh with --replace, which keeps the other result as {path}.1"
            ),
        ))
    }

    /// A warning if ranks of MPICH share hardware threads.
    pub fn oversubscription_warning(&self) -> Option<String> {
        let ranks = self.plan.entries.iter().map(|entry| entry.point.ranks).max()?;
        cost::spins_oversubscribed(&self.plan.context, ranks).then(|| {
            format!(
                "up to {ranks} ranks of MPICH share {} of this machine. They do not yield their core while they wait, so every \
                 barrier takes milliseconds; use fewer ranks, or Open MPI, whose ranks yield",
                plural(Hardware::this_machine().hardware_threads(), "hardware thread"),
            )
        })
    }

    /// Checks that this machine has the memory and the NUMA nodes of all points, unless ranks may run on other machines.
    pub fn check_machine(&self) -> Result<()> {
        let machine = LocalMachine::detect();
        if machine.nodes > 1 || self.plan.context.launcher.remote {
            return Ok(());
        }
        self.check_numa_nodes()?;
        let (bytes, ranks) = largest_memory(&self.plan);
        let hardware = Hardware::this_machine();
        let memory = hardware.usable_memory_bytes().unwrap_or(u64::MAX);
        // Unknown memory is u64::MAX, so the division comes before the product.
        if bytes <= memory / 10 * 9 {
            return Ok(());
        }
        let subject = if ranks == 1 { "one rank needs".into() } else { format!("{ranks} ranks need a total of") };
        let (bytes, memory) = (units::bytes(bytes as f64), units::bytes(memory as f64));
        let owner = match hardware.memory_limit_bytes.is_some_and(|limit| Some(limit) < hardware.memory_bytes) {
            true => "the control group of this process (of a container or a job)",
            false => "this machine",
        };
        Err(Error::input(
            format!("{}: {subject} {bytes}, but {owner} has {memory}", self.sweep.path.display()),
            "reduce M, the number of ranks, or the index arrays (I, N)",
        ))
    }

    fn check_numa_nodes(&self) -> Result<()> {
        let Machine { numa_cores, memory_nodes, .. } = Machine::detect();
        let core_nodes = numa_cores.into_keys().collect();
        for (name, subject, nodes) in [("memory_node", "memory", memory_nodes), ("core_node", "cores", core_nodes)] {
            let node_of = |entry: &Entry| Some(entry.point.params.get(name)?.as_f64()? as usize);
            // A system that reports no nodes refuses none.
            let mut points = self.plan.entries.iter().filter_map(node_of).filter(|_| !nodes.is_empty());
            if let Some(node) = points.find(|node| !nodes.contains(node)) {
                let list: Vec<String> = nodes.iter().map(usize::to_string).collect();
                return Err(Error::input(
                    format!(
                        "{}: {name} = {node}: this process may use {subject} of NUMA node {} only",
                        self.sweep.path.display(),
                        list.join(", ")
                    ),
                    format!("name only these nodes, or write {name} = \"all\" in [axes]"),
                ));
            }
        }
        Ok(())
    }
}
