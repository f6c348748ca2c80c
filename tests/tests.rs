//! The map of the tests; names read as sentences.

mod figure;
mod launch;
mod mpi;
mod spec;
mod units;
