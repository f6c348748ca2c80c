//! The files of a folder of figures that an HTML report wrote: a list next to them names them.

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

/// The folder within a folder of figures that holds their print-ready versions.
pub const PAPER: &str = "paper";
/// The list in a folder of figures, one line per file, as `sha256sum` writes and checks it.
const LIST: &str = ".made";

/// Removes the figures of an earlier HTML report in this folder that `page`, the new one, does not have, and lists those
/// that it has. Other files stay: those of `apexmap plot`, and those that someone changed.
///
/// # Errors
/// If a file cannot be read, removed or written.
pub fn remove_unmade(folder: &Path, page: &str) -> Result<()> {
    let mut now = String::new();
    for name in figures(page) {
        for file in
            [format!("{name}.svg"), format!("{name}.png"), format!("{PAPER}/{name}.svg"), format!("{PAPER}/{name}.png")]
        {
            if let Some(digest) = digest(&folder.join(&file))? {
                let _ = writeln!(now, "{digest}  {file}");
            }
        }
    }
    let list = folder.join(LIST);
    // Without a list there is nothing to remove.
    let before = regular_file::read_text(&list).unwrap_or_default();
    for (made, file) in before.lines().filter_map(|line| line.split_once("  ")) {
        let stays = now.lines().any(|line| line.ends_with(&format!("  {file}")));
        if !stays {
            remove(folder, file, made).map_err(|e| Error::file("remove", &folder.join(file), e))?;
        }
    }
    new_file::replace_by(&list, now)
}

/// Whether an HTML report gives figures such names.
fn is_figure(name: &str) -> bool {
    let stem = name.strip_suffix(".svg").or_else(|| name.strip_suffix(".png")).unwrap_or_default();
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.=+".contains(c);
    !stem.is_empty() && !stem.starts_with('.') && stem.chars().all(plain)
}

/// Removes a figure that still is as it was made. Anyone can edit the list, so it reaches neither beyond the folder nor through a
/// link to another: where there is one, nothing is removed.
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
        // Another report was quicker, or a link lies there.
        Err((Some(Errno::ENOENT | Errno::ELOOP | Errno::ENOTDIR), _)) => Ok(()),
        removed => removed.map_err(|(_, error)| error),
    }
}

/// As `sha256sum` prints it.
fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// None of what does not exist.
fn digest(path: &Path) -> Result<Option<String>> {
    match regular_file::read(path) {
        Ok(bytes) => Ok(Some(hash(&bytes))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::file("read", path, error)),
    }
}

/// Names of the figures of an HTML report.
fn figures(page: &str) -> impl Iterator<Item = &str> {
    page.split(" data-file=\"").skip(1).filter_map(|rest| rest.split('"').next())
}
