//! Pools of receives and sends, for short messages from any rank at any time.

use super::{Collectives, Tag};
use crate::choice::choice;

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
    fn take_batch(&mut self, max: usize, read: impl FnMut(usize, &[u64])) -> usize;
}

/// The sending end of a mailbox for parts of a memory that all ranks may read and that stays unchanged meanwhile.
pub trait MemoryOutbox {
    /// Like [`Outbox::ready`].
    fn ready(&mut self) -> bool;
    /// Sends `words` words at `offset`, like [`Outbox::send`], but without a copy if the transport can.
    fn send(&mut self, receiver: usize, offset: usize, words: usize) -> bool;
}

/// The sending end of a mailbox. Dropping it waits for outstanding sends.
pub trait Outbox {
    /// Returns whether a send handle is free. [`Outbox::send`] then succeeds if the receiver also has room.
    fn ready(&mut self) -> bool;
    /// Copies `words` and sends them. Returns `false` without sending if all handles are busy or the receiver has no room.
    fn send(&mut self, receiver: usize, words: &[u64]) -> bool;
    fn path(&self, receiver: usize) -> Path;
}
