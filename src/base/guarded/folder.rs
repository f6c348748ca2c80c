//! Folders that do not outlive this process.

use super::guardian;
use crate::error::{Error, Result};
use nix::unistd::mkdtemp;
use std::io::{PipeWriter, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

/// A folder that only this user can read. It is removed at the end, also if this process is killed.
pub struct TemporaryFolder {
    pub path: PathBuf,
    /// A byte ends the guardian without its work.
    leash: Option<PipeWriter>,
}

impl TemporaryFolder {
    /// Creates a folder for temporary files. Its name begins with `apexmap-` and this text.
    pub fn create(name: &str) -> Result<Self> {
        Self::create_in(&std::env::temp_dir(), &format!("apexmap-{name}-"))
    }

    /// Creates a folder within another one. Its name begins with `prefix`.
    pub fn create_in(parent: &Path, prefix: &str) -> Result<Self> {
        let pattern = parent.join(format!("{prefix}XXXXXX"));
        let path = mkdtemp(&pattern).map_err(|e| Error::file("create", &pattern, std::io::Error::from(e)))?;
        // Without a guardian, which the system may refuse, a kill leaves the folder.
        let leash = std::io::pipe().ok().and_then(|(end, leash)| {
            guardian::remove_at_end(path.clone(), end.as_raw_fd()).ok()?;
            Some(leash)
        });
        Ok(Self { path, leash })
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
        if let Some(leash) = &mut self.leash {
            let _ = leash.write_all(b"e");
        }
    }
}
