//! The list of transports.

use serde::{Deserialize, Serialize};
use std::fmt;

/// What carries data between ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "explore", derive(schemars::JsonSchema), schemars(rename = "Transport"))]
#[serde(rename_all = "lowercase")]
pub enum TransportKind {
    Threads,
    Mpi,
}

impl TransportKind {
    pub const ALL: &[Self] = &[Self::Threads, Self::Mpi];

    /// As in sweeps, journals and command lines.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Threads => "threads",
            Self::Mpi => "mpi",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.name() == name)
    }
}

impl fmt::Display for TransportKind {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name())
    }
}
