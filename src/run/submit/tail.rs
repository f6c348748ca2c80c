//! Reads journals while other programs write them.

use crate::sweep::driver::Watcher;
use crate::sweep::execute::Ending;
use crate::sweep::lines::{Lines, event};
use crate::sweep::plan::{Plan, Progress};
use crate::sweep::watch::Watch;
use apexmap_base::error::{Error, Result};
use apexmap_base::point::LaunchSize;
use apexmap_base::regular_file;
use apexmap_base::sample::{Event, Status};
use apexmap_measure::worker::Job;
use apexmap_results::disk::Folder;
use std::collections::HashMap;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// Longest line to read, in bytes.
const LONGEST: usize = 64 << 20;

/// Follows all journals of a result.
pub struct Tail {
    journals: HashMap<PathBuf, Followed>,
    /// Times of the plan's points in seconds, by key and block.
    seconds: HashMap<(String, u32), Vec<f64>>,
    /// Number of samples since the start.
    pub samples: usize,
}

/// A journal, the offset of its first unread byte, and the state of its launch.
struct Followed {
    at: u64,
    lines: Lines,
    watch: Watch,
    launched: bool,
}

impl Followed {
    fn from(at: u64) -> Self {
        Self { at, lines: Lines::new(LONGEST), watch: Watch::default(), launched: at > 0 }
    }
}

impl Tail {
    /// Starts at the present ends of the journals. `progress` holds the samples before that.
    pub fn new(folder: &Folder, plan: &Plan, progress: &Progress) -> Result<Self> {
        let length = |path: &PathBuf| path.metadata().map_or(0, |meta| meta.len());
        let journals = folder.journal_files()?;
        let journals = journals.into_iter().map(|path| (path.clone(), Followed::from(length(&path)))).collect();
        let mut seconds = HashMap::new();
        for entry in &plan.entries {
            for block in 0..plan.blocks {
                let held = progress.of_point(&entry.key, block).map(|held| held.seconds.clone());
                seconds.insert((entry.key.clone(), block), held.unwrap_or_default());
            }
        }
        Ok(Self { journals, seconds, samples: 0 })
    }

    /// Reports new events to the watcher.
    ///
    /// # Errors
    /// If the journals cannot be listed or read.
    pub fn read(&mut self, folder: &Folder, plan: &Plan, watcher: &mut dyn Watcher) -> Result<()> {
        for path in folder.journal_files()? {
            let followed = self.journals.entry(path.clone()).or_insert_with(|| Followed::from(0));
            let mut events = Vec::new();
            let bytes = since(&path, followed.at).map_err(|e| Error::file("read the journal", &path, e))?;
            followed.at += bytes.len() as u64;
            let _ = followed.lines.add(&bytes, |line| {
                events.extend(event(line));
                Ok::<(), ()>(())
            });
            for event in events {
                self.tell(&path, event, plan, watcher);
            }
        }
        Ok(())
    }

    fn tell(&mut self, path: &Path, event: Event, plan: &Plan, watcher: &mut dyn Watcher) {
        let Some(followed) = self.journals.get_mut(path) else { return };
        match event {
            Event::Hello(launch) => {
                followed.watch.launched(&launch);
                if !std::mem::replace(&mut followed.launched, true) {
                    let (size, points) = launched(path).unwrap_or((alone(launch.ranks), 0));
                    watcher.launched(&launch.launch, launch.block, size, points);
                    watcher.greeted(&launch);
                }
            }
            Event::Preflight { canaries } => {
                let (verdict, text) = followed.watch.preflight(&canaries);
                watcher.preflight(verdict, &text);
            }
            Event::Sample(sample) => {
                let Some(held) = self.seconds.get_mut(&(sample.key.clone(), sample.block)) else { return };
                watcher.started(&sample.point, held);
                let good = sample.status == Status::Ok;
                held.extend(sample.seconds.filter(|_| good));
                followed.watch.sample(&sample);
                self.samples += usize::from(good);
                watcher.sample(&sample, !good || plan.repeat.satisfied(held), &followed.watch);
            }
            Event::Ended { status, message, .. } => watcher.ended(&Ending::new(status, message)),
            Event::Start { .. }
            | Event::Progress { .. }
            | Event::Memory { .. }
            | Event::Done { .. }
            | Event::Fatal { .. } => {}
        }
    }
}

/// Returns the bytes of a file from this offset on.
fn since(path: &Path, at: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if path.metadata()?.len() > at {
        let mut file = regular_file::open(path)?;
        file.seek(SeekFrom::Start(at))?;
        file.read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

/// Returns the size of a launch and its number of points, from its job file.
fn launched(journal: &Path) -> Option<(LaunchSize, usize)> {
    let job: Job = serde_json::from_str(&regular_file::read_text(&journal.with_extension("job")).ok()?).ok()?;
    Some((job.tasks.first()?.point.launch_size(), job.tasks.len()))
}

fn alone(ranks: usize) -> LaunchSize {
    LaunchSize { ranks, nodes: None, ranks_per_node: None }
}
