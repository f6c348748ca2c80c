//! Warnings that stay visible as one line; the rest is folded.

use serde::Serialize;

/// A warning: its line, and the details behind it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Banner {
    /// Short enough for a telephone: `DISTURBED: 38 of 112 samples`.
    pub line: String,
    /// Whether it warns of a machine that was not quiet, which has a colour.
    pub disturbed: bool,
    pub details: Vec<String>,
}
