use crate::kernels::prelude::*;
use crate::numerics::gf2::{self, lcg};
use multiversion::multiversion;

/// Position that is added to every start. Without it the first values have few bits set if the exponent of x is close to a power
/// of two. Both ways to start a stream have this weakness. (The Parallel Research Kernels start at this position.)
pub const COMMON_OFFSET: u64 = 834_568_137_686_317_453;

choice! {
    pub enum StreamKind {
        /// A linear feedback shift register.
        Lfsr = "lfsr",
        /// A linear congruential generator.
        Lcg = "lcg",
    }
}

impl StreamKind {
    /// Returns the length of the cycle, or `u64::MAX` if 64 bits cannot hold it.
    pub fn period(self) -> u64 {
        match self {
            StreamKind::Lfsr => gf2::PERIOD,
            StreamKind::Lcg => u64::MAX,
        }
    }
}

choice! {
    /// The bits of a value that form the index of its word.
    pub enum IndexBits {
        /// As in the reference implementation: the lowest bits for the shift register, the highest for the congruential generator.
        Reference = "reference",
        Lowest = "lowest",
        /// As in the text of the definition: a<63, 64-n>.
        Highest = "highest",
    }
}

/// The mapping from a value to the word that it updates: (value >> shift) & mask.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Index {
    shift: u32,
    mask: u64,
}

impl Index {
    pub fn new(kind: StreamKind, bits: u32) -> Self {
        Self::with_bits(IndexBits::Reference, kind, bits)
    }

    pub fn with_bits(choice: IndexBits, kind: StreamKind, bits: u32) -> Self {
        let shift = match (choice, kind) {
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
    pub fn word(&self, value: u64) -> u64 {
        value >> self.shift & self.mask
    }
}

/// A generator of the values that follow a position of a stream.
#[derive(Clone, Debug)]
pub struct Generator {
    kind: StreamKind,
    /// The last value that was returned.
    last: u64,
}

impl Generator {
    /// Starts after `position`: the first value is the one at `position` + 1.
    pub fn starting_after(kind: StreamKind, position: u64) -> Self {
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

    /// Fills `values` with the next values.
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

/// Fills `values` with the values that follow `last`. Each value is computed from the one `LANES` positions before it, so that a
/// vector unit computes several at once.
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
            *lane = gf2::take_steps::<{ LANES as u32 }>(*lane);
            *slot = *lane;
        }
    }
    for (lane, slot) in lanes.iter().zip(chunks.into_remainder()) {
        *slot = gf2::take_steps::<{ LANES as u32 }>(*lane);
    }
}
