//! Clusters: batch systems, site files, and the carriers of campaigns besides this machine: batch jobs and manual launches.

// Files of a result must be opened through `regular_file` or `new_file`. The other functions are listed in clippy.toml.
#![warn(clippy::disallowed_methods)]

pub mod batch;
pub mod carriers;
pub mod cluster;
pub mod find_nodes;
pub mod manual;
pub mod site;
pub mod site_check;
pub mod submit;
