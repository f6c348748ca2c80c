//! Texts with placeholders in braces, such as `{nodes}`, for batch systems, launchers and custom commands.

use apexmap_base::error::{Error, Result};
use std::path::Path;

/// Checks that the texts use only the placeholders in `known`.
///
/// # Errors
/// If a text of the file at `path` uses another placeholder.
pub fn check<'a>(path: &Path, texts: impl IntoIterator<Item = &'a str>, known: &[&str]) -> Result<()> {
    match texts.into_iter().flat_map(names).find(|name| !known.contains(name)) {
        Some(name) => Err(Error::input(
            format!("{}: unknown placeholder {{{name}}}", path.display()),
            format!("use one of {}; write {{{{ and }}}} for braces", known.join(", ")),
        )),
        None => Ok(()),
    }
}

/// Returns the names in single braces.
pub fn names(text: &str) -> impl Iterator<Item = &str> {
    pieces(text).into_iter().filter_map(|piece| if let Piece::Name(name) = piece { Some(name) } else { None })
}

/// Replaces the placeholders by values. Returns `None` if one has no value.
pub fn filled(text: &str, value: impl Fn(&str) -> Option<String>) -> Option<String> {
    pieces(text)
        .into_iter()
        .map(|piece| match piece {
            Piece::Text(text) => Some(text.to_owned()),
            Piece::Name(name) => value(name),
        })
        .collect()
}

/// Builds the arguments of a command; returns `None` if a placeholder has no value. A placeholder that is a whole argument
/// becomes one argument per value; inside an argument, the values are joined by commas.
pub fn arguments<T: AsRef<str>>(texts: &[T], value: impl Fn(&str) -> Option<Vec<String>>) -> Option<Vec<String>> {
    let one = |text: &T| match pieces(text.as_ref())[..] {
        [Piece::Text(""), Piece::Name(name), Piece::Text("")] => value(name),
        _ => Some(vec![filled(text.as_ref(), |name| Some(value(name)?.join(",")))?]),
    };
    Some(texts.iter().map(one).collect::<Option<Vec<_>>>()?.concat())
}

#[derive(Debug, PartialEq)]
enum Piece<'a> {
    Text(&'a str),
    Name(&'a str),
}

/// Splits a text at its placeholders. A doubled brace is a plain brace.
fn pieces(mut text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    while let Some(at) = text.find(['{', '}']) {
        let (before, rest) = text.split_at(at);
        pieces.push(Piece::Text(before));
        let brace = &rest[..1];
        if rest[1..].starts_with(brace) {
            pieces.push(Piece::Text(brace));
            text = &rest[2..];
        } else if let (Some((name, after)), "{") = (rest[1..].split_once('}'), brace) {
            pieces.push(Piece::Name(name));
            text = after;
        } else {
            pieces.push(Piece::Text(brace));
            text = &rest[1..];
        }
    }
    pieces.push(Piece::Text(text));
    pieces
}

/// Escapes all braces except those around these names.
pub fn escaped(text: &str, names: &[&str]) -> String {
    let doubled = text.replace('{', "{{").replace('}', "}}");
    names.iter().fold(doubled, |text, name| text.replace(&format!("{{{{{name}}}}}"), &format!("{{{name}}}")))
}
