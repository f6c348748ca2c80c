//! The driver: plans the launches of a sweep, starts them, watches them and keeps the samples of their points.

mod attempt;
pub mod budget;
pub mod cost;
pub mod counts;
pub mod driver;
pub mod errors;
pub mod execute;
pub mod faults;
pub mod forecast;
pub mod groups;
pub mod plan;
pub mod protocol;
pub mod result_state;
pub mod simulation;
mod suspicion;
pub mod watch;
