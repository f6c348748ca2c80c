//! From a sweep to samples: its plan, what of it is done, and the driver that does the rest.

pub mod driver;
pub mod execute;
pub mod plan;
