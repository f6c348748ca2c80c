//! Programs on the search path.

use nix::unistd::{AccessFlags, access};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

pub fn is_program(path: &Path) -> bool {
    path.is_file() && access(path, AccessFlags::X_OK).is_ok()
}

/// Returns the program of this name: the file itself if it has a slash, otherwise the first one in a path such as `PATH`.
pub fn find_program(name: impl AsRef<Path>, search_path: impl AsRef<OsStr>) -> Option<PathBuf> {
    let name = name.as_ref();
    if name.as_os_str().as_encoded_bytes().contains(&b'/') {
        return Some(name.to_owned()).filter(|path| is_program(path));
    }
    std::env::split_paths(search_path.as_ref()).map(|folder| folder.join(name)).find(|path| is_program(path))
}

pub fn find_on_path(name: impl AsRef<Path>) -> Option<PathBuf> {
    find_program(name, std::env::var_os("PATH").unwrap_or_default())
}
