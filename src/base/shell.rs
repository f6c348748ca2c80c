//! The command line of this process, for records and for a shell.

use crate::terminal::is_unprintable;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

/// Returns the words of the command line. Bytes that are not UTF-8 appear as U+FFFD.
pub fn command_words() -> Vec<String> {
    std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect()
}

pub fn command_line() -> String {
    quote_words(std::env::args_os())
}

/// Returns the command that continues what a command with these words has begun, so without `--replace`, which starts afresh.
pub fn command_to_resume(words: &[String]) -> String {
    quote_words(words.iter().filter(|word| *word != "--replace"))
}

pub fn quote_words(words: impl IntoIterator<Item = impl AsRef<OsStr>>) -> String {
    words.into_iter().map(|word| quote(word.as_ref())).collect::<Vec<_>>().join(" ")
}

/// The first part of a command that only a shell would interpret, such as `|`, `>out`, `*` or `$HOME`. Quotes protect text.
pub fn shell_syntax(command: &str) -> Option<&str> {
    let first_word = command.split_whitespace().next()?;
    let is_name = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    if first_word.split_once('=').is_some_and(|(name, _)| is_name(name)) {
        return Some(first_word);
    }
    let is_script = command.contains(" -c ");
    let (mut quote, mut previous, mut is_escaped) = (None, ' ', false);
    for (place, letter) in command.char_indices() {
        let word = command[place..].split_whitespace().next();
        let is_variable = || command[place + 1..].starts_with(|c: char| c.is_alphanumeric() || "_({".contains(c));
        match (quote, letter) {
            _ if is_escaped => is_escaped = false,
            (None | Some('"'), '\\') => is_escaped = true,
            (None, '\'' | '"') => quote = Some(letter),
            (None, '|' | '&' | ';' | '<' | '>' | '*' | '`') => return word,
            (None, '$') if is_variable() => return word,
            // A shell replaces these in double quotes, too. After `-c` that of the command does it.
            (Some('"'), '`') if !is_script => return word,
            (Some('"'), '$') if is_variable() && !is_script => return word,
            (None, '~') if previous.is_whitespace() => return word,
            _ if quote == Some(letter) => quote = None,
            _ => {}
        }
        previous = letter;
    }
    None
}

/// Quotes a word if the shell would otherwise interpret it. Unprintable words become `$'\x1b'`.
fn quote(word: &OsStr) -> String {
    let needs_no_quotes = |c: char| c.is_alphanumeric() || "-_./=:,+@%".contains(c);
    match word.to_str() {
        Some(text) if !text.is_empty() && text.chars().all(needs_no_quotes) => text.to_owned(),
        Some(text) if !text.contains(is_unprintable) => format!("'{}'", text.replace('\'', "'\\''")),
        _ => {
            let escape = |&byte: &u8| match byte {
                b'\'' | b'\\' => format!("\\{}", char::from(byte)),
                b' '..=b'~' => char::from(byte).to_string(),
                _ => format!("\\x{byte:02x}"),
            };
            format!("$'{}'", word.as_bytes().iter().map(escape).collect::<String>())
        }
    }
}
