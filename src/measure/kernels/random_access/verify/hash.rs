//! Hashes of the table and of updates, in loops that the compiler vectorises.

use crate::kernels::shared::updates::random_stream::Index;
use crate::numerics::mix::mix;
use multiversion::multiversion;

/// Returns the contribution of a value at a word to the hash.
///
/// The map is linear over GF(2), so the hash of the table follows from the updates in any order. It differs from word to word, so
/// the hash changes if an update reaches a wrong word.
#[inline(always)]
pub fn update_hash(word: u64, value: u64) -> u64 {
    let turns = mix(word);
    value.rotate_left(turns as u32 & 63) ^ (value & turns)
}

/// Returns the hash of the words that begin at word `first` of the table. Before the run each word was equal to its index.
#[multiversion(targets("x86_64+avx512f+avx512dq", "x86_64+avx2"))]
pub fn hash_words(words: &[u64], first: u64) -> u64 {
    words.iter().enumerate().fold(0, |hash, (offset, &word)| {
        let place = first + offset as u64;
        hash ^ update_hash(place, word ^ place)
    })
}

/// Returns the hash of updates.
#[multiversion(targets("x86_64+avx512f+avx512dq", "x86_64+avx2"))]
pub fn hash_updates(values: &[u64], index: Index) -> u64 {
    values.iter().fold(0, |hash, &value| hash ^ update_hash(index.word(value), value))
}

/// Returns the number of words that are not equal to their index. The words begin at word `first` of the table.
#[multiversion(targets("x86_64+avx512f+avx512dq", "x86_64+avx2"))]
pub fn count_wrong(words: &[u64], first: u64) -> u64 {
    words.iter().enumerate().map(|(offset, &word)| u64::from(word != first + offset as u64)).sum()
}
