//! Conditions on points, such as `L * P <= M` or `kernel == "apex_map.two_sided" && alpha > 0.5`.
//!
//! Operators, from the highest precedence: `^` (left-associative), unary `-` and `!`, `* / %`, `+ -`, `== != < <= > >=`,
//! `&&`, `||`. Numbers are in base units (words, bytes, seconds), or have a unit if they are compared with a column (`M ==
//! 256 MiB`); words are in double quotes. Conditions are stored in postfix order, so a long one cannot overflow the stack.

mod dimensions;
mod parse;

pub use dimensions::Dimension;

use crate::{error::Result, point::Value, units::Unit};
use parse::Advise;
use std::ops::Range;

/// The type of a name in a condition.
#[derive(Clone, Debug, PartialEq)]
pub enum NameType {
    /// A number, in the base unit of its parameter or column.
    Number,
    /// A number with this unit: the condition may compare it with a number in a related unit, as in `M == 256 MiB`.
    Quantity(Unit),
    /// A word from this list.
    Word(Vec<String>),
}

/// A parsed and type-checked condition, ready to be evaluated for many points.
#[derive(Clone, Debug)]
pub struct Condition {
    steps: Vec<Step>,
    /// The place of each step in the text, with its operands.
    spans: Vec<Range<usize>>,
    names: Vec<String>,
}

