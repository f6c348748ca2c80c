//! The figures that an HTML report wrote into a folder. A list in the folder names them.

use apexmap_base::error::{Error, Result};
use apexmap_base::new_file;
use apexmap_base::regular_file;
use nix::errno::Errno;
use nix::fcntl::{OFlag, open, openat};
use nix::sys::stat::Mode;
use nix::unistd::{UnlinkatFlags, unlinkat};
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The subfolder of a folder of figures for their print versions.
pub const PAPER: &str = "paper";
/// The list of generated files, one line per file in the format of `sha256sum`.
const LIST: &str = ".made";

/// Removes figures that an earlier report wrote and `page`, the new one, does not contain, and lists the current ones. Keeps
/// other files: figures of `apexmap plot`, and files that were changed since.
///
/// # Errors
/// If a file cannot be read, removed or written.
pub fn remove_unmade(folder: &Path, page: &str) -> Result<()> {
    let mut current = String::new();
    for name in figures(page) {
        for file in
            [format!("{name}.svg"), format!("{name}.png"), format!("{PAPER}/{name}.svg"), format!("{PAPER}/{name}.png")]
        {
            if let Some(digest) = digest(&folder.join(&file))? {
                let _ = writeln!(current, "{digest}  {file}");
            }
        }
    }
    let list = folder.join(LIST);
    // Without a list there is nothing to remove.
    let before = regular_file::read_text(&list).unwrap_or_default();
    for (made, file) in before.lines().filter_map(|line| line.split_once("  ")) {
        let stays = current.lines().any(|line| line.ends_with(&format!("  {file}")));
        if !stays {
            remove(folder, file, made).map_err(|e| Error::file("remove", &folder.join(file), e))?;
        }
    }
    new_file::replace_contents(&list, current)
}

/// Returns whether an HTML report can have written a figure with this name.
fn is_figure(name: &str) -> bool {
    let stem = name.strip_suffix(".svg").or_else(|| name.strip_suffix(".png")).unwrap_or_default();
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.=+".contains(c);
    !stem.is_empty() && !stem.starts_with('.') && stem.chars().all(plain)
}

/// Removes a figure if it is unchanged. Anyone can edit the list, so names outside the folder and links are refused.
fn remove(folder: &Path, file: &str, made: &str) -> std::io::Result<()> {
    let name = file.strip_prefix(&format!("{PAPER}/"));
    if !is_figure(name.unwrap_or(file)) {
        return Ok(());
    }
    let (plain, none) = (OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC, Mode::empty());
    let remove = || {
        let mut place = open(folder, plain | OFlag::O_DIRECTORY, none)?;
        if name.is_some() {
            place = openat(&place, PAPER, plain | OFlag::O_DIRECTORY, none)?;
        }
        let name = name.unwrap_or(file);
        let mut figure = File::from(openat(&place, name, plain | OFlag::O_NONBLOCK | OFlag::O_NOCTTY, none)?);
        let mut bytes = Vec::new();
        if figure.metadata()?.is_file() && figure.read_to_end(&mut bytes).is_ok() && hash(&bytes) == made {
            unlinkat(&place, name, UnlinkatFlags::NoRemoveDir)?;
        }
        Ok(())
    };
    match remove().map_err(|error: std::io::Error| (error.raw_os_error().map(Errno::from_raw), error)) {
        // Another report removed it first, or a link is in the way.
        Err((Some(Errno::ENOENT | Errno::ELOOP | Errno::ENOTDIR), _)) => Ok(()),
        removed => removed.map_err(|(_, error)| error),
    }
}

/// Returns the digest in the format of `sha256sum`.
fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the digest of a file; `None` if it does not exist.
fn digest(path: &Path) -> Result<Option<String>> {
    match regular_file::read(path) {
        Ok(bytes) => Ok(Some(hash(&bytes))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::file("read", path, error)),
    }
}

/// Returns the names of the figures of an HTML report.
fn figures(page: &str) -> impl Iterator<Item = &str> {
    page.split(" data-file=\"").skip(1).filter_map(|rest| rest.split('"').next())
}
