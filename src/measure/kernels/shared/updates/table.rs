//! A rank's part of the table, and its updates.

use super::operation::{Operation, with_operation};
use super::random_stream::Index;
use crate::comm::arena::Pages;
use crate::prefetch;
use std::sync::atomic::AtomicU64;

/// A way from a value to its place among the words of a part.
pub trait Place: Copy {
    /// The place among `words`; beyond them if the value belongs to another part.
    fn of(self, value: u64, words: usize) -> usize;
}

/// Any part of a table.
#[derive(Clone, Copy)]
pub struct Part {
    first: u64,
    index: Index,
}

impl Place for Part {
    #[inline(always)]
    fn of(self, value: u64, _: usize) -> usize {
        self.index.of(value).wrapping_sub(self.first) as usize
    }
}

/// A part of 2^n words that begins at a multiple of them, such as a whole table, whose words the lowest bits name.
#[derive(Clone, Copy)]
pub struct Lowest;

impl Place for Lowest {
    #[inline(always)]
    fn of(self, value: u64, words: usize) -> usize {
        value as usize & words.wrapping_sub(1)
    }
}

/// The same for the bits above so many.
#[derive(Clone, Copy)]
pub struct Above(u32);

impl Place for Above {
    #[inline(always)]
    fn of(self, value: u64, words: usize) -> usize {
        (value >> self.0) as usize & words.wrapping_sub(1)
    }
}

/// Words `first` to `first + words.len() - 1` of the table.
pub struct Table<'a, P = Part> {
    pub words: &'a mut [u64],
    place: P,
    operation: Operation,
}

/// A table by how its words are named.
pub enum Named<'a> {
    Lowest(Table<'a, Lowest>),
    Above(Table<'a, Above>),
    Part(Table<'a, Part>),
}

/// Updates in front of the one that is made whose words are asked for into the first-level cache.
pub const AHEAD: usize = 16;
/// The same for the second-level cache, which waits for more lines at once: both together make 1.3 to 1.6 times as many
/// updates as either alone (Sapphire Rapids, 2^24 and 2^26 words on huge pages); between 64 and 256 nothing changes.
pub const FAR_AHEAD: usize = 128;

impl<'a> Table<'a> {
    pub fn new(words: &'a mut [u64], first: u64, index: Index) -> Self {
        Self { words, place: Part { first, index }, operation: Operation::Xor }
    }

    /// Whose updates do something else.
    pub fn with(self, operation: Operation) -> Self {
        Self { operation, ..self }
    }

    /// As what it is: an algorithm compiled for each case needs no shift by nothing, and no checks of what the number of words
    /// makes sure. What does not belong to the part is then updated somewhere in it.
    ///
    /// On base pages the walks through page tables set the pace, and requests that follow each other too closely hinder them: the
    /// longer way of any part to its words makes 1.2 times as many updates there, 0.8 times as many on huge pages (EPYC Milan, two
    /// ranks, 2^24 and 2^26 words).
    pub fn named(&mut self, pages: Pages) -> Named<'_> {
        let Part { first, index } = self.place;
        let (words, operation) = (self.words.len(), self.operation);
        if pages == Pages::Base || !words.is_power_of_two() || first % words as u64 != 0 {
            return Named::Part(Table { words: self.words, place: self.place, operation });
        }
        match index.shift() {
            0 => Named::Lowest(Table { words: self.words, place: Lowest, operation }),
            bits => Named::Above(Table { words: self.words, place: Above(bits), operation }),
        }
    }
}

impl<P: Place> Table<'_, P> {
    /// Where in `words` a value belongs.
    #[inline(always)]
    pub fn place(&self, value: u64) -> usize {
        self.place.of(value, self.words.len())
    }

    /// One update.
    ///
    /// # Panics
    /// If the word is not in this part.
    #[inline(always)]
    pub fn update(&mut self, value: u64) {
        self.update_by(self.operation, value);
    }

    /// One update by an operation that is a constant.
    #[inline(always)]
    pub fn update_by(&mut self, operation: Operation, value: u64) {
        let place = self.place(value);
        self.words[place] = operation.apply(self.words[place], value);
    }

    /// What the table's updates do.
    pub fn operation(&self) -> Operation {
        self.operation
    }

    /// Asks for the word of a value that is to be updated soon.
    #[inline(always)]
    pub fn prefetch(&self, value: u64) {
        prefetch::near(self.words.as_ptr().wrapping_add(self.place(value)));
    }

    /// Asks for the word of a value that is to be updated later.
    #[inline(always)]
    pub fn prefetch_early(&self, value: u64) {
        prefetch::early(self.words.as_ptr().wrapping_add(self.place(value)));
    }

    /// Updates in this order, with all of them known: their words are asked for some time before.
    pub fn apply(&mut self, values: &[u64]) {
        let far = values.len().min(FAR_AHEAD);
        values[..far].iter().for_each(|&value| self.prefetch_early(value));
        self.apply_but(values, far);
        self.finish(&values[values.len() - far..]);
    }

    /// Updates but the last `far`, whose words are asked for.
    pub fn apply_but(&mut self, values: &[u64], far: usize) {
        let Some(later) = values.get(far..) else { return };
        let values = values.iter().zip(&values[far.min(AHEAD)..]).zip(later);
        with_operation!(self.operation, BY => {
            for ((&value, &ahead), &early) in values {
                self.prefetch_early(early);
                self.prefetch(ahead);
                self.update_by(BY, value);
            }
        });
    }

    /// Updates whose words have been asked for early.
    pub fn finish(&mut self, values: &[u64]) {
        let near = values.len().min(AHEAD);
        with_operation!(self.operation, BY => {
            for (&value, &ahead) in values.iter().zip(&values[near..]) {
                self.prefetch(ahead);
                self.update_by(BY, value);
            }
            values[values.len() - near..].iter().for_each(|&value| self.update_by(BY, value));
        });
    }
}

