//! Theory: machine cards, analytic models, known codes, fits, bounds and the papers' tables.

// The methods listed in clippy.toml are disallowed here: files of a result are opened with `regular_file` or `new_file`.
#![warn(clippy::disallowed_methods)]

pub mod bounds;
pub mod codes;
pub mod fit;
pub mod machine;
pub mod models;
pub mod paper_tables;
pub mod places;
pub mod statistics;
pub mod trade;
