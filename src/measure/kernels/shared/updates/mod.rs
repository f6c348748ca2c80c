//! The updates of RandomAccess: streams of values, the owners of words, a rank's part of the table.

pub mod layout;
pub mod operation;
pub mod random_stream;
pub mod table;
