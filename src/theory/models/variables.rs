//! Inputs of models, and their valid values.

use super::About;
use apexmap_base::error::{Error, Result};
use apexmap_base::units::Unit;

/// An input of a prediction: a parameter of a kernel with the paper's name, or `P`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Variable {
    /// Name in the paper: `L`, `Q`, `P`, `message_bytes`.
    pub name: &'static str,
    /// Base unit of its values.
    pub unit: Unit,
    /// Meaning in a few words, for help: "ranks".
    pub meaning: &'static str,
    /// Value if none is given; `None` if a value is required.
    pub default: Option<f64>,
    /// Words that it can be. Its value is the index of a word. Empty for numbers.
    pub words: &'static [&'static str],
    /// Its valid numbers.
    pub valid: ValidNumbers,
}

/// Valid numbers of a variable. None of them is negative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValidNumbers {
    /// Any number from 0.
    Any,
    /// Whole numbers from 1 to 2^31, the maximum number of MPI ranks.
    Ranks,
    /// Whole numbers from 1.
    Count,
    /// Whole numbers from 1 to 65536, more cores than any node has.
    Cores,
    /// Whole numbers from 1 to 64, more dimensions than any network has.
    Dimensions,
    /// Whole numbers from 0, which has a meaning.
    CountOrZero,
    /// Above 0.
    Positive,
    /// Above 0, at most 1.
    Share,
}

impl ValidNumbers {
    /// Rejects other numbers. The error holds the requirement and the next step.
    pub fn check(self, value: f64) -> Result<(), (&'static str, &'static str)> {
        match self {
            _ if !value.is_finite() || value < 0.0 => Err(("finite and not negative", "correct the value")),
            ValidNumbers::Ranks if value < 1.0 || value.fract() != 0.0 || value > 2147483648.0 => {
                Err(("a whole number of ranks", "write 1 or more, at most 2^31"))
            }
            ValidNumbers::Count if value < 1.0 || value.fract() != 0.0 => {
                Err(("a whole number from 1", "correct the value"))
            }
            ValidNumbers::Cores if value < 1.0 || value.fract() != 0.0 || value > 65536.0 => {
                Err(("a whole number of cores", "write 1 or more, at most 65536"))
            }
            ValidNumbers::Dimensions if value < 1.0 || value.fract() != 0.0 || value > 64.0 => {
                Err(("a whole number of dimensions", "write 1 or more, at most 64"))
            }
            ValidNumbers::CountOrZero if value.fract() != 0.0 => Err(("a whole number", "correct the value")),
            ValidNumbers::Positive if value <= 0.0 => Err(("above 0", "correct the value")),
            ValidNumbers::Share if value <= 0.0 || value > 1.0 => Err(("above 0 and at most 1", "correct the value")),
            _ => Ok(()),
        }
    }
}

pub fn variable_value(about: &About, variable: &Variable, given: &dyn Fn(&str) -> Option<f64>) -> Result<f64> {
    given(variable.name).or(variable.default).ok_or_else(|| {
        let (id, name) = (about.id, variable.name);
        Error::input(format!("{id} needs {name} ({})", variable.meaning), format!("give it: --set {name}=..."))
    })
}

pub const fn variable(name: &'static str, unit: Unit, meaning: &'static str, default: Option<f64>) -> Variable {
    Variable { name, unit, meaning, default, words: &[], valid: ValidNumbers::Any }
}

pub const fn cores(name: &'static str, meaning: &'static str, default: Option<f64>) -> Variable {
    Variable { valid: ValidNumbers::Cores, ..variable(name, Unit::None, meaning, default) }
}

pub const fn dimensions(name: &'static str, meaning: &'static str, default: Option<f64>) -> Variable {
    Variable { valid: ValidNumbers::Dimensions, ..variable(name, Unit::None, meaning, default) }
}

pub const fn count(name: &'static str, unit: Unit, meaning: &'static str, default: Option<f64>) -> Variable {
    Variable { valid: ValidNumbers::Count, ..variable(name, unit, meaning, default) }
}

pub const RANKS: Variable = Variable { valid: ValidNumbers::Ranks, ..variable("P", Unit::None, "ranks", None) };
pub const RANKS_PER_NODE: Variable = count("ranks_per_node", Unit::None, "ranks that share a node's links", Some(1.0));
pub const LOOK_AHEAD: Variable =
    count("Q", Unit::None, "look-ahead: updates that a rank generates per round", Some(1024.0));

/// Returns the variables of a model that covers one word of `variable` only, its default.
pub fn single_choice(about: &About, variable: &Variable, given: &dyn Fn(&str) -> Option<f64>) -> Result<Vec<f64>> {
    let name = variable.name;
    if let Some(wanted) = variable.default.filter(|wanted| given(name).is_some_and(|word| word != *wanted)) {
        let word = variable.words[wanted as usize];
        return Err(Error::input(
            format!("{} covers only {name} = \"{word}\"", about.id),
            format!("select these points with --where '{name} == \"{word}\"'"),
        ));
    }
    about.variables.iter().map(|variable| variable_value(about, variable, given)).collect()
}
