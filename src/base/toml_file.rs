//! A TOML file that is being read, for errors that show the place and say what would be right.

use crate::error::{Error, Result};
use crate::nearest::suggest;
use std::ops::Range;
use std::path::Path;

/// The file that is read.
pub struct Page<'a> {
    pub path: &'a Path,
    pub text: &'a str,
    /// Folder of examples to learn from: `sweeps/`.
    pub examples: &'static str,
}

/// The text of a file.
///
/// # Errors
/// If it cannot be read (`next` says where such files are) or is not UTF-8.
#[expect(clippy::disallowed_methods, reason = "the user names the file, which may be a pipe")]
pub fn text(path: &Path, what: &str, next: &str) -> Result<String> {
    let bytes = std::fs::read(path)
        .map_err(|e| Error { next: next.into(), ..Error::file(&format!("read the {what}"), path, e) })?;
    String::from_utf8(bytes).map_err(|e| {
        let first = e.utf8_error().valid_up_to();
        Error::input(
            format!("{} is not a text in UTF-8 (byte {first})", path.display()),
            format!("a {what} is a TOML text; save the file as UTF-8"),
        )
    })
}

impl Page<'_> {
    pub fn wrong(&self, span: Range<usize>, what: impl Into<String>, next: impl Into<String>) -> Error {
        Error::input(what, next).at(self.path, self.text, span)
    }

    /// Number of the line, from 1.
    pub fn line(&self, at: usize) -> usize {
        self.text[..at].matches('\n').count() + 1
    }

    /// An error of the TOML parser, or of serde about a key or a type.
    pub fn unreadable(&self, error: &toml::de::Error) -> Error {
        // serde names its own types.
        let message = &error
            .message()
            .replace(" as i128", "")
            .replace("expected u32", "expected a whole number up to 4294967295");
        let span = error.span().unwrap_or(0..0);
        // serde names what it found and what it knows in backticks: unknown field `x`, expected one of `y`, `z`
        let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
        let (what, next) = match quoted.split_first() {
            Some((key, known)) if message.starts_with("unknown field") => {
                (format!("there is no key \"{key}\" here"), suggest(key, known))
            }
            Some((word, known)) if message.starts_with("unknown variant") => {
                (format!("\"{word}\" is not known here"), suggest(word, known))
            }
            Some((key, [])) if message.starts_with("missing field") => {
                (format!("the key \"{key}\" is missing here"), format!("add {key} = ..."))
            }
            _ if message.contains("expected a sequence") => {
                (message.to_owned(), "write a list, [a, b], or the table's name in double brackets, [[name]]".into())
            }
            _ if ["sequence", "map"].iter().any(|kind| message.starts_with(&format!("invalid type: {kind}"))) => {
                (message.to_owned(), "one value is needed here; lists and ranges belong in [axes]".into())
            }
            _ => (message.to_owned(), format!("correct the text here; the files of {} are examples", self.examples)),
        };
        self.wrong(span, what.replace('\n', "; "), next)
    }
}
