//! The run of a point with its memory and its ranks on the requested NUMA nodes.

use super::{CORE_NODE, Kernel, MEMORY_NODE, Outcome};
use crate::affinity;
use crate::comm::{Comm, Transport, World};
use crate::hardware::{Hardware, HardwareThread, Place, order};
use crate::on_transport;
use apexmap_base::error::{Error, Result};
use apexmap_base::point::{Point, Value};
use apexmap_base::units::plural;

/// Runs a point with its memory and its ranks on the NUMA nodes that it names. Collective.
///
/// # Errors
/// Fails like [`Kernel::run`], and if the machine has no such node.
///
/// # Panics
/// Panics if the point is not complete.
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

/// Binds this rank's thread to a hardware thread of a NUMA node. Dropping it restores the previous binding.
pub struct OnNode {
    before: Vec<usize>,
}

impl OnNode {
    /// Binds rank r to core r of the node.
    ///
    /// # Errors
    /// Fails if ranks are processes, the node has fewer cores than ranks exist, or the system refuses.
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

/// Returns the hardware thread for a rank on a node, with one rank per core.
///
/// # Errors
/// Returns the reason if there is none.
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