/// A step of the postfix code. Operands push a value; operators replace the last one or two values.
#[derive(Clone, Debug)]
enum Step {
    Number(f64),
    Word(String),
    Truth(bool),
    Name(usize),
    Negate,
    Not,
    Binary(&'static Operator),
    Call(&'static Function),
}

#[derive(Debug)]
struct Function {
    name: &'static str,
    rule: FunctionRule,
}

#[derive(Debug)]
enum FunctionRule {
    One(fn(f64) -> f64),
    Two(fn(f64, f64) -> f64),
}

const FUNCTIONS: &[Function] = &[
    Function { name: "exp", rule: FunctionRule::One(f64::exp) },
    Function { name: "log2", rule: FunctionRule::One(f64::log2) },
    Function { name: "sqrt", rule: FunctionRule::One(f64::sqrt) },
    Function { name: "min", rule: FunctionRule::Two(f64::min) },
    Function { name: "max", rule: FunctionRule::Two(f64::max) },
];

#[derive(Clone, Copy, Debug, PartialEq)]
enum Operand<'a> {
    Number(f64),
    Word(&'a str),
    Truth(bool),
}

#[derive(Debug)]
struct Operator {
    symbol: &'static str,
    precedence: u8,
    rule: OperatorRule,
}

#[derive(Debug)]
enum OperatorRule {
    Arithmetic(fn(f64, f64) -> f64),
    Equality(fn(bool) -> bool),
    Order(fn(std::cmp::Ordering) -> bool),
    Logic(fn(bool, bool) -> bool),
}

/// The longer of two symbols with the same beginning comes first, because the parser takes the first that matches.
const OPERATORS: &[Operator] = &[
    Operator { symbol: "||", precedence: 1, rule: OperatorRule::Logic(|a, b| a || b) },
    Operator { symbol: "&&", precedence: 2, rule: OperatorRule::Logic(|a, b| a && b) },
    Operator { symbol: "==", precedence: 3, rule: OperatorRule::Equality(|same| same) },
    Operator { symbol: "!=", precedence: 3, rule: OperatorRule::Equality(|same| !same) },
    Operator { symbol: "<=", precedence: 3, rule: OperatorRule::Order(|order| order.is_le()) },
    Operator { symbol: ">=", precedence: 3, rule: OperatorRule::Order(|order| order.is_ge()) },
    Operator { symbol: "<", precedence: 3, rule: OperatorRule::Order(|order| order.is_lt()) },
    Operator { symbol: ">", precedence: 3, rule: OperatorRule::Order(|order| order.is_gt()) },
    Operator { symbol: "+", precedence: 4, rule: OperatorRule::Arithmetic(|a, b| a + b) },
    Operator { symbol: "-", precedence: 4, rule: OperatorRule::Arithmetic(|a, b| a - b) },
    Operator { symbol: "*", precedence: 5, rule: OperatorRule::Arithmetic(|a, b| a * b) },
    Operator { symbol: "/", precedence: 5, rule: OperatorRule::Arithmetic(|a, b| a / b) },
    Operator { symbol: "%", precedence: 5, rule: OperatorRule::Arithmetic(|a, b| a % b) },
    Operator { symbol: "^", precedence: 7, rule: OperatorRule::Arithmetic(f64::powf) },
];

impl Condition {
    /// Parses a condition over the known names. The place of an error is a span of `text`.
    pub fn parse(text: &str, known_names: &[(&str, NameType)]) -> Result<Self> {
        parse::parse(text, 0, known_names, Type::Truth, None)
    }

    /// Parses like [`Condition::parse`]. `advise` replaces the list of all known names in the help about an unknown one.
    pub fn parse_with_advice(text: &str, known_names: &[(&str, NameType)], advise: Advise) -> Result<Self> {
        parse::parse(text, 0, known_names, Type::Truth, Some(advise))
    }

    /// Returns each name in the condition once.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns whether the condition is true for a point. `None` if that depends on a parameter that the point does not have,
    /// or has with another type: `kernel == "gpu.chase" || L > 4` is true for each point of that kernel.
    pub fn is_true_for(&self, lookup: &dyn Fn(&str) -> Option<Value>) -> Option<bool> {
        self.evaluate(lookup, |operand| if let Operand::Truth(truth) = operand { Some(truth) } else { None })
    }

    fn evaluate<T>(&self, lookup: &dyn Fn(&str) -> Option<Value>, convert: impl Fn(Operand) -> Option<T>) -> Option<T> {
        use Operand::{Number, Truth};
        let values: Vec<Option<Value>> = self.names.iter().map(|name| lookup(name)).collect();
        // `None` is an unknown value.
        let mut stack: Vec<Option<Operand>> = Vec::new();
        for step in &self.steps {
            let result = match step {
                Step::Number(number) => Some(Number(*number)),
                Step::Word(word) => Some(Operand::Word(word)),
                Step::Truth(truth) => Some(Truth(*truth)),
                Step::Name(index) => values[*index].as_ref().and_then(|value| match value {
                    Value::Text(word) => Some(Operand::Word(word)),
                    number => number.as_f64().map(Number),
                }),
                Step::Negate => match stack.pop()? {
                    Some(Number(number)) => Some(Number(-number)),
                    _ => None,
                },
                Step::Not => match stack.pop()? {
                    Some(Truth(truth)) => Some(Truth(!truth)),
                    _ => None,
                },
                Step::Binary(operator) => {
                    let (right, left) = (stack.pop()?, stack.pop()?);
                    operator.apply(left, right)
                }
                // Conditions have no functions.
                Step::Call(_) => return None,
            };
            stack.push(result);
        }
        convert(stack.pop()??)
    }
}

/// Joins conditions: all of them must be true.
pub fn join(conditions: &[String]) -> String {
    let part =
        |text: &String| if conditions.len() > 1 && text.contains("||") { format!("({text})") } else { text.clone() };
    conditions.iter().map(part).collect::<Vec<_>>().join(" && ")
}

/// An arithmetic expression over names, with the functions `exp`, `log2`, `sqrt`, `min` and `max`: `100 * gups / (32 * single)`.
#[derive(Clone, Debug)]
pub struct Formula(Condition);

impl Formula {
    pub fn parse(text: &str, known_names: &[(&str, NameType)]) -> Result<Self> {
        parse::parse(text, 0, known_names, Type::Number, None).map(Self)
    }

    /// Parses the part of an equation from the byte `start` on. Places in errors are those in the whole text.
    pub fn parse_from(text: &str, start: usize, known_names: &[(&str, NameType)], advise: Advise) -> Result<Self> {
        parse::parse(text, start, known_names, Type::Number, Some(advise)).map(Self)
    }

    pub fn names(&self) -> &[String] {
        &self.0.names
    }

    pub fn evaluate(&self, lookup: &dyn Fn(&str) -> Option<Value>) -> Option<f64> {
        let values: Option<Vec<f64>> = self.names().iter().map(|name| lookup(name)?.as_f64()).collect();
        let values = values?;
        Some(self.evaluate_with(|index| values[index]))
    }

    /// Evaluates the formula with a value for each index into [`Formula::names`].
    pub fn evaluate_with(&self, value: impl Fn(usize) -> f64) -> f64 {
        let mut stack: Vec<f64> = Vec::with_capacity(8);
        for step in &self.0.steps {
            let right = |stack: &mut Vec<f64>| stack.pop().unwrap_or(f64::NAN);
            let result = match step {
                Step::Number(number) => *number,
                Step::Name(index) => value(*index),
                Step::Negate => -right(&mut stack),
                Step::Binary(Operator { rule: OperatorRule::Arithmetic(compute), .. })
                | Step::Call(Function { rule: FunctionRule::Two(compute), .. }) => {
                    let (right, left) = (right(&mut stack), right(&mut stack));
                    compute(left, right)
                }
                Step::Call(Function { rule: FunctionRule::One(compute), .. }) => compute(right(&mut stack)),
                // The parser has rejected words and comparisons.
                Step::Word(_) | Step::Truth(_) | Step::Not | Step::Binary(_) => f64::NAN,
            };
            stack.push(result);
        }
        stack.pop().unwrap_or(f64::NAN)
    }
}

impl Operator {
    /// Applies the operator. Returns `None` for operands of a wrong type, and for unknown ones unless the other one decides.
    fn apply<'a>(&self, left: Option<Operand<'a>>, right: Option<Operand<'a>>) -> Option<Operand<'a>> {
        use Operand::{Number, Truth, Word};
        if let (OperatorRule::Logic(compute), (Some(Truth(truth)), None) | (None, Some(Truth(truth)))) =
            (&self.rule, (left, right))
        {
            let result = compute(truth, true);
            return (result == compute(truth, false)).then_some(Truth(result));
        }
        Some(match (&self.rule, left?, right?) {
            (OperatorRule::Arithmetic(compute), Number(a), Number(b)) => Number(compute(a, b)),
            (OperatorRule::Logic(compute), Truth(a), Truth(b)) => Truth(compute(a, b)),
            (OperatorRule::Equality(accept), a, b) if a.kind() == b.kind() => Truth(accept(a == b)),
            // A NaN is neither smaller nor larger than another number.
            (OperatorRule::Order(accept), Number(a), Number(b)) => Truth(a.partial_cmp(&b).is_some_and(accept)),
            (OperatorRule::Order(accept), Word(a), Word(b)) => Truth(accept(a.cmp(b))),
            _ => return None,
        })
    }
}

impl Operand<'_> {
    fn kind(self) -> Type {
        match self {
            Operand::Number(_) => Type::Number,
            Operand::Word(_) => Type::Word,
            Operand::Truth(_) => Type::Truth,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Type {
    Number,
    Word,
    Truth,
}

impl Type {
    fn name(self) -> &'static str {
        match self {
            Type::Number => "a number",
            Type::Word => "a word",
            Type::Truth => "a comparison",
        }
    }
}
