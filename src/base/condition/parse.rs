//! The parser of conditions: precedence climbing (Pratt), reading one token ahead. It checks the type of every part.

use super::{Condition, NameType, OPERATORS, Operator, Rule, Step, Type};
use crate::error::{Error, Result};
use crate::nearest::suggest;
use std::ops::Range;
use std::path::Path;

/// Precedence of unary `-` and `!`: below `^`, above `*`.
const UNARY_PRECEDENCE: u8 = 6;

/// Maximum nesting of parentheses and signs. The parser calls itself for each level.
const MAX_DEPTH: usize = 100;

const EXAMPLE: &str = "write a comparison such as \"L * P <= M\" or 'pages == \"base\" && alpha > 0.5'";
const FORMULA: &str = "write arithmetic such as \"100 * (a - b) / b\"";
const OPERAND: &str = "expected a number, a name, a word in double quotes or \"(\"";

#[derive(Debug)]
enum Token<'a> {
    Number(f64),
    Word(String),
    Name(&'a str),
    Open,
    Close,
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
}

struct Parser<'a> {
    text: &'a str,
    known: &'a [(&'a str, NameType)],
    /// The next token and its span.
    token: Token<'a>,
    span: Range<usize>,
    depth: usize,
    code: Vec<Step>,
    names: Vec<String>,
}

/// Parses a text whose result has the type `expected`.
pub fn parse(text: &str, known: &[(&str, NameType)], wanted: Type) -> Result<Condition> {
    let (code, names) = (Vec::new(), Vec::new());
    let mut parser = Parser { text, known, token: Token::End, span: 0..0, depth: 0, code, names };
    parser.advance()?;
    if let Token::End = parser.token {
        return Err(parser.wrong(0..text.len(), "the condition is empty", EXAMPLE));
    }
    let whole = parser.expression(0)?;
    match parser.token {
        Token::End if whole.kind == wanted => Ok(Condition { code: parser.code, names: parser.names }),
        Token::End if wanted == Type::Number => Err(parser.wrong(whole.span, "the formula is not a number", FORMULA)),
        Token::End => Err(parser.wrong(whole.span, "the condition is neither true nor false", EXAMPLE)),
        Token::Close => Err(parser.here("this parenthesis was never opened", "remove it, or write its \"(\"")),
        _ => Err(parser.no_operator()),
    }
}

impl<'a> Parser<'a> {
    fn wrong(&self, span: Range<usize>, what: impl Into<String>, next: impl Into<String>) -> Error {
        Error::input(what, next).at(Path::new("condition"), self.text, span)
    }

    /// Returns an error about the next token.
    fn here(&self, what: impl Into<String>, next: impl Into<String>) -> Error {
        self.wrong(self.span.clone(), what, next)
    }

    fn no_operator(&self) -> Error {
        self.here(
            format!("an operator is missing before {}", &self.text[self.span.clone()]),
            "\"and\", \"or\" and \"not\" are written &&, || and !; numbers are in base units, without a suffix",
        )
    }

    /// Parses operands joined by operators that bind tighter than `precedence`.
    fn expression(&mut self, precedence: u8) -> Result<Part> {
        let mut left = self.operand()?;
        while let Token::Binary(operator) = self.token
            && operator.precedence > precedence
        {
            let place = self.span.clone();
            self.advance()?;
            if let Token::End | Token::Close = self.token {
                let what = format!("the right side of \"{}\" is missing", operator.symbol);
                return Err(self.wrong(place, what, format!("{OPERAND}; {EXAMPLE}")));
            }
            let right = self.expression(operator.precedence)?;
            left = self.join(operator, &left, &right)?;
        }
        Ok(left)
    }

    fn operand(&mut self) -> Result<Part> {
        let start = self.span.clone();
        let (step, kind) = match std::mem::replace(&mut self.token, Token::End) {
            Token::Open => return self.deeper(start, Self::in_parentheses),
            Token::Not => return self.deeper(start, |parser, start| parser.unary(start, Step::Not, Type::Truth)),
            Token::Binary(operator) if operator.symbol == "-" => {
                return self.deeper(start, |parser, start| parser.unary(start, Step::Negate, Type::Number));
            }
            Token::Binary(operator) => {
                let what = format!("the left side of \"{}\" is missing", operator.symbol);
                return Err(self.wrong(start, what, format!("{OPERAND}; {EXAMPLE}")));
            }
            Token::Close | Token::End => return Err(self.wrong(start, "an operand is missing here", OPERAND)),
            Token::Number(number) => (Step::Number(number), Type::Number),
            Token::Word(word) => (Step::Word(word), Type::Word),
            Token::Name(name @ ("true" | "false")) => (Step::Truth(name == "true"), Type::Truth),
            Token::Name(name) => {
                self.advance()?;
                return self.name(name, start);
            }
        };
        self.advance()?;
        Ok(self.write(step, kind, start))
    }

