//! Files of a result, opened for reading and appending. A result may come from somebody else: a pipe or a device in the place of
//! one of its files is refused at once, where a plain open would wait for the pipe's other end.

use nix::errno::Errno;
use nix::libc::{O_NOCTTY, O_NOFOLLOW, O_NONBLOCK};
use std::fs::{File, OpenOptions};
use std::io::{Error, Read, Result};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Opens a file for reading; a link is followed to a file.
///
/// # Errors
/// If it cannot be opened or is not a regular file.
pub fn open(path: &Path) -> Result<File> {
    opened(OpenOptions::new().read(true), 0, path)
}

/// Opens a file for appending, or creates it; a link is not followed.
///
/// # Errors
/// If it cannot be opened or is not a regular file.
pub fn append(path: &Path) -> Result<File> {
    opened(OpenOptions::new().append(true).create(true), O_NOFOLLOW, path)
}

/// Opens with these options, and sees that what is open is a regular file.
///
/// # Errors
/// If it cannot be opened or is not a regular file.
#[expect(clippy::disallowed_methods, reason = "the one place where files of a result are opened")]
pub fn opened(options: &mut OpenOptions, flags: i32, path: &Path) -> Result<File> {
    let other = |what: &str| Error::other(format!("it is {what}, not a file"));
    let file = options.custom_flags(flags | O_NONBLOCK | O_NOCTTY).open(path).map_err(|error| {
        match error.raw_os_error().map(Errno::from_raw) {
            Some(Errno::ELOOP) if flags & O_NOFOLLOW != 0 => other("a link, which is not followed here"),
            // A pipe without a reader, opened for writing.
            Some(Errno::ENXIO) => other("a pipe or a device"),
            _ => error,
        }
    })?;
    let kind = file.metadata()?.file_type();
    if kind.is_file() { Ok(file) } else { Err(other(if kind.is_dir() { "a folder" } else { "a pipe or a device" })) }
}

/// The whole content of a file.
///
/// # Errors
/// If it cannot be read or is not a regular file.
pub fn read(path: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The whole text of a file.
///
/// # Errors
/// If it cannot be read, is not a regular file, or is not UTF-8.
pub fn read_text(path: &Path) -> Result<String> {
    let mut text = String::new();
    open(path)?.read_to_string(&mut text)?;
    Ok(text)
}
