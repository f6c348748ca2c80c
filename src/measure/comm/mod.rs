//! What kernels ask of a transport, and the transports that give it.
//!
//! Kernels are generic over [`Comm`]; the transport is matched once a run, outside the timed region
//! ([`on_transport`](crate::on_transport)). Only the caller makes progress: a loop that waits must call
//! [`Comm::idle`], `take` or `ready` in every turn. A rank that panics ends the whole world.

pub mod arena;
mod items;
#[cfg(feature = "mpi")]
pub mod mpi;
pub mod threads;
mod transport;

pub use transport::TransportKind;

use crate::error::Result;
use arena::Arena;

/// A set of ranks that run the same program. Methods marked *collective* are called by all ranks in the same order.
pub trait Comm {
    type Arrival;
    type Inbox: Inbox;
    type Outbox: Outbox;
    type Window<'m>: Window
    where
        Self: 'm;
    type Opened<'m>: Opened
    where
        Self: 'm;
    type Messages<'m>: Messages
    where
        Self: 'm;
    type Puts<'m>: Puts
    where
        Self: 'm;

    /// 0 to `size() - 1`.
    fn rank(&self) -> usize;
    /// The papers' P.
    fn size(&self) -> usize;
    /// Ranks on this rank's node, itself included.
    fn neighbours(&self) -> usize;
    /// More ranks than the processors that they may use, on some node.
    fn oversubscribed(&self) -> bool;
    /// The transport's own clock, in seconds since some moment in the past; under MPI it is `MPI_Wtime`.
    fn now(&self) -> f64;
    /// Lets others make progress; mandatory in every waiting loop.
    fn idle(&self);
    /// Collective: returns when all ranks have called it.
    fn barrier(&self);
    /// Collective: rank 0's words overwrite everybody's.
    fn broadcast(&self, words: &mut [u64]);
    /// Collective: rank 0 receives all ranks' words, in rank order; every rank gives the same number of words.
    fn gather(&self, words: &[u64]) -> Option<Vec<u64>>;
    /// Collective: the wrapping sum over all ranks, on all ranks.
    fn sum(&self, value: u64) -> u64;
    /// Collective: `send` holds words for rank 0, then for rank 1 and so on, `counts[r]` of them for rank r; `receive` holds
    /// afterwards the words that rank 0 sent here, then those of rank 1 and so on.
    fn all_to_all(&self, send: &[u64], counts: &[usize], receive: &mut Vec<u64>);
    /// Collective, returns at once: this rank is done, but goes on serving others until [`Comm::all_arrived`].
    fn arrive(&self) -> Self::Arrival;
    fn all_arrived(&self, arrival: &mut Self::Arrival) -> bool;
    /// Collective: one-word-to-`words`-words messages under `tag`, from any rank to any other.
    ///
    /// `receives` buffers are posted for incoming messages, `sends` is the number of sends in flight at once. There is
    /// room for a message to a rank that has fewer than `receives` unread ones.
    fn mailbox(&self, tag: Tag, receives: usize, sends: usize, words: usize) -> (Self::Inbox, Self::Outbox);
    /// Collective: as [`Comm::mailbox`], with an inbox of its own for each of `peers`, which name this rank among theirs.
    fn lines(
        &self,
        tag: Tag,
        peers: &[usize],
        posted: Posted,
        sends: usize,
        words: usize,
    ) -> (Vec<Self::Inbox>, Self::Outbox);
    /// Collective: opens `memory` for gets by all ranks, with `slots` gets of at most `words` words in flight.
    fn window<'m>(&'m self, memory: &'m [u64], slots: usize, words: usize) -> Self::Window<'m>;
    /// Collective: opens `memory` for puts and xors by all ranks.
    fn open<'m>(&'m self, memory: &'m mut [u64]) -> Self::Opened<'m>;
    /// Collective: messages under `tag` that are sent from, and received into, buffers of so many items of 4 bytes,
    /// zeros at first. At most one of a tag at a time. Fails if there is not so much memory.
    fn messages(&self, tag: Tag, outgoing: usize, incoming: usize) -> Result<Self::Messages<'_>>;
    /// Collective: puts from a buffer of `outgoing` items of 4 bytes into other ranks' buffers, which have `incoming`
    /// items here; zeros at first. Fails if there is not so much memory.
    fn puts(&self, outgoing: usize, incoming: usize) -> Result<Self::Puts<'_>>;
}

/// Separates the kinds of messages of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tag {
    Request,
    Reply,
    /// Data on their way in one of the dimensions of a grid of ranks.
    Data(u8),
}

