//! Pure mathematics: no input, no output, no clock.

pub mod gf2;
pub mod mix;
pub mod power_law;
pub mod statistics;
