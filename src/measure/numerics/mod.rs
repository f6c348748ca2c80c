//! Pure mathematics: no input, no output, no clock.

pub mod gf2;
pub mod mix;
#[cfg(feature = "explore")]
pub mod nnls;
pub mod power_law;
pub mod statistics;
