//! Warnings about numbers that are no measurement of a quiet machine.

use apexmap_base::units::plural;
use std::fmt;

/// Why numbers are no measurement of a quiet machine. As text, a warning in figures: `DISTURBED (359 of 756 samples)`,
/// `SIMULATED, card Red Storm` or `IMPORTED from hpcc 1.5.0`.
#[derive(Clone, Debug, PartialEq)]
pub enum Stamp {
    Disturbed { disturbed: usize, samples: usize },
    Simulated(String),
    Imported(String),
}

impl Stamp {
    pub fn word(&self) -> &'static str {
        match self {
            Self::Disturbed { .. } => "DISTURBED",
            Self::Simulated(_) => "SIMULATED",
            Self::Imported(_) => "IMPORTED",
        }
    }

    pub fn brief(&self) -> String {
        match self {
            Self::Disturbed { disturbed, samples } => format!("{} ({disturbed} of {samples})", self.word()),
            Self::Simulated(_) | Self::Imported(_) => self.to_string(),
        }
    }
}

impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let word = self.word();
        match self {
            Self::Disturbed { disturbed, samples } => {
                write!(f, "{word} ({disturbed} of {})", plural(*samples, "sample"))
            }
            Self::Simulated(machine) => write!(f, "{word}, {machine}"),
            Self::Imported(programs) => write!(f, "{word} from {programs}"),
        }
    }
}

/// The warning to show above numbers. As text, it is the whole warning: `DISTURBED: 38 of 112 samples; ... Details: ...`
#[derive(Clone, Debug, PartialEq)]
pub struct Banner {
    pub kind: Stamp,
    /// The part that is always visible, without a full stop.
    pub headline: String,
    /// The warning without the word of its kind and without the counts.
    pub reason: String,
    /// Numbers of samples by cause; may be empty.
    pub counts: String,
}

impl Banner {
    /// Returns the warning without counts: `DISTURBED: 38 of 112 samples; ... Most frequent cause: ... (20).`
    pub fn short(&self) -> String {
        format!("{}: {}", self.kind.word(), self.reason)
    }

    pub fn line(&self) -> String {
        format!("{}: {}", self.kind.word(), self.headline)
    }
}

impl fmt::Display for Banner {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}: {}{}", self.kind.word(), self.reason, self.counts)
    }
}
