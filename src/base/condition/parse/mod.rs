//! The parser of conditions: precedence climbing (Pratt), reading one token ahead. It checks the type of every part.

mod tokens;

use super::{Condition, FUNCTIONS, FunctionRule, NameType, Operator, OperatorRule, Step, Type};
use crate::error::{Error, Result};
use crate::name_lookup::suggest;
use crate::units::{self, Unit};
use std::ops::Range;
use std::path::Path;

/// Precedence of unary `-` and `!`: below `^`, above `*`.
const UNARY_PRECEDENCE: u8 = 6;

/// Maximum nesting of parentheses and signs. The parser calls itself for each level.
const MAX_DEPTH: usize = 100;

const MAX_LISTED: usize = 6;

const CONDITION_HELP: &str = "write a comparison such as \"L * P <= M\" or 'pages == \"base\" && alpha > 0.5'";
const FORMULA_HELP: &str = "write arithmetic such as \"100 * (a - b) / b\"; functions are exp, log2, sqrt, min and max";
const OPERAND_HELP: &str = "expected a number, a name, a word in double quotes or \"(\"";

#[derive(Debug)]
enum Token<'a> {
    Number(f64),
    Quantity(f64, &'static str),
    Word(String),
    Name(&'a str),
    Open,
    Close,
    Comma,
    Not,
    Binary(&'static Operator),
    End,
}

/// A part of the condition whose code is already in `Parser::steps`.
struct Part {
    kind: Type,
    span: Range<usize>,
    /// Index after the last step of its code.
    end: usize,
    /// The unit of a number that has one and is not converted yet.
    unit: Option<&'static str>,
}

struct Parser<'a> {
    text: &'a str,
    known_names: &'a [(&'a str, NameType)],
    advise: Option<Advise<'a>>,
    token: Token<'a>,
    span: Range<usize>,
    depth: usize,
    /// Whether the text is a formula: it has functions and no comparisons.
    is_formula: bool,
    steps: Vec<Step>,
    spans: Vec<Range<usize>>,
    names: Vec<String>,
}

pub type Advise<'a> = &'a dyn Fn(&str) -> String;

pub fn parse(
    text: &str,
    start: usize,
    known_names: &[(&str, NameType)],
    expected: Type,
    advise: Option<Advise>,
) -> Result<Condition> {
    let mut parser = Parser {
        text,
        known_names,
        advise,
        token: Token::End,
        span: start..start,
        depth: 0,
        is_formula: expected == Type::Number,
        steps: Vec::new(),
        spans: Vec::new(),
        names: Vec::new(),
    };
    parser.advance()?;
    if let Token::End = parser.token {
        let message = format!("the {} is empty", parser.noun());
        return Err(parser.error_at(start..text.len(), message, parser.help()));
    }
    let whole = parser.parse_expression(0)?;
    match parser.token {
        Token::End if whole.kind == expected => {
            Ok(Condition { steps: parser.steps, spans: parser.spans, names: parser.names })
        }
        Token::End if expected == Type::Number => {
            Err(parser.error_at(whole.span, "the formula is not a number", FORMULA_HELP))
        }
        Token::End => Err(parser.error_at(whole.span, "the condition is neither true nor false", CONDITION_HELP)),
        Token::Close => {
            Err(parser.error_at_token("this parenthesis was never opened", "remove it, or write its \"(\""))
        }
        _ => Err(parser.missing_operator()),
    }
}

impl<'a> Parser<'a> {
    fn error_at(&self, span: Range<usize>, message: impl Into<String>, help: impl Into<String>) -> Error {
        Error::input(message, help).with_location(Path::new(self.noun()), self.text, span)
    }

