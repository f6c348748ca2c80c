//! Checksums of `samples.parquet` and of its sources in the manifest, without time stamps: is the file complete and up to date?

use crate::disk::folder::Folder;
use crate::disk::record::Damage;
use apexmap_base::error::{Error, Result};
use apexmap_base::parallel::map_in_order;
use apexmap_base::regular_file;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Content {
    pub file: String,
    pub bytes: u64,
    pub sha256: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Compaction {
    pub samples: Content,
    pub sources: Vec<Content>,
    pub damages: Vec<Damage>,
}

impl Content {
    pub fn from_file(folder: &Folder, path: &Path) -> Result<Option<Self>> {
        let wrong = |e| Error::file("read", path, e);
        let file = match regular_file::open(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            file => file.map_err(wrong)?,
        };
        let (mut file, mut hash, mut part) = (BufReader::new(file), Sha256::new(), vec![0; 1 << 16]);
        let mut bytes = 0;
        loop {
            let read = file.read(&mut part).map_err(wrong)?;
            if read == 0 {
                break;
            }
            hash.update(&part[..read]);
            bytes += read as u64;
        }
        let sha256 = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        let file = path.strip_prefix(&folder.path).unwrap_or(path).to_string_lossy().into_owned();
        Ok(Some(Self { file, bytes, sha256 }))
    }

    fn holds(&self, folder: &Folder) -> Result<bool> {
        let path = folder.path.join(&self.file);
        if !std::fs::metadata(&path).is_ok_and(|about| about.len() == self.bytes) {
            return Ok(false);
        }
        Ok(Self::from_file(folder, &path)?.as_ref() == Some(self))
    }
}

impl Compaction {
    /// Returns the current sources of a folder's samples, journals first and in their order.
    pub fn sources(folder: &Folder) -> Result<Vec<Content>> {
        let files = folder.journal_files()?.into_iter().chain([folder.points(), folder.machine()]);
        let mut sources = Vec::new();
        map_in_order(
            files,
            || |path: PathBuf| Content::from_file(folder, &path),
            |content| content.map(|source| sources.extend(source)),
        )?;
        Ok(sources)
    }

    /// Returns whether the folder still holds exactly the sources of the samples. Also true if its journals were removed.
    pub fn is_current(&self, folder: &Folder) -> Result<bool> {
        let mut files = folder.journal_files()?;
        if files.is_empty() {
            return Ok(true);
        }
        files.extend([folder.points(), folder.machine()].into_iter().filter(|path| path.is_file()));
        let names = files.iter().map(|path| path.strip_prefix(&folder.path).unwrap_or(path));
        if !names.eq(self.sources.iter().map(|source| Path::new(&source.file))) {
            return Ok(false);
        }
        // `Err(None)` stops at the first changed file.
        let same = |holds: Result<bool>| holds.map_err(Some)?.then_some(()).ok_or(None);
        match map_in_order(&self.sources, || |source: &Content| source.holds(folder), same) {
            Ok(()) => Ok(true),
            Err(None) => Ok(false),
            Err(Some(error)) => Err(error),
        }
    }

    pub fn is_whole(&self, folder: &Folder) -> Result<bool> {
        self.samples.holds(folder)
    }
}
