//! Theory: machine cards, analytic models, fits, bounds and the papers' tables.

// Listed in clippy.toml: what opens a file of a result has to go through `regular_file` or `new_file`.
#![warn(clippy::disallowed_methods)]

pub mod bounds;
pub mod fit;
pub mod machine;
pub mod models;
pub mod published;
pub mod statistics;
pub mod trade;
