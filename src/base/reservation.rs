//! Reservations: what limits a statement. A headline, an answer, a verdict, a prediction or a dot is stated with them, in the same words
//! on every medium.

use crate::units::plural;
use serde::Serialize;
use std::fmt;

/// A fact that limits a statement. As text, it is a clause: `B was disturbed by as much (up to 218 % slower)`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Reservation {
    /// One launch was measured, so nothing shows how launches differ.
    SingleLaunch { name: String },
    /// Disturbed samples took up to this factor times as long as quiet ones of the same points; `None` if no quiet ones exist.
    Disturbed { name: String, factor: Option<f64> },
    /// Some of the samples were disturbed.
    SomeDisturbed { disturbed: usize, samples: usize },
    /// Some values come from one sample each, so nothing shows how samples differ.
    SingleSamples { values: usize },
    /// Some numbers are used outside of the values for which they hold: `P = 1 to 8192`.
    Extrapolated { from: String },
    /// The mean error of a model on measurements to which it was not fitted.
    TestedError { error: f64, machine: String, points: usize },
    /// No measurement tests the model on this kind of machine.
    Untested,
    /// The numbers come from simulated ranks; `without` names what the simulation leaves out.
    Simulated { machine: String, without: String },
    /// Some points of the sweep are not measured.
    Partial { measured: usize, planned: usize },
}

impl Reservation {
    /// Returns whether this reservation alone may explain a ratio, so that the ratio decides nothing.
    #[must_use]
    pub fn may_explain(&self, ratio: f64) -> bool {
        let effect = ratio.ln().abs();
        match self {
            Self::SingleLaunch { .. }
            | Self::Untested
            | Self::Disturbed { factor: None, .. }
            | Self::SomeDisturbed { .. }
            | Self::SingleSamples { .. } => true,
            Self::Disturbed { factor: Some(factor), .. } => factor.ln().abs() >= effect,
            Self::TestedError { error, .. } => error.ln_1p() >= effect,
            Self::Extrapolated { .. } | Self::Simulated { .. } | Self::Partial { .. } => false,
        }
    }
}

impl fmt::Display for Reservation {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::SingleLaunch { name } => write!(f, "{name} has a single launch"),
            Self::Disturbed { name, factor: Some(factor) } => {
                write!(f, "{name} was disturbed by as much (up to {:.0} % slower)", 100.0 * (factor - 1.0))
            }
            Self::Disturbed { name, factor: None } => write!(f, "{name} was disturbed, by an unknown amount"),
            Self::SomeDisturbed { disturbed, samples } => {
                write!(f, "{disturbed} of {} disturbed", plural(*samples, "sample"))
            }
            Self::SingleSamples { values } => write!(f, "{} from a single sample", plural(*values, "value")),
            Self::Extrapolated { from } => write!(f, "extrapolated from {from}"),
            Self::TestedError { error, machine, points } => {
                write!(f, "tested error {:.0} % ({machine}, {})", 100.0 * error, plural(*points, "point"))
            }
            Self::Untested => f.write_str("not tested on such a machine"),
            Self::Simulated { machine, without } => write!(f, "simulated ({machine}), without {without}"),
            Self::Partial { measured, planned } => write!(f, "{measured} of {}", plural(*planned, "point")),
        }
    }
}
