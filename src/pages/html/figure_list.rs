//! The figures that an HTML report wrote into a folder. A list in the folder names them.

use apexmap_base::error::{Error, Result};
use apexmap_base::new_file;
use apexmap_base::regular_file;
use apexmap_draw::figure::Style;
use nix::errno::Errno;
use nix::fcntl::{OFlag, open, openat};
use nix::sys::stat::Mode;
use nix::unistd::{UnlinkatFlags, unlinkat};
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Generated files, in the format of `sha256sum`.
const LIST: &str = ".made";

/// Reports then write all figures in this style, too.
pub fn make_style_folder(figures: &Path, style: Style) -> Result<()> {
    let Some(folder) = style.folder().map(|name| figures.join(name)) else { return Ok(()) };
    std::fs::create_dir_all(&folder).map_err(|e| Error::file("create", &folder, e))
}

fn style_folders() -> impl Iterator<Item = &'static str> {
    Style::ALL.into_iter().filter_map(|(_, style)| style.folder())
}

/// Removes figures of an earlier report that `page` does not contain. Keeps figures of `apexmap plot`, and files that were changed since.
pub fn remove_unmade(folder: &Path, page: &str) -> Result<()> {
    let mut current = String::new();
    for name in figures(page) {
        let folders = std::iter::once(String::new()).chain(style_folders().map(|folder| format!("{folder}/")));
        for file in folders.flat_map(|folder| ["svg", "png"].map(|end| format!("{folder}{name}.{end}"))) {
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

fn is_figure(name: &str) -> bool {
    let stem = name.strip_suffix(".svg").or_else(|| name.strip_suffix(".png")).unwrap_or_default();
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.=+".contains(c);
    !stem.is_empty() && !stem.starts_with('.') && stem.chars().all(plain)
}

/// If it is unchanged. Anyone can edit the list, so names outside the folder and links are refused.
fn remove(folder: &Path, file: &str, made: &str) -> std::io::Result<()> {
    let inner = style_folders().find_map(|folder| Some((folder, file.strip_prefix(folder)?.strip_prefix('/')?)));
    let name = inner.map_or(file, |(_, name)| name);
    if !is_figure(name) {
        return Ok(());
    }
    let (plain, none) = (OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC, Mode::empty());
    let remove = || {
        let mut place = open(folder, plain | OFlag::O_DIRECTORY, none)?;
        if let Some((folder, _)) = inner {
            place = openat(&place, folder, plain | OFlag::O_DIRECTORY, none)?;
        }
        // A pipe would block the open, and a terminal could become the controlling one.
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

fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn digest(path: &Path) -> Result<Option<String>> {
    match regular_file::read(path) {
        Ok(bytes) => Ok(Some(hash(&bytes))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::file("read", path, error)),
    }
}

fn figures(page: &str) -> impl Iterator<Item = &str> {
    page.split(" data-file=\"").skip(1).filter_map(|rest| rest.split('"').next())
}
