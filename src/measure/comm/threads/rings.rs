//! Rings between all pairs of ranks. Each rank maps memory for its part of the rings; the system provides only the pages in use.

use super::ThreadComm;
use crate::comm::ring::{self, Count};
use crate::comm::ring_layout::RingLayout;
use crate::comm::{Comm, UNEXPECTED_MESSAGES};
use crate::hardware::base_page_bytes;
use memmap2::{MmapMut, MmapRaw};
use std::sync::Arc;

pub(super) type Producer<T> = ring::Producer<T, Parts>;
pub(super) type Consumer<T> = ring::Consumer<T, Parts>;

/// The parts of all ranks, by rank.
pub(super) type Parts = Arc<[Arc<RankPart>]>;

/// One rank's part of the rings.
pub(super) struct RankPart(MmapRaw);

impl RankPart {
    fn new<T>(layout: &RingLayout<T>) -> Self {
        let mut map = MmapMut::map_anon(layout.bytes()).unwrap_or_else(|cause| {
            let size = apexmap_base::units::bytes(layout.bytes() as f64);
            panic!("no memory for rings between {} ranks ({size}): {cause}", layout.ranks)
        });
        // Touch the pages of the counts now, so that no later read of a count waits for the system.
        map[..layout.count_bytes()].fill(0);
        Self(map.into())
    }

    /// Returns the start. It may be written through, because it is not derived from a reference.
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
    let (parts, values): (Vec<_>, _) =
        comm.all_gather_value((Arc::new(RankPart::new(&layout)), value)).into_iter().unzip();
    let parts: Parts = parts.into();
    let ring = |from, to| layout.ring(|rank| parts[rank].start(), from, to);
    // SAFETY: the ring lies within the parts, which were zeroed and are page-aligned; only this rank sends to `to`.
    let receiver = ranks.clone().map(|to| unsafe { Producer::new(ring(rank, to), parts.clone()) });
    // SAFETY: the ring lies within the same parts, which the consumer keeps alive; only this rank receives from `from`.
    let sender = ranks.map(|from| unsafe { Consumer::new(ring(from, rank), parts.clone()) });
    (receiver.collect(), sender.collect(), values)
}

/// The rings that a kernel uses, for plans of memory: each rank sends to `receivers` other ranks, through rings of `places`
/// places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rings {
    /// Capacity of a ring, in messages.
    pub places: u64,
    /// Number of ranks that a rank sends to, averaged over all ranks.
    pub receivers: u64,
}

impl Rings {
    /// Returns the rings of messages without handles.
    pub(crate) const fn for_messages(receivers: u64) -> Self {
        Self { places: UNEXPECTED_MESSAGES as u64, receivers }
    }

    /// Returns the maximum number of bytes in use of a rank's part.
    pub fn bytes(self, ranks: usize) -> u64 {
        // Each place is one cache line. Each ring also has a count, and its ends keep 192 bytes.
        const BYTES_PER_RING: u64 = size_of::<Count>() as u64 + 192;
        let (ranks, bytes_per_ring) = (ranks as u64, self.places.saturating_mul(64));
        let bytes_in_use = self.receivers.min(ranks).saturating_mul(bytes_per_ring.next_multiple_of(base_page_bytes()));
        ranks.saturating_mul(BYTES_PER_RING).saturating_add(bytes_in_use.min(ranks.saturating_mul(bytes_per_ring)))
    }
}
