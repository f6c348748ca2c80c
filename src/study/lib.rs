//! Studies: calibration, models against measurements, validation.

// Listed in clippy.toml: what opens a file of a result has to go through `regular_file` or `new_file`.
#![warn(clippy::disallowed_methods)]

pub mod calibrate;
pub mod model_fit;
pub mod validate;
