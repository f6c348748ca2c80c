//! The map of a sweep in the terminal, while it is measured and afterwards.

pub mod colours;
pub mod frame;
pub mod picture;
pub mod view;
