//! Memory that the ranks of a node share over MPI, and [`lines`](crate::comm::lines) in it.

use super::MpiComm;
use crate::comm::lines::{LineInbox, LineOutbox, Lines, Neighbour};
use crate::comm::{Path, ring::Count};
use mpi::collective::SystemOperation;
use mpi::environment::Universe;
use mpi::ffi;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{AsRaw, Communicator, CommunicatorCollectives};
use nix::sys::statvfs::statvfs;
use std::mem::MaybeUninit;
use std::os::raw::c_int;
use std::rc::Rc;
use std::thread::panicking;

pub(super) struct Node {
    pub comm: SimpleCommunicator,
    /// Ranks in the world, in the order of their ranks on the node.
    ranks: Vec<usize>,
}

impl Node {
    /// Collective over the world.
    pub fn new(world: &SimpleCommunicator) -> Self {
        let comm = world.split_shared(world.rank());
        let mut ranks = vec![0_u64; comm.size() as usize];
        comm.all_gather_into(&(world.rank() as u64), &mut ranks[..]);
        Self { comm, ranks: ranks.into_iter().map(|rank| rank as usize).collect() }
    }

    fn place(&self, rank: usize) -> Option<usize> {
        self.ranks.iter().position(|other| *other == rank)
    }
}

pub type NodeInbox = LineInbox<Rc<NodeMemory>>;
pub type NodeOutbox = LineOutbox<Rc<NodeMemory>>;

/// Dropping it is collective.
pub struct NodeMemory {
    window: ffi::MPI_Win,
    /// The start of each rank's part in this process, by rank on the node.
    parts: Vec<*mut u8>,
    _universe: Rc<Universe>,
}

impl NodeMemory {
    /// This rank's part has `bytes` of zeros, aligned as [`Count`] is. An error is that of one rank of the node. Collective over the node.
    fn allocate(comm: &MpiComm, bytes: usize) -> Result<Self, String> {
        let node = &comm.node.comm;
        // The parts follow each other, and each begins with the rest of a count that the alignment takes.
        let size = bytes.next_multiple_of(size_of::<Count>()) + size_of::<Count>();
        let (mut window, mut start) = (MaybeUninit::uninit(), std::ptr::null_mut::<u8>());
        // SAFETY: MPI writes the window and the start of the part.
        let code = unsafe {
            // With the default handler, an error would end all ranks before any of them could print advice.
            ffi::MPI_Comm_set_errhandler(node.as_raw(), ffi::RSMPI_ERRORS_RETURN);
            let (info, target) = (ffi::RSMPI_INFO_NULL, (&raw mut start).cast());
            ffi::MPI_Win_allocate_shared(size as ffi::MPI_Aint, 1, info, node.as_raw(), target, window.as_mut_ptr())
        };
        let mut failures = 0;
        node.all_reduce_into(&u64::from(code != ffi::MPI_SUCCESS as c_int), &mut failures, SystemOperation::sum());
        if failures > 0 {
            // A window that only some ranks have cannot be freed.
            return Err(format!("{size} bytes each: {}", super::window::error_text(code)));
        }
        // SAFETY: no rank failed, so MPI has written the window.
        let window = unsafe { window.assume_init() };
        let part = |rank: usize| {
            let (mut size, mut unit, mut start) = (0, 0, std::ptr::null_mut::<u8>());
            // SAFETY: the rank is one of the window's; MPI writes the three values.
            unsafe { ffi::MPI_Win_shared_query(window, rank as c_int, &mut size, &mut unit, (&raw mut start).cast()) };
            // The pages of the memory begin at the same place in all processes, so the result is the same byte for all ranks.
            start.wrapping_add(start.align_offset(align_of::<Count>()))
        };
        let parts: Vec<_> = (0..comm.node.ranks.len()).map(part).collect();
        // SAFETY: this part has `bytes` bytes after its alignment, and no rank uses it before the barrier.
        unsafe { parts[node.rank() as usize].write_bytes(0, bytes) };
        node.barrier();
        Ok(Self { window, parts, _universe: comm.universe.clone() })
    }
}

/// Where MPI libraries put shared memory: some wait for ever if it is full. Collective over the node.
fn has_room(comm: &MpiComm, bytes: usize) -> bool {
    let (node, mut total, mut refusals) = (&comm.node.comm, 0, 0);
    node.all_reduce_into(&(bytes as u64), &mut total, SystemOperation::sum());
    let room = statvfs("/dev/shm").map_or(0.0, |room| room.blocks_available() as f64 * room.fragment_size() as f64);
    node.all_reduce_into(&u64::from(room < 2.0 * total as f64), &mut refusals, SystemOperation::sum());
    refusals == 0
}

impl Drop for NodeMemory {
    fn drop(&mut self) {
        if !panicking() {
            // SAFETY: the last end of the rings is dropped, so that this rank no longer uses the memory. MPI waits for the others.
            unsafe { ffi::MPI_Win_free(&mut self.window) };
        }
    }
}

/// Opens lines with those peers that are on this node. Returns the sending end, and for each peer the receiving end, or `None` for
/// a peer on another node. Returns `None` if all peers get messages. Collective.
pub(super) fn open(
    comm: &MpiComm,
    peers: &[usize],
    path: Path,
    sends: usize,
    words: usize,
) -> Option<(Vec<Option<NodeInbox>>, NodeOutbox)> {
    let node = &comm.node;
    // Some libraries cannot create a window for a single rank.
    if path == Path::Messages || node.ranks.len() == 1 {
        return None;
    }
    let lines = Lines { ranks: node.ranks.len(), words, sends };
    let neighbour = |&rank: &usize| node.place(rank).map(|place| Neighbour { rank, place });
    let neighbours: Vec<Option<Neighbour>> = peers.iter().map(neighbour).collect();
    let local: Vec<Neighbour> = neighbours.iter().flatten().copied().collect();
    let bytes = lines.part_bytes(local.len());
    if path == Path::Auto && !has_room(comm, bytes) {
        return None;
    }
    let memory = match NodeMemory::allocate(comm, bytes) {
        Ok(memory) => Rc::new(memory),
        Err(_) if path == Path::Auto => return None,
        Err(reason) => panic!(
            "the ranks of a node cannot share {reason}; free space in /dev/shm and /tmp, or use within_node = \"messages\""
        ),
    };
    let part = |rank: usize| memory.parts[rank];
    // SAFETY: the memory is zeroed and new, and peers list each other once, as `mailbox_per_peer` requires.
    let (inboxes, outbox) =
        unsafe { lines.open(node.comm.rank() as usize, &local, (part, memory.clone()), || node.comm.barrier()) };
    let mut inboxes = inboxes.into_iter();
    Some((neighbours.iter().map(|neighbour| neighbour.and_then(|_| inboxes.next())).collect(), outbox))
}
