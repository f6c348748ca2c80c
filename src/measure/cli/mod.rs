//! The commands that both programs have, `apexmap` and `apexmap-worker`.

pub mod kernels;
pub mod worker;
