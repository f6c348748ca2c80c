use crate::kernels::shared::updates::layout::Layout;
use crate::kernels::shared::updates::operation::{Operation, with_operation};
use crate::kernels::shared::updates::random_stream::Index;
pub use crate::kernels::shared::updates::table::as_atomic_words;
use crate::kernels::shared::updates::table::{NEAR_DISTANCE, Table};
use crate::prefetch;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

pub fn divide(mut words: &mut [u64], parts: Layout, index: Index, operation: Operation) -> Vec<Words<'_>> {
    let part = |part| {
        let (own, others) = std::mem::take(&mut words).split_at_mut(parts.count(part) as usize);
        words = others;
        Words::Own(Table::new(own, parts.first(part), index).with_operation(operation))
    };
    (0..parts.parts()).map(part).collect()
}

/// Shares its cache lines with no other data.
#[derive(Default)]
// The longest cache lines of Arm processors have 256 bytes.
#[repr(align(256))]
pub struct Lock(Mutex<()>);

#[derive(Clone, Copy)]
pub enum Locking<'a> {
    Unlocked,
    /// One lock for each part of the table in this layout.
    Locks(&'a [Lock], Layout),
    Atomic,
}

pub enum Words<'a> {
    /// A part of the table that no other core accesses.
    Own(Table<'a>),
    /// A table, or a rank's part of one. It begins at word `first`.
    Shared { words: &'a [AtomicU64], first: u64, index: Index, locking: Locking<'a>, operation: Operation },
}

impl Words<'_> {
    pub fn apply(&mut self, values: &[u64]) {
        match self {
            Words::Own(table) => table.apply(values),
            Words::Shared { words, first, index, locking, operation } => {
                with_operation!(*operation, BY => match *locking {
                    Locking::Unlocked => {
                        for_each_word(words, *first, *index, values, |_, word, value| load_and_store(BY, word, value));
                    }
                    Locking::Atomic => {
                        for_each_word(words, *first, *index, values, |_, word, value| BY.apply_atomically(word, value));
                    }
                    Locking::Locks(locks, parts) => for_each_word(words, *first, *index, values, |place, word, value| {
                        let _held = locks[parts.predict_owner(place)].0.lock().unwrap_or_else(PoisonError::into_inner);
                        load_and_store(BY, word, value);
                    }),
                });
            }
        }
    }
}

/// Prefetches each word some updates before it is needed.
#[inline(always)]
fn for_each_word(words: &[AtomicU64], first: u64, index: Index, values: &[u64], update: impl Fn(u64, &AtomicU64, u64)) {
    let place = |value: u64| index.word(value).wrapping_sub(first);
    // Without a check of the place: a prefetch may have any address, and the update panics.
    let prefetch_word = |value: u64| prefetch::prefetch_near(words.as_ptr().wrapping_add(place(value) as usize).cast());
    values.iter().take(NEAR_DISTANCE).for_each(|&value| prefetch_word(value));
    for (i, &value) in values.iter().enumerate() {
        if let Some(&ahead) = values.get(i + NEAR_DISTANCE) {
            prefetch_word(ahead);
        }
        let place = place(value);
        update(place, &words[place as usize], value);
    }
}

/// If another core stores to the word between load and store, its update is lost.
#[inline(always)]
fn load_and_store(operation: Operation, word: &AtomicU64, value: u64) {
    word.store(operation.apply(word.load(Ordering::Relaxed), value), Ordering::Relaxed);
}
