//! Figures: from plain data, and from samples.

// Listed in clippy.toml: what opens a file of a result has to go through `regular_file` or `new_file`.
#![warn(clippy::disallowed_methods)]

pub mod figure;
pub mod plot;
