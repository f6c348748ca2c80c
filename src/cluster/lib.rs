//! Clusters: batch systems, site files, and scripts of jobs, which are written and submitted once.

// Files of a result must be opened through `regular_file` or `new_file`. The other functions are listed in clippy.toml.
#![warn(clippy::disallowed_methods)]

pub mod batch;
pub mod cluster;
pub mod find_nodes;
pub mod jobs;
pub mod site;
pub mod site_check;
