//! The exploring wing: sweeps, results, models, figures and reports. It runs on a laptop without MPI.

// Listed in clippy.toml: what opens a file of a result has to go through `regular_file` or `new_file`.
#![warn(clippy::disallowed_methods)]

pub mod batch;
pub mod bounds;
pub mod calibrate;
pub mod commands;
pub mod compare;
pub mod condition;
pub mod export;
pub mod exported;
pub mod facade;
pub mod figure;
pub mod fit;
pub mod html;
pub mod in_order;
pub mod launch;
pub mod machine;
pub mod model_fit;
pub mod models;
pub mod new_file;
pub mod plot;
pub mod published;
pub mod query;
pub mod regular_file;
pub mod report;
pub mod store;
pub mod submit;
pub mod sweep;
pub mod toml_file;
pub mod trade;
pub mod validate;