/// The same words, for several threads.
pub fn share(words: &mut [u64]) -> &[AtomicU64] {
    const { assert!(align_of::<AtomicU64>() == align_of::<u64>()) };
    // SAFETY: an AtomicU64 has the size and the bits of a u64, and here its alignment; the words are borrowed exclusively
    // for as long as the result lives, so that all access is atomic meanwhile.
    unsafe { &*(std::ptr::from_mut(words) as *const [AtomicU64]) }
}

/// Updates of a part that wait for their turn, in order. The words of the first may be on their way.
pub struct Pending {
    values: Vec<u64>,
    /// Updates whose words were asked for early.
    asked: usize,
    /// Updates that stay when others are made before the rest has come, so that some words are on their way at all times.
    stay: usize,
}

impl Pending {
    /// For updates of which `look_ahead` may be stored: an eighth of them stay, at most as many as words are asked for ahead.
    pub fn new(look_ahead: usize) -> Self {
        Self { values: Vec::with_capacity(2 * look_ahead), asked: 0, stay: (look_ahead / 8).min(FAR_AHEAD) }
    }

    pub fn count(&self) -> usize {
        self.values.len()
    }

    pub fn capacity(&self) -> usize {
        self.values.capacity()
    }

    /// The list, to append to.
    pub fn end(&mut self) -> &mut Vec<u64> {
        &mut self.values
    }

    /// Asks early for the words of the first updates.
    pub fn ask(&mut self, table: &Table<impl Place>) {
        let far = self.values.len().min(FAR_AHEAD);
        self.values[self.asked.min(far)..far].iter().for_each(|&value| table.prefetch_early(value));
        self.asked = far;
    }

    /// Makes all updates but those that stay until the rest has come; returns how many.
    pub fn make(&mut self, table: &mut Table<impl Place>) -> u64 {
        self.make_but(self.stay, table)
    }

    /// Makes all updates; returns how many.
    pub fn make_all(&mut self, table: &mut Table<impl Place>) -> u64 {
        self.make_but(0, table)
    }

    fn make_but(&mut self, stay: usize, table: &mut Table<impl Place>) -> u64 {
        self.ask(table);
        let (length, far) = (self.values.len(), self.asked);
        let left = length.min(stay);
        table.apply_but(&self.values, far);
        table.finish(&self.values[length - far..length - left]);
        self.values.copy_within(length - left.., 0);
        self.values.truncate(left);
        self.asked = left;
        (length - left) as u64
    }
}
