//! Vectors for processors without vector instructions that this program knows.

use super::vectors::{Vector, store_past_caches};

/// No closures: the compiler does not always inline them here.
#[derive(Clone, Copy)]
pub(crate) struct Plain([u64; 4]);

impl Vector for Plain {
    const WORDS: usize = 4;
    type Mask = usize;

    #[inline(always)]
    fn mask(words: usize) -> usize {
        words
    }

    #[inline(always)]
    unsafe fn load(address: *const u64) -> Self {
        // SAFETY: `Vector::load` requires the words.
        Self(unsafe { address.cast::<[u64; 4]>().read_unaligned() })
    }

    #[inline(always)]
    unsafe fn load_first<const WORDS: usize>(address: *const u64) -> Self {
        // SAFETY: `Vector::load_first` requires 1, 2 or 4 words.
        unsafe { Self::load_masked(address, WORDS) }
    }

    #[inline(always)]
    unsafe fn load_masked(address: *const u64, words: usize) -> Self {
        // SAFETY: `Vector::load_masked` requires the words of the mask.
        unsafe {
            match words {
                0 => Self([0; 4]),
                1 => Self([*address, 0, 0, 0]),
                2 => Self([*address, *address.add(1), 0, 0]),
                3 => Self([*address, *address.add(1), *address.add(2), 0]),
                _ => Self::load(address),
            }
        }
    }

    #[inline(always)]
    unsafe fn splat(number: u64) -> Self {
        Self([number; 4])
    }

    #[inline(always)]
    unsafe fn wrapping_add(self, other: Self) -> Self {
        let ([a, b, c, d], [e, f, g, h]) = (self.0, other.0);
        Self([a.wrapping_add(e), b.wrapping_add(f), c.wrapping_add(g), d.wrapping_add(h)])
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u64) {
        // SAFETY: `Vector::store` requires the writable words.
        unsafe { to.cast::<[u64; 4]>().write_unaligned(self.0) }
    }

    #[inline(always)]
    unsafe fn store_past_caches(self, to: *mut u64) {
        for (word, number) in self.0.into_iter().enumerate() {
            // SAFETY: `Vector::store_past_caches` requires the writable words.
            unsafe { store_past_caches(&mut *to.add(word), number) };
        }
    }
}
