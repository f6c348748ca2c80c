use super::Refusal;
use crate::choice::{Kind, Typed};
use crate::refusal;
use apexmap_base::point::{Point, Value};
use apexmap_base::units::{Unit, size_of_words};
use std::marker::PhantomData;
use std::ops::RangeInclusive;

/// The values that a parameter accepts.
#[derive(Clone, Copy, Debug)]
pub enum Domain {
    /// Integers from `min` to `max`, both included; `default` if a point sets none.
    Integer { min: u64, max: u64, default: u64 },
    /// A memory size in words, otherwise like `Integer`. Sweeps may request a share of the memory, and do so by default.
    Size { min: u64, max: u64, default: u64 },
    /// The size in words of a memory that is divided evenly among the ranks. Sweeps may request a size beyond the caches, and do so
    /// by default.
    Global { min: u64, max: u64, default: u64 },
    /// Integers whose default depends on the point's other parameters.
    Chosen {
        min: u64,
        max: u64,
        /// For help: `L, alpha and P`.
        depends_on: &'static str,
        /// Computes the default for a point with all other parameters. It always returns the same value for the same point.
        choose: fn(&Point) -> u64,
    },
    /// Real numbers greater than `exclusive_min`, up to and including `max`.
    Real { exclusive_min: f64, max: f64, default: f64 },
    /// A word from this list; the first is the default.
    Choice(&'static [&'static str]),
}

/// A parameter of a kernel.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// The paper's name, as in sweeps: `M`, `alpha`, `NSER`.
    pub name: &'static str,
    /// Column in stores, with the unit in its name: `memory_words`.
    pub column: &'static str,
    /// The base unit of its values. Points and results use it.
    pub unit: Unit,
    /// Its meaning in a few words, for help and schemas.
    pub meaning: &'static str,
    pub domain: Domain,
}

impl Parameter {
    /// Returns the value if a point does not set it, or `None` if it depends on the point. Sweeps have other defaults for
    /// [`Domain::Size`] and [`Domain::Global`].
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

    /// Returns whether its values are memory sizes in words.
    pub fn is_memory(&self) -> bool {
        matches!(self.domain, Domain::Size { .. } | Domain::Global { .. })
    }

    /// Converts the value to this parameter's type: 64.0 becomes an integer if the parameter is one.
    pub fn convert(&self, value: &Value) -> Result<Value, Refusal> {
        let name = self.name;
        match (self.domain, value) {
            (
                Domain::Integer { min: least, max: most, .. }
                | Domain::Size { min: least, max: most, .. }
                | Domain::Global { min: least, max: most, .. }
                | Domain::Chosen { min: least, max: most, .. },
                value,
            ) => {
                let number = match value {
                    Value::Integer(v) => *v,
                    // Larger numbers do not fit into 64 bits.
                    Value::Real(v) if v.fract() == 0.0 && *v >= 0.0 && *v < 1.8e19 => *v as u64,
                    other => return Err(refusal!([name], "{name} must be a whole number, found {other}")),
                };
                if number < least || number > most {
                    let [least, most, number] = [least, most, number].map(|number| match self.is_memory() {
                        true => size_of_words(number),
                        false => number.to_string(),
                    });
                    return Err(refusal!([name], "{name} must lie between {least} and {most}, found {number}"));
                }
                Ok(Value::Integer(number))
            }
            (Domain::Real { exclusive_min: above, max: most, .. }, value) => {
                let number =
                    value.as_f64().ok_or_else(|| refusal!([name], "{name} must be a number, found \"{value}\""))?;
                if !(number > above && number <= most) {
                    return Err(refusal!(
                        [name],
                        "{name} must be greater than {above} and at most {most}, found {number}"
                    ));
                }
                Ok(Value::Real(number))
            }
            (Domain::Choice(words), Value::Text(text)) if words.contains(&text.as_str()) => Ok(value.clone()),
            (Domain::Choice(words), other) => {
                Err(refusal!([name], "{name} must be one of {}, found {other}", words.join(", ")))
            }
        }
    }
}

