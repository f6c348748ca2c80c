//! Kernels, transports, hardware detection and the worker: all that a compute node has to build. It needs only Rust, and MPI for
//! the MPI transport.

pub mod affinity;
mod choice;
pub mod cli;
pub mod comm;
pub mod core_clock;
pub mod crew;
pub mod hardware;
pub mod kernels;
#[cfg(all(target_env = "musl", target_arch = "x86_64"))]
mod musl_memory;
pub mod numerics;
pub mod observer;
pub mod prefetch;
pub mod progress;
pub mod provenance;
pub mod seen_cache;
pub mod worker;
