//! Hashes of the table and of updates, in loops that the compiler vectorises.

use crate::crew::Crew;
use crate::kernels::prelude::*;
use crate::kernels::shared::updates::random_stream::Index;
use crate::kernels::shared::updates::table::Table;
use multiversion::multiversion;
use std::sync::atomic::{AtomicU64, Ordering};

/// That one thread processes at once.
const BLOCK: usize = 1 << 20;

/// `first` is the number of the table's first word. Calls `note` with the fraction that is complete.
pub fn table_hash(crew: &Crew, table: &Table, first: u64, note: impl Fn(f64)) -> u64 {
    let hash = AtomicU64::new(0);
    // Relaxed: the order of xors does not matter, and the crew ends before the hash is read.
    let add = |words: &[u64], first| _ = hash.fetch_xor(hash_words(words, first), Ordering::Relaxed);
    for_each_block(crew, table, first, add, note);
    hash.into_inner()
}

/// Counts words that differ from their value before the run, as [`table_hash`] does.
pub fn wrong_words(crew: &Crew, table: &Table, first: u64, note: impl Fn(f64)) -> u64 {
    let wrong = AtomicU64::new(0);
    let add = |words: &[u64], first| _ = wrong.fetch_add(count_wrong(words, first), Ordering::Relaxed);
    for_each_block(crew, table, first, add, note);
    wrong.into_inner()
}

fn for_each_block(crew: &Crew, table: &Table, first: u64, work: impl Fn(&[u64], u64) + Sync, note: impl Fn(f64)) {
    let blocks = table.words.chunks(BLOCK).zip((first..).step_by(BLOCK));
    crew.for_each(table.words.len().div_ceil(BLOCK), blocks, |(words, first)| work(words, first), note);
}

/// The contribution of a value at a word to the hash. The map is linear over GF(2), so the hash of the table follows from the
/// updates in any order. It differs from word to word, so the hash changes if an update reaches a wrong word.
#[inline(always)]
pub fn update_hash(word: u64, value: u64) -> u64 {
    let turns = mix(word);
    value.rotate_left(turns as u32 & 63) ^ (value & turns)
}

#[multiversion(targets("x86_64+avx512f+avx512dq", "x86_64+avx2"))]
fn hash_words(words: &[u64], first: u64) -> u64 {
    words.iter().enumerate().fold(0, |hash, (offset, &word)| {
        let place = first + offset as u64;
        hash ^ update_hash(place, word ^ place)
    })
}

#[multiversion(targets("x86_64+avx512f+avx512dq", "x86_64+avx2"))]
pub fn hash_updates(values: &[u64], index: Index) -> u64 {
    values.iter().fold(0, |hash, &value| hash ^ update_hash(index.word(value), value))
}

#[multiversion(targets("x86_64+avx512f+avx512dq", "x86_64+avx2"))]
fn count_wrong(words: &[u64], first: u64) -> u64 {
    words.iter().enumerate().map(|(offset, &word)| u64::from(word != first + offset as u64)).sum()
}
