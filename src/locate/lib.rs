//! Locates programs on the map: how each line of a program walks through memory.
//!
//! [`tracer`] runs a program under this program's own valgrind tool, and [`text_trace`] reads traces of others. Both give [`site`]s, with
//! counters, and sampled accesses. [`analysis`] computes LRU stack distances of these accesses; [`walk`], [`runs`] and [`place`] give the
//! kind, the runs and the place of a line.

// clippy.toml lists these methods: files of a result are opened with `regular_file` or `new_file`.
#![warn(clippy::disallowed_methods)]

pub mod analysis;
pub mod change;
pub mod code;
pub mod costs;
pub mod demo;
pub mod located;
pub mod place;
pub mod reuse;
pub mod runs;
pub mod screen;
pub mod sets;
pub mod site;
pub mod sketch;
pub mod text_trace;
pub mod tracer;
pub mod verdict;
pub mod walk;
