//! Rings between all pairs of ranks. Each rank maps memory for its part of the rings; the system provides only the pages in use.

use super::ThreadComm;
use crate::comm::lines::{LineInbox, LineOutbox, Lines, MAX_PLACES, Neighbour, place_bytes};
use crate::comm::ring::{self, Count};
use crate::comm::ring_layout::RingLayout;
use crate::comm::{Collectives, Comm, UNEXPECTED_MESSAGES};
use crate::hardware::base_page_bytes;
use memmap2::{MmapMut, MmapRaw};
use std::sync::Arc;

pub(super) type Producer<T> = ring::Producer<T, Parts>;
pub(super) type Consumer<T> = ring::Consumer<T, Parts>;

pub type Parts = Arc<[Arc<RankPart>]>;

pub struct RankPart(MmapRaw);

impl RankPart {
    /// Touches the first `touched` bytes, so that no later read of those waits for the system.
    fn new(ranks: usize, bytes: usize, touched: usize) -> Self {
        let mut map = MmapMut::map_anon(bytes).unwrap_or_else(|cause| {
            let size = apexmap_base::units::bytes(bytes as f64);
            panic!("no memory for rings between {ranks} ranks ({size}): {cause}")
        });
        map[..touched].fill(0);
        Self(map.into())
    }

    fn start(&self) -> *const u8 {
        self.0.as_mut_ptr().cast_const()
    }
}

/// Creates a ring of `capacity` places from every rank to every rank, including itself, and exchanges `value`. Returns the
/// producers to all ranks, the consumers from all ranks, and the values of all ranks. Collective.
pub(super) fn create_rings<T: Copy + Send + 'static, G: Clone + Send + Sync + 'static>(
    comm: &ThreadComm,
    capacity: usize,
    value: G,
) -> (Vec<Producer<T>>, Vec<Consumer<T>>, Vec<G>) {
    let (rank, ranks, layout) = (comm.rank(), 0..comm.size(), RingLayout::<T>::new(comm.size(), capacity));
    let part = RankPart::new(layout.ranks, layout.bytes(), layout.count_bytes());
    let (parts, values): (Vec<_>, _) = comm.all_gather_value((Arc::new(part), value)).into_iter().unzip();
    let parts: Parts = parts.into();
    let ring = |from, to| layout.ring(|rank| parts[rank].start(), from, to);
    // SAFETY: the ring lies within the parts, which were zeroed and are page-aligned; only this rank sends to `to`.
    let receiver = ranks.clone().map(|to| unsafe { Producer::new(ring(rank, to), parts.clone()) });
    // SAFETY: the ring lies within the same parts, which the consumer keeps alive; only this rank receives from `from`.
    let sender = ranks.map(|from| unsafe { Consumer::new(ring(from, rank), parts.clone()) });
    (receiver.collect(), sender.collect(), values)
}

/// Opens lines for up to `sends` messages of up to `words` words with each peer. Collective.
pub(super) fn open_lines(
    comm: &ThreadComm,
    peers: &[usize],
    sends: usize,
    words: usize,
) -> (Vec<LineInbox<Parts>>, LineOutbox<Parts>) {
    let lines = Lines { ranks: comm.size(), words, sends };
    let bytes = lines.part_bytes(peers.len());
    let parts: Parts = comm.all_gather_value(Arc::new(RankPart::new(lines.ranks, bytes, bytes))).into();
    let part = |rank: usize| parts[rank].0.as_mut_ptr();
    let neighbours: Vec<Neighbour> = peers.iter().map(|&rank| Neighbour { rank, place: rank }).collect();
    // SAFETY: the parts are zeroed and new, and peers list each other once, as `mailbox_per_peer` requires.
    unsafe { lines.open(comm.rank(), &neighbours, (part, parts.clone()), || comm.barrier()) }
}

/// For plans of memory: each rank sends to `receivers` other ranks, through rings of `places` places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rings {
    /// The capacity of a ring, in messages.
    pub places: u64,
    /// Averaged over all ranks.
    pub receivers: u64,
    place_bytes: u64,
}

impl Rings {
    pub(crate) const fn new(places: u64, receivers: u64) -> Self {
        Self { places, receivers, place_bytes: 64 }
    }

    pub(crate) const fn for_messages(receivers: u64) -> Self {
        Self::new(UNEXPECTED_MESSAGES as u64, receivers)
    }

    /// A mailbox per peer, for messages of up to `words` words.
    pub(crate) fn lines(sends: u64, receivers: u64, words: usize) -> Self {
        Self { places: sends.min(MAX_PLACES as u64), receivers, place_bytes: place_bytes(words) as u64 }
    }

    pub fn bytes(self, ranks: usize) -> u64 {
        // Each ring also has a count, and its ends keep 192 bytes.
        const BYTES_PER_RING: u64 = size_of::<Count>() as u64 + 192;
        let (ranks, bytes_per_ring) = (ranks as u64, self.places.saturating_mul(self.place_bytes));
        let bytes_in_use = self.receivers.min(ranks).saturating_mul(bytes_per_ring.next_multiple_of(base_page_bytes()));
        ranks.saturating_mul(BYTES_PER_RING).saturating_add(bytes_in_use.min(ranks.saturating_mul(bytes_per_ring)))
    }
}
