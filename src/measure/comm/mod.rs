//! What kernels ask of a transport, in parts, and the transports that give it.
//!
//! A kernel is generic over the parts that it uses: [`Collectives`] to be timed and verified, and [`Mailboxes`],
//! [`PointToPoint`] or [`Rma`] for its data. The transport is matched once per run, outside the timed region
//! ([`on_transport`](crate::on_transport)). Only the caller makes progress: a loop that waits must call [`Comm::relax`],
//! [`Inbox::take`] or [`Outbox::ready`] in every turn. A rank that panics ends the whole world.

pub mod arena;
mod atomics;
mod buffer;
mod mailboxes;
#[cfg(feature = "mpi")]
pub mod mpi;
mod point_to_point;
pub mod ring;
mod rma;
pub mod sync;
pub mod threads;
mod transport;

pub use buffer::Buffer;
pub use mailboxes::{Inbox, Limits, Mailboxes, MemoryOutbox, Outbox, Posting};
pub use point_to_point::{Messages, PointToPoint, UNEXPECTED_MESSAGES};
pub use rma::{GetWindow, Item, Rma, RmaWindow};
pub use threads::rings::Rings;
pub use transport::{Transport, TransportKind, abort, library, start};

use crate::hardware::Place;
use arena::Arena;

/// A set of ranks that run the same program.
pub trait Comm {
    /// 0 to `size() - 1`.
    fn rank(&self) -> usize;
    /// The papers' P.
    fn size(&self) -> usize;
    /// Ranks on this rank's node, itself included.
    fn ranks_on_node(&self) -> usize;
    /// Whether it is the first rank of its node: on each node one says what the node is doing.
    fn first_on_node(&self) -> bool;
    /// More ranks than the hardware threads that they may use, on some node.
    fn oversubscribed(&self) -> bool;
    /// The order in which ranks take processors, where this program places them: threads that a rank starts follow it.
    fn place(&self) -> Place {
        Place::default()
    }
    /// The transport's own clock, in seconds since some moment in the past; under MPI it is `MPI_Wtime`.
    fn now(&self) -> f64;
    /// Resolution of this clock in seconds: the smallest difference that its readings show.
    fn clock_resolution(&self) -> f64 {
        let step = |_| {
            let start = self.now();
            std::iter::repeat_with(|| self.now() - start).find(|step| *step > 0.0).unwrap_or(f64::INFINITY)
        };
        (0..100).map(step).fold(f64::INFINITY, f64::min)
    }
    /// Lets others make progress; mandatory in every waiting loop.
    fn relax(&self);
}

/// Operations that all ranks call in the same order. Other parts of a transport call theirs *collective*.
pub trait Collectives: Comm {
    /// A split-phase barrier that is under way.
    type BarrierRequest;

    /// Returns when all ranks have called it.
    fn barrier(&self);
    /// Returns at once: this rank is done, but continues to serve others until [`Collectives::test`] succeeds.
    fn ibarrier(&self) -> Self::BarrierRequest;
    /// Whether all ranks have called [`Collectives::ibarrier`]; it stays so.
    fn test(&self, request: &mut Self::BarrierRequest) -> bool;
    /// Rank 0's words overwrite everybody's.
    fn broadcast(&self, words: &mut [u64]);
    /// Rank 0 receives all ranks' words, in rank order; every rank gives the same number of words.
    fn gather(&self, words: &[u64]) -> Option<Vec<u64>>;
    /// The wrapping sum over all ranks, on all ranks.
    fn all_reduce_sum(&self, value: u64) -> u64;
    /// `send` holds words for rank 0, then for rank 1 and so on, `counts[r]` of them for rank r; `receive` holds
    /// afterwards the words that rank 0 sent here, then those of rank 1 and so on.
    fn all_to_all_v(&self, send: &[u64], counts: &[usize], receive: &mut Vec<u64>);
}

/// Separates the kinds of messages of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tag {
    Request,
    Reply,
    /// Data on their way in one of the dimensions of a grid of ranks.
    Data(u8),
}

/// What a kernel runs on: the ranks, and this rank's memory.
pub struct World<'a> {
    pub transport: Transport<'a>,
    pub arena: &'a mut Arena,
}

/// Panics unless `offset..offset + count` lies within `length` places; a sum that wraps does not.
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
