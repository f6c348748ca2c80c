//! From a sweep file to samples: its points, their plan, what of it is done, and the driver that does the rest.

pub mod driver;
pub mod execute;
mod expand;
pub mod plan;
mod read;
mod settings;
mod spec;
mod values;

pub use read::{Machine, Sweep, parse, read, schema};
pub use settings::LaunchSpec;
pub use spec::{Launcher, Transport};
