//! Hashes of the table and of updates, in loops that a vector unit takes.

use crate::kernels::shared::updates::random_stream::Index;
use crate::numerics::mix::mix;
use multiversion::multiversion;

/// A map of a value that is linear over GF(2), so that the table's hash follows from the updates in any order, and
/// that differs from word to word, so that it is another one if an update goes astray.
#[inline(always)]
pub fn turn(word: u64, value: u64) -> u64 {
    let turns = mix(word);
    value.rotate_left(turns as u32 & 63) ^ (value & turns)
}

/// Of the words from `first` on, each of which held its place before the run.
#[multiversion(targets("x86_64+avx512f+avx512dq", "x86_64+avx2"))]
pub fn hash_of_words(words: &[u64], first: u64) -> u64 {
    words.iter().enumerate().fold(0, |hash, (offset, &word)| {
        let place = first + offset as u64;
        hash ^ turn(place, word ^ place)
    })
}

/// Of updates.
#[multiversion(targets("x86_64+avx512f+avx512dq", "x86_64+avx2"))]
pub fn hash_of_updates(values: &[u64], index: Index) -> u64 {
    values.iter().fold(0, |hash, &value| hash ^ turn(index.of(value), value))
}

/// How many of the words from `first` on do not hold their place.
#[multiversion(targets("x86_64+avx512f+avx512dq", "x86_64+avx2"))]
pub fn count_of_wrong(words: &[u64], first: u64) -> u64 {
    words.iter().enumerate().map(|(offset, &word)| u64::from(word != first + offset as u64)).sum()
}
