//! `memcpy` and `memmove` for x86-64 systems with musl. Those of musl take up to 2.8 times as long as glibc's, and copies between
//! ranks are timed. Vectors have 16 bytes, which every x86-64 processor has, or 32 with AVX. The loops are assembly, because the
//! compiler would make a call of `memcpy` from loops in Rust.

use std::arch::asm;
use std::arch::x86_64::{__cpuid, _mm_loadu_si128, _mm_storeu_si128, _xgetbv};
use std::sync::atomic::{AtomicU8, Ordering};

/// For vectors of 32 bytes: 0 if unknown, 1 if not, 2 if so.
static HAS_AVX: AtomicU8 = AtomicU8::new(0);

/// Copies from here on do not fit into the last cache next to other data: their stores go around it.
const STREAMED_BYTES: usize = 16 << 20;

#[inline]
fn has_avx() -> bool {
    match HAS_AVX.load(Ordering::Relaxed) {
        0 => detect_avx(),
        state => state == 2,
    }
}

#[cold]
fn detect_avx() -> bool {
    // The processor has AVX and XGETBV, and the system saves the registers.
    let has_avx = __cpuid(1).ecx & (1 << 28 | 1 << 27) == 1 << 28 | 1 << 27 && {
        // SAFETY: the bit for XGETBV is set.
        unsafe { saved_state() & 6 == 6 }
    };
    HAS_AVX.store(1 + u8::from(has_avx), Ordering::Relaxed);
    has_avx
}

/// # Safety
/// The processor has XGETBV.
#[target_feature(enable = "xsave")]
unsafe fn saved_state() -> u64 {
    // SAFETY: as above.
    unsafe { _xgetbv(0) }
}

/// `memcpy` of C. The ranges may overlap, because all reads of a step come before its writes.
///
/// # Safety
/// As for [`std::ptr::copy`] of bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memcpy(to: *mut u8, from: *const u8, bytes: usize) -> *mut u8 {
    // SAFETY: the caller's, and the sizes are those that each function takes.
    unsafe {
        match bytes {
            0..16 => copy_few(to, from, bytes),
            16..=64 => copy_vectors(to, from, bytes),
            _ if (to as usize).wrapping_sub(from as usize) < bytes => copy_backwards(to, from, bytes),
            _ if !has_avx() => copy_words(to, from, bytes),
            STREAMED_BYTES.. if (from as usize).wrapping_sub(to as usize) >= bytes => {
                copy_around_caches(to, from, bytes)
            }
            _ => copy_forwards(to, from, bytes),
        }
    }
    to
}

/// `memmove` of C.
///
/// # Safety
/// As for [`std::ptr::copy`] of bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memmove(to: *mut u8, from: *const u8, bytes: usize) -> *mut u8 {
    // SAFETY: the caller's.
    unsafe { memcpy(to, from, bytes) }
}

/// Copies a type from the beginning and one from the end, which may overlap in the middle.
///
/// # Safety
/// As for [`memcpy`], of at least the size of the type.
#[inline]
unsafe fn copy_ends<T>(to: *mut u8, from: *const u8, bytes: usize) {
    // SAFETY: the caller has at least one `T`.
    unsafe {
        let last = bytes - size_of::<T>();
        let (first, end) = (from.cast::<T>().read_unaligned(), from.add(last).cast::<T>().read_unaligned());
        to.cast::<T>().write_unaligned(first);
        to.add(last).cast::<T>().write_unaligned(end);
    }
}

/// Copies up to 15 bytes.
///
/// # Safety
/// As for [`memcpy`].
#[inline]
unsafe fn copy_few(to: *mut u8, from: *const u8, bytes: usize) {
    // SAFETY: each range has at least the size of its type.
    unsafe {
        match bytes {
            8.. => copy_ends::<u64>(to, from, bytes),
            4.. => copy_ends::<u32>(to, from, bytes),
            2.. => copy_ends::<u16>(to, from, bytes),
            1 => to.write(from.read()),
            0 => {}
        }
    }
}

