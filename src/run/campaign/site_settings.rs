//! The settings of a site file that every campaign uses, and their record in the result. The crate `cluster` reads site files.

use super::Campaign;
use crate::launch::LauncherEntry;
use apexmap_base::error::{Error, Result};
use apexmap_measure::comm::TransportKind;
use apexmap_results::disk::Folder;
use std::collections::BTreeMap;
use std::env;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// The key of the worker for all launchers without their own.
const ANY_LAUNCHER: &str = "mpi";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The key with its tables: `submit.partition`.
    pub key: String,
    /// The value as TOML, in one line.
    pub value: String,
    pub file: PathBuf,
    pub line: usize,
}

#[derive(Clone, Debug, Default)]
pub struct SiteSettings {
    pub machine: Option<String>,
    /// The worker for each launcher of MPI, or `mpi` for all others.
    pub workers: BTreeMap<String, PathBuf>,
    /// Environment variables of launches, unless the user sets them.
    pub environment: BTreeMap<String, String>,
    pub origins: Vec<Setting>,
}

impl SiteSettings {
    pub fn worker(&self, launcher: &LauncherEntry) -> Option<(&Path, String)> {
        let key = [launcher.id, ANY_LAUNCHER].into_iter().find(|key| self.workers.contains_key(*key))?;
        let worker = self.workers.get(key).filter(|_| launcher.transport == TransportKind::Mpi)?;
        Some((worker, format!("workers.{key}")))
    }

    /// The environment variables that the user does not set.
    pub fn variables(&self) -> Vec<(String, String)> {
        self.environment.clone().into_iter().filter(|(name, _)| env::var_os(name).is_none()).collect()
    }
}

impl Campaign {
    /// Writes `site.toml` into the result: the settings that this run uses. `is_used` judges all but the machine's name and workers.
    pub fn write_site_record(&self, folder: &Folder, is_used: &dyn Fn(&str, &str) -> bool) -> Result<()> {
        let worker = self.site.worker(self.sweep.launch.launcher).filter(|(worker, _)| *worker == self.worker);
        let worker_key = worker.map(|(_, key)| key);
        let mut text = String::new();
        for Setting { key, value, file, line } in &self.site.origins {
            let (table, rest) = key.split_once('.').unwrap_or((key, ""));
            let is_used = match table {
                "machine" => self.site.machine.as_ref() == Some(&self.plan.context.machine),
                "workers" => worker_key.as_ref() == Some(key),
                _ => is_used(table, rest),
            };
            if is_used {
                let _ = writeln!(text, "{key} = {value}  # {}:{line}", file.display());
            }
        }
        let path = folder.path.join("site.toml");
        if !text.is_empty() {
            return folder.replace_text(&path, &text);
        }
        // The record of an earlier run with other settings does not hold for this one.
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::file("remove", &path, error)),
            _ => Ok(()),
        }
    }
}
