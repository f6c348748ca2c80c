//! Messages between the ranks of a node through memory that they share.
//!
//! A sender copies a message once, into a place of its ring to the receiver, which reads it there. The rings are those of the threads
//! transport. A rank's part of the memory holds its part of the rings, a table with the place of its messages for each receiver, and
//! these messages.

use super::MpiComm;
use crate::comm::Collectives;
use crate::comm::ring::{self, Count};
use crate::comm::ring_layout::RingLayout;
use mpi::environment::Universe;
use mpi::ffi;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{AsRaw, Communicator, CommunicatorCollectives};
use std::mem::MaybeUninit;
use std::os::raw::c_int;
use std::rc::Rc;
use std::thread::panicking;

/// The ranks of this node.
pub(super) struct Node {
    pub comm: SimpleCommunicator,
    /// Their ranks in the world, in the order of their ranks on the node.
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

/// Memory that the ranks of a node share. Dropping it is collective.
struct NodeMemory {
    window: ffi::MPI_Win,
    /// The start of each rank's part in this process, by rank on the node.
    parts: Vec<*mut u8>,
    _universe: Rc<Universe>,
}

impl NodeMemory {
    /// Allocates this rank's part: `bytes` of zeros, aligned as [`Count`] is. Collective over the node.
    fn allocate(comm: &MpiComm, bytes: usize) -> Self {
        let node = &comm.node.comm;
        // The parts follow each other, and each begins with the rest of a count that the alignment takes.
        let size = bytes.next_multiple_of(size_of::<Count>()) + size_of::<Count>();
        let (mut window, mut start) = (MaybeUninit::uninit(), std::ptr::null_mut::<u8>());
        // SAFETY: MPI writes the window and the start of the part.
        let window = unsafe {
            // With the default handler, an error would end all ranks before any of them could print advice.
            ffi::MPI_Comm_set_errhandler(node.as_raw(), ffi::RSMPI_ERRORS_RETURN);
            let (info, target) = (ffi::RSMPI_INFO_NULL, (&raw mut start).cast());
            let code = ffi::MPI_Win_allocate_shared(
                size as ffi::MPI_Aint,
                1,
                info,
                node.as_raw(),
                target,
                window.as_mut_ptr(),
            );
            assert!(
                code == ffi::MPI_SUCCESS as c_int,
                "the ranks of a node cannot share {size} bytes each: {}; free space in /dev/shm and /tmp, or use within_node = \"messages\"",
                super::window::error_text(code)
            );
            window.assume_init()
        };
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
        Self { window, parts, _universe: comm.universe.clone() }
    }
}

impl Drop for NodeMemory {
    fn drop(&mut self) {
        if !panicking() {
            // SAFETY: the last end of the rings is dropped, so that this rank no longer uses the memory. MPI waits for the others.
            unsafe { ffi::MPI_Win_free(&mut self.window) };
        }
    }
}

/// The places of the messages from one rank to another, which they use in turn.
struct Places {
    start: *mut u64,
    /// Words of a place.
    words: usize,
    count: usize,
    next: usize,
}

impl Places {
    /// Returns the place of the next message, and advances.
    fn advance(&mut self) -> *mut u64 {
        let place = self.start.wrapping_add(self.next * self.words);
        self.next = if self.next + 1 == self.count { 0 } else { self.next + 1 };
        place
    }
}

/// The receiving end for messages from one rank of this node. A message in the ring is its number of words.
pub struct NodeInbox {
    sender: usize,
    ring: ring::Consumer<usize, Rc<NodeMemory>>,
    places: Places,
}

impl NodeInbox {
    pub fn take<R>(&mut self, read: impl FnOnce(usize, &[u64]) -> R) -> Option<R> {
        let (sender, places) = (self.sender, &mut self.places);
        self.ring.pop(|words| {
            // SAFETY: the sender has written this many words into this place before it put the message into the ring, and leaves
            // them there until the message is taken out of it, after this read.
            read(sender, unsafe { std::slice::from_raw_parts(places.advance(), *words) })
        })
    }
}

/// The sending end for messages to the ranks of this node.
pub struct NodeOutbox {
    /// By rank in the world.
    lines: Vec<Option<Box<Line>>>,
    /// Maximum number of messages that are not taken; the exact number may be smaller.
    pub in_flight: usize,
}

struct Line {
    ring: ring::Producer<usize, Rc<NodeMemory>>,
    places: Places,
}

impl NodeOutbox {
    pub fn reaches(&self, receiver: usize) -> bool {
        self.lines[receiver].is_some()
    }

