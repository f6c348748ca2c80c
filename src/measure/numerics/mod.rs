//! Pure mathematics: no input, no output, no clock.

pub mod block_powers;
pub mod gf2;
pub mod mix;
pub mod power_law;
pub mod statistics;

/// For constants. The first list is not empty.
pub const fn join<T: Copy, const ALL: usize>(first: &[T], second: &[T]) -> [T; ALL] {
    assert!(first.len() + second.len() == ALL);
    let mut joined = [first[0]; ALL];
    let mut index = 0;
    while index < ALL {
        joined[index] = if index < first.len() { first[index] } else { second[index - first.len()] };
        index += 1;
    }
    joined
}
