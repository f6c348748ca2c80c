//! Messages between ranks: pools of receives and sends, for short messages from any rank at any time; and non-blocking sends and
//! receives in place.

use super::{Collectives, Tag};
use crate::choice::choice;
use apexmap_base::error::Result;

/// Words are copied when they are sent.
pub trait Mailboxes: Collectives {
    type Inbox: Inbox;
    type Outbox: Outbox;
    type PeerInbox: Inbox;
    type PeerOutbox: Outbox;
    type UnorderedInbox: Inbox;
    type MemoryOutbox<'m>: MemoryOutbox;

    /// Opens a mailbox for messages of one to `words` words, from any rank to any other. Collective. `receives` is the number of
    /// buffers posted for incoming messages, `sends` the maximum number of outstanding sends. Between threads, a send succeeds
    /// while the receiver has fewer than `receives` unread messages. MPI and simulated ranks accept more: these are unexpected
    /// messages, or wait at their sender if they are longer than the eager limit.
    fn mailbox(&self, tag: Tag, receives: usize, sends: usize, words: usize) -> (Self::Inbox, Self::Outbox);
    /// Like [`Mailboxes::mailbox`], with one inbox per rank in `peers`, which must list this rank among its peers. Collective.
    /// `paths` has the time of posting, and the path of messages within a node, for transports with a choice.
    fn mailbox_per_peer(
        &self,
        tag: Tag,
        peers: &[usize],
        paths: (Posting, Path),
        sends: usize,
        words: usize,
    ) -> (Vec<Self::PeerInbox>, Self::PeerOutbox);
    /// Like [`Mailboxes::mailbox`], for messages that are parts of `memory` and are read in any order. Returns after `work` has
    /// returned and its messages have left. Collective.
    fn memory_mailbox<R>(
        &self,
        tag: Tag,
        limits: MailboxCapacity,
        memory: &[u64],
        work: impl FnOnce(&mut Self::UnorderedInbox, &mut Self::MemoryOutbox<'_>) -> R,
    ) -> R;
}

/// The fields are the arguments of [`Mailboxes::mailbox`].
#[derive(Clone, Copy, Debug)]
pub struct MailboxCapacity {
    pub receives: usize,
    pub sends: usize,
    pub words: usize,
}

/// For transports that post receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Posting {
    /// At once, and again after each message has been read.
    Ahead,
    /// At the first [`Inbox::take`] that asks for the message.
    OnDemand,
}

choice! {
    /// Between the ranks of a node.
    pub enum Path {
        /// Memory if the ranks of a node can share it.
        Auto = "auto",
        Messages = "messages",
        /// The ranks of a node share it: the sender copies a message once, and the receiver reads it there.
        Memory = "memory",
    }
}

pub trait Inbox {
    /// Passes the oldest message that has arrived, with its sender, to `read`, then posts its buffer again.
    fn take<R>(&mut self, read: impl FnOnce(usize, &[u64]) -> R) -> Option<R>;
    /// Polls once, and passes up to `max` arrived messages to `read`. Returns their number.
    fn take_batch(&mut self, max: usize, mut read: impl FnMut(usize, &[u64])) -> usize {
        (0..max).take_while(|_| self.take(&mut read).is_some()).count()
    }
}

/// Sends parts of a memory that all ranks may read and that stays unchanged meanwhile.
pub trait MemoryOutbox {
    fn ready(&mut self) -> bool;
    /// Like [`Outbox::send`], but without a copy if the transport can.
    fn send(&mut self, receiver: usize, offset: usize, words: usize) -> bool;
}

/// For transports that copy each message: a receiver may read it long after the work has ended.
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

/// Dropping it waits for outstanding sends.
pub trait Outbox {
    /// Whether a send handle is free. [`Outbox::send`] then succeeds if the receiver also has room.
    fn ready(&mut self) -> bool;
    /// Copies `words` and sends them. Returns `false` without sending if all handles are busy or the receiver has no room.
    fn send(&mut self, receiver: usize, words: &[u64]) -> bool;
    /// Not [`Path::Auto`].
    fn path(&self, receiver: usize) -> Path;
}

/// A rank may send this number to another one before the receiver has posted any receive. Every transport accepts them without
/// waiting.
pub const UNEXPECTED_MESSAGES: usize = 128;

/// Messages of any length, sent from and received into their final place without further copies.
pub trait PointToPoint: Collectives {
    type Messages<'m>: Messages
    where
        Self: 'm;

    /// Opens buffers of items of 4 bytes, initially zeros. Only one such pair may exist per tag at a time. Collective.
    fn messages(&self, tag: Tag, outgoing: usize, incoming: usize) -> Result<Self::Messages<'_>>;
}

/// Outstanding sends and receives, with their buffers. Lengths and offsets count items of 4 bytes.
pub trait Messages {
    fn outgoing(&mut self) -> &mut [u32];
    fn incoming(&mut self) -> &mut [u32];
    /// Items are those at `offset` of the outgoing buffer.
    fn isend(&mut self, offset: usize, items: usize, receiver: usize);
    /// The next message has at most `items` items, and goes to `offset` of the incoming buffer.
    fn irecv(&mut self, offset: usize, items: usize, sender: usize);
    /// Returns when this rank's receives have arrived and its sends have left.
    fn wait_all(&mut self);
}
