use apexmap_base::error::{Error, Result};
use memmap2::MmapMut;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;

/// Items of 4 bytes, at first zeros, on separate pages. If the buffer's rank panics, it is leaked, because other ranks may still
/// access it.
pub struct Buffer {
    start: NonNull<u32>,
    items: usize,
    map: ManuallyDrop<MmapMut>,
}

// SAFETY: it owns the memory, as a `Box<[u32]>` does.
unsafe impl Send for Buffer {}
// SAFETY: a shared reference gives only pointers; each access through them is justified where it happens.
unsafe impl Sync for Buffer {}

impl Buffer {
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

    /// Checks that `items` items exist from `offset` on. Each access through the pointer must be justified where it happens.
    #[inline]
    pub(super) fn item_pointer(&self, offset: usize, items: usize) -> *mut u32 {
        super::check_range(offset, items, self.items);
        self.start.as_ptr().wrapping_add(offset)
    }

    pub(super) fn len(&self) -> usize {
        self.items
    }

    /// Needs exclusive ownership: a buffer that is shared, or that waits for messages, cannot be borrowed mutably.
    pub fn items_mut(&mut self) -> &mut [u32] {
        // SAFETY: the map has `items` items, pages are aligned, any bits are a valid item, and the buffer is borrowed
        // exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.items) }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: a value is dropped once, and nothing uses the map afterwards.
            unsafe { ManuallyDrop::drop(&mut self.map) };
        }
    }
}
