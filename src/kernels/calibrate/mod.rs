//! Calibration: what models take as given, each measured by a kernel of its own.

pub mod memory;
pub mod network;
