//! Draws the accesses of a rank from the power law and computes the sum that they must read.

use super::*;
use crate::numerics::power_law::PowerLaw;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// The target of an access. The upper 24 bits hold the distance from the reading rank to the owner, modulo P; the lower 40 bits the
/// word offset in the owner's memory. A location in the reader's own memory is therefore equal to its offset.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Location(u64);

impl Location {
    pub(crate) const OFFSET_BITS: u32 = 40;

    fn new(distance: u64, offset: u64) -> Self {
        Self(distance << Self::OFFSET_BITS | offset)
    }

    pub(crate) fn offsets(locations: &[Self]) -> &[u64] {
        // SAFETY: `Location` is transparent over u64.
        unsafe { std::slice::from_raw_parts(locations.as_ptr().cast::<u64>(), locations.len()) }
    }

    fn words_mut(locations: &mut [Self]) -> &mut [u64] {
        // SAFETY: `Location` is transparent over u64, and all words are locations.
        unsafe { std::slice::from_raw_parts_mut(locations.as_mut_ptr().cast::<u64>(), locations.len()) }
    }

    #[inline]
    pub(crate) fn is_own(self) -> bool {
        self.0 >> Self::OFFSET_BITS == 0
    }

    /// `comm` is the reader's.
    #[inline]
    pub(crate) fn owner(self, comm: &impl Comm) -> usize {
        let owner = comm.rank() + (self.0 >> Self::OFFSET_BITS) as usize;
        if owner < comm.size() { owner } else { owner - comm.size() }
    }

    #[inline]
    pub(crate) fn offset(self) -> usize {
        (self.0 & ((1 << Self::OFFSET_BITS) - 1)) as usize
    }
}

/// A hash. The content of each word is the difference of two consecutive values.
pub(crate) fn potential(rank: u64, word: u64) -> u64 {
    mix(rank << Location::OFFSET_BITS ^ word)
}

/// For kernels whose accesses follow no power law.
pub const GIVEN_REMOTE_SHARE: Key<f64> = key(
    "given_remote_share",
    "fraction of the accesses that goes to the memory of other ranks",
    Domain::Real { exclusive_min: 0.0, max: 1.0, default: 1.0 },
);

/// The distribution of the blocks that a rank reads. Block 0 is the first in the rank's memory.
#[derive(Clone, Copy)]
enum Law {
    Power(PowerLaw),
    /// Own and remote blocks are each drawn uniformly.
    RemoteShare {
        remote: f64,
        own: u64,
        blocks: u64,
    },
}

impl Law {
    fn from_point(point: &Point) -> Self {
        let block = L.of(point);
        let (own, blocks) = (local_words(point) / block, M.of(point) / block);
        if let Some(remote) = GIVEN_REMOTE_SHARE.get(point) {
            return Self::RemoteShare { remote, own, blocks };
        }
        Self::Power(PowerLaw::new(blocks, ALPHA.of(point)))
    }

    fn fill(self, random: &mut Pcg64Mcg, drawn: &mut [u64]) {
        match self {
            Self::Power(law) => law.fill(random, drawn),
            Self::RemoteShare { remote, own, blocks } => drawn.fill_with(|| {
                let is_remote = random.random::<f64>() < remote;
                random.random_range(if is_remote { own..blocks } else { 0..own })
            }),
        }
    }
}

pub(crate) struct Draws {
    law: Law,
    random: Pcg64Mcg,
    block: u64,
    /// Words per rank, M/P.
    local: u64,
    /// Words that each rank stores: fewer than `local` if ranks are simulated.
    stored: u64,
    rank: u64,
    ranks: u64,
}

impl Draws {
    /// Each combination of rank, stream and purpose has a different sequence.
    pub(crate) fn new(point: &Point, rank: usize, stream: u64, purpose: u64) -> Self {
        let (block, local) = (L.of(point), local_words(point));
        Self {
            law: Law::from_point(point),
            random: Pcg64Mcg::seed_from_u64(seed(&[SEED.of(point), rank as u64, stream, purpose])),
            block,
            local,
            stored: local,
            rank: rank as u64,
            ranks: point.ranks as u64,
        }
    }

    /// Lets all accesses go to the words that each rank stores, which its memory repeats.
    pub(crate) fn with_stored_words(self, words: usize) -> Self {
        Self { stored: words as u64, ..self }
    }

    pub(crate) fn fill(&mut self, array: &mut [Location]) {
        self.law.fill(&mut self.random, Location::words_mut(array));
        let (block, local, is_one) = (self.block, self.local, self.ranks == 1);
        // Divisions take longer than the rest of a draw.
        let (shift, mask) = (local.trailing_zeros(), local - 1);
        // Word 0 of the power law is the most frequent; it is the first word of the rank's own memory.
        let place = |location: &mut Location| {
            let word = location.0 * block;
            *location = match word {
                word if is_one => Location::new(0, word),
                word if local & mask == 0 => Location::new(word >> shift, word & mask),
                word => Location::new(word / local, word % local),
            };
        };
        array.iter_mut().for_each(place);
        if self.stored < self.local {
            let repeat = |location: &mut Location| {
                let offset = location.offset() as u64;
                *location = Location(location.0 - offset + offset % self.stored);
            };
            array.iter_mut().for_each(repeat);
        }
    }

    pub(crate) fn array(&mut self, accesses: usize) -> Vec<Location> {
        let mut array = vec![Location(0); accesses];
        self.fill(&mut array);
        array
    }

    pub(crate) fn expected_sum(&self, array: &[Location]) -> u64 {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512dq") {
            // SAFETY: the processor has the instructions.
            return unsafe { self.expected_sum_with_avx512(array) };
        }
        self.sum_of_blocks(array)
    }

    /// Its multiplications of whole words make it several times as fast.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512dq")]
    fn expected_sum_with_avx512(&self, array: &[Location]) -> u64 {
        self.sum_of_blocks(array)
    }

    #[inline(always)]
    fn sum_of_blocks(&self, array: &[Location]) -> u64 {
        let block_sum = |location: &Location| {
            let distance = location.0 >> Location::OFFSET_BITS;
            let owner = self.rank + distance;
            let owner = if owner < self.ranks { owner } else { owner - self.ranks };
            let first = location.offset() as u64;
            potential(owner, first + self.block).wrapping_sub(potential(owner, first))
        };
        array.iter().fold(0, |sum: u64, location| sum.wrapping_add(block_sum(location)))
    }
}
