//! Opens the files of a result. A pipe or a device of another person is rejected at once: a plain open would wait for its end.

use nix::errno::Errno;
use nix::libc::{O_NOCTTY, O_NOFOLLOW, O_NONBLOCK};
use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind, Read, Result};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Opens a file for reading. A link is followed to its file.
pub fn open(path: &Path) -> Result<File> {
    open_with(OpenOptions::new().read(true), 0, path)
}

/// Opens a file for appending, or creates it. A link is not followed.
pub fn append(path: &Path) -> Result<File> {
    open_with(OpenOptions::new().append(true).create(true), O_NOFOLLOW, path)
}

/// Opens with these options and checks that the result is a regular file.
#[expect(clippy::disallowed_methods, reason = "the one place where files of a result are opened")]
pub fn open_with(options: &mut OpenOptions, flags: i32, path: &Path) -> Result<File> {
    let not_a_file = |description: &str| Error::other(format!("it is {description}, not a file"));
    // A pipe would block the open, and a terminal could become the controlling one.
    let file = options.custom_flags(flags | O_NONBLOCK | O_NOCTTY).open(path).map_err(|error| {
        match error.raw_os_error().map(Errno::from_raw) {
            Some(Errno::ELOOP) if flags & O_NOFOLLOW != 0 => not_a_file("a link, which is not followed here"),
            // The open of a pipe for writing fails with ENXIO if the pipe has no reader.
            Some(Errno::ENXIO) => not_a_file("a pipe or a device"),
            _ => error,
        }
    })?;
    let kind = file.metadata()?.file_type();
    if kind.is_file() {
        Ok(file)
    } else {
        Err(not_a_file(if kind.is_dir() { "a folder" } else { "a pipe or a device" }))
    }
}

pub fn open_limited(path: &Path, most_mib: u64) -> Result<File> {
    let file = open(path)?;
    match file.metadata()?.len() {
        length if length > most_mib << 20 => Err(Error::other(format!("it is larger than {most_mib} MiB"))),
        _ => Ok(file),
    }
}

fn read_limited(path: &Path, most_mib: u64) -> Result<Vec<u8>> {
    let file = open_limited(path, most_mib)?;
    let mut bytes = Vec::with_capacity(file.metadata()?.len() as usize);
    // Files of `/proc` have no length, and others may grow.
    file.take(most_mib << 20).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads a whole file. The manifest of some launches of 100,000 ranks is the largest.
pub fn read(path: &Path) -> Result<Vec<u8>> {
    read_limited(path, 128)
}

pub fn read_text(path: &Path) -> Result<String> {
    to_text(read(path)?)
}

/// Reads a TOML file. Its parser may take 50 times its size.
pub fn read_toml(path: &Path) -> Result<String> {
    to_text(read_limited(path, 1)?)
}

fn to_text(bytes: Vec<u8>) -> Result<String> {
    String::from_utf8(bytes).map_err(|_| Error::new(ErrorKind::InvalidData, "it is not UTF-8 text"))
}
