//! Sweeps: reads a sweep file, and expands and checks its points. [`drive`](crate::drive) measures them.

pub mod answer;
mod answer_checks;
pub mod command;
mod conditions;
mod expand;
pub mod figures;
mod launch_spec;
pub mod memory;
mod nodes;
mod read;
pub mod ready;
mod settings;
mod spec;
pub mod submit_table;
pub(crate) mod values;

pub use launch_spec::{LaunchSpec, parse_time};
pub use memory::Machine;
pub use read::{Sweep, parse, read, repeat, schema};
pub use settings::parse_budget;
pub use spec::Scalar;
