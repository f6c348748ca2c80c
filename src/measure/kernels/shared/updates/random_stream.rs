//! The streams of random values, and the mapping from a value to the index of a word.

use crate::kernels::Choices;
use crate::numerics::gf2::{self, lcg};
use multiversion::multiversion;

/// Position added to every start: it cures both ways of starting of their weakness, that powers of x with an exponent
/// close to a power of two have few bits set. (The Parallel Research Kernels start there.)
pub const COMMON_OFFSET: u64 = 834_568_137_686_317_453;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamKind {
    /// The shift register.
    Lfsr,
    /// The linear congruential generator.
    Lcg,
}

impl StreamKind {
    /// The words of the `stream` parameter; the first is the default.
    pub const NAMES: &[&str] = &["lfsr", "lcg"];

    pub fn from_name(name: &str) -> Self {
        if name == "lcg" { StreamKind::Lcg } else { StreamKind::Lfsr }
    }

    /// Length of the cycle, as far as 64 bits can hold it.
    pub fn period(self) -> u64 {
        match self {
            StreamKind::Lfsr => gf2::PERIOD,
            StreamKind::Lcg => u64::MAX,
        }
    }
}

/// Which bits of a value are its word's index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexBits {
    /// Those of the reference implementation: the lowest of the shift register, the highest of the congruential generator.
    Reference,
    Lowest,
    /// Those of the definition's text: a<63, 64-n>.
    Highest,
}

pub(crate) const INDEX_CHOICES: Choices<IndexBits> =
    Choices(&[("reference", IndexBits::Reference), ("lowest", IndexBits::Lowest), ("highest", IndexBits::Highest)]);
pub(crate) const INDEX_WORDS: [&str; 3] = INDEX_CHOICES.words();

/// From a value to the word it updates: (value >> shift) & mask.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Index {
    shift: u32,
    mask: u64,
}

impl Index {
    /// Into a table of 2^`bits` words, 0 < bits < 64, as in the reference implementation.
    pub fn new(kind: StreamKind, bits: u32) -> Self {
        Self::of_bits(IndexBits::Reference, kind, bits)
    }

    /// The same by these bits of the values.
    pub fn of_bits(which: IndexBits, kind: StreamKind, bits: u32) -> Self {
        let shift = match (which, kind) {
            (IndexBits::Lowest, _) | (IndexBits::Reference, StreamKind::Lfsr) => 0,
            (IndexBits::Highest, _) | (IndexBits::Reference, StreamKind::Lcg) => 64 - bits,
        };
        Self { shift, mask: (1 << bits) - 1 }
    }

    pub fn shift(&self) -> u32 {
        self.shift
    }

    pub fn mask(&self) -> u64 {
        self.mask
    }

    #[inline(always)]
    pub fn of(&self, value: u64) -> u64 {
        value >> self.shift & self.mask
    }
}

/// The values that follow a position of a stream.
#[derive(Clone, Debug)]
pub struct Generator {
    kind: StreamKind,
    /// The value given last.
    last: u64,
}

impl Generator {
    /// The first value given is the one at `position` + 1.
    pub fn after(kind: StreamKind, position: u64) -> Self {
        let last = match kind {
            StreamKind::Lfsr => gf2::value_at(position),
            StreamKind::Lcg => lcg::value_at(position),
        };
        Self { kind, last }
    }

    #[inline(always)]
    pub fn next_u64(&mut self) -> u64 {
        self.last = match self.kind {
            StreamKind::Lfsr => gf2::step(self.last),
            StreamKind::Lcg => lcg::step(self.last),
        };
        self.last
    }

    /// The next values, as many as there is room for.
    pub fn fill(&mut self, values: &mut [u64]) {
        match self.kind {
            StreamKind::Lfsr => fill_lfsr(self.last, values),
            StreamKind::Lcg => {
                let mut value = self.last;
                values.iter_mut().for_each(|slot| {
                    value = lcg::step(value);
                    *slot = value;
                });
            }
        }
        self.last = values.last().copied().unwrap_or(self.last);
    }
}

/// Each value follows from the one `LANES` before it, so that a vector unit makes several at once.
#[multiversion(targets("x86_64+avx2"))]
fn fill_lfsr(mut last: u64, values: &mut [u64]) {
    const LANES: usize = 16;
    let (first, rest) = values.split_at_mut(values.len().min(LANES));
    for slot in first.iter_mut() {
        last = gf2::step(last);
        *slot = last;
    }
    let Ok(mut lanes) = <[u64; LANES]>::try_from(&*first) else { return };
    let mut chunks = rest.chunks_exact_mut(LANES);
    for chunk in &mut chunks {
        for (lane, slot) in lanes.iter_mut().zip(chunk) {
            *lane = gf2::leap::<{ LANES as u32 }>(*lane);
            *slot = *lane;
        }
    }
    for (lane, slot) in lanes.iter().zip(chunks.into_remainder()) {
        *slot = gf2::leap::<{ LANES as u32 }>(*lane);
    }
}
