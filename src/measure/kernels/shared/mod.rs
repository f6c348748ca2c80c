//! Code that kernels of more than one family run: a change of it makes the samples of all families stale.
//!
//! A family imports from here and from below the kernels, never from another family.

pub mod accesses;
pub mod messages;
pub mod sums;
pub mod traffic;
pub mod updates;
