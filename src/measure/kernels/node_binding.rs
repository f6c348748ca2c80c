//! The run of a point with its memory and its ranks on the requested NUMA nodes.

use super::{CORE_NODE, Kernel, Key, MEMORY_NODE, Outcome};
use crate::affinity;
use crate::comm::{Comm, Transport, World};
use crate::hardware::{Hardware, HardwareThread, PlacementOrder, place_ranks};
use crate::on_transport;
use apexmap_base::error::{Error, Result};
use apexmap_base::point::Point;
use apexmap_base::units::plural;

/// Runs a complete point with its memory and its ranks on the NUMA nodes that it names. Collective.
pub(crate) fn run_on_nodes(kernel: &Kernel, point: &Point, stream: u64, world: &mut World) -> Result<Outcome> {
    let number = |key: Key<u64>| key.get(point).map(|node| node as usize);
    world.arena.place_on_node(number(MEMORY_NODE))?;
    world.arena.share_hardware_threads(on_transport!(world.transport, comm => comm.ranks_on_node()));
    let _binding = number(CORE_NODE).map(|node| NodeBinding::bind(world.transport, node)).transpose()?;
    kernel.run(point, stream, world)
}

/// Binds this rank's thread to a hardware thread. Dropping it restores the previous binding.
pub struct NodeBinding {
    previous_processors: Vec<usize>,
}

impl NodeBinding {
    /// Binds rank r to core r of the node.
    pub fn bind(transport: Transport, node: usize) -> Result<Self> {
        let refuse = |message: String, help: &str| Err(Error::input(format!("core_node = {node}: {message}"), help));
        let (rank, ranks) = match transport {
            Transport::Threads(comm) => (comm.rank(), comm.size()),
            #[cfg(feature = "mpi")]
            Transport::Mpi(_) => {
                return refuse(
                    "ranks that are processes stay where their launcher put them".into(),
                    "set transport = \"threads\" in [launch], or leave core_node out",
                );
            }
            Transport::Simulated(_) => {
                return refuse("simulated ranks have no NUMA nodes".into(), "leave core_node out");
            }
        };
        let machine = Hardware::this_machine();
        let processor = match processor_for_rank(machine, node, rank, ranks) {
            Ok(processor) => processor,
            Err(message) => return refuse(message, "name another node, or use fewer ranks"),
        };
        let previous_processors = affinity::allowed_hardware_threads().unwrap_or_else(|| machine.allowed.clone());
        let binding = Self { previous_processors };
        affinity::bind(&[processor]);
        // `bind` does not report a refusal.
        match affinity::allowed_hardware_threads() {
            Some(current) if current != [processor] => {
                refuse("the system does not let ranks move".into(), "leave core_node out")
            }
            _ => Ok(binding),
        }
    }
}

impl Drop for NodeBinding {
    fn drop(&mut self) {
        affinity::bind(&self.previous_processors);
    }
}

pub fn processor_for_rank(machine: &Hardware, node: usize, rank: usize, ranks: usize) -> Result<usize, String> {
    let on_node = |thread: &&HardwareThread| thread.numa_node == Some(node);
    let node_threads: Vec<usize> = machine.usable().filter(on_node).map(|thread| thread.number).collect();
    let cores = place_ranks(&machine.threads, &node_threads, PlacementOrder::Compact);
    let mut core_threads: Vec<usize> = Vec::new();
    for number in cores {
        if core_threads.iter().all(|&other| !machine.share_one_core(&[number, other])) {
            core_threads.push(number);
        }
    }
    match core_threads.get(rank) {
        Some(&number) if ranks <= core_threads.len() => Ok(number),
        _ if core_threads.is_empty() => Err("no core that this process may use is on this NUMA node".into()),
        _ => Err(format!("the node has {} for {}", plural(core_threads.len(), "core"), plural(ranks, "rank"))),
    }
}
