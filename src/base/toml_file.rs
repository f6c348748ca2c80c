//! A TOML file with its text, for errors that show the place and suggest a correction.

use crate::error::{Error, ErrorKind, Result};
use crate::name_lookup::suggest;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::libc::O_NONBLOCK;
use nix::poll::{PollFd, PollFlags, poll};
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::ops::Range;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

pub struct TomlSource<'a> {
    pub path: &'a Path,
    pub text: &'a str,
    /// Folder with example files: `sweeps/`.
    pub examples: &'static str,
}

pub fn read_text(path: &Path, file_kind: &str, help: &str) -> Result<String> {
    let bytes = read_limited(path, &format!("read the {file_kind}"))
        .map_err(|error| if error.kind == ErrorKind::Input { error } else { Error { help: help.into(), ..error } })?;
    String::from_utf8(bytes).map_err(|e| {
        let first = e.utf8_error().valid_up_to();
        Error::input(
            format!("{} is not UTF-8 text (byte {first})", path.display()),
            format!("a {file_kind} is a TOML file; save it as UTF-8"),
        )
    })
}

/// Returns JSON as TOML, and other text as it is.
pub fn from_json(text: String, path: &Path) -> Result<String> {
    if !text.trim_start().starts_with('{') {
        return Ok(text);
    }
    let table: toml::Table = serde_json::from_str(&text).map_err(|error| {
        let message = format!("{} is not complete JSON: {error}", path.display());
        Error::input(message, "write it again, such as by `apexmap try --json`; a TOML file does not begin with {")
    })?;
    toml::to_string(&table).map_err(|error| Error::internal(format!("cannot write TOML: {error}")))
}

/// Maximum bytes of a file that a user names.
const MAX_BYTES: u64 = 16 << 20;

/// Reads a file that a user names, which may be a pipe or a device without an end. `operation` is a verb with its object.
pub fn read_limited(path: &Path, operation: &str) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // One byte more shows that the file is too large.
    let read = open_with_writer(path).and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes));
    match read.map_err(|e| Error::file(operation, path, e))? as u64 {
        0..=MAX_BYTES => Ok(bytes),
        _ => Err(Error::input(
            format!("{} is larger than 16 MiB", path.display()),
            "name a smaller file: it holds text that users write",
        )),
    }
}

/// Longest wait for a program that writes into a named pipe.
const WRITER_LIMIT_MILLISECONDS: u16 = 5000;

#[expect(clippy::disallowed_methods, reason = "the user names the file, which may be a pipe")]
fn open_with_writer(path: &Path) -> io::Result<File> {
    // The open of a pipe would wait for its writer, without an end.
    let mut file = OpenOptions::new().read(true).custom_flags(O_NONBLOCK).open(path)?;
    if file.metadata()?.file_type().is_fifo() {
        let is_silent = poll(&mut [PollFd::new(file.as_fd(), PollFlags::POLLIN)], WRITER_LIMIT_MILLISECONDS)? == 0;
        // A pipe with a writer that has written nothing yet would block.
        if is_silent && file.read(&mut [0]).is_ok_and(|count| count == 0) {
            return Err(io::Error::other("it is a pipe, and no program writes into it"));
        }
    }
    fcntl(&file, FcntlArg::F_SETFL(OFlag::empty()))?;
    Ok(file)
}

impl TomlSource<'_> {
    pub fn error_at(&self, span: Range<usize>, message: impl Into<String>, help: impl Into<String>) -> Error {
        Error::input(message, help).with_location(self.path, self.text, span)
    }

    pub fn line_number(&self, offset: usize) -> usize {
        self.text[..offset].matches('\n').count() + 1
    }

    fn range_at(&self, offset: usize) -> Option<(&str, &str)> {
        let start = self.text.get(..offset)?.rfind('\n').map_or(0, |newline| newline + 1);
        let value = self.text[start..].lines().next()?.split_once('=')?.1.split('#').next()?;
        let (from, to) = value.split_once("..")?;
        let is_number = |text: &str| text.trim().parse::<f64>().is_ok();
        (is_number(from) && is_number(to)).then_some((from.trim(), to.trim()))
    }

    /// Converts an error of the TOML parser, or of serde about a key or a type.
    pub fn parse_error(&self, error: &toml::de::Error) -> Error {
        // serde names its own integer types.
        let message = &error
            .message()
            .replace(" as i128", "")
            .replace("expected u32", "expected a whole number up to 4294967295");
        let span = error.span().unwrap_or(0..0);
        // serde puts the unknown name and the known ones into backticks: unknown field `x`, expected one of `y`, `z`.
        let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
        let write_range = |(from, to)| format!("write {{ from = {from}, to = {to}, factor = 2 }}");
        let range = self.range_at(span.start).map(write_range);
        let (problem, help) = match quoted.split_first() {
            Some((key, known)) if message.starts_with("unknown field") => {
                (format!("there is no key \"{key}\" here"), suggest(key, known))
            }
            Some((word, known)) if message.starts_with("unknown variant") => {
                (format!("\"{word}\" is not known here"), suggest(word, known))
            }
            Some((key, [])) if message.starts_with("missing field") => {
                (format!("the key \"{key}\" is missing here"), format!("add {key} = ..."))
            }
            _ if range.is_some() => ("a range is written as a table".into(), range.unwrap_or_default()),
            _ if message.contains("expected a sequence") => {
                (message.to_owned(), "write a list, [a, b], or the table's name in double brackets, [[name]]".into())
            }
            _ if ["sequence", "map"].iter().any(|kind| message.starts_with(&format!("invalid type: {kind}"))) => {
                (message.to_owned(), "one value is needed here; lists and ranges belong in [axes]".into())
            }
            _ => (message.to_owned(), format!("correct the text here; the files of {} are examples", self.examples)),
        };
        self.error_at(span, problem.replace('\n', "; "), help)
    }
}
