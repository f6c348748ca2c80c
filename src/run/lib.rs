//! Runs: sweeps, launchers, the driver, and campaigns on this machine. The crate `cluster` carries out campaigns as batch jobs.

// Files of a result must be opened through `regular_file` or `new_file`. The other functions are listed in clippy.toml.
#![warn(clippy::disallowed_methods)]

pub mod campaign;
pub mod drive;
pub mod launch;
pub mod placeholder;
pub mod sweep;
