//! Domains: where the numbers of a card hold.

use apexmap_base::error::{Error, Result};
use apexmap_base::name_lookup::suggest;
use apexmap_base::units::exact_number;
use apexmap_measure::kernels;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// The kernel, the options and the ranges of the variables for which a number was measured, fitted or printed. A variable that it
/// does not have is not restricted.
///
/// ```toml
/// [numbers.round_seconds]
/// value = 56.9
/// unit = "us"
/// how = "Section 3: T1"
/// domain = { kernel = "random_access.hypercube", P = [1, 8192], Q = 1024 }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Domain(BTreeMap<String, Extent>);

/// The values of a variable in a domain.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum Extent {
    /// One number.
    Number(f64),
    /// All numbers from the first to the second.
    Range(f64, f64),
    /// One word.
    Word(String),
    /// Several words.
    Words(Vec<String>),
}

/// Key of a domain: the kernel that was measured.
pub const KERNEL: &str = "kernel";

/// Variables of models that are not parameters of kernels.
const OF_MODELS: [&str; 10] =
    [KERNEL, "P", "M", "cores", "d", "nodes", "ranks_per_node", "region_bytes", "senders", "transport"];

impl Domain {
    /// Returns the values of a variable; `None` if it is not restricted.
    pub fn extent(&self, variable: &str) -> Option<&Extent> {
        self.0.get(variable)
    }

    /// Returns the variables with their values.
    pub fn extents(&self) -> impl Iterator<Item = (&str, &Extent)> {
        self.0.iter().map(|(name, extent)| (name.as_str(), extent))
    }

    /// Returns whether no variable is restricted.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a value of a variable.
    pub fn include(&mut self, variable: &str, value: f64) {
        let extent = match self.0.get(variable) {
            Some(Extent::Number(first)) if *first != value => Extent::Range(first.min(value), first.max(value)),
            Some(Extent::Range(low, high)) => Extent::Range(low.min(value), high.max(value)),
            _ => Extent::Number(value),
        };
        self.0.insert(variable.to_owned(), extent);
    }

    /// Adds the words of a variable.
    pub fn include_words(&mut self, variable: &str, words: &[&str]) {
        let extent = match words {
            [word] => Extent::Word((*word).to_owned()),
            words => Extent::Words(words.iter().map(|word| (*word).to_owned()).collect()),
        };
        self.0.insert(variable.to_owned(), extent);
    }

    pub(super) fn check(&self) -> Result<()> {
        let parameters = || kernels::ALL.iter().flat_map(|kernel| kernel.parameters).map(|parameter| parameter.name);
        for (name, extent) in &self.0 {
            if !OF_MODELS.contains(&name.as_str()) && !parameters().any(|parameter| parameter == name) {
                let names: Vec<&str> = OF_MODELS.into_iter().chain(parameters()).collect();
                return Err(Error::input(
                    format!("no kernel and no model has the variable {name}"),
                    suggest(name, &names),
                ));
            }
            let is_valid = match extent {
                Extent::Number(number) => number.is_finite(),
                Extent::Range(low, high) => low <= high && low.is_finite() && high.is_finite(),
                Extent::Word(_) => true,
                Extent::Words(words) => !words.is_empty(),
            };
            if !is_valid {
                let message = format!("the domain of {name} holds no value");
                return Err(Error::input(message, "write one value, [SMALLEST, LARGEST], or a list of words"));
            }
        }
        Ok(())
    }
}

impl Extent {
    /// Returns whether a number is one of these values.
    pub fn contains(&self, value: f64) -> bool {
        // Factors of powers, such as 0.001^(1/3)^3, differ in their last bits.
        let tolerance = 1e-9 * value.abs();
        match self {
            Extent::Number(number) => (number - value).abs() <= tolerance,
            Extent::Range(low, high) => (low - tolerance..=high + tolerance).contains(&value),
            Extent::Word(_) | Extent::Words(_) => false,
        }
    }

    /// Returns whether a word is one of these values.
    pub fn has_word(&self, word: &str) -> bool {
        match self {
            Extent::Word(only) => only == word,
            Extent::Words(words) => words.iter().any(|candidate| candidate == word),
            Extent::Number(_) | Extent::Range(..) => false,
        }
    }

    /// Returns the only number.
    pub fn single(&self) -> Option<f64> {
        match self {
            Extent::Number(number) => Some(*number),
            _ => None,
        }
    }
}

impl fmt::Display for Extent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Extent::Number(number) => f.write_str(&exact_number(*number)),
            Extent::Range(low, high) => write!(f, "{} to {}", exact_number(*low), exact_number(*high)),
            Extent::Word(word) => f.write_str(word),
            Extent::Words(words) => f.write_str(&words.join(" or ")),
        }
    }
}

impl fmt::Display for Domain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<String> = self.0.iter().map(|(name, extent)| format!("{name} = {extent}")).collect();
        f.write_str(&parts.join(", "))
    }
}
