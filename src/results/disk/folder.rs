//! A result folder: its paths, its lock, and atomic replacement of its files.

use crate::disk::journal::Journal;
use crate::disk::lock::{self, Lock, Sharing};
use crate::disk::reader::Reader;
use crate::disk::record::{Record, SampleOutcome};
use apexmap_base::error::{Error, Result};
use apexmap_base::point::Point;
use apexmap_base::{new_file, regular_file};
use apexmap_theory::codes::{self, Code};
use apexmap_theory::machine::Card;
use foldhash::fast::RandomState;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::HashSet;
use std::fs::{self, File};
use std::hash::BuildHasher;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

/// Maximum MiB of a plan: those of a million points have fewer.
const MAX_PLAN_MIB: u64 = 384;
/// Maximum bytes of a line of a plan. The rest of a longer one is not a point.
const MAX_PLAN_LINE: u64 = 1 << 20;

/// A result folder as `apexmap run` writes it: samples, manifest, journals and figures of one sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct Folder {
    /// The folder itself: `results/quickstart`.
    pub path: PathBuf,
}

impl Folder {
    /// Creates the folder and its folders for journals and figures, if they do not exist.
    pub fn create(path: &Path) -> Result<Self> {
        let folder = Self { path: path.to_owned() };
        for place in [folder.journals(), folder.figures()] {
            fs::create_dir_all(&place).map_err(|e| new_file::access_error("create", &place, e))?;
        }
        Ok(folder)
    }

    /// Opens a folder that holds a result.
    pub fn open(path: &Path) -> Result<Self> {
        let folder = Self { path: path.to_owned() };
        if folder.journals().is_dir() || folder.samples().is_file() {
            return Ok(folder);
        }
        if path.is_file() {
            let message = format!("{} is a file, but the folder of a result is needed here", path.display());
            return Err(Error::input(message, "name the result folder; `tar -xzf` unpacks an archive"));
        }
        let problem = if path.exists() { "is not a result folder" } else { "does not exist" };
        Err(Error::input(
            format!("{} {problem}", path.display()),
            "name a folder that `apexmap run` wrote, such as results/quickstart",
        ))
    }

    /// Returns the folder of the journals, `journals`: one file per launch, with the worker's lines as received.
    pub fn journals(&self) -> PathBuf {
        self.path.join("journals")
    }

    pub fn figures(&self) -> PathBuf {
        self.path.join("figures")
    }

    /// Returns the path of the file of all samples, `samples.parquet`: one row per sample. Any Parquet reader opens it.
    pub fn samples(&self) -> PathBuf {
        self.path.join("samples.parquet")
    }

    /// Returns the path of `manifest.json`: what was run, where, when, and with which build.
    pub fn manifest(&self) -> PathBuf {
        self.path.join("manifest.json")
    }

    /// Returns the path of `points.jsonl`: the points of the sweep, one JSON object per line, with their keys.
    pub fn points(&self) -> PathBuf {
        self.path.join("points.jsonl")
    }

    /// Returns the path of the sweep as given, `sweep.toml`.
    pub fn sweep(&self) -> PathBuf {
        self.path.join("sweep.toml")
    }

    /// Returns the path of the card of the machine, `machine.toml`. The file exists only if a card was given.
    pub fn machine(&self) -> PathBuf {
        self.path.join("machine.toml")
    }

    /// Returns the path of the card that a calibration made from these samples, `card.toml`.
    pub fn own_card(&self) -> PathBuf {
        self.path.join("card.toml")
    }

    /// Reads the card of the machine; `None` if none was given.
    pub fn card(&self) -> Result<Option<Card>> {
        self.machine().is_file().then(|| self.read_card(&self.machine())).transpose()
    }

    /// Reads a card from a file of this folder.
    pub fn read_card(&self, path: &Path) -> Result<Card> {
        let text = regular_file::read_toml(path).map_err(|e| Error::file("read the machine card", path, e))?;
        Card::parse(&text, path)
    }

    /// Returns the known codes and those of `codes.toml`, which a user may put there.
    pub fn codes(&self) -> Result<Vec<Code>> {
        let path = self.path.join("codes.toml");
        if !path.is_file() {
            return Ok(codes::list_known());
        }
        let text = regular_file::read_toml(&path).map_err(|e| Error::file("read the codes", &path, e))?;
        Ok(codes::add_to_known(codes::parse(&text, &path)?))
    }

