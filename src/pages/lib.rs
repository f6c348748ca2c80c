//! HTML pages: reports, comparisons and the validation.

// clippy.toml forbids other ways: files of a result are opened by `regular_file` and `new_file`.
#![warn(clippy::disallowed_methods)]

pub mod compare;
pub mod explorer;
pub mod html;
pub mod locate;
pub mod report;
pub mod validation;
