//! Files that are written whole or not at all: under a name of their own first, then renamed.
//!
//! A folder may be shared with others: no name can be foreseen, and no link that somebody put there is followed.

#![expect(clippy::disallowed_methods, reason = "new files are created here; only `write_named` opens what is there")]

use crate::error::{Error, Result};
use crate::regular_file;
use nix::libc::O_NOFOLLOW;
use nix::unistd::{Uid, User};
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

const BEGIN: &str = ".apexmap-";
const END: &str = ".tmp";

/// A file on its way, which is removed unless it arrives. It is locked: whoever can lock it knows that its writer is gone.
struct Temporary {
    path: PathBuf,
    file: File,
}

impl Temporary {
    fn beside(target: &Path) -> io::Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = folder.join(format!("{BEGIN}{}-{number}{END}", std::process::id()));
            let file = match OpenOptions::new().write(true).create_new(true).open(&path) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
                other => other?,
            };
            // Where locks are not known, nobody takes a file for abandoned.
            let _ = file.lock();
            let temporary = Self { path, file };
            // Between the two calls somebody may have done so.
            if temporary.file.metadata()?.nlink() > 0 {
                return Ok(temporary);
            }
        }
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // What is not complete is worth nothing; what arrived is no longer there.
        let _ = fs::remove_file(&self.path);
    }
}

/// Replaces a file by what `write` writes. A link in its place is replaced, not followed.
///
/// # Errors
/// What `write` returns, or if the file cannot be written or renamed: the old one is then as it was.
pub fn replace(path: &Path, write: impl FnOnce(&mut File) -> Result<()>) -> Result<()> {
    let mut temporary = Temporary::beside(path).map_err(|e| refused("write", path, e))?;
    write(&mut temporary.file)?;
    fs::rename(&temporary.path, path).map_err(|e| refused("write", path, e))
}

/// The error of an operation on a file that the system refused; where a right is missing, its advice tells whose file and folder are.
pub fn refused(doing: &str, path: &Path, cause: io::Error) -> Error {
    let error = Error::file(doing, path, &cause);
    if cause.kind() != ErrorKind::PermissionDenied {
        return error;
    }
    let owner = |path: &Path| {
        let about = fs::symlink_metadata(path).ok()?;
        let user = User::from_uid(Uid::from_raw(about.uid())).ok().flatten();
        let user = user.map_or_else(|| format!("user {}", about.uid()), |user| user.name);
        Some(format!("{} belongs to {user} (mode {:04o})", path.display(), about.mode() & 0o7777))
    };
    let owners: Vec<String> = [Some(path), path.parent()].into_iter().flatten().filter_map(owner).collect();
    let next = "ask for the right to write there (in a folder with mode 1000 only its owner may replace a file), or name another \
                folder with --out";
    Error { next: format!("{}: {next}", owners.join(", ")), ..error }
}

/// As [`replace`], of contents that are complete.
///
/// # Errors
/// As [`replace`].
pub fn replace_by(path: &Path, contents: impl AsRef<[u8]>) -> Result<()> {
    replace(path, |file| file.write_all(contents.as_ref()).map_err(|e| Error::file("write", path, e)))
}

/// Writes to a path that the user named: where it is a link, what it points to is replaced; where it is no file but a device
/// or a pipe, that is written to.
///
/// # Errors
/// As [`replace`].
pub fn write_named(path: &Path, write: impl FnOnce(&mut File) -> Result<()>) -> Result<()> {
    let Ok(meta) = fs::metadata(path) else { return replace(path, write) };
    if meta.is_file() {
        let target = path.canonicalize().map_err(|e| Error::file("write", path, e))?;
        return replace(&target, write);
    }
    let mut file = OpenOptions::new().write(true).open(path).map_err(|e| Error::file("write", path, e))?;
    write(&mut file)
}

/// As [`write_named`], of contents that are complete.
///
/// # Errors
/// As [`replace`].
pub fn write_named_by(path: &Path, contents: impl AsRef<[u8]>) -> Result<()> {
    write_named(path, |file| file.write_all(contents.as_ref()).map_err(|e| Error::file("write", path, e)))
}

/// A new file, empty, for another program to write to; what was there is removed, not followed.
///
/// # Errors
/// If the old one cannot be removed or the new one cannot be created.
pub fn create(path: &Path) -> Result<File> {
    let removed = match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    };
    let created = removed.and_then(|()| OpenOptions::new().write(true).create_new(true).open(path));
    created.map_err(|e| Error::file("create", path, e))
}

/// Removes from a folder and those in it what writers left there that were killed.
pub fn remove_abandoned(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_abandoned(&path);
        }
        if !(name.starts_with(BEGIN) && name.ends_with(END)) {
            continue;
        }
        let file = regular_file::opened(OpenOptions::new().write(true), O_NOFOLLOW, &path);
        if file.is_ok_and(|file| file.try_lock().is_ok()) {
            let _ = fs::remove_file(&path);
        }
    }
}
