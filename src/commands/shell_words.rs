//! Splits a command into its arguments, as a shell does without its other rules.

use apexmap_base::error::{Error, Result};

/// Returns the arguments of a command. Spaces separate them, except within quotes and after a backslash. Nothing else is special: there
/// are no variables, patterns or pipes.
///
/// # Errors
/// If a quote is not closed, or the command has no word.
pub fn split(text: &str) -> Result<Vec<String>> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (Some(open), letter) if letter == open => quote = None,
            (None | Some('"'), '\\') => word.get_or_insert_default().extend(letters.next()),
            (None, letter) if letter.is_whitespace() => words.extend(word.take()),
            (_, letter) => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    match (quote, words.is_empty()) {
        (Some(quote), _) => Err(Error::input(
            format!("the command {text} has an open quote {quote}"),
            "close it, or write \\ before it",
        )),
        (None, true) => {
            Err(Error::input("the command is empty", "write a program with its arguments: './bench --size {bytes}'"))
        }
        (None, false) => Ok(words),
    }
}
