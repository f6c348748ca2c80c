use super::operation::{Operation, with_operation};
use super::random_stream::{Index, StreamKind};
use crate::kernels::prelude::*;
use crate::prefetch;
use std::sync::atomic::AtomicU64;
use std::time::Instant;

/// A mapping from a value to an index into the words of a part.
pub trait Placement: Copy {
    /// If the word belongs to another part, [`AnyPart`] returns `words` or more; [`LowBits`] and [`HighBits`] an arbitrary index
    /// below `words`.
    fn position(self, value: u64, words: usize) -> usize;
}

#[derive(Clone, Copy)]
pub struct AnyPart {
    first: u64,
    index: Index,
}

impl Placement for AnyPart {
    #[inline(always)]
    fn position(self, value: u64, _: usize) -> usize {
        self.index.word(value).wrapping_sub(self.first) as usize
    }
}

/// For a part of 2^n words that begins at a multiple of 2^n. A whole table is such a part.
#[derive(Clone, Copy)]
pub struct LowBits;

impl Placement for LowBits {
    #[inline(always)]
    fn position(self, value: u64, words: usize) -> usize {
        value as usize & words.wrapping_sub(1)
    }
}

/// For such a part. The field is the number of bits below the index.
#[derive(Clone, Copy)]
pub struct HighBits(u32);

impl Placement for HighBits {
    #[inline(always)]
    fn position(self, value: u64, words: usize) -> usize {
        (value >> self.0) as usize & words.wrapping_sub(1)
    }
}

/// The words `first` to `first + words.len() - 1`.
pub struct Table<'a, P = AnyPart> {
    pub words: &'a mut [u64],
    placement: P,
    operation: Operation,
    pub prefetches: Prefetches,
}

pub enum SpecialisedTable<'a> {
    LowBits(Table<'a, LowBits>),
    HighBits(Table<'a, HighBits>),
    AnyPart(Table<'a, AnyPart>),
}

/// Which words a loop of updates prefetches. No loop is the fastest on all processors and sizes of pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prefetches {
    None,
    /// Each once, into the first-level cache.
    Near,
    /// Each twice, early and late.
    Both,
}

impl Prefetches {
    pub const ALL: [Self; 3] = [Self::None, Self::Near, Self::Both];

    /// The number of updates from the first request for a word to its update.
    pub fn distance(self) -> usize {
        match self {
            Self::None => 0,
            Self::Near => ONLY_DISTANCE,
            Self::Both => FAR_DISTANCE,
        }
    }

    /// That of requests for the first-level cache.
    fn near(self) -> usize {
        if self == Self::Both { NEAR_DISTANCE } else { self.distance() }
    }
}

/// Distance of prefetches into the first-level cache without early ones, in updates.
const ONLY_DISTANCE: usize = 32;
/// Distance of prefetches into the first-level cache, in updates.
pub const NEAR_DISTANCE: usize = 16;
/// Distance for the second-level cache, which supports more outstanding lines. Both prefetches together give 1.3 to 1.6 times the
/// updates per second of either alone (Sapphire Rapids, 2^24 and 2^26 words on huge pages). Distances between 64 and 256 give the
/// same rate.
pub const FAR_DISTANCE: usize = 128;

impl<'a> Table<'a> {
    pub fn new(words: &'a mut [u64], first: u64, index: Index) -> Self {
        Self { words, placement: AnyPart { first, index }, operation: Operation::Xor, prefetches: Prefetches::Both }
    }

    pub fn with_operation(self, operation: Operation) -> Self {
        Self { operation, ..self }
    }

    /// Selects the cheapest mapping for this part. A value that belongs to another part then updates an arbitrary word of this one.
    /// On base pages, page table walks limit the rate, and requests that follow each other too closely slow them down. There the
    /// longer computation of [`AnyPart`] gives 1.2 times the updates per second of the cheaper mappings; on huge pages it gives 0.8
    /// times (EPYC Milan, two ranks, 2^24 and 2^26 words).
    pub fn specialise(&mut self, pages: Pages) -> SpecialisedTable<'_> {
        let AnyPart { first, index } = self.placement;
        let words = self.words.len();
        if pages == Pages::Base && self.prefetches == Prefetches::Both
            || !words.is_power_of_two()
            || first % words as u64 != 0
        {
            return SpecialisedTable::AnyPart(self.with_placement(self.placement));
        }
        match index.shift() {
            0 => SpecialisedTable::LowBits(self.with_placement(LowBits)),
            bits => SpecialisedTable::HighBits(self.with_placement(HighBits(bits))),
        }
    }

    fn with_placement<P>(&mut self, placement: P) -> Table<'_, P> {
        Table { words: self.words, placement, operation: self.operation, prefetches: self.prefetches }
    }

    /// Times the loops on random words, which stay as they are. Returns the seconds of each, in the order of [`Prefetches::ALL`].
    pub fn time_loops(&mut self, pages: Pages) -> [f64; 3] {
        let bits = self.words.len().ilog2();
        let mut table = Table::new(&mut self.words[..1 << bits], 0, Index::new(StreamKind::Lfsr, bits));
        let (mut done, mut seconds) = (Vec::new(), [f64::INFINITY; 3]);
        for round in 0..5 {
            for (number, (&prefetches, least)) in Prefetches::ALL.iter().zip(&mut seconds).enumerate() {
                table.prefetches = prefetches;
                let values: Vec<u64> = (0..1 << 14).map(|i| mix((3 * round + number as u64) << 32 | i)).collect();
                let start = Instant::now();
                table.apply_specialised(pages, &values);
                *least = start.elapsed().as_secs_f64().min(*least);
                done.extend(values);
            }
        }
        // A second xor with the same values restores the words.
        table.apply(&done);
        seconds
    }

    fn apply_specialised(&mut self, pages: Pages, values: &[u64]) {
        match self.specialise(pages) {
            SpecialisedTable::LowBits(mut table) => table.apply(values),
            SpecialisedTable::HighBits(mut table) => table.apply(values),
            SpecialisedTable::AnyPart(mut table) => table.apply(values),
        }
    }
}

