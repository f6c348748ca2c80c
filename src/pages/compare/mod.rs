//! Comparison of machines: matched points, ratios with their uncertainty, and shapes of surfaces.
//!
//! SOURCE: Apex-Map paper, Sections 3.2 and 3.3, Figures 5 to 7.
//!
//! Ratios are speeds relative to that of the first machine, the base. A speed is the kernel's headline rate, or the reciprocal of a time.
//! The [`sections`] of the page only word the facts of the other modules.

pub mod comparability;
pub mod comparison;
pub mod devices;
pub mod geometric_mean;
pub mod groups;
pub mod machine;
pub mod matching;
pub mod mix;
pub mod points;
pub mod published_machines;
pub mod ratio;
pub mod regression;
pub mod sections;
pub mod terms;
pub mod verdict;

pub use comparison::{Comparison, compare};
