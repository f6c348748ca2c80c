//! Units of formulas: checks that both sides and all sums agree, and finds the units of names that have none.
//!
//! A unit is a product of powers of seconds, bytes and words. Each sum, minimum or maximum gives a linear equation between the
//! exponents of its sides. The exponents of names without a unit are unknown.

use super::{Formula, Operator, Step};
use crate::error::{Error, Result};
use crate::units::Unit;
use std::fmt;
use std::ops::Range;
use std::path::Path;

/// Exponents of seconds, bytes and words.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Dimension([f64; 3]);

const NAMES: [&str; 3] = ["s", "B", "word"];

const PRINTED: [Unit; 7] =
    [Unit::None, Unit::Words, Unit::Bytes, Unit::Seconds, Unit::BytesPerSecond, Unit::PerSecond, Unit::SecondsPerByte];

impl Dimension {
    pub const BYTES_PER_WORD: Self = Self([0.0, 1.0, -1.0]);

    pub fn from_unit(unit: Unit) -> Self {
        Self(match unit {
            Unit::None | Unit::Cycles => [0.0; 3],
            Unit::Words => [0.0, 0.0, 1.0],
            Unit::Bytes => [0.0, 1.0, 0.0],
            Unit::Seconds => [1.0, 0.0, 0.0],
            Unit::Hertz | Unit::PerSecond | Unit::UpdatesPerSecond => [-1.0, 0.0, 0.0],
            Unit::BytesPerSecond => [-1.0, 1.0, 0.0],
            Unit::SecondsPerByte => [1.0, -1.0, 0.0],
        })
    }

    pub fn unit(self) -> Option<Unit> {
        PRINTED.into_iter().find(|unit| Self::from_unit(*unit) == self)
    }
}

impl fmt::Display for Dimension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = |sign: f64| {
            let powers = NAMES.iter().zip(self.0).filter(move |(_, power)| power * sign > 0.0);
            let power = |(name, power): (&&str, f64)| match power.abs() {
                1.0 => (*name).to_owned(),
                power => format!("{name}^{power}"),
            };
            powers.map(power).collect::<Vec<_>>().join(" ")
        };
        match (part(1.0), part(-1.0)) {
            (above, below) if below.is_empty() => f.write_str(if above.is_empty() { "a pure number" } else { &above }),
            (above, below) => write!(f, "{}/{below}", if above.is_empty() { "1" } else { &above }),
        }
    }
}

/// The dimension of a part: known exponents plus multiples of those of the unknown names.
#[derive(Clone)]
struct Part {
    known: [f64; 3],
    unknown: Vec<f64>,
    /// A number, which has any unit in a sum.
    number: Option<f64>,
    /// Whether nothing is known, as for a power with an unknown exponent.
    is_open: bool,
}

impl Part {
    fn plus(&self, other: &Self, factor: f64) -> Self {
        Self {
            known: std::array::from_fn(|k| self.known[k] + factor * other.known[k]),
            unknown: self.unknown.iter().zip(&other.unknown).map(|(a, b)| a + factor * b).collect(),
            number: None,
            is_open: self.is_open || other.is_open,
        }
    }

    fn dimension(&self) -> Option<Dimension> {
        self.unknown.iter().all(|factor| factor.abs() < 1e-9).then_some(Dimension(self.known))
    }
}

/// Equations that the exponents of the unknown names fulfil, reduced as in Gauss-Jordan elimination.
#[derive(Default)]
struct Equations(Vec<(usize, Part)>);

impl Equations {
    /// Adds the equation `part = 0`. Returns whether it agrees with the others.
    fn add(&mut self, part: &Part) -> bool {
        let mut part = part.clone();
        for (pivot, row) in &self.0 {
            part = part.plus(row, -part.unknown[*pivot]);
        }
        let Some(pivot) = part.unknown.iter().position(|factor| factor.abs() > 1e-9) else {
            return part.known.iter().all(|power| power.abs() < 1e-9);
        };
        let zero = Part { known: [0.0; 3], unknown: vec![0.0; part.unknown.len()], number: None, is_open: false };
        part = zero.plus(&part, 1.0 / part.unknown[pivot]);
        for (_, row) in &mut self.0 {
            *row = row.plus(&part, -row.unknown[pivot]);
        }
        self.0.push((pivot, part));
        true
    }

