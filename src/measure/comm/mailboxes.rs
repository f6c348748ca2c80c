//! Messages between ranks: pools of receives and sends, for short messages from any rank at any time; and non-blocking sends and
//! receives in place, for measuring message rates.

use super::{Collectives, Tag};
use crate::choice::choice;
use apexmap_base::error::Result;

/// Messages of words, which are copied when they are sent.
pub trait Mailboxes: Collectives {
    type Inbox: Inbox;
    type Outbox: Outbox;
    type PeerInbox: Inbox;
    type PeerOutbox: Outbox;
    type UnorderedInbox: Inbox;
    type MemoryOutbox<'m>: MemoryOutbox;

    /// Opens a mailbox under `tag` for messages of one to `words` words, from any rank to any other. Collective.
    ///
    /// `receives` is the number of buffers posted for incoming messages, `sends` the maximum number of outstanding sends. Between
    /// threads, a send succeeds while the receiver has fewer than `receives` unread messages. MPI and simulated ranks accept more:
    /// these are unexpected messages, or wait at their sender if they are longer than the eager limit.
    fn mailbox(&self, tag: Tag, receives: usize, sends: usize, words: usize) -> (Self::Inbox, Self::Outbox);
    /// Opens a mailbox like [`Mailboxes::mailbox`], with one inbox per rank in `peers`. Each of these ranks must list this rank
    /// among its peers. Collective. `paths` has the time of posting, and the path of
    /// messages within a node, for transports with a choice.
    fn mailbox_per_peer(
        &self,
        tag: Tag,
        peers: &[usize],
        paths: (Posting, Path),
        sends: usize,
        words: usize,
    ) -> (Vec<Self::PeerInbox>, Self::PeerOutbox);
    /// Opens a mailbox like [`Mailboxes::mailbox`] for messages that are parts of `memory`, with messages read in any order.
    /// Returns after `work` has returned and its messages have left. Collective.
    fn memory_mailbox<R>(
        &self,
        tag: Tag,
        limits: MailboxCapacity,
        memory: &[u64],
        work: impl FnOnce(&mut Self::UnorderedInbox, &mut Self::MemoryOutbox<'_>) -> R,
    ) -> R;
}

/// The capacity of a mailbox; the fields are the arguments of [`Mailboxes::mailbox`].
#[derive(Clone, Copy, Debug)]
pub struct MailboxCapacity {
    pub receives: usize,
    pub sends: usize,
    pub words: usize,
}

/// The time of posting a receive, for transports that post receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Posting {
    /// At once, and again after each message has been read.
    Ahead,
    /// At the first [`Inbox::take`] that asks for the message.
    OnDemand,
}

choice! {
    /// The path of messages between the ranks of a node.
    pub enum Path {
        /// Messages of the MPI library.
        Messages = "messages",
        /// Memory that the ranks of a node share: the sender copies a message once, and the receiver reads it there.
        Memory = "memory",
    }
}

/// The receiving end of a mailbox.
pub trait Inbox {
    /// Passes the oldest message that has arrived, with its sender, to `read`, then posts its buffer again. Returns `None` if no
    /// message has arrived.
    fn take<R>(&mut self, read: impl FnOnce(usize, &[u64]) -> R) -> Option<R>;
    /// Polls once, and passes up to `max` arrived messages to `read`. Returns their number.
    fn take_batch(&mut self, max: usize, mut read: impl FnMut(usize, &[u64])) -> usize {
        (0..max).take_while(|_| self.take(&mut read).is_some()).count()
    }
}

/// The sending end of a mailbox for parts of a memory that all ranks may read and that stays unchanged meanwhile.
pub trait MemoryOutbox {
    /// Like [`Outbox::ready`].
    fn ready(&mut self) -> bool;
    /// Sends `words` words at `offset`, like [`Outbox::send`], but without a copy if the transport can.
    fn send(&mut self, receiver: usize, offset: usize, words: usize) -> bool;
}

/// The sending end for parts of a memory of transports that copy each message: a receiver may read it long after the work has ended.
pub struct CopyOutbox<'m, O> {
    pub memory: &'m [u64],
    pub outbox: O,
}

impl<O: Outbox> MemoryOutbox for CopyOutbox<'_, O> {
    #[inline]
    fn ready(&mut self) -> bool {
        self.outbox.ready()
    }

    #[inline]
    fn send(&mut self, receiver: usize, offset: usize, words: usize) -> bool {
        self.outbox.send(receiver, &self.memory[offset..][..words])
    }
}

/// The sending end of a mailbox. Dropping it waits for outstanding sends.
pub trait Outbox {
    /// Returns whether a send handle is free. [`Outbox::send`] then succeeds if the receiver also has room.
    fn ready(&mut self) -> bool;
    /// Copies `words` and sends them. Returns `false` without sending if all handles are busy or the receiver has no room.
    fn send(&mut self, receiver: usize, words: &[u64]) -> bool;
    fn path(&self, receiver: usize) -> Path;
}

/// Number of messages that a rank may send to another one before the receiver has posted any receive. Every transport accepts
/// this number without waiting.
pub const UNEXPECTED_MESSAGES: usize = 128;

/// Messages of any length, sent from and received into their final place without further copies.
pub trait PointToPoint: Collectives {
    type Messages<'m>: Messages
    where
        Self: 'm;

    /// Opens buffers of `outgoing` and `incoming` items of 4 bytes, initially zeros, for messages under `tag`. Only one such pair
    /// may exist per tag at a time. Fails if the system has not enough memory. Collective.
    fn messages(&self, tag: Tag, outgoing: usize, incoming: usize) -> Result<Self::Messages<'_>>;
}

/// Outstanding sends and receives, with their buffers. Lengths and offsets count items of 4 bytes.
pub trait Messages {
    fn outgoing(&mut self) -> &mut [u32];
    fn incoming(&mut self) -> &mut [u32];
    /// Starts sending `items` items at `offset` of the outgoing buffer to another rank.
    fn isend(&mut self, offset: usize, items: usize, receiver: usize);
    /// Starts receiving the next message of another rank, of at most `items` items, at `offset` of the incoming buffer.
    fn irecv(&mut self, offset: usize, items: usize, sender: usize);
    /// Returns when this rank's receives have arrived and its sends have left.
    fn wait_all(&mut self);
}
