//! Code that several families of kernels share. A change here makes the samples of all families stale. A family never imports from
//! another family.

pub mod accesses;
pub mod messages;
pub mod parameters;
pub mod sums;
pub mod updates;
