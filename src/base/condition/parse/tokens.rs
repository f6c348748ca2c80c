//! The tokens of conditions: names, words, numbers with units, operators.

use super::super::{NameType, OPERATORS};
use super::{Parser, Token};
use crate::error::{Error, Result};
use crate::units;

impl<'a> Parser<'a> {
    pub(super) fn advance(&mut self) -> Result<()> {
        let remaining = &self.text[self.span.end..];
        let rest = remaining.trim_start();
        let start = self.text.len() - rest.len();
        let Some(first) = rest.chars().next() else {
            (self.token, self.span) = (Token::End, start..start);
            return Ok(());
        };
        let operator = OPERATORS.iter().find(|operator| rest.starts_with(operator.symbol));
        let (token, length) = match first {
            '(' => (Token::Open, 1),
            ')' => (Token::Close, 1),
            ',' if self.is_formula => (Token::Comma, 1),
            '"' => self.read_word(start)?,
            '0'..='9' | '.' => {
                let (number, length) = self.read_number(start)?;
                self.read_unit(number, start, length)
            }
            _ if first.is_alphabetic() || first == '_' => {
                let is_name_character = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
                let length = rest.find(|c| !is_name_character(c)).unwrap_or(rest.len());
                (Token::Name(&rest[..length]), length)
            }
            _ if operator.is_some() => {
                operator.map(|operator| (Token::Binary(operator), operator.symbol.len())).expect("found")
            }
            '!' => (Token::Not, 1),
            _ => return Err(self.unexpected_character(first, start)),
        };
        (self.token, self.span) = (token, start..start + length);
        Ok(())
    }

    fn unexpected_character(&self, character: char, start: usize) -> Error {
        let message = match character {
            '=' if self.is_formula => "a formula has one \"=\", after the name of a column".to_owned(),
            '=' => "\"=\" is no comparison; equality is written \"==\"".to_owned(),
            '&' => "\"and\" is written \"&&\"".to_owned(),
            '|' => "\"or\" is written \"||\"".to_owned(),
            ';' => "conditions are joined by && or ||, not by \";\"".to_owned(),
            '\'' => "write words in double quotes".to_owned(),
            _ => format!("\"{character}\" has no meaning in a {}", self.noun()),
        };
        self.error_at(start..start + character.len_utf8(), message, self.help())
    }

    /// Reads a word in double quotes. `\"` and `\\` are a quote and a backslash.
    fn read_word(&self, start: usize) -> Result<(Token<'a>, usize)> {
        let mut word = String::new();
        let mut characters = self.text[start..].char_indices().skip(1);
        while let Some((offset, character)) = characters.next() {
            match character {
                '"' => return Ok((Token::Word(word), offset + 1)),
                '\\' => match characters.next() {
                    Some((_, escaped @ ('"' | '\\'))) => word.push(escaped),
                    other => {
                        let end = start + offset + 1 + other.map_or(0, |(_, other)| other.len_utf8());
                        return Err(self.error_at(start + offset..end, "unknown escape", "write \\\" or \\\\"));
                    }
                },
                other => word.push(other),
            }
        }
        Err(self.error_at(start..self.text.len(), "this word has no closing quote", "write \" after the word"))
    }

    /// Returns the unit at this place, if a name of this condition may have it. `B/s` is one unit, not a division.
    fn unit_at(&self, start: usize) -> Option<&'static str> {
        let rest = &self.text[start..];
        let ends = |suffix: &str| !rest[suffix.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '_');
        let of_name =
            |kind: &NameType| if let NameType::Quantity(unit) = kind { units::suffix_names(*unit) } else { Vec::new() };
        let suffixes = self.known_names.iter().flat_map(|(_, kind)| of_name(kind));
        suffixes.filter(|suffix| rest.starts_with(*suffix) && ends(suffix)).max_by_key(|suffix| suffix.len())
    }

    fn read_unit(&self, number: f64, start: usize, length: usize) -> (Token<'a>, usize) {
        let rest = &self.text[start + length..];
        let gap = rest.len() - rest.trim_start().len();
        match self.unit_at(start + length + gap) {
            Some(unit) => (Token::Quantity(number, unit), length + gap + unit.len()),
            None => (Token::Number(number), length),
        }
    }

    fn read_number(&self, start: usize) -> Result<(f64, usize)> {
        let rest = &self.text[start..];
        let hexadecimal = rest.starts_with("0x");
        let mut previous = ' ';
        let is_end = |character: char| {
            // A sign after `e` belongs to an exponent, but in `0x1e+1` it is an operator.
            let sign = matches!(character, '+' | '-') && matches!(previous, 'e' | 'E') && !hexadecimal;
            previous = character;
            !(character.is_alphanumeric() || matches!(character, '.' | '_') || sign)
        };
        let mut length = rest.find(is_end).unwrap_or(rest.len());
        // A unit may follow without a space: 256MiB.
        let unit_start = rest[..length].find(|c: char| c.is_alphabetic()).filter(|_| !hexadecimal);
        if let Some(unit_start) = unit_start.filter(|&from| self.unit_at(start + from).is_some()) {
            length = unit_start;
        }
        let digits = &rest[..length];
        let value = match hexadecimal {
            true => u64::from_str_radix(&digits[2..], 16).ok().map(|whole| whole as f64),
            false => digits.parse().ok(),
        };
        value.map(|value| (value, length)).ok_or_else(|| {
            let help =
                "write a number such as 64, 0.5 or 1e6, in the base unit (words, bytes, seconds), or with a unit if the column has one (256 MiB)";
            self.error_at(start..start + length, format!("cannot read the number {digits}"), help)
        })
    }
}
