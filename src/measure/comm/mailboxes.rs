//! Pools of receives and sends: many short messages, from any rank at any time.

use super::{Collectives, Tag};

/// Messages in words that are copied when they are sent.
pub trait Mailboxes: Collectives {
    type Inbox: Inbox;
    type Outbox: Outbox;
    type UnorderedInbox: Inbox;
    type MemoryOutbox<'m>: MemoryOutbox;

    /// Collective: one-word-to-`words`-words messages under `tag`, from any rank to any other.
    ///
    /// `receives` buffers are posted for incoming messages, `sends` is the number of sends in flight at once. There is
    /// room for a message to a rank that has fewer than `receives` unread ones.
    fn mailbox(&self, tag: Tag, receives: usize, sends: usize, words: usize) -> (Self::Inbox, Self::Outbox);
    /// Collective: as [`Mailboxes::mailbox`], with an inbox for each of `peers`, which name this rank among theirs.
    fn mailbox_per_peer(
        &self,
        tag: Tag,
        peers: &[usize],
        posted: Posting,
        sends: usize,
        words: usize,
    ) -> (Vec<Self::Inbox>, Self::Outbox);
    /// Collective: as [`Mailboxes::mailbox`], for messages that are parts of `memory` and are taken in any order. Returns when
    /// `work` has and its messages have left.
    fn memory_mailbox<R>(
        &self,
        tag: Tag,
        limits: Limits,
        memory: &[u64],
        work: impl FnOnce(&mut Self::UnorderedInbox, &mut Self::MemoryOutbox<'_>) -> R,
    ) -> R;
}

/// What a mailbox has room for, as [`Mailboxes::mailbox`] names it.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub receives: usize,
    pub sends: usize,
    pub words: usize,
}

/// When a receive is posted, where the transport knows posting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Posting {
    /// At once, and again as soon as its message has been read.
    Ahead,
    /// By the first [`Inbox::take`] that asks for its message.
    OnDemand,
}

/// Receives.
pub trait Inbox {
    /// Lends the oldest arrived message and its sender to `read`, then posts its buffer again; `None` if none is there.
    fn take<R>(&mut self, read: impl FnOnce(usize, &[u64]) -> R) -> Option<R>;
    /// The same for up to `most` messages that have arrived, looked for once; returns how many.
    fn take_together(&mut self, most: usize, read: impl FnMut(usize, &[u64])) -> usize;
}

/// Sends in flight, of words that all ranks may read but nobody changes meanwhile.
pub trait MemoryOutbox {
    /// As [`Outbox::ready`].
    fn ready(&mut self) -> bool;
    /// As [`Outbox::send`], of `words` words at `offset`; from where they stand, if the transport can.
    fn send(&mut self, to: usize, offset: usize, words: usize) -> bool;
}

/// Sends in flight. Dropping it waits for them.
pub trait Outbox {
    /// Whether [`Outbox::send`] would find a free send handle; it succeeds if the receiver has room, too.
    fn ready(&mut self) -> bool;
    /// Copies `words` and sends them; `false`, and nothing sent, if all handles are busy or the receiver has no room.
    fn send(&mut self, to: usize, words: &[u64]) -> bool;
}
