//! The exploring wing: sweeps, results, models, figures and reports. It runs on a laptop without MPI.

pub mod bounds;
pub mod calibrate;
pub mod commands;
pub mod compare;
pub mod condition;
pub mod export;
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
pub mod report;
pub mod store;
pub mod sweep;
pub mod toml_file;
pub mod trade;
pub mod validate;
