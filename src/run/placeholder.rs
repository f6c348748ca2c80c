//! Texts with placeholders in braces, such as `{nodes}`: what batch systems, launchers and custom commands are written in.

use apexmap_base::error::{Error, Result};
use std::path::Path;

/// Refuses placeholders other than these.
///
/// # Errors
/// If a text of this file names another one.
pub fn check<'a>(path: &Path, texts: impl IntoIterator<Item = &'a str>, known: &[&str]) -> Result<()> {
    match texts.into_iter().flat_map(names).find(|name| !known.contains(name)) {
        Some(name) => Err(Error::input(
            format!("{}: {{{name}}} is not known here", path.display()),
            format!("write one of {}; {{{{ and }}}} are braces", known.join(", ")),
        )),
        None => Ok(()),
    }
}

/// The names in single braces.
pub fn names(text: &str) -> impl Iterator<Item = &str> {
    pieces(text).into_iter().filter_map(|piece| if let Piece::Name(name) = piece { Some(name) } else { None })
}

/// The text with values in place of names; `None` if one has no value.
pub fn filled(text: &str, value: impl Fn(&str) -> Option<String>) -> Option<String> {
    pieces(text)
        .into_iter()
        .map(|piece| match piece {
            Piece::Text(text) => Some(text.to_owned()),
            Piece::Name(name) => value(name),
        })
        .collect()
}

/// The arguments of a command; `None` if a placeholder has no value. The values of a placeholder become an argument each where it is
/// alone, and are joined by commas elsewhere.
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

/// A text cut at its placeholders. Doubled braces are braces.
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

/// A text in which these names alone are placeholders, and all other braces stay as they are.
pub fn escaped(text: &str, names: &[&str]) -> String {
    let doubled = text.replace('{', "{{").replace('}', "}}");
    names.iter().fold(doubled, |text, name| text.replace(&format!("{{{{{name}}}}}"), &format!("{{{name}}}")))
}
