//! Memory for messages: zeros on pages of their own.

use apexmap_base::error::{Error, Result};
use memmap2::MmapMut;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;

/// Items of 4 bytes. While its rank panics they are leaked: others may still touch them.
pub struct Buffer {
    start: NonNull<u32>,
    items: usize,
    map: ManuallyDrop<MmapMut>,
}

// SAFETY: it owns the memory, as a `Box<[u32]>` does.
unsafe impl Send for Buffer {}
// SAFETY: the same.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// Zeros. Fails if there is not so much memory.
    pub fn new(items: usize) -> Result<Self> {
        let bytes = items.max(1).saturating_mul(size_of::<u32>());
        let mut map = MmapMut::map_anon(bytes).map_err(|cause| {
            Error::environment(
                format!("cannot allocate {} for messages: {cause}", apexmap_base::units::bytes(bytes as f64)),
                "use smaller or fewer messages (message_bytes, window, messages)",
            )
        })?;
        let start = NonNull::new(map.as_mut_ptr().cast()).expect("memory has an address");
        Ok(Self { start, items, map: ManuallyDrop::new(map) })
    }

    /// The first of `items` items at `at`, all of which exist. Whoever touches them through it says why it may.
    #[inline]
    pub(super) fn at(&self, at: usize, items: usize) -> *mut u32 {
        super::check_range(at, items, self.items);
        // SAFETY: within the allocation.
        unsafe { self.start.as_ptr().add(at) }
    }

    pub(super) fn items(&self) -> usize {
        self.items
    }

    /// All items, for their only owner: who shares a buffer, or waits for messages in it, has no such access.
    pub fn items_mut(&mut self) -> &mut [u32] {
        // SAFETY: any bits are an item, pages are aligned, and the buffer is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.items) }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: it is not used again.
            unsafe { ManuallyDrop::drop(&mut self.map) };
        }
    }
}
