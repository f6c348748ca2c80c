//! Vectors of 4 words for 64-bit ARM: two registers of NEON, which every such processor has.

use super::vectors::Vector;
use std::arch::aarch64::{
    uint64x2_t, vaddq_u64, vcombine_u64, vcreate_u64, vdupq_n_u64, vld1_u64, vld1q_u64, vst1q_u64,
};

#[derive(Clone, Copy)]
pub(crate) struct Plain(uint64x2_t, uint64x2_t);

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
        unsafe { Self(vld1q_u64(address), vld1q_u64(address.add(2))) }
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
            let zero = vdupq_n_u64(0);
            match words {
                0 => Self(zero, zero),
                1 => Self(load_word(address), zero),
                2 => Self(vld1q_u64(address), zero),
                3 => Self(vld1q_u64(address), load_word(address.add(2))),
                _ => Self::load(address),
            }
        }
    }

    #[inline(always)]
    unsafe fn splat(number: u64) -> Self {
        // SAFETY: every 64-bit ARM processor has NEON.
        unsafe { Self(vdupq_n_u64(number), vdupq_n_u64(number)) }
    }

    #[inline(always)]
    unsafe fn wrapping_add(self, other: Self) -> Self {
        // SAFETY: every 64-bit ARM processor has NEON.
        unsafe { Self(vaddq_u64(self.0, other.0), vaddq_u64(self.1, other.1)) }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u64) {
        // SAFETY: `Vector::store` requires the writable words.
        unsafe {
            vst1q_u64(to, self.0);
            vst1q_u64(to.add(2), self.1);
        }
    }

    #[inline(always)]
    unsafe fn store_past_caches(self, to: *mut u64) {
        // SAFETY: `Vector::store_past_caches` requires the writable words. NEON has no store past the caches.
        unsafe { self.store(to) }
    }
}

/// # Safety
/// A word can be read at `address`.
#[inline(always)]
unsafe fn load_word(address: *const u64) -> uint64x2_t {
    // SAFETY: the caller ensures the word; every 64-bit ARM processor has NEON.
    unsafe { vcombine_u64(vld1_u64(address), vcreate_u64(0)) }
}
