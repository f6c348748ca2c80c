//! The one error type: what is wrong, where, and advice.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

pub type Result<T> = std::result::Result<T, Error>;

/// The kind of failure; it sets the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// A flag, a sweep file or a combination of parameters that cannot be run (exit code 2).
    Input,
    /// Something the machine lacks: a launcher, memory, a file (exit code 3).
    Environment,
    /// The measurement ended with points that failed or are missing (exit code 4).
    Measurement,
    /// A comparison met the condition of `--fail-if` (exit code 5).
    Regression,
    /// A bug in this program (exit code 70, as in sysexits.h).
    Internal,
}

/// A place in a text file, which errors underline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub file: PathBuf,
    pub text: String,
    /// Byte range within `text`.
    pub span: Range<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    pub kind: Kind,
    /// What is wrong, naming the file, flag or parameter.
    pub what: String,
    /// Advice, printed after `help:`; empty if there is none.
    pub next: String,
    pub place: Option<Box<Place>>,
}

impl Error {
    pub fn new(kind: Kind, what: impl Into<String>, next: impl Into<String>) -> Self {
        Self { kind, what: what.into(), next: next.into(), place: None }
    }

    pub fn input(what: impl Into<String>, next: impl Into<String>) -> Self {
        Self::new(Kind::Input, what, next)
    }

    pub fn environment(what: impl Into<String>, next: impl Into<String>) -> Self {
        Self::new(Kind::Environment, what, next)
    }

    pub fn measurement(what: impl Into<String>, next: impl Into<String>) -> Self {
        Self::new(Kind::Measurement, what, next)
    }

    pub fn internal(what: impl Into<String>) -> Self {
        Self::new(Kind::Internal, what, "this is a bug in apexmap; please report it with the command that caused it")
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

    pub fn exit_code(&self) -> u8 {
        match self.kind {
            Kind::Input => 2,
            Kind::Environment => 3,
            Kind::Measurement => 4,
            Kind::Regression => 5,
            Kind::Internal => 70,
        }
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
