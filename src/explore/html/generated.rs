//! The files of a folder of figures that an HTML report wrote: a list next to them names them.

use crate::error::{Error, Result};
use crate::explore::new_file;
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::fs;
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
    let before = fs::read_to_string(&list).unwrap_or_default();
    for (made, file) in before.lines().filter_map(|line| line.split_once("  ")) {
        let path = folder.join(file);
        let stays = now.lines().any(|line| line.ends_with(&format!("  {file}")));
        if !stays && is_within(file) && digest(&path)?.is_some_and(|digest| digest == made) {
            match fs::remove_file(&path) {
                // Another report was quicker.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                removed => removed.map_err(|e| Error::file("remove", &path, e))?,
            }
        }
    }
    new_file::replace_by(&list, now)
}

/// Whether a name of the list, which anyone can edit, stays in the folder.
fn is_within(file: &str) -> bool {
    let name = file.strip_prefix(&format!("{PAPER}/")).unwrap_or(file);
    !name.starts_with('.') && !name.contains(['/', '\\'])
}

/// None of what does not exist.
fn digest(path: &Path) -> Result<Option<String>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::file("read", path, error)),
    }
}

/// Names of the figures of an HTML report.
fn figures(page: &str) -> impl Iterator<Item = &str> {
    page.split(" data-file=\"").skip(1).filter_map(|rest| rest.split('"').next())
}