    fn write(&mut self, step: Step, kind: Type, span: Range<usize>) -> Part {
        self.code.push(step);
        Part { kind, span, end: self.code.len() }
    }

    fn deeper(&mut self, start: Range<usize>, of: impl Fn(&mut Self, Range<usize>) -> Result<Part>) -> Result<Part> {
        if self.depth == MAX_DEPTH {
            return Err(self.wrong(start, format!("more than {MAX_DEPTH} levels of nesting"), "write it with fewer"));
        }
        self.depth += 1;
        self.advance()?;
        let part = of(self, start)?;
        self.depth -= 1;
        Ok(part)
    }

    fn in_parentheses(&mut self, open: Range<usize>) -> Result<Part> {
        let inner = self.expression(0)?;
        match self.token {
            Token::Close => {}
            Token::End => return Err(self.wrong(open, "this parenthesis is not closed", "write its \")\"")),
            _ => return Err(self.no_operator()),
        }
        let span = open.start..self.span.end;
        self.advance()?;
        Ok(Part { span, ..inner })
    }

    fn unary(&mut self, sign: Range<usize>, step: Step, kind: Type) -> Result<Part> {
        let inner = self.expression(UNARY_PRECEDENCE)?;
        self.need(&inner, kind, &self.text[sign.clone()])?;
        Ok(self.write(step, kind, sign.start..inner.span.end))
    }