/// Copies 16 to 64 bytes.
///
/// # Safety
/// As for [`memcpy`], of that size.
#[inline]
unsafe fn copy_vectors(to: *mut u8, from: *const u8, bytes: usize) {
    // SAFETY: four vectors at the ends and in the middle cover up to 64 bytes.
    unsafe {
        let middle = if bytes > 32 { 16 } else { 0 };
        let places = [0, middle, bytes - 16 - middle, bytes - 16];
        let vectors = places.map(|place| _mm_loadu_si128(from.add(place).cast()));
        _mm_storeu_si128(to.add(places[0]).cast(), vectors[0]);
        _mm_storeu_si128(to.add(places[1]).cast(), vectors[1]);
        _mm_storeu_si128(to.add(places[2]).cast(), vectors[2]);
        _mm_storeu_si128(to.add(places[3]).cast(), vectors[3]);
    }
}

/// Defines a copy forwards of more than 64 bytes, by two vectors of 32 bytes in each step. The last 64 bytes are read before the loop and
/// written after it, because the ranges may overlap.
macro_rules! define_copy {
    ($(#[$doc:meta])* $name:ident, $store:literal, $end:literal) => {
        $(#[$doc])*
        ///
        /// # Safety
        /// As for [`memcpy`], of more than 64 bytes, on a processor with AVX.
        unsafe fn $name(to: *mut u8, from: *const u8, bytes: usize) {
            // SAFETY: the loop ends within the last 64 bytes, which both ranges have.
            unsafe {
                let last = [64, 48, 32, 16].map(|end| _mm_loadu_si128(from.add(bytes - end).cast()));
                asm!(
                    "2:",
                    "vmovdqu ymm0, [{from}]",
                    "vmovdqu ymm1, [{from} + 32]",
                    concat!($store, " [{to}], ymm0"),
                    concat!($store, " [{to} + 32], ymm1"),
                    "add {from}, 64",
                    "add {to}, 64",
                    "sub {left}, 64",
                    "ja 2b",
                    $end,
                    "vzeroupper",
                    from = inout(reg) from => _,
                    to = inout(reg) to => _,
                    left = inout(reg) bytes - 64 => _,
                    out("ymm0") _,
                    out("ymm1") _,
                    options(nostack),
                );
                last.iter().zip([64, 48, 32, 16]).for_each(|(vector, end)| _mm_storeu_si128(to.add(bytes - end).cast(), *vector));
            }
        }
    };
}
define_copy!(
    /// Copies through the caches.
    copy_forwards, "vmovdqu", ""
);
define_copy!(
    /// Copies to a multiple of 32 around the caches.
    stream, "vmovntdq", "sfence"
);

/// Copies more than [`STREAMED_BYTES`] to any address.
///
/// # Safety
/// As for [`std::ptr::copy_nonoverlapping`] of bytes, on a processor with AVX.
unsafe fn copy_around_caches(to: *mut u8, from: *const u8, bytes: usize) {
    let head = to.align_offset(32);
    // SAFETY: `head` is below 32; the ranges do not overlap.
    unsafe {
        copy_vectors(to, from, 64);
        stream(to.add(head), from.add(head), bytes - head);
    }
}

/// Copies forwards on a processor without AVX.
///
/// # Safety
/// As for [`memcpy`].
unsafe fn copy_words(to: *mut u8, from: *const u8, bytes: usize) {
    // SAFETY: the direction flag is clear, as the calling convention demands.
    unsafe {
        asm!("rep movsb", inout("rcx") bytes => _, inout("rdi") to => _, inout("rsi") from => _, options(nostack, preserves_flags));
    }
}

/// Copies more than 64 bytes from the end to the beginning, for a target that begins within the source.
///
/// # Safety
/// As for [`memcpy`], of that size.
unsafe fn copy_backwards(to: *mut u8, from: *const u8, bytes: usize) {
    // SAFETY: the loop ends within the first 16 bytes, which both ranges have.
    unsafe {
        let first = _mm_loadu_si128(from.cast());
        asm!(
            "2:",
            "movdqu xmm0, [{from} + {left}]",
            "movdqu [{to} + {left}], xmm0",
            "sub {left}, 16",
            "ja 2b",
            from = in(reg) from,
            to = in(reg) to,
            left = inout(reg) bytes - 16 => _,
            out("xmm0") _,
            options(nostack),
        );
        _mm_storeu_si128(to.cast(), first);
    }
}
