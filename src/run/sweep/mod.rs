//! Sweeps: reads a sweep file, expands its points, plans them, tracks the progress of the plan, and runs the driver that
//! completes it.

pub mod answer;
mod answer_checks;
mod attempt;
pub mod budget;
pub mod command;
mod conditions;
pub mod cost;
pub mod counts;
pub mod driver;
mod duplicates;
pub mod environment;
pub mod errors;
pub mod execute;
mod expand;
pub mod faults;
pub mod figures;
mod fixed;
pub mod forecast;
pub mod groups;
mod launch_spec;
pub mod lines;
pub mod memory;
pub mod node_types;
mod nodes;
pub mod plan;
pub mod protocol;
mod read;
pub mod ready;
pub mod remote_memory;
pub mod result_state;
mod settings;
pub mod simulation;
mod spec;
pub mod submit_table;
mod suspicion;
pub(crate) mod values;
pub mod watch;
mod watcher;

pub use launch_spec::{LaunchSpec, parse_time};
pub use read::{Sweep, parse, read, repeat, schema};
pub use settings::parse_budget;
pub use spec::{Machine, Scalar};
