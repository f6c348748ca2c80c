//! Runs: sweeps, plans, launchers and batch systems.

// Files of a result must be opened through `regular_file` or `new_file`. The other functions are listed in clippy.toml.
#![warn(clippy::disallowed_methods)]

pub mod batch;
pub mod campaign;
pub mod launch;
pub mod manual;
pub mod placeholder;
pub mod site;
pub mod submit;
pub mod sweep;
