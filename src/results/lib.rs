//! Results: folders on disk, tables, samples, queries and exports.

// Listed in clippy.toml: what opens a file of a result has to go through `regular_file` or `new_file`.
#![warn(clippy::disallowed_methods)]

pub mod disk;
pub mod export;
pub mod query;
pub mod samples;
pub mod table;

/// The polars whose DataFrames samples become.
#[cfg(feature = "polars")]
pub use polars;
