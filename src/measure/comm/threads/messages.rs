//! The receiver copies each message once, from the sender's buffer into its own. One ring per pair of ranks carries the addresses
//! of messages; short messages travel in the ring itself.

use super::ThreadComm;
use super::rings::{Consumer, Producer, create_rings};
use crate::comm::ring::Place;
use crate::comm::sync::Deliveries;
use crate::comm::{Buffer, Comm, Messages, PointToPoint, Tag, UNEXPECTED_MESSAGES};
use apexmap_base::error::Result;
use std::collections::VecDeque;
use std::sync::Arc;

/// With these in the ring, a place of it is a cache line.
const MAX_SHORT_ITEMS: usize = 12;
const _: () = assert!(size_of::<Place<Parcel>>() == 64);

#[derive(Clone, Copy)]
enum Parcel {
    /// Its number of items, and the items.
    Short(u32, [u32; MAX_SHORT_ITEMS]),
    /// Its number of items, and the first in the buffer of its sender.
    Long(usize, *const u32),
}

// SAFETY: the items of a long message stay unchanged until the receiver has counted the message as delivered. The ring orders the
// sender's writes before the receiver's reads. The count orders the reads before the sender's next writes.
unsafe impl Send for Parcel {}

/// For messages from one rank.
struct PeerRing {
    ring: Consumer<Parcel>,
    /// The sender's count of delivered messages.
    delivered: Arc<Deliveries>,
    /// Offset and maximum length, the oldest first.
    posted: VecDeque<(usize, usize)>,
    /// Keeps the sender's buffer alive, because parcels point into it.
    _source: Arc<Buffer>,
}

pub struct ThreadMessages<'m> {
    comm: &'m ThreadComm,
    outgoing: Arc<Buffer>,
    incoming: Buffer,
    receivers: Vec<Producer<Parcel>>,
    senders: Vec<PeerRing>,
    /// Posted receives whose messages have not arrived.
    awaited: usize,
    /// Long messages. All of them must be delivered before the buffer is reused.
    sent: u64,
    /// Long messages that their receivers have copied.
    delivered: Arc<Deliveries>,
}

impl PointToPoint for ThreadComm {
    type Messages<'m> = ThreadMessages<'m>;

    fn messages(&self, _tag: Tag, outgoing: usize, incoming: usize) -> Result<ThreadMessages<'_>> {
        ThreadMessages::new(self, outgoing, incoming)
    }
}

impl<'m> ThreadMessages<'m> {
    fn new(comm: &'m ThreadComm, outgoing: usize, incoming: usize) -> Result<Self> {
        let (outgoing, incoming) = (Arc::new(Buffer::new(outgoing)?), Buffer::new(incoming)?);
        let delivered = Arc::new(Deliveries::default());
        let (receivers, consumers, gifts) =
            create_rings(comm, UNEXPECTED_MESSAGES, (delivered.clone(), outgoing.clone()));
        let peer_ring = |(ring, (delivered, _source))| PeerRing { ring, delivered, posted: VecDeque::new(), _source };
        let senders = consumers.into_iter().zip(gifts).map(peer_ring).collect();
        Ok(Self { comm, outgoing, incoming, receivers, senders, awaited: 0, sent: 0, delivered })
    }

    /// Receives the messages that have arrived for posted receives. Returns whether there were any.
    #[inline]
    fn progress(&mut self) -> bool {
        let awaited_before = self.awaited;
        for peer in &mut self.senders {
            while let Some(&(offset, max_items)) = peer.posted.front() {
                let Some(parcel) = peer.ring.pop(|parcel| *parcel) else { break };
                let (items, source, delivered) = match &parcel {
                    Parcel::Short(items, short) => (*items as usize, short.as_ptr(), None),
                    Parcel::Long(items, start) => (*items, *start, Some(&peer.delivered)),
                };
                assert!(items <= max_items, "a message of {items} items for a receive of {max_items}");
                // SAFETY: the source is in the parcel, or stays unchanged until the delivery is counted (see `Parcel`).
                // `item_pointer` has checked the target, which belongs to this rank.
                unsafe { self.incoming.item_pointer(offset, items).copy_from_nonoverlapping(source, items) };
                delivered.inspect(|delivered| delivered.count());
                peer.posted.pop_front();
                self.awaited -= 1;
            }
        }
        self.awaited < awaited_before
    }

    fn wait_until(&mut self, done: impl Fn(&mut Self) -> bool) {
        while !done(self) {
            if !self.progress() {
                self.comm.relax();
            }
        }
    }
}

impl Messages for ThreadMessages<'_> {
    fn outgoing(&mut self) -> &mut [u32] {
        self.wait_all();
        // SAFETY: the buffer has this many items. `wait_all` has waited until the receivers have copied all messages, and they
        // read nothing else. While the result lives, `self` is borrowed, so nothing is sent.
        unsafe { std::slice::from_raw_parts_mut(self.outgoing.item_pointer(0, 0), self.outgoing.len()) }
    }

    fn incoming(&mut self) -> &mut [u32] {
        self.wait_all();
        self.incoming.items_mut()
    }

    #[inline]
    fn isend(&mut self, offset: usize, items: usize, receiver: usize) {
        assert_ne!(receiver, self.comm.rank, "messages go to other ranks");
        let start: *const u32 = self.outgoing.item_pointer(offset, items);
        let parcel = if items <= MAX_SHORT_ITEMS {
            let mut short = [0; MAX_SHORT_ITEMS];
            // SAFETY: `item_pointer` has checked the items, `short` has room for them, and only `outgoing` lends them mutably.
            unsafe { short.as_mut_ptr().copy_from_nonoverlapping(start, items) };
            Parcel::Short(items as u32, short)
        } else {
            self.sent += 1;
            Parcel::Long(items, start)
        };
        if self.receivers[receiver].is_full() {
            self.wait_until(|messages| !messages.receivers[receiver].is_full());
        }
        assert!(self.receivers[receiver].push(parcel), "only this rank fills the ring");
    }

    #[inline]
    fn irecv(&mut self, offset: usize, items: usize, sender: usize) {
        assert_ne!(sender, self.comm.rank, "messages come from other ranks");
        // Only checks the range. The message may arrive much later.
        self.incoming.item_pointer(offset, items);
        self.senders[sender].posted.push_back((offset, items));
        self.awaited += 1;
    }

    #[inline]
    fn wait_all(&mut self) {
        self.wait_until(|messages| messages.awaited == 0 && messages.delivered.all_delivered(messages.sent));
    }
}
