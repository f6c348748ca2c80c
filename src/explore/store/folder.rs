//! A result folder: its paths, its lock, and files that are replaced whole or not at all.

use super::bound_columns;
use super::journal::{self, Record, SampleOutcome};
use super::parquet;
use super::table::Table;
use super::tabulate::tabulate;
use crate::error::{Error, Result};
use crate::explore::bounds::Limits;
use crate::explore::machine::Card;
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use std::collections::HashSet;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, PartialEq)]
pub struct Folder {
    pub path: PathBuf,
}

/// Lines of a journal that cannot be read; their samples are lost until they are measured again.
pub struct Damage {
    pub journal: PathBuf,
    pub lines: usize,
}

impl Folder {
    /// Creates the folder if it is not there.
    pub fn create(path: &Path) -> Result<Self> {
        let folder = Self { path: path.to_owned() };
        for place in [folder.journals(), folder.figures()] {
            fs::create_dir_all(&place).map_err(|e| Error::file("create", &place, e))?;
        }
        Ok(folder)
    }

    /// A folder that holds a result.
    pub fn open(path: &Path) -> Result<Self> {
        let folder = Self { path: path.to_owned() };
        if folder.journals().is_dir() || folder.samples().is_file() {
            return Ok(folder);
        }
        let what = if path.exists() { "is not a result folder" } else { "does not exist" };
        Err(Error::input(
            format!("{} {what}", path.display()),
            "name a folder that `apexmap run` wrote, such as results/quickstart",
        ))
    }

    pub fn journals(&self) -> PathBuf {
        self.path.join("journals")
    }

    pub fn figures(&self) -> PathBuf {
        self.path.join("figures")
    }

    pub fn samples(&self) -> PathBuf {
        self.path.join("samples.parquet")
    }

    pub fn manifest(&self) -> PathBuf {
        self.path.join("manifest.json")
    }

    pub fn points(&self) -> PathBuf {
        self.path.join("points.jsonl")
    }

    pub fn sweep(&self) -> PathBuf {
        self.path.join("sweep.toml")
    }

    /// The card of the machine, where one was given.
    pub fn machine(&self) -> PathBuf {
        self.path.join("machine.toml")
    }

    /// The card of the machine; `None` where none was given.
    pub fn card(&self) -> Result<Option<Card>> {
        self.machine().is_file().then(|| Card::read(&self.machine())).transpose()
    }

    /// Keeps a card with the result.
    pub fn replace_card(&self, card: &Card) -> Result<()> {
        self.replace_text(&self.machine(), &card.to_toml())
    }

    pub fn report(&self) -> PathBuf {
        self.path.join("report.html")
    }

    /// The path of a launch's journal; the same name with other endings for its job and its error output.
    pub fn journal(&self, launch: &str) -> PathBuf {
        self.journals().join(format!("{launch}.jsonl"))
    }

