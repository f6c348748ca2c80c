//! The interface between kernels and transports. A kernel is generic over the traits that it uses: [`Collectives`] for timing and
//! verification, and [`Mailboxes`], [`PointToPoint`] or [`Rma`] for its data. The transport is matched once per run, outside the
//! timed region. Messages progress only while their ranks call the transport: every waiting loop must call [`Comm::relax`],
//! [`Inbox::take`] or [`Outbox::ready`] in each iteration. A panic of one rank ends all ranks.

pub mod arena;
mod atomics;
mod buffer;
pub mod lines;
mod mailboxes;
#[cfg(feature = "mpi")]
pub mod mpi;
pub mod ring;
mod ring_layout;
mod rma;
pub mod simulated;
pub mod sync;
pub mod threads;
mod transport;

pub use buffer::Buffer;
pub use mailboxes::{
    CopyOutbox, Inbox, MailboxCapacity, Mailboxes, MemoryOutbox, Messages, Outbox, Path, PointToPoint, Posting,
    UNEXPECTED_MESSAGES,
};
pub use rma::{GetWindow, Item, Rma, RmaWindow};
pub use threads::rings::Rings;
pub use transport::{Transport, TransportKind, abort, library, start};

use crate::hardware::PlacementOrder;
use arena::Arena;

/// A set of ranks that run the same program.
pub trait Comm {
    /// A number from 0 to `size() - 1`.
    fn rank(&self) -> usize;
    /// The papers' P.
    fn size(&self) -> usize;
    fn ranks_on_node(&self) -> usize;
    /// This rank reports for the whole node.
    fn first_on_node(&self) -> bool;
    /// Some node has more ranks than hardware threads that they may use.
    fn is_oversubscribed(&self) -> bool;
    /// If this program places ranks. Threads that a rank starts follow it.
    fn placement_order(&self) -> PlacementOrder {
        PlacementOrder::default()
    }
    /// Length in bytes up to which messages on this path are sent without a rendezvous, if it is known.
    fn eager_bytes(&self, _path: Path) -> Option<usize> {
        None
    }
    /// Sets this length to that of the machine's card.
    fn set_eager_bytes(&self, _bytes: Option<usize>) {}
    /// Seconds since an arbitrary moment in the past. Under MPI this is `MPI_Wtime`.
    fn wall_time(&self) -> f64;
    /// The smallest difference between readings of the clock, in seconds.
    fn clock_resolution(&self) -> f64 {
        let step = |_| {
            let start = self.wall_time();
            std::iter::repeat_with(|| self.wall_time() - start).find(|step| *step > 0.0).unwrap_or(f64::INFINITY)
        };
        (0..100).map(step).fold(f64::INFINITY, f64::min)
    }
    /// Lets other ranks make progress. Every waiting loop must call it.
    fn relax(&self);
    /// Keeps the rank from its work for this time. Until then it calls `turn` again and again.
    fn delay(&self, seconds: f64, turn: impl Fn()) {
        let start = self.wall_time();
        while self.wall_time() - start < seconds {
            turn();
        }
    }
    /// Frees the memory of a list whose contents are no longer needed, if other ranks in this process use it while this one waits.
    /// Real ranks keep it, because allocating it again would take measured time.
    #[inline(always)]
    fn free(&self, list: &mut Vec<u64>) {
        let _ = list;
    }
    /// Reserves exactly this many words in a list that [`free`](Self::free) has freed. The lists of simulated ranks that grow to
    /// the same capacity share the same blocks of memory, one rank after the other.
    #[inline(always)]
    fn reserve(&self, list: &mut Vec<u64>, words: usize) {
        let _ = (list, words);
    }
    /// Work of simulated ranks outside of timed regions needs little memory per rank.
    #[inline(always)]
    fn simulated_rank(&self) -> Option<&simulated::SimulatedComm> {
        None
    }
    /// Real computations take their own time, so this does nothing.
    #[inline(always)]
    fn charge(&self, computation: Computation, amount: usize) {
        let _ = (computation, amount);
    }
}

/// A simulation charges a time for each unit of what a rank computes between messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Computation {
    /// Values of the random stream.
    Generate,
    /// Updates that are divided among ranks, each time. This includes finding their owners.
    Divide,
    /// Updates of the table.
    Update,
    /// Looks for messages between updates, whether they find any or not.
    Look,
    /// Places that are drawn from the power law.
    Draw,
    /// Blocks that are read from the rank's own memory, for itself or for another rank.
    Read,
    /// The memory of the node, which its ranks share: the part of each update or block. No kernel charges it alone.
    Memory,
}

impl Computation {
    pub const COUNT: usize = 7;
}

/// Operations that all ranks call in the same order. The documentation marks such operations of other traits as *collective*.
pub trait Collectives: Comm {
    /// A split-phase barrier in progress.
    type BarrierRequest;

    fn barrier(&self);
    /// Starts a split-phase barrier. The rank must keep serving others until [`Collectives::test`] succeeds.
    fn ibarrier(&self) -> Self::BarrierRequest;
    /// Whether all ranks have called [`Collectives::ibarrier`]. Once true, it remains true.
    fn test(&self, request: &mut Self::BarrierRequest) -> bool;
    /// Overwrites the words of all ranks with rank 0's words.
    fn broadcast(&self, words: &mut [u64]);
    /// On rank 0, in rank order. Every rank passes the same number of words.
    fn gather(&self, words: &[u64]) -> Option<Vec<u64>>;
    /// The wrapping sum, on all ranks.
    fn all_reduce_sum(&self, value: u64) -> u64;
    /// `send` holds the words for rank 0, then for rank 1 and so on, `counts[r]` of them for rank r. Afterwards `receive` holds the
    /// words from rank 0, then from rank 1 and so on.
    fn all_to_all_v(&self, send: &[u64], counts: &[usize], receive: &mut Vec<u64>);
}

/// Separates the kinds of messages of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tag {
    Request,
    Reply,
    /// Data that travel along this dimension of a grid of ranks.
    Data(u8),
}

/// The environment of a kernel's run.
pub struct World<'a> {
    pub transport: Transport<'a>,
    pub arena: &'a mut Arena,
}

/// Panics unless `offset..offset + count` lies within `length` items, also if the sum overflows.
#[inline(always)]
#[track_caller]
fn check_range(offset: usize, count: usize, length: usize) {
    #[cold]
    #[inline(never)]
    #[track_caller]
    fn refuse(offset: usize, count: usize, length: usize) -> ! {
        panic!("{count} items at {offset} are outside of a memory of {length}");
    }
    if offset.checked_add(count).is_none_or(|end| end > length) {
        refuse(offset, count, length);
    }
}
