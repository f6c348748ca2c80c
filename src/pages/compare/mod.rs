//! Comparison of machines: matched points, ratios with their uncertainty, and shapes of surfaces.
//!
//! SOURCE: Apex-Map paper, Sections 3.2 and 3.3, Figures 5 to 7.
//!
//! Ratios are speeds relative to that of the first machine, the base. A speed is the kernel's headline rate, or the reciprocal of a time.
//!
//! Points are matched ([`matching`]), grouped ([`groups`]) and compared ([`ratio`]) once, into a [`Comparison`]. A [`verdict`] says who is
//! faster, a [`regression`] check which points are too slow. The HTML page is a list of [`sections`] that only word these facts.

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
