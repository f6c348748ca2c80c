//! The results of `make papers`: the papers' experiments on simulated machines.

use apexmap_base::error::{Error, Result};
use apexmap_base::point::Value;
use apexmap_results::disk::Folder;
use apexmap_results::samples::Samples;
use std::collections::BTreeMap;
use std::path::Path;

/// The samples of each simulated sweep, by the name of its folder.
#[derive(Default)]
pub struct Simulations {
    sweeps: BTreeMap<String, Samples>,
}

impl Simulations {
    /// Reads all results in a folder.
    ///
    /// # Errors
    /// If the folder or a result cannot be read.
    pub fn read(folder: &Path) -> Result<Self> {
        let mut sweeps = BTreeMap::new();
        for entry in std::fs::read_dir(folder).map_err(|e| Error::file("read", folder, e))? {
            let path = entry.map_err(|e| Error::file("read", folder, e))?.path();
            if path.join("sweep.toml").is_file() || path.join("manifest.json").is_file() {
                let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                sweeps.insert(name, Samples::from(Folder::open(&path)?.table()?).current().good());
            }
        }
        Ok(Self { sweeps })
    }

    /// Returns the samples of a sweep; `None` if it has not run.
    pub fn samples(&self, sweep: &str) -> Option<&Samples> {
        self.sweeps.get(sweep)
    }

    /// Returns the median of a column over the samples of a sweep with these values; `None` without such samples.
    pub fn median(&self, sweep: &str, values: &[(&str, Value)], column: &str) -> Option<f64> {
        let samples = self.sweeps.get(sweep)?;
        let has_all = |row: usize| {
            values.iter().all(|(name, wanted)| {
                let value = samples.table().value(samples.resolve(name), row);
                value.is_some_and(|value| match (value.as_f64(), wanted.as_f64()) {
                    (Some(value), Some(wanted)) => (value - wanted).abs() <= 1e-9 * wanted.abs(),
                    _ => value == *wanted,
                })
            })
        };
        samples.filter_rows(has_all).median(samples.resolve(column))
    }
}
