use super::node::{self, NodeInbox, NodeOutbox};
use super::receives::{MpiUnorderedInbox, Receives};
use super::{Channel, MESSAGE_TAG, MpiComm, pool::Pool};
use crate::comm::{Collectives, Inbox, MailboxCapacity, Mailboxes, MemoryOutbox, Outbox, Path, Posting, Tag};
use mpi::ffi;
use mpi::traits::AsRaw;
use std::os::raw::c_int;
use std::rc::Rc;

impl Mailboxes for MpiComm {
    type Inbox = MpiInbox;
    type Outbox = MpiOutbox;
    type PeerInbox = MpiInbox;
    type PeerOutbox = MpiOutbox;
    type UnorderedInbox = MpiUnorderedInbox;
    type MemoryOutbox<'m> = MpiMemoryOutbox<'m>;

    /// At most one mailbox per tag exists at a time. The barrier ensures that all receives are posted before the first send.
    fn mailbox(&self, tag: Tag, receives: usize, sends: usize, words: usize) -> (MpiInbox, MpiOutbox) {
        let channel = self.channel(tag);
        // SAFETY: a constant of the library.
        let any = unsafe { ffi::RSMPI_ANY_SOURCE };
        let inbox = MpiInbox::Messages(Receives::post(channel.clone(), any, Posting::Ahead, receives, words));
        let outbox = MpiOutbox { sends: Sends::new(channel, sends, words), node: None };
        self.barrier();
        (inbox, outbox)
    }

    /// The communicator has one posted receive per peer.
    fn mailbox_per_peer(
        &self,
        tag: Tag,
        peers: &[usize],
        (posting, path): (Posting, Path),
        sends: usize,
        words: usize,
    ) -> (Vec<MpiInbox>, MpiOutbox) {
        let channel = self.channel(tag);
        let (mut local, node) = match node::open(self, peers, path, sends, words) {
            Some((inboxes, outbox)) => (inboxes, Some(outbox)),
            None => (peers.iter().map(|_| None).collect(), None),
        };
        let inbox = |(&peer, local): (&usize, Option<NodeInbox>)| match local {
            Some(inbox) => MpiInbox::Memory(inbox),
            None => MpiInbox::Messages(Receives::post(channel.clone(), peer as c_int, posting, 1, words)),
        };
        let inboxes = peers.iter().zip(local.drain(..)).map(inbox).collect();
        let outbox = MpiOutbox { sends: Sends::new(channel, sends, words), node };
        self.barrier();
        (inboxes, outbox)
    }

    fn memory_mailbox<R>(
        &self,
        tag: Tag,
        MailboxCapacity { receives, sends, words }: MailboxCapacity,
        memory: &[u64],
        work: impl FnOnce(&mut MpiUnorderedInbox, &mut MpiMemoryOutbox<'_>) -> R,
    ) -> R {
        let channel = self.channel(tag);
        let mut inbox = MpiUnorderedInbox::post(channel.clone(), receives, words);
        let mut outbox = MpiMemoryOutbox { memory, max_words: words, sends: Sends::new(channel, sends, 0) };
        self.barrier();
        work(&mut inbox, &mut outbox)
    }
}

/// Messages of MPI, or those of one rank of this node through memory.
pub enum MpiInbox {
    Messages(Receives),
    Memory(NodeInbox),
}

impl Inbox for MpiInbox {
    #[inline]
    fn take<R>(&mut self, read: impl FnOnce(usize, &[u64]) -> R) -> Option<R> {
        match self {
            Self::Messages(receives) => receives.take(read),
            Self::Memory(inbox) => inbox.take(read),
        }
    }

    fn take_batch(&mut self, max: usize, read: impl FnMut(usize, &[u64])) -> usize {
        match self {
            Self::Messages(receives) => receives.take_batch(max, read),
            Self::Memory(inbox) => inbox.take_batch(max, read),
        }
    }
}

/// Their buffers may be elsewhere.
struct Sends {
    pool: Pool,
    free: Vec<usize>,
    channel: Rc<Channel>,
}

impl Sends {
    /// With a buffer of `words` words per send; 0 for buffers elsewhere.
    fn new(channel: Rc<Channel>, sends: usize, words: usize) -> Self {
        Self { pool: Pool::new(sends, words), free: (0..sends).collect(), channel }
    }

    fn ready(&mut self) -> bool {
        if self.free.is_empty() {
            self.complete();
        }
        !self.free.is_empty()
    }

    /// Frees the slots of completed sends. Returns the number of the others.
    fn complete(&mut self) -> usize {
        self.free.extend(self.pool.completed_slots());
        self.busy()
    }

    fn busy(&self) -> usize {
        self.pool.requests.len() - self.free.len()
    }

    /// # Safety
    /// The words at `data` stay unchanged until the slot, which was free, is free again.
    unsafe fn start(&mut self, slot: usize, receiver: usize, data: *const u64, words: usize) {
        // SAFETY: a free slot has no active request; the caller leaves the words unchanged until it is free again.
        unsafe {
            let (word, count) = (ffi::RSMPI_UINT64_T, words as c_int);
            let (request, world) = (&mut self.pool.requests[slot], self.channel.comm.as_raw());
            ffi::MPI_Isend(data.cast(), count, word, receiver as c_int, MESSAGE_TAG, world, request);
        }
    }
}

pub struct MpiOutbox {
    sends: Sends,
    node: Option<NodeOutbox>,
}

impl Outbox for MpiOutbox {
    fn ready(&mut self) -> bool {
        let Some(node) = &mut self.node else { return self.sends.ready() };
        let handles = self.sends.pool.requests.len();
        node.in_flight + self.sends.busy() < handles || node.count() + self.sends.complete() < handles
    }

    fn send(&mut self, receiver: usize, words: &[u64]) -> bool {
        if !self.ready() {
            return false;
        }
        if let Some(node) = self.node.as_mut().filter(|node| node.reaches(receiver)) {
            return node.send(receiver, words);
        }
        let Some(slot) = self.sends.free.pop() else { return false };
        // SAFETY: a free slot has no active request; its buffer stays unchanged until the send completes.
        unsafe {
            self.sends.pool.buffers.write(slot, words);
            let buffer = self.sends.pool.buffers.slot_pointer(slot);
            self.sends.start(slot, receiver, buffer, words.len());
        }
        true
    }

    fn path(&self, receiver: usize) -> Path {
        if self.node.as_ref().is_some_and(|node| node.reaches(receiver)) { Path::Memory } else { Path::Messages }
    }
}

/// The memory is borrowed until all sends have completed.
pub struct MpiMemoryOutbox<'m> {
    memory: &'m [u64],
    max_words: usize,
    sends: Sends,
}

impl MemoryOutbox for MpiMemoryOutbox<'_> {
    fn ready(&mut self) -> bool {
        self.sends.ready()
    }

    fn send(&mut self, receiver: usize, offset: usize, words: usize) -> bool {
        assert!(words <= self.max_words, "a message longer than its mailbox allows");
        if !self.sends.ready() {
            return false;
        }
        let Some(slot) = self.sends.free.pop() else { return false };
        let start = self.memory[offset..][..words].as_ptr();
        // SAFETY: the memory is borrowed until `memory_mailbox` has waited for all sends, which `work` cannot prevent.
        unsafe { self.sends.start(slot, receiver, start, words) };
        true
    }
}
