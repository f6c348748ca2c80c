//! A result folder: its paths, its lock, and files that are replaced whole or not at all.

use crate::disk::journal::Journal;
use crate::disk::reader::Reader;
use crate::disk::record::{Record, SampleOutcome};
use apexmap_base::error::{Error, Result};
use apexmap_base::point::Point;
use apexmap_base::{new_file, regular_file};
use apexmap_theory::machine::Card;
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use nix::libc::O_NOFOLLOW;
use serde::de::DeserializeOwned;
use std::collections::HashSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A result folder, as `apexmap run` writes it: samples, manifest, journals and figures of one sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct Folder {
    /// The folder itself: `results/quickstart`.
    pub path: PathBuf,
}

impl Folder {
    /// Creates the folder, and those for journals and figures in it, where they are not there.
    ///
    /// # Errors
    /// If one cannot be created.
    pub fn create(path: &Path) -> Result<Self> {
        let folder = Self { path: path.to_owned() };
        for place in [folder.journals(), folder.figures()] {
            fs::create_dir_all(&place).map_err(|e| new_file::refused("create", &place, e))?;
        }
        Ok(folder)
    }

    /// A folder that holds a result.
    /// # Errors
    /// If there is no folder, or it holds neither journals nor `samples.parquet`.
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

    /// The folder of the journals, `journals`: one file a launch, with the worker's lines as they came.
    pub fn journals(&self) -> PathBuf {
        self.path.join("journals")
    }

    /// The folder of the figures, `figures`.
    pub fn figures(&self) -> PathBuf {
        self.path.join("figures")
    }

    /// The file of all samples, `samples.parquet`: one row a sample; any Parquet reader opens it.
    pub fn samples(&self) -> PathBuf {
        self.path.join("samples.parquet")
    }

    /// The file `manifest.json`: what was run, where, by what build, when.
    pub fn manifest(&self) -> PathBuf {
        self.path.join("manifest.json")
    }

    /// The file `points.jsonl`: the points of the sweep, one JSON object a line, with their keys.
    pub fn points(&self) -> PathBuf {
        self.path.join("points.jsonl")
    }

    /// The sweep as given, `sweep.toml`.
    pub fn sweep(&self) -> PathBuf {
        self.path.join("sweep.toml")
    }

    /// The card of the machine, `machine.toml`, where one was given.
    pub fn machine(&self) -> PathBuf {
        self.path.join("machine.toml")
    }

    /// The card that a calibration made of these samples, `card.toml`.
    pub fn own_card(&self) -> PathBuf {
        self.path.join("card.toml")
    }

    /// The card of the machine; `None` where none was given.
    ///
    /// # Errors
    /// If `machine.toml` cannot be read or is not a card.
    pub fn card(&self) -> Result<Option<Card>> {
        self.machine().is_file().then(|| self.read_card(&self.machine())).transpose()
    }

    /// A card that is a file of this folder.
    ///
    /// # Errors
    /// If it cannot be read or is not a card.
    pub fn read_card(&self, path: &Path) -> Result<Card> {
        let text = regular_file::read_text(path).map_err(|e| Error::file("read the machine card", path, e))?;
        Card::parse(&text, path)
    }

    /// Keeps a card with the result.
    pub fn replace_card(&self, card: &Card) -> Result<()> {
        self.replace_text(&self.machine(), &card.to_toml())
    }

