//! Studies: calibration, models compared with measurements, and validation against papers.

// clippy.toml lists these methods: files of a result are opened with `regular_file` or `new_file`.
#![warn(clippy::disallowed_methods)]

pub mod answers;
pub mod calibrate;
pub mod model_fit;
pub mod nodes;
pub mod paired;
pub mod validate;
pub mod verdict;
