//! The commands that `apexmap` and `apexmap-worker` share.

pub mod kernels;
pub mod worker;
