//! Measuring: kernels, transports, the hardware and the worker. All that a compute node builds; it needs Rust alone, and MPI where asked.

pub mod affinity;
pub mod cli;
pub mod comm;
pub mod crew;
pub mod hardware;
pub mod kernels;
pub mod numerics;
pub mod observer;
pub mod prefetch;
pub mod progress;
pub mod provenance;
pub mod worker;
