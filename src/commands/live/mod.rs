//! The map of a sweep in the terminal, while it is measured and afterwards.

mod chart;
pub mod colours;
pub mod map;
pub mod picture;
pub mod text;
pub mod view;
pub mod viewport;
