//! Which files of a folder of figures an earlier page made: the page itself says so.

use crate::error::{Error, Result};
use std::fs;
use std::path::Path;

/// The folder within a folder of figures that holds them as a paper wants them.
pub const PAPER: &str = "paper";

/// Removes the figures of `before`, an earlier page, that `now` does not have. Other files stay, such as those of
/// `apexmap plot`.
///
/// # Errors
/// If a file cannot be removed.
pub fn remove_unmade(folder: &Path, before: &str, now: &str) -> Result<()> {
    let kept = figures(now);
    for name in figures(before).into_iter().filter(|name| !kept.contains(name)) {
        for place in [folder.to_owned(), folder.join(PAPER)] {
            for ending in ["svg", "png"] {
                let path = place.join(format!("{name}.{ending}"));
                match fs::remove_file(&path) {
                    Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                        return Err(Error::file("remove", &path, error));
                    }
                    _ => {}
                }
            }
        }
    }
    Ok(())
}

/// Names of a page's figures; those that are not plain names of files are left out.
fn figures(page: &str) -> Vec<&str> {
    let plain = |name: &&str| {
        !name.is_empty() && !name.starts_with('.') && name.chars().all(|c| c.is_alphanumeric() || "-_.".contains(c))
    };
    let names = page.split("<figure class=\"picture\" data-file=\"").skip(1).filter_map(|rest| rest.split('"').next());
    names.filter(plain).collect()
}
