//! Simulated ranks and other simulators: a machine for SimGrid and for LogGOPSim.

pub mod goal;
pub mod simgrid;