    /// Stores a card with the result.
    pub fn replace_card(&self, card: &Card) -> Result<()> {
        self.replace_text(&self.machine(), &card.to_toml())
    }

    /// Returns the path of the report, `report.html`. The file exists after the report was written.
    pub fn report(&self) -> PathBuf {
        self.path.join("report.html")
    }

    /// Returns the path of a launch's journal. Its job and its error output have the same name with other extensions.
    pub fn journal(&self, launch: &str) -> PathBuf {
        self.journals().join(format!("{launch}.jsonl"))
    }

    /// Returns the journals in the order of their launches.
    pub fn journal_files(&self) -> Result<Vec<PathBuf>> {
        let entries = match fs::read_dir(self.journals()) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(Error::file("list", &self.journals(), error)),
        };
        let mut files: Vec<_> = entries
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|e| e == "jsonl"))
            .collect();
        // Opening a pipe would wait for its other end.
        if let Some(other) = files.iter().find(|path| fs::metadata(path).is_ok_and(|meta| !meta.is_file())) {
            let next = "move it elsewhere: journals are files that `apexmap run` writes";
            return Err(Error::environment(format!("{} is not a file", other.display()), next));
        }
        // Sorted by number: as a text, 10000 comes before 9999.
        files.sort_by_cached_key(|path| (launch_number(path), path.clone()));
        Ok(files)
    }

    /// Reads the journals in the order of their launches. [`Folder::table`] returns the same data as a table.
    pub fn records(&self) -> Result<Vec<Record>> {
        Reader::default().read(&self.journal_files()?)
    }

    /// Reads the journals as [`Folder::records`] does, but keeps only what plans need of each good sample.
    pub fn outcomes(&self) -> Result<Vec<Record<SampleOutcome>>> {
        Reader::default().read_outcomes(&self.journal_files()?)
    }

    /// Creates the journal of the next launch, and returns it with a name such as `0003` that no other driver gets.
    pub fn begin_launch(&self) -> Result<(String, Journal)> {
        loop {
            let launch = self.next_launch()?;
            if let Some(journal) = Journal::create_new(&self.journal(&launch))? {
                return Ok((launch, journal));
            }
        }
    }

    /// Returns the name of the next launch, such as `0003`: one more than the highest existing number.
    pub fn next_launch(&self) -> Result<String> {
        let last = self.journal_files()?.iter().filter_map(|path| launch_number(path)).max().unwrap_or(0);
        Ok(format!("{:04}", last + 1))
    }

    /// Locks the folder against a second driver while the lock lives. The system releases the lock of a killed driver.
    pub fn lock(&self) -> Result<Lock> {
        self.acquire_lock(Sharing::Exclusive)
    }

    /// Locks as [`Folder::lock`] does, but shares the folder with the other jobs of a sweep and the programs that follow them.
    pub fn share(&self) -> Result<Lock> {
        self.acquire_lock(Sharing::Shared)
    }

    fn acquire_lock(&self, sharing: Sharing) -> Result<Lock> {
        let path = self.path.join(".lock");
        Lock::acquire(&path, sharing)?.ok_or_else(|| {
            Error::environment(
                format!("another apexmap is writing to {}{}", self.path.display(), lock::describe_holders(&path)),
                "wait for it to end, or write to another folder with --out",
            )
        })
    }

    /// Removes files that a killed writer left incomplete. Only the driver that holds the lock may call this.
    pub fn remove_abandoned(&self) {
        new_file::remove_abandoned(&self.path);
    }

    /// Removes such files unless a program that holds the lock may still write them.
    pub fn remove_abandoned_if_unused(&self) {
        if !lock::has_holders(&self.path.join(".lock")) {
            self.remove_abandoned();
        }
    }

    /// Returns the keys of the plan of the last run in this folder; `None` without a plan.
    pub fn planned_keys(&self) -> Result<Option<HashSet<String>>> {
        #[derive(serde::Deserialize)]
        struct PlannedPoint {
            key: String,
        }
        let mut keys = HashSet::new();
        Ok(self.each_plan_line(|point: PlannedPoint| _ = keys.insert(point.key))?.then_some(keys))
    }

    /// Returns the points of the plan of the last run in this folder; `None` without a plan.
    ///
    /// # Errors
    /// If the plan cannot be read, or one of its lines is not a point. Without the plan, stale samples cannot be recognised.
    pub fn planned_points(&self) -> Result<Option<Vec<Point>>> {
        self.plan_lines()
    }

    /// Returns the lines of the plan of the last run in this folder; `None` without a plan.
    pub fn plan_lines<T: DeserializeOwned>(&self) -> Result<Option<Vec<T>>> {
        let mut lines = Vec::new();
        Ok(self.each_plan_line(|line| lines.push(line))?.then_some(lines))
    }

    /// Reads the plan line by line: it may have hundreds of MiB. Equal lines are one point. Returns false without a plan.
    fn each_plan_line<T: DeserializeOwned>(&self, mut take: impl FnMut(T)) -> Result<bool> {
        let path = self.points();
        let failed = |error| Error::file("read", &path, error);
        let mut file = match regular_file::open_limited(&path, MAX_PLAN_MIB) {
            Ok(file) => BufReader::new(file),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(failed(error)),
        };
        let (mut line, mut seen, hasher) = (Vec::new(), HashSet::new(), RandomState::default());
        for number in 1.. {
            line.clear();
            if file.by_ref().take(MAX_PLAN_LINE).read_until(b'\n', &mut line).map_err(failed)? == 0 {
                break;
            }
            if seen.insert(hasher.hash_one(line.trim_ascii_end())) {
                take(serde_json::from_slice(&line).map_err(|e| {
                    Error::environment(
                        format!("{}: line {number} is not a planned point: {e}", path.display()),
                        "restore a complete copy, or remove the file: `apexmap run` writes it again, and until then all samples \
                         count as planned",
                    )
                })?);
            }
        }
        Ok(true)
    }

    /// Reads a small JSON file of this folder; `None` if it does not exist. `help` is the next step if it is damaged.
    pub(super) fn read_json<T: DeserializeOwned>(&self, name: &str, help: &str) -> Result<Option<T>> {
        let path = self.path.join(name);
        if !path.is_file() {
            return Ok(None);
        }
        let text = regular_file::read_text(&path).map_err(|e| Error::file("read", &path, e))?;
        let damaged = |error| Error::environment(format!("{} is damaged: {error}", path.display()), help);
        serde_json::from_str(&text).map(Some).map_err(damaged)
    }

    pub(super) fn replace_json(&self, name: &str, value: &impl Serialize) -> Result<()> {
        let text = serde_json::to_string_pretty(value).map_err(|e| Error::internal(e.to_string()))?;
        self.replace_text(&self.path.join(name), &text)
    }

    /// Moves the result to the first free path of PATH.1, PATH.2, ... and returns that path.
    pub fn move_aside(&self) -> Result<PathBuf> {
        let mut lock = self.lock()?;
        let numbered = |n: u32| PathBuf::from(format!("{}.{n}", self.path.display()));
        let free = (1..).map(numbered).find(|path| !path.exists()).expect("a number that is free");
        fs::rename(&self.path, &free).map_err(|e| Error::file("rename", &self.path, e))?;
        lock.move_to(&free);
        Ok(free)
    }

    /// Replaces a file of this folder atomically and syncs it to the disk.
    pub fn replace(&self, path: &Path, write: impl FnOnce(&mut File) -> Result<()>) -> Result<()> {
        new_file::replace(path, |file| {
            write(file)?;
            // Before the rename, so that the name never leads to a file whose contents are not on the disk.
            file.sync_all().map_err(|e| Error::file("write", path, e))
        })
    }

    /// Replaces a file of this folder by a text, as [`Folder::replace`] does.
    pub fn replace_text(&self, path: &Path, text: &str) -> Result<()> {
        self.replace(path, |file| file.write_all(text.as_bytes()).map_err(|e| Error::file("write", path, e)))
    }
}

fn launch_number(journal: &Path) -> Option<u32> {
    journal.file_stem()?.to_str()?.parse().ok()
}
