//! The measuring wing: what a compute node builds. It needs Rust alone, and MPI where asked.

pub mod affinity;
pub mod comm;
pub mod crew;
pub mod hardware;
pub mod kernels;
pub mod numerics;
pub mod observer;
pub mod prefetch;
pub mod progress;
pub mod worker;