    fn name(&mut self, name: &str, span: Range<usize>) -> Result<Part> {
        if let Token::Open = self.token {
            return Err(self.wrong(span, format!("conditions have no functions, found \"{name}\""), EXAMPLE));
        }
        let Some((_, kind)) = self.known.iter().find(|(other, _)| *other == name) else {
            let others: Vec<_> = self.known.iter().map(|(other, _)| *other).collect();
            let next = suggest(name, &others) + "; words are written in double quotes";
            return Err(self.wrong(span, format!("the condition names \"{name}\", which is unknown here"), next));
        };
        let kind = if let NameType::Number = kind { Type::Number } else { Type::Word };
        let at = self.names.iter().position(|other| other == name).unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        });
        Ok(self.write(Step::Name(at), kind, span))
    }

    fn join(&mut self, operator: &'static Operator, left: &Part, right: &Part) -> Result<Part> {
        let span = left.span.start..right.span.end;
        let kind = match operator.rule {
            Rule::Arithmetic(_) | Rule::Logic(_) => {
                let kind = if let Rule::Logic(_) = operator.rule { Type::Truth } else { Type::Number };
                self.need(left, kind, operator.symbol)?;
                self.need(right, kind, operator.symbol)?;
                kind
            }
            Rule::Equality(_) | Rule::Order(_) if left.kind != right.kind => {
                let what = format!("the condition compares {} with {}", left.kind.name(), right.kind.name());
                let chained = "both sides must be of one type; a < b < c is written a < b && b < c";
                return Err(self.wrong(span, what, chained));
            }
            Rule::Order(_) if left.kind == Type::Truth => {
                let what = format!("\"{}\" does not apply to comparisons", operator.symbol);
                return Err(self.wrong(span, what, "join comparisons by && or ||"));
            }
            Rule::Equality(_) => {
                self.known_word(left, right)?;
                self.known_word(right, left)?;
                Type::Truth
            }
            Rule::Order(_) => Type::Truth,
        };
        Ok(self.write(Step::Binary(operator), kind, span))
    }

    fn need(&self, part: &Part, kind: Type, symbol: &str) -> Result<()> {
        if part.kind == kind {
            return Ok(());
        }
        let what = format!("\"{symbol}\" needs {}, but this is {}", kind.name(), part.kind.name());
        Err(self.wrong(part.span.clone(), what, EXAMPLE))
    }

    /// Rejects a word that the name on the other side never takes: such a condition would silently never be true.
    fn known_word(&self, name: &Part, word: &Part) -> Result<()> {
        // In postfix order, a part whose code ends with an operand consists of this operand alone.
        let (Step::Name(name), Step::Word(text)) = (&self.code[name.end - 1], &self.code[word.end - 1]) else {
            return Ok(());
        };
        let name = &self.names[*name];
        let Some((_, NameType::Word(words))) = self.known.iter().find(|(other, _)| other == name) else {
            return Ok(());
        };
        if words.contains(text) {
            return Ok(());
        }
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        Err(self.wrong(word.span.clone(), format!("{name} is never \"{text}\""), suggest(text, &words)))
    }

    /// Reads the next token into `token` and `span`.
    fn advance(&mut self) -> Result<()> {
        let after = &self.text[self.span.end..];
        let rest = after.trim_start();
        let start = self.text.len() - rest.len();
        let Some(first) = rest.chars().next() else {
            (self.token, self.span) = (Token::End, start..start);
            return Ok(());
        };
        let operator = OPERATORS.iter().find(|operator| rest.starts_with(operator.symbol));
        let (token, length) = match first {
            '(' => (Token::Open, 1),
            ')' => (Token::Close, 1),
            '"' => self.word(start)?,
            '0'..='9' | '.' => self.number(start)?,
            _ if first.is_alphabetic() || first == '_' => {
                let part = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
                let length = rest.find(|c| !part(c)).unwrap_or(rest.len());
                (Token::Name(&rest[..length]), length)
            }
            _ if operator.is_some() => operator.map(|known| (Token::Binary(known), known.symbol.len())).expect("found"),
            '!' => (Token::Not, 1),
            _ => return Err(self.unexpected(first, start)),
        };
        (self.token, self.span) = (token, start..start + length);
        Ok(())
    }

    fn unexpected(&self, character: char, start: usize) -> Error {
        let what = match character {
            '=' => "\"=\" is no comparison; equality is written \"==\"".to_owned(),
            '&' => "\"and\" is written \"&&\"".to_owned(),
            '|' => "\"or\" is written \"||\"".to_owned(),
            ';' => "conditions are joined by && or ||, not by \";\"".to_owned(),
            '\'' => "write words in double quotes".to_owned(),
            _ => format!("\"{character}\" has no meaning in a condition"),
        };
        self.wrong(start..start + character.len_utf8(), what, EXAMPLE)
    }

    /// Reads a word in double quotes. `\"` and `\\` are a quote and a backslash.
    fn word(&self, start: usize) -> Result<(Token<'a>, usize)> {
        let mut word = String::new();
        let mut characters = self.text[start..].char_indices().skip(1);
        while let Some((at, character)) = characters.next() {
            match character {
                '"' => return Ok((Token::Word(word), at + 1)),
                '\\' => match characters.next() {
                    Some((_, escaped @ ('"' | '\\'))) => word.push(escaped),
                    other => {
                        let end = start + at + 1 + other.map_or(0, |(_, other)| other.len_utf8());
                        return Err(self.wrong(start + at..end, "unknown escape", "write \\\" or \\\\"));
                    }
                },
                other => word.push(other),
            }
        }
        Err(self.wrong(start..self.text.len(), "this word has no closing quote", "write \" after the word"))
    }

    /// Reads a number: `12`, `0.5`, `1e-3`, `0x1F`.
    fn number(&self, start: usize) -> Result<(Token<'a>, usize)> {
        let rest = &self.text[start..];
        let hexadecimal = rest.starts_with("0x");
        let mut before = ' ';
        let ends = |character: char| {
            let sign = matches!(character, '+' | '-') && matches!(before, 'e' | 'E') && !hexadecimal;
            before = character;
            !(character.is_alphanumeric() || matches!(character, '.' | '_') || sign)
        };
        let length = rest.find(ends).unwrap_or(rest.len());
        let digits = &rest[..length];
        let value = match hexadecimal {
            true => u64::from_str_radix(&digits[2..], 16).ok().map(|whole| whole as f64),
            false => digits.parse().ok(),
        };
        value.map(|value| (Token::Number(value), length)).ok_or_else(|| {
            let next =
                "write a number such as 64, 0.5 or 1e6, in the base unit (words, bytes, seconds), without a suffix";
            self.wrong(start..start + length, format!("cannot read the number {digits}"), next)
        })
    }
}
