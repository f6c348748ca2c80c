//! What is printed on standard output.

use crate::error::{Error, Result};

/// Prints, and takes a closed pipe (`apexmap kernels | head`) as the end of interest.
///
/// # Errors
/// If standard output cannot be written.
pub fn print(text: &str) -> Result<()> {
    use std::io::Write;
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Error::environment(format!("cannot write to standard output: {error}"), "check where it goes"))
        }
        _ => Ok(()),
    }
}

/// One line per `family.variant` id with its summary, families apart.
pub fn index(entries: &[(&str, &str)]) -> String {
    let width = entries.iter().map(|(id, _)| id.len()).max().unwrap_or(0);
    let (mut text, mut last) = (String::new(), "");
    for (id, summary) in entries {
        let family = id.split('.').next().unwrap_or(id);
        if !last.is_empty() && family != last {
            text.push('\n');
        }
        last = family;
        text.push_str(&format!("{id:<width$}  {summary}\n"));
    }
    text
}
