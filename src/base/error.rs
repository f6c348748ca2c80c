//! The one error type: what is wrong, where, and advice.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// What every function of the crate that can fail returns.
pub type Result<T> = std::result::Result<T, Error>;

/// The kind of failure; it sets the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// A flag, a sweep file or a combination of parameters that cannot be run (exit code 2).
    Input,
    /// Something the machine lacks: a launcher, memory, a file (exit code 3).
    Environment,
    /// The measurement ended with points that failed or are missing (exit code 4).
    Measurement,
    /// A comparison or a run met the condition of `--fail-if` (exit code 5).
    Regression,
    /// Launches fail for one reason, which is the set-up's: no point is to blame (exit code 6).
    Setup,
    /// Ended by this signal (exit code 128 and its number: 130 for Ctrl-C, 143 for SIGTERM, 129 for SIGHUP).
    Interrupted(u8),
    /// A bug in this program (exit code 70, as in sysexits.h).
    Internal,
}

impl ErrorKind {
    /// The exit code of the program: 2 to 6, 70, or 128 and a signal's number.
    pub fn exit_code(self) -> u8 {
        match self {
            ErrorKind::Input => 2,
            ErrorKind::Environment => 3,
            ErrorKind::Measurement => 4,
            ErrorKind::Regression => 5,
            ErrorKind::Setup => 6,
            ErrorKind::Interrupted(signal) => 128 + signal,
            ErrorKind::Internal => 70,
        }
    }
}

/// A place in a text file, which errors underline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file, or the flag (`--where`) that the text was given to.
    pub file: PathBuf,
    /// The whole text, as the parser saw it.
    pub text: String,
    /// Byte range within `text`.
    pub span: Range<usize>,
}

/// What is wrong, where, and advice. Displayed, it is what is wrong, and then the advice after `help:`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// Whose fault it is; sets the exit code.
    pub kind: ErrorKind,
    /// What is wrong, naming the file, flag or parameter.
    pub what: String,
    /// Advice, printed after `help:`; empty if there is none.
    pub next: String,
    /// The place to underline, if the error is about a text.
    pub place: Option<Box<Place>>,
}

impl Error {
    /// An error without a place. `next` is advice, or empty.
    pub fn new(kind: ErrorKind, what: impl Into<String>, next: impl Into<String>) -> Self {
        Self { kind, what: what.into(), next: next.into(), place: None }
    }

    /// An error in what the user wrote: exit code 2.
    pub fn input(what: impl Into<String>, next: impl Into<String>) -> Self {
        Self::new(ErrorKind::Input, what, next)
    }

    /// Something that the machine lacks: exit code 3.
    pub fn environment(what: impl Into<String>, next: impl Into<String>) -> Self {
        Self::new(ErrorKind::Environment, what, next)
    }

    /// A measurement that failed or is not complete: exit code 4.
    pub fn measurement(what: impl Into<String>, next: impl Into<String>) -> Self {
        Self::new(ErrorKind::Measurement, what, next)
    }

    /// A bug in this program: exit code 70. The advice asks for a report.
    pub fn internal(what: impl Into<String>) -> Self {
        Self::new(
            ErrorKind::Internal,
            what,
            concat!(
                "this is a bug in apexmap ",
                env!("CARGO_PKG_VERSION"),
                "; please report it, with this message and the command that caused it, where you got apexmap from"
            ),
        )
    }

    /// A failed operation on a file, with the operating system's reason.
    pub fn file(doing: &str, path: &Path, cause: impl fmt::Display) -> Self {
        Self::environment(
            format!("cannot {doing} {}: {cause}", path.display()),
            "check that the path exists, that you may access it and that the disk is not full",
        )
    }

    /// Attaches the place in a file that this error is about.
    pub fn at(mut self, file: &Path, text: &str, span: Range<usize>) -> Self {
        self.place = Some(Box::new(Place { file: file.to_owned(), text: text.to_owned(), span }));
        self
    }

    /// The exit code of the program for this kind of failure: 2 to 6, 70, or 128 and a signal's number.
    pub fn exit_code(&self) -> u8 {
        self.kind.exit_code()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        if !self.next.is_empty() {
            write!(f, "\n  help: {}", self.next)?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}
