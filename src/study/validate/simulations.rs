//! The results of `make papers`: the papers' experiments on simulated machines.

use apexmap_base::error::{Error, Result};
use apexmap_base::point::Value;
use apexmap_results::disk::Folder;
use apexmap_results::samples::{Samples, cells::Cell};
use std::collections::BTreeMap;
use std::path::Path;

/// The samples of each simulated sweep, by the name of its folder.
#[derive(Default)]
pub struct Simulations {
    sweeps: BTreeMap<String, Samples>,
}

impl Simulations {
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

    /// `None` if the sweep has not run.
    pub fn samples(&self, sweep: &str) -> Option<&Samples> {
        self.sweeps.get(sweep)
    }

    /// The samples of a sweep with these values; `None` if it has not run.
    pub fn select(&self, sweep: &str, values: &[(&str, Value)]) -> Option<Samples> {
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
        Some(samples.filter_rows(has_all))
    }

    /// The median of a column over the samples of a sweep with these values.
    pub fn median(&self, sweep: &str, values: &[(&str, Value)], column: &str) -> Option<f64> {
        let samples = self.select(sweep, values)?;
        samples.median(samples.resolve(column))
    }
}

/// The rate of the updates by which the longest of several runs exceeds the shortest, so that begin and end of a run do not count.
pub fn marginal_rate(samples: &Samples) -> Option<f64> {
    let runs = samples.cells(&[samples.resolve("updates")]).ok()?;
    let end = |run: &Cell| Some((run.summary("updates_made")?.median, run.summary("seconds")?.median));
    let ((few, early), (many, late)) = (end(runs.first()?)?, end(runs.last()?)?);
    (late > early).then(|| (many - few) / (late - early))
}
