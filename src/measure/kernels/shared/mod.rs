//! Code that several families of kernels share. A change here makes the samples of all families stale.
//!
//! A family imports from here and from the modules below `kernels`, never from another family.

pub mod accesses;
pub mod messages;
pub mod parameters;
pub mod sums;
pub mod updates;