    fn noun(&self) -> &'static str {
        if self.is_formula { "formula" } else { "condition" }
    }

    fn help(&self) -> &'static str {
        if self.is_formula { FORMULA_HELP } else { CONDITION_HELP }
    }

    fn error_at_token(&self, message: impl Into<String>, help: impl Into<String>) -> Error {
        self.error_at(self.span.clone(), message, help)
    }

    fn missing_operator(&self) -> Error {
        if self.is_formula {
            let help = "write *, /, +, -, % or ^; a formula has one \"=\", and its numbers are in base units (words, bytes, seconds)";
            return self
                .error_at_token(format!("an operator is missing before {}", &self.text[self.span.clone()]), help);
        }
        self.error_at_token(
            format!("an operator is missing before {}", &self.text[self.span.clone()]),
            "\"and\", \"or\" and \"not\" are written &&, || and !; numbers are in base units, or have a unit if the column has one (256 MiB)",
        )
    }

    /// Parses operands joined by operators that bind tighter than `precedence`.
    fn parse_expression(&mut self, precedence: u8) -> Result<Part> {
        let mut left = self.parse_operand()?;
        while let Token::Binary(operator) = self.token
            && operator.precedence > precedence
        {
            let operator_span = self.span.clone();
            self.advance()?;
            if let Token::End | Token::Close | Token::Comma = self.token {
                let message = format!("the right side of \"{}\" is missing", operator.symbol);
                return Err(self.error_at(operator_span, message, format!("{OPERAND_HELP}; {}", self.help())));
            }
            let right = self.parse_expression(operator.precedence)?;
            left = self.join_operands(operator, &left, &right)?;
        }
        Ok(left)
    }

    fn parse_operand(&mut self) -> Result<Part> {
        let start = self.span.clone();
        let (step, kind) = match std::mem::replace(&mut self.token, Token::End) {
            Token::Open => return self.parse_nested(start, Self::parse_parenthesised),
            Token::Not => {
                return self.parse_nested(start, |parser, start| parser.parse_unary(start, Step::Not, Type::Truth));
            }
            Token::Binary(operator) if operator.symbol == "-" => {
                return self.parse_nested(start, |parser, start| parser.parse_unary(start, Step::Negate, Type::Number));
            }
            Token::Binary(operator) => {
                let message = format!("the left side of \"{}\" is missing", operator.symbol);
                return Err(self.error_at(start, message, format!("{OPERAND_HELP}; {}", self.help())));
            }
            Token::Close | Token::Comma | Token::End => {
                return Err(self.error_at(start, "an operand is missing here", OPERAND_HELP));
            }
            Token::Number(number) => (Step::Number(number), Type::Number),
            Token::Quantity(number, unit) => {
                self.advance()?;
                let part = self.push_step(Step::Number(number), Type::Number, start);
                return Ok(Part { unit: Some(unit), ..part });
            }
            Token::Word(word) => (Step::Word(word), Type::Word),
            Token::Name(name @ ("true" | "false")) => (Step::Truth(name == "true"), Type::Truth),
            Token::Name(name) => {
                self.advance()?;
                return self.parse_name(name, start);
            }
        };
        self.advance()?;
        Ok(self.push_step(step, kind, start))
    }

    fn push_step(&mut self, step: Step, kind: Type, span: Range<usize>) -> Part {
        self.steps.push(step);
        self.spans.push(span.clone());
        Part { kind, span, end: self.steps.len(), unit: None }
    }

    fn parse_nested(
        &mut self,
        start: Range<usize>,
        parse_inner: impl Fn(&mut Self, Range<usize>) -> Result<Part>,
    ) -> Result<Part> {
        if self.depth == MAX_DEPTH {
            return Err(self.error_at(
                start,
                format!("more than {MAX_DEPTH} levels of nesting"),
                "write it with fewer",
            ));
        }
        self.depth += 1;
        self.advance()?;
        let part = parse_inner(self, start)?;
        self.depth -= 1;
        Ok(part)
    }

    fn parse_parenthesised(&mut self, open: Range<usize>) -> Result<Part> {
        let inner = self.parse_expression(0)?;
        let span = self.close(open)?;
        Ok(Part { span, ..inner })
    }

    /// Reads a closing parenthesis. Returns the span from `open` to it.
    fn close(&mut self, open: Range<usize>) -> Result<Range<usize>> {
        match self.token {
            Token::Close => {}
            Token::End => return Err(self.error_at(open, "this parenthesis is not closed", "write its \")\"")),
            _ => return Err(self.missing_operator()),
        }
        let span = open.start..self.span.end;
        self.advance()?;
        Ok(span)
    }

    fn parse_call(&mut self, name: &str, span: Range<usize>) -> Result<Part> {
        let Some(function) = FUNCTIONS.iter().find(|function| function.name == name) else {
            let names: Vec<&str> = FUNCTIONS.iter().map(|function| function.name).collect();
            return Err(self.error_at(span, format!("there is no function \"{name}\""), suggest(name, &names)));
        };
        self.parse_nested(span, |parser, span| {
            let first = parser.parse_expression(0)?;
            parser.require_kind(&first, Type::Number, function.name)?;
            if let FunctionRule::Two(_) = function.rule {
                let Token::Comma = parser.token else {
                    let message = format!("\"{}\" needs two numbers", function.name);
                    return Err(parser.error_at(span, message, format!("write {}(a, b)", function.name)));
                };
                parser.advance()?;
                let second = parser.parse_expression(0)?;
                parser.require_kind(&second, Type::Number, function.name)?;
            }
            let span = parser.close(span)?;
            Ok(parser.push_step(Step::Call(function), Type::Number, span))
        })
    }

    fn parse_unary(&mut self, sign: Range<usize>, step: Step, kind: Type) -> Result<Part> {
        let inner = self.parse_expression(UNARY_PRECEDENCE)?;
        self.require_kind(&inner, kind, &self.text[sign.clone()])?;
        Ok(self.push_step(step, kind, sign.start..inner.span.end))
    }

    fn parse_name(&mut self, name: &str, span: Range<usize>) -> Result<Part> {
        if let Token::Open = self.token {
            if self.is_formula {
                return self.parse_call(name, span);
            }
            return Err(self.error_at(span, format!("conditions have no functions, found \"{name}\""), CONDITION_HELP));
        }
        let Some((_, kind)) = self.known_names.iter().find(|(other, _)| *other == name) else {
            return Err(self.unknown_name(name, span));
        };
        let kind = if let NameType::Word(_) = kind { Type::Word } else { Type::Number };
        let index = self.names.iter().position(|other| other == name).unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        });
        Ok(self.push_step(Step::Name(index), kind, span))
    }

    fn unknown_name(&self, name: &str, span: Range<usize>) -> Error {
        let is_word = |(_, kind): &&(&str, NameType)| matches!(kind, NameType::Word(words) if words.iter().any(|word| word == name));
        let help = match (self.known_names.iter().find(is_word), self.advise) {
            (Some((column, _)), _) => format!("write \"{name}\" in double quotes: it is a word of {column}"),
            (None, Some(advise)) => advise(name),
            (None, None) => {
                let others: Vec<_> = self.known_names.iter().map(|(other, _)| *other).collect();
                suggest(name, &others) + "; words are written in double quotes"
            }
        };
        self.error_at(span, format!("the {} names \"{name}\", which is unknown here", self.noun()), help)
    }

    fn unit_of_name(&self, part: &Part) -> Option<(&'a str, Unit)> {
        let Step::Name(index) = self.steps[part.end - 1] else { return None };
        let name = &self.names[index];
        self.known_names.iter().find_map(|(other, kind)| match kind {
            NameType::Quantity(unit) if other == name => Some((*other, *unit)),
            _ => None,
        })
    }

    fn words_of_name(&self, part: &Part) -> Option<(&'a str, &'a [String])> {
        let Step::Name(index) = self.steps[part.end - 1] else { return None };
        self.known_names.iter().find_map(|(name, kind)| match kind {
            NameType::Word(words) if **name == self.names[index] => Some((*name, words.as_slice())),
            _ => None,
        })
    }

    fn convert_quantity(&mut self, quantity: &Part, name: &Part) -> Result<()> {
        let Some(suffix) = quantity.unit else { return Ok(()) };
        let Some((name, unit)) = self.unit_of_name(name) else { return self.refuse_quantity(quantity) };
        let Some(scale) = units::scale(unit, suffix) else {
            let message = format!("{suffix} is not a unit of {name}");
            let help = match units::suffix_names(unit).as_slice() {
                [] => format!("write the number without a unit: {name} is a pure number"),
                names => format!("its units are {}", names.join(", ")),
            };
            return Err(self.error_at(quantity.span.clone(), message, help));
        };
        if let Step::Number(number) = &mut self.steps[quantity.end - 1] {
            *number = scale.apply(*number);
        }
        Ok(())
    }

    fn refuse_quantity(&self, quantity: &Part) -> Result<()> {
        let help = "compare it with one column, as in M == 256 MiB, or write the number in the base unit";
        Err(self.error_at(quantity.span.clone(), "a number with a unit needs a column to compare it with", help))
    }

    fn join_operands(&mut self, operator: &'static Operator, left: &Part, right: &Part) -> Result<Part> {
        let span = left.span.start..right.span.end;
        if let (OperatorRule::Equality(_) | OperatorRule::Order(_), Type::Number, Type::Number) =
            (&operator.rule, left.kind, right.kind)
        {
            self.convert_quantity(left, right)?;
            self.convert_quantity(right, left)?;
        }
        let kind = match operator.rule {
            OperatorRule::Arithmetic(_) | OperatorRule::Logic(_) => {
                let kind = if let OperatorRule::Logic(_) = operator.rule { Type::Truth } else { Type::Number };
                self.require_kind(left, kind, operator.symbol)?;
                self.require_kind(right, kind, operator.symbol)?;
                kind
            }
            OperatorRule::Equality(_) | OperatorRule::Order(_) if left.kind != right.kind => {
                let message = format!("the condition compares {} with {}", left.kind.name(), right.kind.name());
                let help = match self.words_of_name(left).or_else(|| self.words_of_name(right)) {
                    Some((name, words)) if words.len() <= MAX_LISTED => {
                        format!("{name} is one of \"{}\"", words.join("\", \""))
                    }
                    _ => "both sides must be of one type; a < b < c is written a < b && b < c".to_owned(),
                };
                return Err(self.error_at(span, message, help));
            }
            OperatorRule::Order(_) if left.kind == Type::Truth => {
                let message = format!("\"{}\" does not apply to comparisons", operator.symbol);
                return Err(self.error_at(span, message, "join comparisons by && or ||"));
            }
            OperatorRule::Equality(_) => {
                self.require_known_word(left, right)?;
                self.require_known_word(right, left)?;
                Type::Truth
            }
            OperatorRule::Order(_) => Type::Truth,
        };
        Ok(self.push_step(Step::Binary(operator), kind, span))
    }

    fn require_kind(&self, part: &Part, kind: Type, symbol: &str) -> Result<()> {
        if part.kind == kind {
            // A sum or a product has no column whose base unit the number could have.
            return if part.unit.is_some() { self.refuse_quantity(part) } else { Ok(()) };
        }
        let message = format!("\"{symbol}\" needs {}, but this is {}", kind.name(), part.kind.name());
        Err(self.error_at(part.span.clone(), message, self.help()))
    }

    /// Rejects a word that the name on the other side never takes: such a condition would silently never be true.
    fn require_known_word(&self, name: &Part, word: &Part) -> Result<()> {
        // In postfix order, a part whose code ends with an operand consists of this operand alone.
        let Step::Word(text) = &self.steps[word.end - 1] else { return Ok(()) };
        let Some((name, words)) = self.words_of_name(name).filter(|(_, words)| !words.contains(text)) else {
            return Ok(());
        };
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        Err(self.error_at(word.span.clone(), format!("{name} is never \"{text}\""), suggest(text, &words)))
    }
}
