//! The map of the tests; names read as sentences.

mod comm;
mod figure;
mod gf2;
mod launch;
mod random_access;
mod spec;
mod units;
