//! Runs: sweeps, plans, launchers and batch systems.

// Listed in clippy.toml: what opens a file of a result has to go through `regular_file` or `new_file`.
#![warn(clippy::disallowed_methods)]

pub mod batch;
pub mod campaign;
pub mod launch;
pub mod manual;
pub mod placeholder;
pub mod submit;
pub mod sweep;
