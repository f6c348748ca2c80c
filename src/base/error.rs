//! The error type of all crates: what is wrong, where, and how to fix it.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// The result of every fallible function of the crates.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The kind of failure; it sets the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// A flag, a sweep file or a combination of parameters that cannot be run (exit code 2).
    Input,
    /// The machine does not have something that is needed: a launcher, memory, a file (exit code 3).
    Environment,
    /// The measurement ended with failed or missing points (exit code 4).
    Measurement,
    /// A comparison or a run met the condition of `--fail-if` (exit code 5).
    Regression,
    /// Consecutive launches fail for the same reason: the set-up is at fault, not a point (exit code 6).
    Setup,
    /// A signal ended the program (exit code 128 plus the signal's number: 130 for Ctrl-C, 143 for SIGTERM, 129 for SIGHUP).
    Interrupted(u8),
    /// A bug in this program (exit code 70, as in sysexits.h).
    Internal,
}

impl ErrorKind {
    /// Returns the exit code of the program: 2 to 6, 70, or 128 plus a signal's number.
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

pub const EXIT_CODES: [(&str, &str); 9] = [
    ("0", "done"),
    ("2", "wrong flag, value or condition, or no such command, sweep, result or machine"),
    ("3", "missing prerequisite: a launcher, memory, a file that can be read or written"),
    (
        "4",
        "points failed or have too few samples (only a warning if a budget ended the run and each point has one, and for the quickstart), \
         or a check of `compare` is undecided",
    ),
    (
        "5",
        "a condition of `--fail-if` is met: `compare` found a slow point, `run` a slow node, or either a disturbed machine",
    ),
    ("6", "a set-up fault: all launches fail for the same reason"),
    ("10, 11", "with `status --exit-code`: jobs are queued, or run"),
    ("70", "internal error"),
    ("129, 130, 143", "interrupted by SIGHUP, Ctrl-C, SIGTERM; all samples are kept"),
];

/// A place in a text, which the error message underlines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The file, or the flag (`--where`) whose argument is the text.
    pub file: PathBuf,
    /// The whole text that was parsed.
    pub text: String,
    /// Byte range within `text`.
    pub span: Range<usize>,
}

/// A problem, its place, and the advice how to fix it. `Display` prints the problem, then the advice after `help:`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The kind of failure, which sets the exit code.
    pub kind: ErrorKind,
    /// The problem, with the name of the file, flag or parameter.
    pub message: String,
    /// The next step, printed after `help:`; may be empty.
    pub help: String,
    /// The place to underline, if the error is about a text.
    pub location: Option<Box<Location>>,
}

impl Error {
    /// Creates an error without a place. `help` is the advice; it may be empty.
    pub fn new(kind: ErrorKind, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { kind, message: message.into(), help: help.into(), location: None }
    }

    /// Creates an error about the user's input: exit code 2.
    pub fn input(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::new(ErrorKind::Input, message, help)
    }

    /// Creates an error about the machine: exit code 3.
    pub fn environment(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::new(ErrorKind::Environment, message, help)
    }

    /// Creates an error about a failed or incomplete measurement: exit code 4.
    pub fn measurement(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::new(ErrorKind::Measurement, message, help)
    }

    /// Creates an error about a bug in this program: exit code 70. The advice asks for a report.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(
            ErrorKind::Internal,
            message,
            concat!(
                "this is a bug in apexmap ",
                env!("CARGO_PKG_VERSION"),
                "; please report it where you got apexmap from, with this message and the command that caused it"
            ),
        )
    }

    /// Creates an error about a failed operation on a file, with the operating system's reason. `operation` is a verb: `read`.
    pub fn file(operation: &str, path: &Path, cause: impl fmt::Display) -> Self {
        Self::environment(
            format!("cannot {operation} {}: {cause}", path.display()),
            "check that the path exists, that you may access it and that the disk is not full",
        )
    }

    /// Attaches the place in a text that the error is about.
    pub fn with_location(mut self, file: &Path, text: &str, span: Range<usize>) -> Self {
        self.location = Some(Box::new(Location { file: file.to_owned(), text: text.to_owned(), span }));
        self
    }

    /// Returns the exit code of the program for this kind of failure: 2 to 6, 70, or 128 plus a signal's number.
    pub fn exit_code(&self) -> u8 {
        self.kind.exit_code()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if !self.help.is_empty() {
            write!(f, "\n  help: {}", self.help)?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}
