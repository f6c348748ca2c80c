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

/// One line per `family.variant` id with its summary; a family's lines together, an empty line between families.
pub fn index(entries: &[(&str, &str)]) -> String {
    let family = |id: &str| id.split('.').next().map(str::to_owned);
    let width = entries.iter().map(|(id, _)| id.len()).max().unwrap_or(0);
    let mut families: Vec<(Option<String>, String)> = Vec::new();
    for (id, summary) in entries {
        let line = format!("{id:<width$}  {summary}\n");
        match families.iter_mut().find(|(known, _)| *known == family(id)) {
            Some((_, lines)) => lines.push_str(&line),
            None => families.push((family(id), line)),
        }
    }
    families.into_iter().map(|(_, lines)| lines).collect::<Vec<_>>().join("\n")
}
