//! The map of the tests.

mod launch;
mod mpi;
mod spec;
mod units;
