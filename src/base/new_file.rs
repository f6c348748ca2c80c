//! Atomic replacement of files. Names are never reused and links never followed, because others may write to the same folder.

#![expect(clippy::disallowed_methods, reason = "new files are created here; only `write_user_file` opens old ones")]

use crate::error::{Error, Result};
use crate::regular_file;
use nix::libc::{self, O_NOFOLLOW};
use nix::unistd::{Uid, User};
use std::ffi::CStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::{fd::FromRawFd, unix::fs::MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// Creates an empty file in memory. The system is called without the C library, which has the function only since glibc 2.27.
pub fn create_in_memory(name: &CStr) -> io::Result<File> {
    // SAFETY: the name ends with a zero, and nothing else has the new descriptor.
    let descriptor = unsafe { libc::syscall(libc::SYS_memfd_create, name.as_ptr(), libc::MFD_CLOEXEC) };
    match i32::try_from(descriptor) {
        // SAFETY: as above.
        Ok(descriptor) if descriptor >= 0 => Ok(unsafe { File::from_raw_fd(descriptor) }),
        _ => Err(io::Error::last_os_error()),
    }
}

const TEMPORARY_PREFIX: &str = ".apexmap-";
const TEMPORARY_SUFFIX: &str = ".tmp";

/// A temporary file, removed unless it is renamed. Its writer locks it: if another process can lock it, the writer is gone.
struct TemporaryFile {
    path: PathBuf,
    file: File,
}

impl TemporaryFile {
    fn create_next_to(target: &Path) -> io::Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = folder.join(format!("{TEMPORARY_PREFIX}{}-{number}{TEMPORARY_SUFFIX}", std::process::id()));
            let file = match OpenOptions::new().write(true).create_new(true).open(&path) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
                other => other?,
            };
            // If the file system has no locks, the file is never taken for abandoned.
            let _ = file.lock();
            let temporary = Self { path, file };
            // Another process may have removed the file between the two calls.
            if temporary.file.metadata()?.nlink() > 0 {
                return Ok(temporary);
            }
        }
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        // An incomplete file is useless. After the rename, the path does not exist and the removal fails without effect.
        let _ = fs::remove_file(&self.path);
    }
}

/// Replaces a file with the output of `write`. If the path is a link, the link itself is replaced, not followed.
pub fn replace(path: &Path, write: impl FnOnce(&mut File) -> Result<()>) -> Result<()> {
    let mut temporary = TemporaryFile::create_next_to(path).map_err(|e| access_error("write", path, e))?;
    write(&mut temporary.file)?;
    fs::rename(&temporary.path, path).map_err(|e| access_error("write", path, e))
}

/// Returns the error of a refused file operation. If the permission is missing, the advice names the owners of file and folder.
pub fn access_error(operation: &str, path: &Path, cause: io::Error) -> Error {
    let error = Error::file(operation, path, &cause);
    if cause.kind() != ErrorKind::PermissionDenied {
        return error;
    }
    let owner = |path: &Path| {
        let metadata = fs::symlink_metadata(path).ok()?;
        let user = User::from_uid(Uid::from_raw(metadata.uid())).ok().flatten();
        let user = user.map_or_else(|| format!("user {}", metadata.uid()), |user| user.name);
        Some(format!("{} belongs to {user} (mode {:04o})", path.display(), metadata.mode() & 0o7777))
    };
    // The file, and the folder that it is in or would be in.
    let folder = path.ancestors().skip(1).find(|folder| folder.exists());
    let owners: Vec<String> = [Some(path), folder].into_iter().flatten().filter_map(owner).collect();
    let help = "ask for the permission to write there (in a folder with mode 1000 only the owner may replace a file), or name another \
                place with --out";
    Error { help: format!("{}: {help}", owners.join(", ")), ..error }
}

pub fn replace_contents(path: &Path, contents: impl AsRef<[u8]>) -> Result<()> {
    replace(path, |file| file.write_all(contents.as_ref()).map_err(|e| Error::file("write", path, e)))
}

/// Writes to a path that the user named. The target of a link is replaced; a device or a pipe takes the output.
pub fn write_user_file(path: &Path, write: impl FnOnce(&mut File) -> Result<()>) -> Result<()> {
    let Ok(metadata) = fs::metadata(path) else { return replace(path, write) };
    if metadata.is_file() {
        let target = path.canonicalize().map_err(|e| Error::file("write", path, e))?;
        return replace(&target, write);
    }
    let mut file = OpenOptions::new().write(true).open(path).map_err(|e| Error::file("write", path, e))?;
    write(&mut file)
}

/// Checks, before the contents are computed, that [`write_user_file`] can write to a path.
pub fn check_user_file(path: &Path) -> Result<()> {
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => {
            Err(Error::input(format!("{} is a folder", path.display()), "name a file in it"))
        }
        Ok(metadata) if !metadata.is_file() => Ok(()),
        _ => TemporaryFile::create_next_to(path).map(drop).map_err(|e| access_error("write", path, e)),
    }
}

pub fn write_user_file_contents(path: &Path, contents: impl AsRef<[u8]>) -> Result<()> {
    write_user_file(path, |file| file.write_all(contents.as_ref()).map_err(|e| Error::file("write", path, e)))
}

/// Creates an empty file for another program to write to. An existing file or link is removed, not followed.
pub fn create(path: &Path) -> Result<File> {
    let removed = match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    };
    let created = removed.and_then(|()| OpenOptions::new().write(true).create_new(true).open(path));
    created.map_err(|e| Error::file("create", path, e))
}

/// Removes the temporary files of killed writers from a folder and its subfolders.
pub fn remove_abandoned(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_abandoned(&path);
        }
        if !(name.starts_with(TEMPORARY_PREFIX) && name.ends_with(TEMPORARY_SUFFIX)) {
            continue;
        }
        let file = regular_file::open_with(OpenOptions::new().write(true), O_NOFOLLOW, &path);
        if file.is_ok_and(|file| file.try_lock().is_ok()) {
            let _ = fs::remove_file(&path);
        }
    }
}
