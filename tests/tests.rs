//! The map of the tests; names read as sentences.

mod figure;
mod launch;
mod spec;
mod units;
