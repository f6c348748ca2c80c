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
