//! Draws figures from plain data and from samples.

// clippy.toml lists these methods: files of a result are opened with `regular_file` or `new_file`.
#![warn(clippy::disallowed_methods)]

pub mod figure;
pub mod plot;
pub mod selection;
