//! From a sweep file to samples: its points, their plan, the progress of the plan, and the driver that completes it.

pub mod cost;
mod distinct;
pub mod driver;
pub mod execute;
mod expand;
pub mod forecast;
pub mod memory;
mod nodes;
pub mod plan;
mod read;
pub mod ready;
mod settings;
mod spec;
mod values;
pub mod watch;

pub use read::{Sweep, parse, read, repeat, schema};
pub use settings::LaunchSpec;
pub use spec::Machine;
