//! The parameters of kernels: names, units, values, defaults.

use apexmap_base::point::{Point, Value};
use apexmap_base::units::Unit;

/// Which values a parameter takes.
#[derive(Clone, Copy, Debug)]
pub enum Domain {
    /// Whole numbers from `least` to `most`, both included.
    Integer {
        /// The smallest value.
        least: u64,
        /// The largest value.
        most: u64,
        /// Its value where a point names none.
        default: u64,
    },
    /// The same, for the words of memory; sweeps may ask for a share of the memory, and ask for half of it by default.
    Size {
        /// The smallest size, in words of 8 bytes.
        least: u64,
        /// The largest size, in words of 8 bytes.
        most: u64,
        /// Its size in words where a point names none.
        default: u64,
    },
    /// Words of a memory that is divided evenly among the ranks; sweeps may ask for so much that it lies beyond the caches, and
    /// do by default.
    Global {
        /// The smallest size, in words of 8 bytes.
        least: u64,
        /// The largest size, in words of 8 bytes.
        most: u64,
        /// Its size in words where a point names none.
        default: u64,
    },
    /// Whole numbers; where a point names none, one is chosen that suits its other parameters.
    Chosen {
        /// The smallest value.
        least: u64,
        /// The largest value.
        most: u64,
        /// What it is chosen from, for help: `L, alpha and P`.
        from: &'static str,
        /// The value for a point that has all other parameters; always the same for the same point.
        choose: fn(&Point) -> u64,
    },
    /// Real numbers greater than `above`, up to and including `most`.
    Real {
        /// The bound below, which is no value itself.
        above: f64,
        /// The largest value.
        most: f64,
        /// Its value where a point names none.
        default: f64,
    },
    /// One of these words; the first is the default.
    Choice(&'static [&'static str]),
}

/// The words of a [`Domain::Choice`], each with what it means to the kernel: one list, so that no word means another one's thing.
pub(crate) struct Choices<T: 'static>(pub &'static [(&'static str, T)]);

impl<T: Copy> Choices<T> {
    /// The words alone, for the domain.
    ///
    /// # Panics
    /// If there are not `N`: where a constant is made of it, that does not compile.
    pub(crate) const fn words<const N: usize>(&self) -> [&'static str; N] {
        assert!(self.0.len() == N);
        let (mut words, mut number) = ([""; N], 0);
        while number < N {
            words[number] = self.0[number].0;
            number += 1;
        }
        words
    }

    /// What the point's word means.
    ///
    /// # Panics
    /// If the point is not complete.
    pub(crate) fn of(&self, point: &Point, name: &str) -> T {
        let word = point.text(name);
        let chosen = self.0.iter().find(|(known, _)| *known == word);
        chosen.unwrap_or_else(|| panic!("{name} = \"{word}\" is none of its choices")).1
    }
}

/// A parameter of a kernel.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// The paper's name, as in sweeps: `M`, `alpha`, `NSER`.
    pub name: &'static str,
    /// Column in stores, with its unit: `memory_words`.
    pub column: &'static str,
    /// The base unit of its values: points and results hold them in it.
    pub unit: Unit,
    /// What it is, in a few words for help and schemas.
    pub meaning: &'static str,
    /// The values that are accepted, and the default.
    pub domain: Domain,
}

impl Parameter {
    /// Its value where a point names none; `None` if that is chosen for the point. Sweeps take half of the memory for a
    /// [`Domain::Size`] instead, and what lies beyond the caches for a [`Domain::Global`].
    pub fn default_value(&self) -> Option<Value> {
        match self.domain {
            Domain::Integer { default, .. } | Domain::Size { default, .. } | Domain::Global { default, .. } => {
                Some(Value::Integer(default))
            }
            Domain::Chosen { .. } => None,
            Domain::Real { default, .. } => Some(Value::Real(default)),
            Domain::Choice(words) => Some(Value::from(words[0])),
        }
    }

    /// The value in this parameter's own type: 64.0 becomes an integer where one is asked for.
    ///
    /// # Errors
    /// What is wrong with the value, in one sentence.
    pub fn accept(&self, value: &Value) -> std::result::Result<Value, String> {
        let name = self.name;
        match (self.domain, value) {
            (
                Domain::Integer { least, most, .. }
                | Domain::Size { least, most, .. }
                | Domain::Global { least, most, .. }
                | Domain::Chosen { least, most, .. },
                value,
            ) => {
                let number = match value {
                    Value::Integer(v) => *v,
                    Value::Real(v) if v.fract() == 0.0 && *v >= 0.0 && *v < 1.8e19 => *v as u64,
                    other => return Err(format!("{name} must be a whole number, found {other}")),
                };
                if number < least || number > most {
                    return Err(format!("{name} must lie between {least} and {most}, found {number}"));
                }
                Ok(Value::Integer(number))
            }
            (Domain::Real { above, most, .. }, value) => {
                let number = value.as_f64().ok_or_else(|| format!("{name} must be a number, found \"{value}\""))?;
                if !(number > above && number <= most) {
                    return Err(format!("{name} must be greater than {above} and at most {most}, found {number}"));
                }
                Ok(Value::Real(number))
            }
            (Domain::Choice(words), Value::Text(text)) if words.contains(&text.as_str()) => Ok(value.clone()),
            (Domain::Choice(words), other) => Err(format!("{name} must be one of {}, found {other}", words.join(", "))),
        }
    }
}

/// A parameter without a unit.
pub(super) const fn parameter(
    name: &'static str,
    column: &'static str,
    meaning: &'static str,
    domain: Domain,
) -> Parameter {
    Parameter { name, column, unit: Unit::None, meaning, domain }
}
