//! Pages: reports and comparisons as HTML.

// Listed in clippy.toml: what opens a file of a result has to go through `regular_file` or `new_file`.
#![warn(clippy::disallowed_methods)]

pub mod compare;
pub mod html;
pub mod report;
pub mod validation;
