//! Prefetch hints. Processors without such hints ignore them.

/// For a word that will soon be read and written, into the nearest cache.
#[inline(always)]
pub fn prefetch_near(word: *const u64) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch never faults, at any address.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(word.cast());
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: a prefetch never faults, at any address.
    unsafe {
        std::arch::asm!("prfm pstl1keep, [{}]", in(reg) word, options(nostack, preserves_flags, readonly));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = word;
}

/// For later use, into the second-level cache.
#[inline(always)]
pub fn prefetch_far(word: *const u64) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch never faults, at any address.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T1>(word.cast());
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: a prefetch never faults, at any address.
    unsafe {
        std::arch::asm!("prfm pstl2keep, [{}]", in(reg) word, options(nostack, preserves_flags, readonly));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = word;
}

/// For a word that will soon be read only: other cores may keep their copies.
#[inline(always)]
pub fn prefetch_for_reading(word: *const u64) {
    #[cfg(target_arch = "aarch64")]
    // SAFETY: a prefetch never faults, at any address.
    unsafe {
        std::arch::asm!("prfm pldl1keep, [{}]", in(reg) word, options(nostack, preserves_flags, readonly));
    }
    #[cfg(not(target_arch = "aarch64"))]
    prefetch_near(word);
}