    /// The report, `report.html`, once it was written.
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
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(Error::file("list", &self.journals(), error)),
        };
        let mut files: Vec<_> = entries
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|e| e == "jsonl"))
            .collect();
        // Whoever opens a pipe waits for its other end.
        if let Some(other) = files.iter().find(|path| fs::metadata(path).is_ok_and(|meta| !meta.is_file())) {
            let next = "move it elsewhere: journals are files that `apexmap run` writes";
            return Err(Error::environment(format!("{} is not a file", other.display()), next));
        }
        files.sort_by_cached_key(|path| (number(path), path.clone()));
        Ok(files)
    }

    /// What the journals hold, in the order of their launches. [`Folder::table`] gives the same as a table.
    ///
    /// # Errors
    /// If a journal cannot be read, or was written by a newer program.
    pub fn records(&self) -> Result<Vec<Record>> {
        Reader::default().read(&self.journal_files()?)
    }

    /// As [`Folder::records`], but of each good sample only what plans ask of it.
    pub fn outcomes(&self) -> Result<Vec<Record<SampleOutcome>>> {
        Reader::default().outcomes(&self.journal_files()?)
    }

    /// The journal of the next launch with its name, such as `0003`, which nobody else gets: drivers of several jobs may write to
    /// one folder.
    ///
    /// # Errors
    /// If the folder of the journals cannot be listed, or the file cannot be created.
    pub fn begin_launch(&self) -> Result<(String, Journal)> {
        loop {
            let launch = self.next_launch()?;
            if let Some(journal) = Journal::create_new(&self.journal(&launch))? {
                return Ok((launch, journal));
            }
        }
    }

    /// The name of the next launch, such as `0003`: one more than the highest there is.
    ///
    /// # Errors
    /// If the folder of the journals cannot be listed.
    pub fn next_launch(&self) -> Result<String> {
        let last = self.journal_files()?.iter().filter_map(|path| number(path)).max().unwrap_or(0);
        Ok(format!("{:04}", last + 1))
    }

    /// Keeps a second driver out for as long as the returned lock lives; the system frees it when a driver is killed.
    ///
    /// # Errors
    /// If another driver holds the lock, or its file cannot be created.
    pub fn lock(&self) -> Result<Flock<File>> {
        self.locked(FlockArg::LockExclusiveNonblock)
    }

    /// As [`Folder::lock`], but shared with the other jobs of a sweep and with who follows them.
    ///
    /// # Errors
    /// If a driver has the folder to itself, or the lock's file cannot be created.
    pub fn share(&self) -> Result<Flock<File>> {
        self.locked(FlockArg::LockSharedNonblock)
    }

    fn locked(&self, how: FlockArg) -> Result<Flock<File>> {
        lock_file(&self.path.join(".lock"), how)?.ok_or_else(|| {
            Error::environment(
                format!("another apexmap is writing to {}", self.path.display()),
                "wait for it to end, or write to another folder with --out",
            )
        })
    }

    /// Removes files that were being written when their writer was killed. Only the driver that holds the lock does this.
    pub fn remove_abandoned(&self) {
        new_file::remove_abandoned(&self.path);
    }

    /// Keys of the plan that this folder was last run with; `None` if it has none.
    ///
    /// # Errors
    /// As [`Folder::planned_points`].
    pub fn planned_keys(&self) -> Result<Option<HashSet<String>>> {
        #[derive(serde::Deserialize)]
        struct PlannedPoint {
            key: String,
        }
        let planned = self.planned::<PlannedPoint>()?;
        Ok(planned.map(|points| points.into_iter().map(|line| line.key).collect()))
    }

    /// Points of the plan that this folder was last run with; `None` if it has none.
    ///
    /// # Errors
    /// If the plan cannot be read, or a line of it is no point: which samples are stale is not known without it.
    pub fn planned_points(&self) -> Result<Option<Vec<Point>>> {
        self.planned()
    }

    fn planned<T: DeserializeOwned>(&self) -> Result<Option<Vec<T>>> {
        let path = self.points();
        let text = match regular_file::read_text(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::file("read", &path, error)),
        };
        let point = |(number, line): (usize, &str)| {
            serde_json::from_str(line).map_err(|e| {
                Error::environment(
                    format!("{}: line {} is not a planned point: {e}", path.display(), number + 1),
                    "get a whole copy, or remove the file: `apexmap run` writes it anew, and until then all samples count as planned",
                )
            })
        };
        text.lines().enumerate().map(point).collect::<Result<_>>().map(Some)
    }

    /// Moves the result to the first free of PATH.1, PATH.2, ... and returns that.
    pub fn move_aside(&self) -> Result<PathBuf> {
        let numbered = |n: u32| PathBuf::from(format!("{}.{n}", self.path.display()));
        let free = (1..).map(numbered).find(|path| !path.exists()).expect("a number that is free");
        fs::rename(&self.path, &free).map_err(|e| Error::file("rename", &self.path, e))?;
        Ok(free)
    }

    /// Replaces a file of this folder, whole or not at all, and sees that it is on the disk.
    ///
    /// # Errors
    /// What `write` returns, or if the file cannot be written or renamed: the old one is then as it was.
    pub fn replace(&self, path: &Path, write: impl FnOnce(&mut File) -> Result<()>) -> Result<()> {
        new_file::replace(path, |file| {
            write(file)?;
            file.sync_all().map_err(|e| Error::file("write", path, e))
        })
    }

    /// As [`Folder::replace`], of a text.
    ///
    /// # Errors
    /// If the file cannot be written or renamed.
    pub fn replace_text(&self, path: &Path, text: &str) -> Result<()> {
        self.replace(path, |file| file.write_all(text.as_bytes()).map_err(|e| Error::file("write", path, e)))
    }
}

/// A lock on a file, which the system frees when its holder dies; `None` if somebody else holds it.
///
/// # Errors
/// If the file cannot be created or locked.
pub fn lock_file(path: &Path, how: FlockArg) -> Result<Option<Flock<File>>> {
    // Whatever lies there in a folder shared with others is neither emptied nor, if it is a link, followed, nor waited for.
    let open = |options: &mut OpenOptions| regular_file::opened(options, O_NOFOLLOW, path);
    let file = match open(OpenOptions::new().write(true).create(true).truncate(false)) {
        // It may be of another user of the group: a lock needs no right to write.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            open(OpenOptions::new().read(true)).map_err(|_| error)
        }
        opened => opened,
    };
    let file = file.map_err(|e| new_file::refused("lock", path, e))?;
    match Flock::lock(file, how) {
        Ok(lock) => Ok(Some(lock)),
        Err((_, Errno::EWOULDBLOCK)) => Ok(None),
        Err((_, cause)) => Err(Error::file("lock", path, cause)),
    }
}

/// The number of a launch, from its journal's name.
fn number(journal: &Path) -> Option<u32> {
    journal.file_stem()?.to_str()?.parse().ok()
}
