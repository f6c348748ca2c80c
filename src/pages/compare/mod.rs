//! Comparison of machines: matched points, ratios with their uncertainty, and shapes of surfaces.
//!
//! SOURCE: Apex-Map paper, Sections 3.2 and 3.3, Figures 5 to 7.
//!
//! The first machine is the base: ratios are speeds of the others relative to its speed. A speed is the kernel's headline rate,
//! or the reciprocal if the headline is a time.
//!
//! Points are matched ([`matching`]), grouped ([`groups`]) and compared ([`ratio`]) once, into a [`Comparison`]. A [`verdict`] says
//! who is faster, a [`regression`] check which points are slower than a limit allows. The HTML page is a list of [`sections`] that only word these facts. To add a section, add a file there and a line
//! in its list.

pub mod comparability;
pub mod comparison;
pub mod devices;
pub mod geometric_mean;
pub mod groups;
pub mod limit;
pub mod machine;
pub mod matching;
pub mod mix;
pub mod points;
pub mod published_machines;
pub mod ratio;
pub mod regression;
pub mod scope;
pub mod sections;
pub mod terms;
pub mod verdict;

pub use comparison::{Comparison, compare};
