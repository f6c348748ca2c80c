//! Loads the samples of a result folder from its Parquet file or its journals.

use crate::disk::compaction::{Compaction, Content};
use crate::disk::folder::Folder;
use crate::disk::manifest::Manifest;
use crate::disk::parquet;
use crate::disk::reader::Reader;
use crate::disk::record::{Damage, Record};
use crate::disk::tabulate::Tabulation;
use crate::table::Table;
use crate::table::disturbance_columns::{CONDITIONS, QUIETNESS};
use apexmap_base::error::{Error, Result};
use apexmap_base::sample::Sample;
use apexmap_theory::bounds::Limits;

/// Samples loaded from a folder.
pub struct LoadedSamples {
    pub table: Table,
    /// Damage of the journals.
    pub damages: Vec<Damage>,
    /// Reason for reading the journals although a `samples.parquet` should hold their samples.
    pub fallback: Option<String>,
    /// Whether no manifest describes `samples.parquet`, so that it was not checked.
    pub unchecked: bool,
}

impl Folder {
    /// Loads all samples. Uses the Parquet file if it is complete and was made from the present journals, plan and machine
    /// card, according to the manifest, by a version that judged what causes cost. Otherwise reads the journals.
    pub fn table(&self) -> Result<Table> {
        Ok(self.load()?.table)
    }

    /// Loads all samples as [`Folder::table`] does, with notes about their source.
    pub fn load(&self) -> Result<LoadedSamples> {
        self.load_some(&|_| true)
    }

    /// Loads the samples as [`Folder::load`] does. The table may omit columns that are not `wanted`.
    pub fn load_some(&self, wanted: &dyn Fn(&str) -> bool) -> Result<LoadedSamples> {
        let compaction = Manifest::read(self).ok().and_then(|manifest| manifest.compaction);
        let mut fallback = None;
        match compaction {
            // The file is from an earlier version, or was copied out of its folder.
            None if self.journal_files()?.is_empty() && self.samples().is_file() => {
                let table = parquet::read_some(&self.samples(), wanted)?;
                return Ok(LoadedSamples { table, damages: Vec::new(), fallback, unchecked: true });
            }
            Some(compaction) if compaction.is_current(self)? => match self.read_compacted(&compaction, wanted) {
                Ok(table) if is_judged(&table) || self.journal_files()?.is_empty() => {
                    return Ok(LoadedSamples { table, damages: compaction.damages, fallback, unchecked: false });
                }
                Ok(_) => {}
                Err(error) if self.journal_files()?.is_empty() => return Err(error),
                Err(error) => fallback = Some(error.message),
            },
            _ => {}
        }
        let (table, damages) = self.tabulate()?;
        Ok(LoadedSamples { table, damages, fallback, unchecked: false })
    }

    /// Reads the Parquet file if it is unchanged.
    fn read_compacted(&self, compaction: &Compaction, wanted: &dyn Fn(&str) -> bool) -> Result<Table> {
        if !compaction.is_whole(self)? {
            let message = format!("{} does not match its checksum in manifest.json", self.samples().display());
            return Err(Error::environment(message, "restore a complete copy of it, or its journals"));
        }
        // `is_judged` looks at these columns.
        let judged = [QUIETNESS, CONDITIONS];
        parquet::read_some(&self.samples(), &|column| wanted(column) || judged.contains(&column))
    }

    /// Reads the journals into a table.
    fn tabulate(&self) -> Result<(Table, Vec<Damage>)> {
        let keys = self.planned_keys()?;
        let current = |key: &str| keys.as_ref().is_none_or(|keys| keys.contains(key));
        let mut table = Tabulation::new(self.card()?.map(|card| Limits::from_card(&card)));
        let add = |sample: Sample, record: &mut Record| {
            table.add(&sample, record.launch.as_ref(), current(&sample.key));
        };
        let records = Reader::default().read_each(&self.journal_files()?, add)?;
        records.iter().for_each(|record| table.end_launch(record));
        Ok((table.finish(), records.iter().filter_map(Record::damage).collect()))
    }

    /// Writes `samples.parquet` from the journals, records it in the manifest, and returns its table. Only the driver that
    /// holds the lock may call this.
    pub fn compact(&self) -> Result<Table> {
        // Checksums first: a line that another job adds meanwhile then makes the file stale, and not wrong.
        let sources = Compaction::sources(self)?;
        let (table, damages) = self.tabulate()?;
        if table.rows == 0 {
            return Ok(table);
        }
        let path = self.samples();
        self.replace(&path, |file| parquet::write(file, &path, &table))?;
        if let (Ok(manifest), Some(samples)) = (Manifest::read(self), Content::from_file(self, &path)?) {
            let compaction = Some(Compaction { samples, sources, damages });
            // After the samples: with the old checksum, readers take the journals instead.
            Manifest { compaction, ..manifest }.write(self)?;
        }
        Ok(table)
    }
}

/// Returns whether the verdicts of a table say what causes cost. Those of earlier versions do not.
fn is_judged(table: &Table) -> bool {
    table.column(QUIETNESS).is_none() || table.column(CONDITIONS).is_some()
}