    /// Counts the messages that are not taken.
    pub fn count(&mut self) -> usize {
        self.in_flight = self.lines.iter_mut().flatten().map(|line| line.ring.waiting()).sum();
        self.in_flight
    }

    /// Copies and sends a message. Returns `None` if the receiver is on another node, and whether the message was sent otherwise.
    pub fn send(&mut self, receiver: usize, words: &[u64]) -> Option<bool> {
        let line = self.lines[receiver].as_mut()?;
        assert!(words.len() <= line.places.words, "a message longer than its mailbox allows");
        if line.ring.is_full() {
            return Some(false);
        }
        // SAFETY: a place has this many words. The ring has a place for each of these, so the receiver has read the last message here.
        unsafe { line.places.advance().copy_from_nonoverlapping(words.as_ptr(), words.len()) };
        self.in_flight += 1;
        Some(line.ring.push(words.len()))
    }
}

/// Opens rings of `capacity` messages of up to `words` words to and from those peers that are on this node. Returns the sending end, and
/// for each peer the receiving end, or `None` for a peer on another node. Collective.
pub(super) fn open(
    comm: &MpiComm,
    peers: &[usize],
    capacity: usize,
    words: usize,
) -> (Vec<Option<NodeInbox>>, NodeOutbox) {
    let (own, ranks) = (comm.node.comm.rank() as usize, comm.node.ranks.len());
    let layout = RingLayout::<usize>::new(ranks, capacity);
    let line_bytes = (capacity * words * size_of::<u64>()).next_multiple_of(size_of::<Count>());
    let first_line = (layout.bytes() + ranks * size_of::<u64>()).next_multiple_of(size_of::<Count>());
    let local: Vec<(usize, usize)> = peers.iter().filter_map(|&peer| Some((peer, comm.node.place(peer)?))).collect();
    let memory = Rc::new(NodeMemory::allocate(comm, first_line + local.len() * line_bytes));
    let part = |rank: usize| memory.parts[rank].cast_const();
    // In each part, the place of the messages to each rank.
    let line_offset =
        |sender: usize, receiver: usize| part(sender).wrapping_add(layout.bytes()).cast::<u64>().wrapping_add(receiver);
    for (number, (_, place)) in local.iter().enumerate() {
        // SAFETY: the table lies in this rank's part, and the others read it after the barrier.
        unsafe { line_offset(own, *place).cast_mut().write((first_line + number * line_bytes) as u64) };
    }
    comm.barrier();
    let places = |sender: usize, receiver: usize| {
        // SAFETY: the sender has written the place before the barrier.
        let offset = unsafe { line_offset(sender, receiver).read() } as usize;
        Places { start: memory.parts[sender].wrapping_add(offset).cast(), words, count: capacity, next: 0 }
    };
    let mut lines: Vec<_> = (0..comm.size).map(|_| None).collect();
    for &(peer, place) in &local {
        // SAFETY: the memory holds the rings, was zeroed, and is aligned; each rank lists a peer once.
        let ring = unsafe { ring::Producer::new(layout.ring(part, own, place), memory.clone()) };
        lines[peer] = Some(Box::new(Line { ring, places: places(own, place) }));
    }
    let inbox = |&peer: &usize| {
        let place = comm.node.place(peer)?;
        // SAFETY: as above.
        let ring = unsafe { ring::Consumer::new(layout.ring(part, place, own), memory.clone()) };
        Some(NodeInbox { sender: peer, ring, places: places(place, own) })
    };
    (peers.iter().map(inbox).collect(), NodeOutbox { lines, in_flight: 0 })
}
