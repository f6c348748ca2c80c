//! The run of a point: its memory and its ranks on NUMA nodes, while it runs.

use super::{CORE_NODE, Kernel, MEMORY_NODE, Outcome};
use crate::affinity;
use crate::comm::{Comm, Transport, World};
use crate::hardware::{Hardware, HardwareThread, Place, order};
use crate::on_transport;
use apexmap_base::error::{Error, Result};
use apexmap_base::point::{Point, Value};
use apexmap_base::units::plural;

/// Runs a point, with its memory and its ranks on the NUMA nodes that it names. Collective.
///
/// # Errors
/// As [`Kernel::run`], and if the machine has no such node.
///
/// # Panics
/// If the point is not complete.
pub(crate) fn run(kernel: &dyn Kernel, point: &Point, stream: u64, world: &mut World) -> Result<Outcome> {
    let node = |name: &str| match point.params.get(name) {
        Some(Value::Integer(node)) => Some(*node as usize),
        _ => None,
    };
    world.arena.bind(node(MEMORY_NODE))?;
    world.arena.share_processors(on_transport!(&world.transport, comm => comm.ranks_on_node()));
    let _there = node(CORE_NODE).map(|node| OnNode::enter(world.transport, node)).transpose()?;
    kernel.run(point, stream, world)
}

/// This rank's thread on a hardware thread of the node; back where it may run otherwise when this is dropped.
pub struct OnNode {
    before: Vec<usize>,
}

impl OnNode {
    /// Puts rank r on the node's core r.
    ///
    /// # Errors
    /// If ranks are processes, the node has fewer cores than there are ranks, or the system refuses.
    pub fn enter(transport: Transport, node: usize) -> Result<Self> {
        let refuse = |what: String, next: &str| Err(Error::input(format!("core_node = {node}: {what}"), next));
        let (rank, ranks) = match transport {
            Transport::Threads(comm) => (comm.rank(), comm.size()),
            #[cfg(feature = "mpi")]
            Transport::Mpi(_) => {
                return refuse(
                    "ranks that are processes stay where their launcher put them".into(),
                    "set transport = \"threads\" in [launch], or leave core_node out",
                );
            }
        };
        let machine = Hardware::here();
        let processor = match processor(machine, node, rank, ranks) {
            Ok(processor) => processor,
            Err(what) => return refuse(what, "name another node, or use fewer ranks"),
        };
        let before = affinity::of_thread().unwrap_or_else(|| machine.allowed.clone());
        let there = Self { before };
        affinity::bind(&[processor]);
        match affinity::of_thread() {
            Some(now) if now != [processor] => {
                refuse("the system does not let ranks move".into(), "leave core_node out")
            }
            _ => Ok(there),
        }
    }
}

impl Drop for OnNode {
    fn drop(&mut self) {
        affinity::bind(&self.before);
    }
}

/// The hardware thread of a rank on the cores of a node, one rank on each core.
///
/// # Errors
/// Why there is none.
pub fn processor(machine: &Hardware, node: usize, rank: usize, ranks: usize) -> std::result::Result<usize, String> {
    let on_node = |thread: &&HardwareThread| thread.numa_node == Some(node);
    let own: Vec<usize> = machine.usable().filter(on_node).map(|thread| thread.number).collect();
    let cores = order(&machine.threads, &own, Place::Compact);
    let mut used: Vec<usize> = Vec::new();
    for number in cores {
        if used.iter().all(|&other| !machine.on_one_core(&[number, other])) {
            used.push(number);
        }
    }
    match used.get(rank) {
        Some(&number) if ranks <= used.len() => Ok(number),
        _ if used.is_empty() => Err("no core that this process may use is on this NUMA node".into()),
        _ => Err(format!("the node has {} for {}", plural(used.len(), "core"), plural(ranks, "rank"))),
    }
}
