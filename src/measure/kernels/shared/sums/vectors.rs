//! Vectors of words. `Plain` is for processors with none of the instructions.

/// Proof that this processor has certain vector instructions. Only their detection creates a `Kind`, so its holder may run them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind(Width);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Width {
    Plain,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Kind {
    /// The widest first.
    pub fn detect() -> impl Iterator<Item = Self> {
        let has = |width: &Width| match width {
            Width::Plain => true,
            #[cfg(target_arch = "x86_64")]
            Width::Avx2 => std::arch::is_x86_feature_detected!("avx2"),
            #[cfg(target_arch = "x86_64")]
            Width::Avx512 => std::arch::is_x86_feature_detected!("avx512f"),
        };
        #[cfg(target_arch = "x86_64")]
        let widths = [Width::Avx512, Width::Avx2, Width::Plain];
        #[cfg(not(target_arch = "x86_64"))]
        let widths = [Width::Plain];
        widths.into_iter().filter(has).map(Self)
    }

    pub fn best() -> Self {
        Self::detect().next().unwrap_or(Self(Width::Plain))
    }

    pub(crate) fn width(self) -> Width {
        self.0
    }
}

pub(crate) trait Vector: Copy {
    const WORDS: usize;
    type Mask: Copy;
    /// `words` is less than `WORDS`.
    fn mask(words: usize) -> Self::Mask;
    /// # Safety
    /// The processor has the instructions, and a whole vector of words can be read at `address`.
    unsafe fn load(address: *const u64) -> Self;
    /// The other words are zero. This is faster than a load with a mask.
    ///
    /// # Safety
    /// The processor has the instructions, `WORDS` is 1, 2 or 4, and `WORDS` words can be read at `address`.
    unsafe fn load_first<const WORDS: usize>(address: *const u64) -> Self;
    /// The other words are zero and are not read.
    ///
    /// # Safety
    /// The processor has the instructions, and the words of the mask can be read at `address`.
    unsafe fn load_masked(address: *const u64, mask: Self::Mask) -> Self;
    /// # Safety
    /// The processor has the instructions.
    unsafe fn splat(number: u64) -> Self;
    /// # Safety
    /// The processor has the instructions.
    unsafe fn wrapping_add(self, other: Self) -> Self;
    /// # Safety
    /// The processor has the instructions, and a whole vector of words can be written at `to`.
    unsafe fn store(self, to: *mut u64);
    /// # Safety
    /// The processor has the instructions, and a whole vector of words can be written at `to`, whose address is a multiple of the
    /// vector's length.
    unsafe fn store_past_caches(self, to: *mut u64);
}

/// On processors other than x86_64, a normal store.
#[inline(always)]
pub(crate) fn store_past_caches(word: &mut u64, value: u64) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a reference is aligned and can be written; SSE2, which has the instruction, is part of x86_64.
    unsafe {
        std::arch::x86_64::_mm_stream_si64(std::ptr::from_mut(word).cast(), value as i64);
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        *word = value;
    }
}