impl<P: Placement> Table<'_, P> {
    #[inline(always)]
    pub fn position(&self, value: u64) -> usize {
        self.placement.position(value, self.words.len())
    }

    /// Panics if the word is not in this part.
    #[inline(always)]
    pub fn update(&mut self, value: u64) {
        self.update_with(self.operation, value);
    }

    /// `operation` is a constant in compiled loops.
    #[inline(always)]
    pub fn update_with(&mut self, operation: Operation, value: u64) {
        let place = self.position(value);
        self.words[place] = operation.apply(self.words[place], value);
    }

    pub fn operation(&self) -> Operation {
        self.operation
    }

    #[inline(always)]
    pub fn prefetch(&self, value: u64) {
        prefetch::prefetch_near(self.words.as_ptr().wrapping_add(self.position(value)));
    }

    #[inline(always)]
    pub fn prefetch_early(&self, value: u64) {
        if self.prefetches == Prefetches::Both {
            self.prefetch_far(value);
        }
    }

    #[inline(always)]
    fn prefetch_far(&self, value: u64) {
        prefetch::prefetch_far(self.words.as_ptr().wrapping_add(self.position(value)));
    }

    /// Applies the updates in order, and prefetches each word some updates before it is needed.
    pub fn apply(&mut self, values: &[u64]) {
        let far = values.len().min(FAR_DISTANCE);
        values[..far].iter().for_each(|&value| self.prefetch_early(value));
        self.apply_all_but(values, far);
        self.finish(&values[values.len() - far..]);
    }

    /// Prefetches the words of the last `far` updates instead.
    pub fn apply_all_but(&mut self, values: &[u64], far: usize) {
        let Some(later) = values.get(far..) else { return };
        let near = far.min(self.prefetches.near());
        let ahead = values.iter().zip(&values[near..]);
        match self.prefetches {
            Prefetches::Both => with_operation!(self.operation, BY => {
                for ((&value, &ahead), &early) in ahead.zip(later) {
                    self.prefetch_far(early);
                    self.prefetch(ahead);
                    self.update_with(BY, value);
                }
            }),
            Prefetches::None => self.update_all(&values[..later.len()], 0),
            Prefetches::Near => self.update_all(&values[..later.len() + near], near),
        }
    }

    /// The words were prefetched early.
    pub fn finish(&mut self, values: &[u64]) {
        let near = values.len().min(self.prefetches.near());
        self.update_all(values, near);
        self.update_all(&values[values.len() - near..], 0);
    }

    /// Applies all but the last `near` updates, and prefetches each word that number of updates before.
    fn update_all(&mut self, values: &[u64], near: usize) {
        with_operation!(self.operation, BY => match near {
            0 => values.iter().for_each(|&value| self.update_with(BY, value)),
            _ => {
                for (&value, &ahead) in values.iter().zip(&values[near..]) {
                    self.prefetch(ahead);
                    self.update_with(BY, value);
                }
            }
        });
    }
}

/// The same words, which several threads can update.
pub fn as_atomic_words(words: &mut [u64]) -> &[AtomicU64] {
    const { assert!(align_of::<AtomicU64>() == align_of::<u64>()) };
    // SAFETY: an AtomicU64 has the size and the bits of a u64, and the assertion above checks its alignment. The words are borrowed
    // exclusively while the result lives, so all accesses are atomic during this time.
    unsafe { &*(std::ptr::from_mut(words) as *const [AtomicU64]) }
}

/// Updates that wait to be applied, in order. The words of the first ones may already be prefetched.
pub struct Pending {
    values: Vec<u64>,
    /// Number of updates whose words were prefetched early.
    prefetched: usize,
    /// Number of updates that stay in the list, so that some prefetches are always outstanding.
    kept: usize,
}

impl Pending {
    /// An eighth of the look-ahead stays in the list, at most [`FAR_DISTANCE`].
    pub fn new(look_ahead: usize, capacity: usize) -> Self {
        Self { values: Vec::with_capacity(capacity), prefetched: 0, kept: (look_ahead / 8).min(FAR_DISTANCE) }
    }

    pub fn count(&self) -> usize {
        self.values.len()
    }

    pub fn capacity(&self) -> usize {
        self.values.capacity()
    }

    pub fn list_mut(&mut self) -> &mut Vec<u64> {
        &mut self.values
    }

    pub fn prefetch_early(&mut self, table: &Table<impl Placement>) {
        let far = self.values.len().min(FAR_DISTANCE);
        self.values[self.prefetched.min(far)..far].iter().for_each(|&value| table.prefetch_early(value));
        self.prefetched = far;
    }

    /// Applies all but `kept` updates. Returns their number.
    pub fn apply(&mut self, table: &mut Table<impl Placement>) -> u64 {
        self.apply_all_but(self.kept, table)
    }

    /// Returns the number of updates.
    pub fn apply_all(&mut self, table: &mut Table<impl Placement>) -> u64 {
        self.apply_all_but(0, table)
    }

    fn apply_all_but(&mut self, kept: usize, table: &mut Table<impl Placement>) -> u64 {
        self.prefetch_early(table);
        let (length, far) = (self.values.len(), self.prefetched);
        let left = length.min(kept);
        table.apply_all_but(&self.values, far);
        table.finish(&self.values[length - far..length - left]);
        self.values.copy_within(length - left.., 0);
        self.values.truncate(left);
        self.prefetched = left;
        (length - left) as u64
    }
}
