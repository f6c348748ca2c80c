//! Rings between all pairs of ranks. Each rank maps memory for its part of the rings; the system provides only the pages in use.

use super::ThreadComm;
use crate::comm::ring::{self, Count, Ring, RingSlot};
use crate::comm::{Comm, UNEXPECTED_MESSAGES};
use crate::hardware::base_page_bytes;
use memmap2::{MmapMut, MmapRaw};
use std::sync::Arc;

pub(super) type Producer<T> = ring::Producer<T, Parts>;
pub(super) type Consumer<T> = ring::Consumer<T, Parts>;

/// The parts of all ranks, by rank.
pub(super) type Parts = Arc<[Arc<RankPart>]>;

/// One rank's part of the rings. It begins with the counts that this rank reads: items put into the rings to it, and items taken
/// out of the rings from it. Then follow the places of the rings from it.
pub(super) struct RankPart(MmapRaw);

/// Returns the size of a ring's places in bytes, rounded up so that two rings share no pair of cache lines.
const fn ring_bytes<T>(capacity: usize) -> usize {
    (capacity * size_of::<T>()).next_multiple_of(size_of::<Count>())
}

impl RankPart {
    fn new<T>(ranks: usize, capacity: usize) -> Self {
        let counts = 2 * ranks * size_of::<Count>();
        let bytes = counts + ranks * ring_bytes::<T>(capacity);
        let mut map = MmapMut::map_anon(bytes).unwrap_or_else(|cause| {
            panic!("no memory for rings between {ranks} ranks ({}): {cause}", apexmap_base::units::bytes(bytes as f64))
        });
        // Touch the pages of the counts now, so that no later read of a count waits for the system.
        map[..counts].fill(0);
        Self(map.into())
    }

    /// Returns a pointer at a byte offset. It may be written through, because it is not derived from a reference.
    fn pointer_at<T>(&self, bytes: usize) -> *const T {
        assert!(bytes <= self.0.len(), "a ring lies beyond its part");
        self.0.as_mut_ptr().wrapping_add(bytes).cast_const().cast()
    }
}

fn ring_between<T>(parts: &[Arc<RankPart>], sender: usize, receiver: usize, capacity: usize) -> Ring<T> {
    let (ranks, count) = (parts.len(), size_of::<Count>());
    Ring {
        put: parts[receiver].pointer_at(sender * count),
        taken: parts[sender].pointer_at((ranks + receiver) * count),
        places: parts[sender].pointer_at::<RingSlot<T>>(2 * ranks * count + receiver * ring_bytes::<T>(capacity)),
        capacity,
    }
}

/// Creates a ring of `capacity` places from every rank to every rank, including itself, and exchanges `value`. Returns the
/// producers to all ranks, the consumers from all ranks, and the values of all ranks. Collective.
pub(super) fn create_rings<T: Copy + Send + 'static, G: Clone + Send + Sync + 'static>(
    comm: &ThreadComm,
    capacity: usize,
    value: G,
) -> (Vec<Producer<T>>, Vec<Consumer<T>>, Vec<G>) {
    let (rank, ranks) = (comm.rank(), 0..comm.size());
    let (parts, values): (Vec<_>, _) =
        comm.all_gather_value((Arc::new(RankPart::new::<T>(comm.size(), capacity)), value)).into_iter().unzip();
    let parts: Parts = parts.into();
    // SAFETY: the ring lies within the parts, which were zeroed and are page-aligned; only this rank sends to `receiver`.
    let receiver =
        ranks.clone().map(|to| unsafe { Producer::new(ring_between(&parts, rank, to, capacity), parts.clone()) });
    // SAFETY: the ring lies within the same parts, which the consumer keeps alive; only this rank receives from `sender`.
    let sender = ranks.map(|from| unsafe { Consumer::new(ring_between(&parts, from, rank, capacity), parts.clone()) });
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
        // Each place is one cache line. Each ring also has two counts, and its ends keep 192 bytes.
        const BYTES_PER_RING: u64 = 2 * size_of::<Count>() as u64 + 192;
        let (ranks, bytes_per_ring) = (ranks as u64, self.places.saturating_mul(64));
        let bytes_in_use = self.receivers.min(ranks).saturating_mul(bytes_per_ring.next_multiple_of(base_page_bytes()));
        ranks.saturating_mul(BYTES_PER_RING).saturating_add(bytes_in_use.min(ranks.saturating_mul(bytes_per_ring)))
    }
}
