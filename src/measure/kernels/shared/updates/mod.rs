//! The updates of RandomAccess: streams of random values, the owners of words, and a rank's part of the table.

pub mod division;
pub mod layout;
pub mod operation;
pub mod random_stream;
pub mod recursive_halving;
pub mod round_lists;
pub mod table;
