//! Rings between all ranks. Each rank has memory for its part of them, of which the system gives what is used.

use super::ThreadComm;
use crate::comm::ring::{self, Count, Place, Ring};
use crate::comm::{Comm, UNEXPECTED_MESSAGES};
use memmap2::{MmapMut, MmapRaw};
use std::sync::Arc;

pub(super) type Producer<T> = ring::Producer<T, Everything>;
pub(super) type Consumer<T> = ring::Consumer<T, Everything>;

/// What all ranks have of the rings, by rank.
pub(super) type Everything = Arc<[Arc<Part>]>;

/// What a rank has of the rings: the counts that it looks at, which are those of items put into the rings to it and of items taken
/// from its own; then the places of the rings from it, of which each is used by what it sends.
pub(super) struct Part(MmapRaw);

/// Bytes of a ring's places, which share no pair of cache lines with another's.
const fn of_places<T>(capacity: usize) -> usize {
    (capacity * size_of::<T>()).next_multiple_of(size_of::<Count>())
}

impl Part {
    fn new<T>(ranks: usize, capacity: usize) -> Self {
        let counts = 2 * ranks * size_of::<Count>();
        let bytes = counts + ranks * of_places::<T>(capacity);
        let mut map = MmapMut::map_anon(bytes).unwrap_or_else(|cause| {
            panic!("no memory for rings between {ranks} ranks, {}: {cause}", apexmap_base::units::bytes(bytes as f64))
        });
        // Now, as no look at a count is to wait for the system.
        map[..counts].fill(0);
        Self(map.into())
    }

    /// The pointer may be written through: it is made of no reference.
    fn at<T>(&self, bytes: usize) -> *const T {
        assert!(bytes <= self.0.len(), "a ring lies beyond its part");
        self.0.as_mut_ptr().wrapping_add(bytes).cast_const().cast()
    }
}

fn ring<T>(parts: &[Arc<Part>], from: usize, to: usize, capacity: usize) -> Ring<T> {
    let (ranks, count) = (parts.len(), size_of::<Count>());
    Ring {
        put: parts[to].at(from * count),
        taken: parts[from].at((ranks + to) * count),
        places: parts[from].at::<Place<T>>(2 * ranks * count + to * of_places::<T>(capacity)),
        capacity,
    }
}

/// Collective: a ring of `capacity` places from every rank to every rank, itself included, and what each rank gives to all. Returns
/// this rank's ends of the rings to all ranks and from all ranks, and the gifts.
pub(super) fn rings<T: Copy + Send + 'static, G: Clone + Send + Sync + 'static>(
    comm: &ThreadComm,
    capacity: usize,
    gift: G,
) -> (Vec<Producer<T>>, Vec<Consumer<T>>, Vec<G>) {
    let (rank, all) = (comm.rank(), 0..comm.size());
    let (parts, gifts): (Vec<_>, _) =
        comm.swap((Arc::new(Part::new::<T>(comm.size(), capacity)), gift)).into_iter().unzip();
    let parts: Everything = parts.into();
    // SAFETY: all of the ring is in the parts, which were zeros, and aligned, as pages are; this rank alone sends to `to`.
    let to = all.clone().map(|to| unsafe { Producer::new(ring(&parts, rank, to, capacity), parts.clone()) });
    // SAFETY: the same parts, kept by the end; this rank alone receives from `from`.
    let from = all.map(|from| unsafe { Consumer::new(ring(&parts, from, rank, capacity), parts.clone()) });
    (to.collect(), from.collect(), gifts)
}

/// What a kernel uses of one set of rings, for plans: each rank sends to so many others, through rings of so many places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rings {
    /// Messages that a ring has room for.
    pub places: u64,
    /// Ranks to which a rank sends, the mean over all ranks.
    pub receivers: u64,
}

impl Rings {
    /// Of messages without handles.
    pub(crate) const fn of_messages(receivers: u64) -> Self {
        Self { places: UNEXPECTED_MESSAGES as u64, receivers }
    }

    /// Bytes of a rank's part at most: what is used of it.
    pub fn bytes(self, ranks: usize) -> u64 {
        const PAGE: u64 = 4096;
        // A place is a cache line. Of each ring both counts, and what its ends know.
        const OF_RING: u64 = 2 * size_of::<Count>() as u64 + 192;
        let (ranks, ring) = (ranks as u64, self.places.saturating_mul(64));
        let used = self.receivers.min(ranks).saturating_mul(ring.next_multiple_of(PAGE));
        ranks.saturating_mul(OF_RING).saturating_add(used.min(ranks.saturating_mul(ring)))
    }
}
