//! Results: folders on disk, tables, samples, queries, exports, and imports from other programs.

// The methods listed in clippy.toml are disallowed here: files of a result are opened with `regular_file` or `new_file`.
#![warn(clippy::disallowed_methods)]

pub mod disk;
pub mod export;
pub mod import;
pub mod maps;
pub mod query;
pub mod samples;
pub mod table;

/// The version of polars whose DataFrames hold samples.
#[cfg(feature = "polars")]
pub use polars;
