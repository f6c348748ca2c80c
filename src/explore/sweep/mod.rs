//! From a sweep file to samples: its points, their plan, the progress of the plan, and the driver that completes it.
//!
//! ```
//! use apexmap::explore::sweep::{self, Machine};
//! use std::path::Path;
//!
//! let text = r#"
//!     [fixed]
//!     kernel = "apex_map.sequential"
//!     M = "64 Mwords"
//!     [axes]
//!     alpha = [0.01, 0.1, 1.0]
//!     L = { from = 1, to = 4096, factor = 4 }
//! "#;
//! let sweep = sweep::parse(text, Path::new("my.toml"), Machine::plain(2, 8 << 30))?;
//! assert_eq!(sweep.points.len(), 3 * 7);
//! assert_eq!(sweep.points[0].integer("M"), 64 << 20);
//!
//! // Errors name the place and the remedy.
//! let wrong = sweep::parse(&text.replace("alpha", "alhpa"), Path::new("my.toml"), Machine::plain(2, 8 << 30));
//! assert!(wrong.unwrap_err().next.contains("did you mean \"alpha\"?"));
//! # Ok::<(), apexmap::error::Error>(())
//! ```

pub mod driver;
pub mod execute;
mod expand;
pub mod plan;
mod read;
pub mod ready;
mod settings;
mod spec;
mod values;

pub use read::{Sweep, parse, read, repeat, schema};
pub use settings::LaunchSpec;
pub use spec::Machine;
