//! Memory that a transport owns and shares: items of 4 bytes, on pages of their own.

use crate::error::{Error, Result};
use memmap2::MmapMut;
use std::ptr::NonNull;

pub(super) struct Items {
    start: NonNull<u32>,
    count: usize,
    _map: MmapMut,
}

// SAFETY: it only tells where the items are; whoever touches them says why it may.
unsafe impl Send for Items {}
// SAFETY: the same.
unsafe impl Sync for Items {}

impl Items {
    /// Zeros.
    pub(super) fn new(count: usize) -> Result<Self> {
        let bytes = 4 * count.max(1);
        let mut map = MmapMut::map_anon(bytes).map_err(|cause| {
            Error::environment(
                format!("cannot allocate {} for messages: {cause}", crate::units::bytes(bytes as f64)),
                "use smaller or fewer messages (message_bytes, window, messages)",
            )
        })?;
        let start = NonNull::new(map.as_mut_ptr().cast()).expect("memory has an address");
        Ok(Self { start, count, _map: map })
    }

    /// The first of `items` items at `at`, all of which exist.
    #[inline]
    pub(super) fn at(&self, at: usize, items: usize) -> *mut u32 {
        assert!(at + items <= self.count, "{items} items at {at} of a buffer of {}", self.count);
        // SAFETY: within the allocation.
        unsafe { self.start.as_ptr().add(at) }
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// # Safety
    /// Nobody else may touch the items meanwhile.
    pub(super) unsafe fn all(&mut self) -> &mut [u32] {
        // SAFETY: any bits are an item, pages are aligned, and the caller vouches for the others.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.count) }
    }
}
