//! The map of the tests.

mod spec;
mod units;
