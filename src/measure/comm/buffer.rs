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
// SAFETY: through a shared reference it gives only pointers, and who touches memory through them says why it may.
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
        self.start.as_ptr().wrapping_add(at)
    }

    pub(super) fn items(&self) -> usize {
        self.items
    }

    /// All items, for their only owner: who shares a buffer, or waits for messages in it, has no such access.
    pub fn items_mut(&mut self) -> &mut [u32] {
        // SAFETY: the map has `items` items, pages are aligned, any bits are an item, and the buffer is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.items) }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: a value is dropped once, and nothing uses the map after.
            unsafe { ManuallyDrop::drop(&mut self.map) };
        }
    }
}
