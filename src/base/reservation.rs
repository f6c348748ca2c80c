//! Reservations: what limits a headline, an answer, a verdict, a prediction or a dot, in the same words on every medium.

use crate::units::{exact_number, plural};
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
    /// A value of a variable that no run can have was replaced by the nearest one that fits the other variables.
    Reduced { variable: String, from: f64, to: f64, because: String },
    /// The card does not state where these numbers hold.
    NoDomain { numbers: Vec<String> },
    /// Another model predicts this many times as much from the same card at the same point, which their errors do not explain.
    Disagrees { model: String, ratio: f64 },
    /// The mean error of a model on measurements to which it was not fitted, and the largest predicted / measured if it is far from 1.
    TestedError { error: f64, fastest: Option<f64>, machine: String, points: usize },
    /// Rates without an effect were this many times the measured ones on a machine that has it.
    TestedRatio { without: String, least: f64, most: f64, machine: String, points: usize },
    /// No measurement tests the model on this kind of machine.
    Untested,
    /// Some points of the sweep are not measured.
    Partial { measured: usize, planned: usize },
}

/// Each reservation of several statements once, in order, with their number. Ratios to another model join, with their range.
#[must_use]
pub fn count<'a>(statements: impl Iterator<Item = &'a [Reservation]>) -> Vec<(String, usize)> {
    type Count = (String, usize, Option<(f64, f64)>);
    let mut counts: Vec<Count> = Vec::new();
    for reservation in statements.flatten() {
        let (key, ratio) = match reservation {
            Reservation::Disagrees { model, ratio } => (model.clone(), Some(*ratio)),
            other => (other.to_string(), None),
        };
        match counts.iter_mut().find(|(other, ..)| *other == key) {
            Some((_, count, range)) => {
                *count += 1;
                *range = range.zip(ratio).map(|((least, most), ratio)| (least.min(ratio), most.max(ratio)));
            }
            None => counts.push((key, 1, ratio.map(|ratio| (ratio, ratio)))),
        }
    }
    let words = |(key, count, range): Count| match range {
        Some((least, most)) if format!("{least:.2}") != format!("{most:.2}") => {
            (format!("{key} predicts {least:.2} to {most:.2} times as much from the same card"), count)
        }
        Some((ratio, _)) => (Reservation::Disagrees { model: key, ratio }.to_string(), count),
        None => (key, count),
    };
    counts.into_iter().map(words).collect()
}

/// Returns the reservations of `total` statements as clauses: those of some statements with the number of these.
#[must_use]
pub fn clauses(counts: &[(String, usize)], total: usize, noun: &str) -> Vec<String> {
    let clause = |(words, count): &(String, usize)| match *count == total {
        true => words.clone(),
        false => format!("at {count} of {}: {words}", plural(total, noun)),
    };
    counts.iter().map(clause).collect()
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
            Self::Reduced { variable, from, to, because } => {
                let [from, to] = [from, to].map(|value| exact_number(*value));
                write!(f, "{variable} = {to} instead of {from}, because {because}")
            }
            Self::NoDomain { numbers } => match numbers.as_slice() {
                [number] => write!(f, "the card does not state where {number} holds"),
                [_, _, _, _, _, ..] => write!(f, "the card does not state where {} of its numbers hold", numbers.len()),
                numbers => write!(f, "the card does not state where {} hold", numbers.join(", ")),
            },
            Self::Disagrees { model, ratio } => {
                write!(f, "{model} predicts {ratio:.2} times as much from the same card")
            }
            Self::TestedError { error, fastest, machine, points } => {
                let fastest =
                    fastest.map_or(String::new(), |ratio| format!(", up to {ratio:.2} times the measured rate"));
                write!(f, "tested error {:.0} %{fastest} ({machine}, {})", 100.0 * error, plural(*points, "point"))
            }
            Self::TestedRatio { without, least, most, machine, points } => {
                let machine = format!("{machine}, {}", plural(*points, "point"));
                write!(f, "{least:.1} to {most:.1} times as fast as measured ({machine}), without {without}")
            }
            Self::Untested => f.write_str("not tested on such a machine"),
            Self::Partial { measured, planned } => write!(f, "{measured} of {}", plural(*planned, "point")),
        }
    }
}
