//! The map of the tests; names read as sentences.

mod common;
mod figure;
mod launch;
mod mpi;
mod report;
mod resume;
mod spec;
mod units;