/// When a receive is posted, where the transport knows posting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Posted {
    /// At once, and again as soon as its message has been read.
    Ahead,
    /// By the first [`Inbox::take`] that asks for its message.
    OnDemand,
}

/// Receives.
pub trait Inbox {
    /// Lends the oldest arrived message and its sender to `read`, then posts its buffer again; `None` if none is there.
    fn take<R>(&mut self, read: impl FnOnce(usize, &[u64]) -> R) -> Option<R>;
}

/// Sends in flight. Dropping it waits for them.
pub trait Outbox {
    /// Whether [`Outbox::send`] would find a free send handle; it succeeds if the receiver has room, too.
    fn ready(&mut self) -> bool;
    /// Copies `words` and sends them; `false`, and nothing sent, if all handles are busy or the receiver has no room.
    fn send(&mut self, to: usize, words: &[u64]) -> bool;
}

/// Memory of all ranks, readable without their help.
pub trait Window {
    /// Starts fetching `words` words at `offset` of rank `from`'s memory; `false`, and nothing started, if all slots are busy.
    fn get(&mut self, from: usize, offset: usize, words: usize) -> bool;
    /// Lends a fetched block to `read`, in any order; `None` if none has come.
    fn take<R>(&mut self, read: impl FnOnce(&[u64]) -> R) -> Option<R>;
}

/// Memory of all ranks, writable without their help. Dropping it is collective.
pub trait Opened {
    /// Writes `words` at `offset` of rank `to`'s memory; complete at the next [`Opened::settle`].
    fn put(&mut self, to: usize, offset: usize, words: &[u64]);
    /// Atomically xors a word of rank `to`'s memory; complete at the next [`Opened::settle`].
    fn xor(&mut self, to: usize, offset: usize, value: u64);
    /// Collective: completes what all ranks have written, lends this rank's memory to `work`, and returns when all ranks
    /// are done with theirs.
    fn settle<R>(&mut self, work: impl FnOnce(&mut [u64]) -> R) -> R;
}

/// Messages of any length, each sent from where it stands and received where it shall stand: what message rates are
/// measured with. Lengths and places count items of 4 bytes.
pub trait Messages {
    /// What is sent. Completes first what is on its way.
    fn outgoing(&mut self) -> &mut [u32];
    /// What was received. Completes first what is on its way.
    fn incoming(&mut self) -> &mut [u32];
    /// Starts sending `items` items at `at` of the outgoing buffer to another rank.
    fn send(&mut self, at: usize, items: usize, to: usize);
    /// Starts receiving the next message of another rank, of at most `items` items, at `at` of the incoming buffer.
    fn receive(&mut self, at: usize, items: usize, from: usize);
    /// Returns when this rank's receives have come and its sends have left.
    fn complete(&mut self);
}

/// Writes into other ranks' buffers from where the data stand. Lengths and places count items of 4 bytes. Dropping it is
/// collective.
pub trait Puts {
    /// What is put. Completes first what is on its way.
    fn outgoing(&mut self) -> &mut [u32];
    /// Starts writing `items` items at `at` of the outgoing buffer to `place` of another rank's incoming buffer, which
    /// no other rank writes.
    fn put(&mut self, at: usize, items: usize, to: usize, place: usize);
    /// Returns when this rank's puts are where they go: the paper's `wait_for_response`.
    fn complete(&mut self);
    /// The item of this rank's incoming buffer that is the last of a message, as it stands now: it is put last, and no other
    /// may be looked at before [`Puts::settle`].
    fn peek(&mut self, place: usize) -> u32;
    /// Collective: completes what all ranks have put, lends this rank's incoming buffer to `work`, and returns when all
    /// ranks are done with theirs.
    fn settle<R>(&mut self, work: impl FnOnce(&mut [u32]) -> R) -> R;
}

/// One of the transports.
pub enum Transport<'a> {
    Threads(&'a threads::ThreadComm),
    #[cfg(feature = "mpi")]
    Mpi(&'a mpi::MpiComm),
}

/// What a kernel runs on: the ranks, and this rank's memory.
pub struct World<'a> {
    pub transport: Transport<'a>,
    pub arena: &'a mut Arena,
}

/// Runs an expression with `$comm` bound to the world's transport: the one place where transports are told apart.
#[macro_export]
macro_rules! on_transport {
    ($transport:expr, $comm:ident => $body:expr) => {
        match $transport {
            $crate::measure::comm::Transport::Threads($comm) => $body,
            #[cfg(feature = "mpi")]
            $crate::measure::comm::Transport::Mpi($comm) => $body,
        }
    };
}
