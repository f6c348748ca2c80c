//! Splits a command into its arguments.

use apexmap_base::error::{Error, Result};

/// Returns the arguments of a command, as a shell splits them. There are no variables, patterns or pipes.
///
/// # Errors
/// If a quote is not closed, or the command has no word.
pub fn split(text: &str) -> Result<Vec<String>> {
    match shell_words::split(text) {
        Err(_) => Err(Error::input(format!("the command {text} has an open quote"), "close it, or write \\ before it")),
        Ok(words) if words.is_empty() => {
            Err(Error::input("the command is empty", "write a program with its arguments: './bench --size {bytes}'"))
        }
        Ok(words) => Ok(words),
    }
}