    fn solution(&self, name: usize) -> Option<Dimension> {
        let (_, row) = self.0.iter().find(|(pivot, _)| *pivot == name)?;
        let alone = row.unknown.iter().enumerate().all(|(other, factor)| other == name || factor.abs() < 1e-9);
        // Adding 0 turns -0 into 0.
        alone.then(|| Dimension(row.known.map(|power| (-power * 1e6).round() / 1e6 + 0.0)))
    }
}

impl Formula {
    /// Checks the units, and returns the dimension of each name: the given one, or the only one with which both sides agree.
    pub fn dimensions(
        &self,
        text: &str,
        left: Dimension,
        dimension_of: &dyn Fn(&str) -> Option<Dimension>,
    ) -> Result<Vec<Option<Dimension>>> {
        let names = self.names();
        let given: Vec<Option<Dimension>> = names.iter().map(|name| dimension_of(name)).collect();
        let pure = |number| Part { known: [0.0; 3], unknown: vec![0.0; names.len()], number, is_open: false };
        let mut equations = Equations::default();
        let mut require = |a: &Part, b: &Part, span: &Range<usize>| {
            if a.number.is_some() || b.number.is_some() || a.is_open || b.is_open || equations.add(&a.plus(b, -1.0)) {
                return Ok(());
            }
            Err(disagreement(text, span, a.dimension(), b.dimension()))
        };
        let mut stack: Vec<Part> = Vec::new();
        for (step, span) in self.0.steps.iter().zip(&self.0.spans) {
            let mut operand = || stack.pop().unwrap_or_else(|| pure(None));
            let part = match step {
                Step::Number(number) => pure(Some(*number)),
                Step::Name(index) => {
                    let mut part = pure(None);
                    match given[*index] {
                        Some(dimension) => part.known = dimension.0,
                        None => part.unknown[*index] = 1.0,
                    }
                    part
                }
                Step::Negate => {
                    let part = operand();
                    Part { number: part.number.map(|number| -number), ..part }
                }
                Step::Call(function) => match function.name {
                    "sqrt" => pure(None).plus(&operand(), 0.5),
                    "exp" => {
                        require(&operand(), &pure(None), span)?;
                        pure(None)
                    }
                    "log2" => {
                        operand();
                        pure(None)
                    }
                    _ => sum(operand(), operand(), span, &mut require)?,
                },
                Step::Binary(Operator { symbol, .. }) => {
                    let (right, left) = (operand(), operand());
                    match (*symbol, right.number) {
                        ("*" | "/", Some(number)) if left.number.is_some() => pure(Some(number)),
                        ("*", _) => left.plus(&right, 1.0),
                        ("/", _) => left.plus(&right, -1.0),
                        ("^", Some(power)) => pure(None).plus(&left, power),
                        ("^", None) => {
                            require(&right, &pure(None), span)?;
                            Part { is_open: left.dimension() != Some(Dimension::default()), ..pure(None) }
                        }
                        _ => sum(right, left, span, &mut require)?,
                    }
                }
                Step::Word(_) | Step::Truth(_) | Step::Not => pure(None),
            };
            stack.push(part);
        }
        let right = stack.pop().unwrap_or_else(|| pure(None));
        let left = Part { known: left.0, ..pure(None) };
        let whole = self.0.spans.last().cloned().unwrap_or_default();
        require(&left, &right, &whole)?;
        Ok((0..names.len()).map(|name| given[name].or_else(|| equations.solution(name))).collect())
    }
}

/// A bare number has the unit of the other side.
fn sum(
    right: Part,
    left: Part,
    span: &Range<usize>,
    require: &mut impl FnMut(&Part, &Part, &Range<usize>) -> Result<()>,
) -> Result<Part> {
    require(&left, &right, span)?;
    let is_less_known = left.number.is_some() || left.is_open;
    Ok(Part { number: left.number.and(right.number), ..if is_less_known { right } else { left } })
}

fn disagreement(text: &str, span: &Range<usize>, left: Option<Dimension>, right: Option<Dimension>) -> Error {
    let message = match (left, right) {
        (Some(left), Some(right)) => format!("the units do not agree here: {left} on one side, {right} on the other"),
        _ => "no units of the parameters make both sides agree here".to_owned(),
    };
    let help = "multiply a term by a parameter of --fit, which takes the unit that is missing; word_bytes is 8 B/word";
    Error::input(message, help).with_location(Path::new("formula"), text, span.clone())
}