/// The parameter with the specification of a [command](super::command). Only points of this kernel have it.
pub const COMMAND: &str = "command";

/// A parameter with the type of its values, which looks them up in points: `L.of(point)`.
#[derive(Clone, Copy, Debug)]
pub struct Key<T> {
    pub parameter: Parameter,
    values: PhantomData<T>,
}

impl<T: Typed> Key<T> {
    /// The key of numbers. It does not compile if they are not of this type.
    pub const fn new(parameter: Parameter) -> Self {
        let is_right = match parameter.domain {
            Domain::Real { .. } => matches!(T::KIND, Kind::Real),
            // `choice_key` takes the words from the type.
            Domain::Choice(_) => false,
            _ => matches!(T::KIND, Kind::Integer),
        };
        assert!(is_right, "the domain has values of another type");
        Self { parameter, values: PhantomData }
    }

    /// The name of the column has the unit.
    pub(super) const fn in_column(mut self, column: &'static str, unit: Unit) -> Self {
        (self.parameter.column, self.parameter.unit) = (column, unit);
        self
    }

    pub(super) const fn with_meaning(mut self, meaning: &'static str) -> Self {
        self.parameter.meaning = meaning;
        self
    }

    pub(super) const fn with_domain(self, domain: Domain) -> Self {
        Self::new(Parameter { domain, ..self.parameter })
    }

    /// Returns the value of a complete point, and panics if it has no such parameter. Plans and the worker complete and check every
    /// point before a kernel gets it; other code uses [`Key::get`].
    pub fn of(&self, point: &Point) -> T {
        self.get(point).unwrap_or_else(|| panic!("{} has no parameter {}", point.label(), self.parameter.name))
    }

    /// Returns the value, or `None` if the point has no such parameter. Panics if the value has another type; completed points have
    /// none.
    pub fn get(&self, point: &Point) -> Option<T> {
        let name = self.parameter.name;
        let convert =
            |value| T::from_value(value).unwrap_or_else(|| panic!("{name} = \"{value}\" is none of its values"));
        // The parameters of a command are the user's, whatever their names are.
        if point.params.contains_key(COMMAND) {
            return None;
        }
        point.params.get(name).map(convert)
    }
}

/// Lists the parameters of a kernel: `parameters![M, ALPHA, L]` for its keys.
#[macro_export]
macro_rules! parameters {
    ($($key:expr),+ $(,)?) => {
        &[$($key.parameter),+]
    };
}

pub(super) const fn parameter(name: &'static str, meaning: &'static str, domain: Domain) -> Parameter {
    Parameter { name, column: name, unit: Unit::None, meaning, domain }
}

/// The key of a number without a unit, whose column has its name.
pub(super) const fn key<T: Typed>(name: &'static str, meaning: &'static str, domain: Domain) -> Key<T> {
    Key::new(parameter(name, meaning, domain))
}

/// The key of words of an enum.
pub(super) const fn choice_key<T: Typed>(name: &'static str, meaning: &'static str) -> Key<T> {
    let Kind::Words(words) = T::KIND else { panic!("the type has no words") };
    Key { parameter: parameter(name, meaning, Domain::Choice(words)), values: PhantomData }
}

pub(super) const fn integers(range: RangeInclusive<u64>, default: u64) -> Domain {
    Domain::Integer { min: *range.start(), max: *range.end(), default }
}

/// `depends_on` names the parameters that the default depends on.
pub(super) const fn chosen(range: RangeInclusive<u64>, depends_on: &'static str, choose: fn(&Point) -> u64) -> Domain {
    Domain::Chosen { min: *range.start(), max: *range.end(), depends_on, choose }
}

pub(super) fn require_power_of_two(point: &Point, key: Key<u64>) -> Result<(), Refusal> {
    let (name, value) = (key.parameter.name, key.of(point));
    if value.is_power_of_two() {
        return Ok(());
    }
    Err(refusal!([name], "{name} = {value} is not a power of two; use {}", value.next_power_of_two()))
}