    /// Journals in the order of their launches.
    pub fn journal_files(&self) -> Result<Vec<PathBuf>> {
        let entries = match fs::read_dir(self.journals()) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(Error::file("list", &self.journals(), error)),
        };
        let mut files: Vec<_> = entries
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|e| e == "jsonl"))
            .collect();
        files.sort_by_cached_key(|path| (number(path), path.clone()));
        Ok(files)
    }

    pub fn records(&self) -> Result<Vec<Record>> {
        self.journal_files()?.iter().map(|path| journal::read(path)).collect()
    }

    /// As [`Folder::records`], but of each good sample only what plans ask of it.
    pub fn outcomes(&self) -> Result<Vec<Record<SampleOutcome>>> {
        self.journal_files()?.iter().map(|path| journal::outcomes(path)).collect()
    }

    /// The name of the next launch: one more than the highest there is.
    pub fn next_launch(&self) -> Result<String> {
        let last = self.journal_files()?.iter().filter_map(|path| number(path)).max().unwrap_or(0);
        Ok(format!("{:04}", last + 1))
    }

    /// Keeps a second driver out for as long as the returned lock lives; the system frees it when a driver is killed.
    pub fn lock(&self) -> Result<Flock<File>> {
        let path = self.path.join(".lock");
        let file = File::create(&path).map_err(|e| Error::file("create", &path, e))?;
        Flock::lock(file, FlockArg::LockExclusiveNonblock).map_err(|(_, cause)| match cause {
            Errno::EWOULDBLOCK => Error::environment(
                format!("another apexmap is writing to {}", self.path.display()),
                "wait for it to end, or write to another folder with --out",
            ),
            _ => Error::file("lock", &path, cause),
        })
    }

    /// Keys of the plan that this folder was last run with; `None` if it does not say.
    pub fn planned_keys(&self) -> Option<HashSet<String>> {
        #[derive(serde::Deserialize)]
        struct PlannedPoint {
            key: String,
        }
        let text = fs::read_to_string(self.points()).ok()?;
        text.lines().map(|line| serde_json::from_str::<PlannedPoint>(line).ok().map(|line| line.key)).collect()
    }

    /// Whether the Parquet file is newer than all journals and the machine card, or all there is.
    fn compacted(&self) -> Result<bool> {
        let modified = |path: &Path| fs::metadata(path).and_then(|meta| meta.modified()).ok();
        let journals = self.journal_files()?;
        if journals.is_empty() {
            return Ok(self.samples().is_file());
        }
        let sources = journals.into_iter().chain([self.machine()]);
        let newest = sources.filter_map(|path| modified(&path)).max();
        Ok(modified(&self.samples()).is_some_and(|parquet| newest.is_none_or(|newest| newest < parquet)))
    }

    /// All samples: from the Parquet file if it is newer than all journals and the machine card, from the
    /// journals otherwise.
    pub fn table(&self) -> Result<Table> {
        Ok(self.table_and_damage()?.0)
    }

    /// As [`Folder::table`], with the damage of the journals, where they were read.
    pub fn table_and_damage(&self) -> Result<(Table, Vec<Damage>)> {
        if self.compacted()? {
            return Ok((parquet::read(&self.samples())?, Vec::new()));
        }
        let files = self.journal_files()?;
        let records: Vec<Record> = files.iter().map(|path| journal::read(path)).collect::<Result<_>>()?;
        let damage = |(journal, record): (PathBuf, &Record)| Damage { journal, lines: record.unreadable };
        let damages = files.into_iter().zip(&records).map(damage);
        Ok((self.tabulate(&records)?, damages.filter(|damage| damage.lines > 0).collect()))
    }

    fn tabulate(&self, records: &[Record]) -> Result<Table> {
        let keys = self.planned_keys();
        let mut table = tabulate(records, |key| keys.as_ref().is_none_or(|keys| keys.contains(key)));
        if let Some(card) = self.card()? {
            bound_columns::add(&mut table, records, &Limits::of(&card));
        }
        Ok(table)
    }

    /// Makes `samples.parquet` from the journals. Only the driver that holds the lock does this.
    pub fn compact(&self) -> Result<Table> {
        let table = self.tabulate(&self.records()?)?;
        if table.rows > 0 {
            let path = self.samples();
            self.replace(&path, |file| parquet::write(file, &path, &table))?;
        }
        Ok(table)
    }

    /// Replaces a file of this folder: temporary file, fsync, rename.
    pub fn replace(&self, path: &Path, write: impl FnOnce(&mut File) -> Result<()>) -> Result<()> {
        let mut temporary = path.as_os_str().to_owned();
        temporary.push(".tmp");
        let temporary = PathBuf::from(temporary);
        let mut file = File::create(&temporary).map_err(|e| Error::file("create", &temporary, e))?;
        let renamed = write(&mut file).and_then(|()| {
            let renamed = file.sync_all().and_then(|()| fs::rename(&temporary, path));
            renamed.map_err(|e| Error::file("write", path, e))
        });
        if renamed.is_err() {
            // What is not complete is worth nothing; the error says what matters.
            let _ = fs::remove_file(&temporary);
        }
        renamed
    }

    pub fn replace_text(&self, path: &Path, text: &str) -> Result<()> {
        self.replace(path, |file| file.write_all(text.as_bytes()).map_err(|e| Error::file("write", path, e)))
    }
}

/// The number of a launch, from its journal's name.
fn number(journal: &Path) -> Option<u32> {
    journal.file_stem()?.to_str()?.parse().ok()
}
