//! Texts with placeholders in braces, such as `{nodes}`, for batch systems, launchers and custom commands.

use apexmap_base::error::{Error, Result};
use std::path::Path;

/// Checks that the texts of the file at `path` use only the placeholders in `valid_names`.
pub fn check<'a>(path: &Path, texts: impl IntoIterator<Item = &'a str>, valid_names: &[&str]) -> Result<()> {
    match texts.into_iter().flat_map(placeholder_names).find(|name| !valid_names.contains(name)) {
        Some(name) => Err(Error::input(
            format!("{}: unknown placeholder {{{name}}}", path.display()),
            format!("use one of {}; write {{{{ and }}}} for braces", valid_names.join(", ")),
        )),
        None => Ok(()),
    }
}

/// The names in single braces.
pub fn placeholder_names(text: &str) -> impl Iterator<Item = &str> {
    split(text).into_iter().filter_map(|piece| if let Piece::Name(name) = piece { Some(name) } else { None })
}

/// Replaces the placeholders by values; `None` if one has no value.
pub fn fill(text: &str, value: impl Fn(&str) -> Option<String>) -> Option<String> {
    split(text)
        .into_iter()
        .map(|piece| match piece {
            Piece::Text(text) => Some(text.to_owned()),
            Piece::Name(name) => value(name),
        })
        .collect()
}

/// `None` if a placeholder has no value. A whole argument becomes one per value; inside an argument, commas join the values.
pub fn expand_arguments<T: AsRef<str>>(
    texts: &[T],
    value: impl Fn(&str) -> Option<Vec<String>>,
) -> Option<Vec<String>> {
    let expand = |text: &T| match split(text.as_ref())[..] {
        [Piece::Text(""), Piece::Name(name), Piece::Text("")] => value(name),
        _ => Some(vec![fill(text.as_ref(), |name| Some(value(name)?.join(",")))?]),
    };
    Some(texts.iter().map(expand).collect::<Option<Vec<_>>>()?.concat())
}

#[derive(Debug, PartialEq)]
enum Piece<'a> {
    Text(&'a str),
    Name(&'a str),
}

/// A doubled brace is a plain brace.
fn split(mut text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    while let Some(offset) = text.find(['{', '}']) {
        let (head, rest) = text.split_at(offset);
        pieces.push(Piece::Text(head));
        let brace = &rest[..1];
        if rest[1..].starts_with(brace) {
            pieces.push(Piece::Text(brace));
            text = &rest[2..];
        } else if let (Some((name, tail)), "{") = (rest[1..].split_once('}'), brace) {
            pieces.push(Piece::Name(name));
            text = tail;
        } else {
            pieces.push(Piece::Text(brace));
            text = &rest[1..];
        }
    }
    pieces.push(Piece::Text(text));
    pieces
}

/// Escapes all braces except those around these names.
pub fn escape_braces(text: &str, names: &[&str]) -> String {
    let escaped = text.replace('{', "{{").replace('}', "}}");
    names.iter().fold(escaped, |text, name| text.replace(&format!("{{{{{name}}}}}"), &format!("{{{name}}}")))
}
