//! Point-to-point messages of threads. The receiver copies each message once, from the sender's buffer into its own.
//!
//! One ring per pair of ranks carries the addresses of messages; short messages travel in the ring itself.

use super::ThreadComm;
use super::rings::{Consumer, Producer, rings};
use crate::comm::sync::Deliveries;
use crate::comm::{Buffer, Comm, Messages, PointToPoint, Tag, UNEXPECTED_MESSAGES};
use apexmap_base::error::Result;
use std::collections::VecDeque;
use std::sync::Arc;

/// Maximum number of items that travel in the ring. With length and address they fill a cache line.
const SHORT: usize = 12;

#[derive(Clone, Copy)]
#[repr(align(64))]
struct Parcel {
    items: usize,
    /// Null if the message is short.
    place: *const u32,
    short: [u32; SHORT],
}

// SAFETY: the items at `start` stay unchanged until the receiver has counted the message as delivered. The ring orders the
// sender's writes before the receiver's reads. The count orders the reads before the sender's next writes.
unsafe impl Send for Parcel {}

/// The receiving end for messages from one rank.
struct PeerRing {
    ring: Consumer<Parcel>,
    /// The sender's count of delivered messages.
    delivered: Arc<Deliveries>,
    /// Offset and maximum length of the posted receives, the oldest first.
    posted: VecDeque<(usize, usize)>,
    /// Keeps the sender's buffer alive, because parcels point into it.
    _source: Arc<Buffer>,
}

pub struct ThreadMessages<'m> {
    comm: &'m ThreadComm,
    outgoing: Arc<Buffer>,
    incoming: Buffer,
    to: Vec<Producer<Parcel>>,
    from: Vec<PeerRing>,
    /// Number of posted receives whose messages have not arrived.
    awaited: usize,
    /// Number of long messages that were sent. All of them must be delivered before the buffer is reused.
    sent: u64,
    /// Number of long messages that their receivers have copied.
    delivered: Arc<Deliveries>,
}

impl PointToPoint for ThreadComm {
    type Messages<'m> = ThreadMessages<'m>;

    fn messages(&self, _tag: Tag, outgoing: usize, incoming: usize) -> Result<ThreadMessages<'_>> {
        ThreadMessages::new(self, outgoing, incoming)
    }
}

impl<'m> ThreadMessages<'m> {
    /// Creates the rings and buffers. Collective.
    fn new(comm: &'m ThreadComm, outgoing: usize, incoming: usize) -> Result<Self> {
        let (outgoing, incoming) = (Arc::new(Buffer::new(outgoing)?), Buffer::new(incoming)?);
        let delivered = Arc::new(Deliveries::default());
        let (to, from, gifts) = rings(comm, UNEXPECTED_MESSAGES, (delivered.clone(), outgoing.clone()));
        let line = |(ring, (delivered, _source))| PeerRing { ring, delivered, posted: VecDeque::new(), _source };
        let from = from.into_iter().zip(gifts).map(line).collect();
        Ok(Self { comm, outgoing, incoming, to, from, awaited: 0, sent: 0, delivered })
    }

    /// Receives the messages that have arrived for posted receives. Returns whether there were any.
    #[inline]
    fn progress(&mut self) -> bool {
        let before = self.awaited;
        for line in &mut self.from {
            while let Some(&(at, room)) = line.posted.front() {
                let Some(parcel) = line.ring.pop() else { break };
                assert!(parcel.items <= room, "a message of {} items for a receive of {room}", parcel.items);
                let target = self.incoming.at(at, parcel.items);
                // SAFETY: the source is in the parcel, or stays unchanged until the delivery is counted (see `Parcel`).
                // `item_pointer` has checked the target, which belongs to this rank.
                unsafe {
                    if parcel.place.is_null() {
                        target.copy_from_nonoverlapping(parcel.short.as_ptr(), parcel.items);
                    } else {
                        target.copy_from_nonoverlapping(parcel.place, parcel.items);
                        line.delivered.count();
                    }
                }
                line.posted.pop_front();
                self.awaited -= 1;
            }
        }
        self.awaited < before
    }

    fn wait(&mut self, done: impl Fn(&mut Self) -> bool) {
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
        unsafe { std::slice::from_raw_parts_mut(self.outgoing.at(0, 0), self.outgoing.items()) }
    }

    fn incoming(&mut self) -> &mut [u32] {
        self.wait_all();
        self.incoming.items_mut()
    }

    #[inline]
    fn isend(&mut self, at: usize, items: usize, to: usize) {
        assert_ne!(to, self.comm.rank, "messages go to other ranks");
        let place: *const u32 = self.outgoing.at(at, items);
        let mut parcel = Parcel { items, place, short: [0; SHORT] };
        if items <= SHORT {
            parcel.place = std::ptr::null();
            // SAFETY: `item_pointer` has checked the items, `short_items` has room for them, and only `outgoing` lends them
            // mutably.
            unsafe { parcel.short.as_mut_ptr().copy_from_nonoverlapping(place, items) };
        } else {
            self.sent += 1;
        }
        if self.to[to].is_full() {
            self.wait(|this| !this.to[to].is_full());
        }
        assert!(self.to[to].push(parcel), "only this rank fills the ring");
    }

    #[inline]
    fn irecv(&mut self, at: usize, items: usize, from: usize) {
        assert_ne!(from, self.comm.rank, "messages come from other ranks");
        self.incoming.at(at, items);
        self.from[from].posted.push_back((at, items));
        self.awaited += 1;
    }

    #[inline]
    fn wait_all(&mut self) {
        self.wait(|this| this.awaited == 0 && this.delivered.are(this.sent));
    }
}
