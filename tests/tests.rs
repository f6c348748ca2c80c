//! The map of the tests; names read as sentences.

mod figure;
mod gf2;
mod launch;
mod spec;
mod units;
