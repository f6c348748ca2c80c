//! Machines against each other: points matched, ratios with their uncertainty, and what the shapes say.

pub mod fairness;
pub mod machine;
pub mod points;
pub mod ratio;
pub mod statistics;
