//! Reads journals while other programs write them.

use apexmap_base::error::{Error, Result};
use apexmap_base::point::LaunchSize;
use apexmap_base::regular_file;
use apexmap_base::sample::{Event, Status};
use apexmap_measure::kernels;
use apexmap_measure::worker::Job;
use apexmap_results::disk::Folder;
use apexmap_run::sweep::driver::Watcher;
use apexmap_run::sweep::execute::Ending;
use apexmap_run::sweep::lines::{Lines, parse_event};
use apexmap_run::sweep::node_types::NodeTypes;
use apexmap_run::sweep::plan::{Plan, Progress};
use apexmap_run::sweep::watch::Watch;
use std::collections::{BTreeMap, HashMap};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// Longest line to read, in bytes.
const MAX_LINE_BYTES: usize = 64 << 20;

/// Follows all journals of a result.
pub struct Tail {
    journals: HashMap<PathBuf, FollowedJournal>,
    /// Times of the plan's points in seconds, by key, block and type of nodes.
    seconds: HashMap<(String, u32), BTreeMap<String, Vec<f64>>>,
    node_types: NodeTypes,
    /// Number of samples since the start.
    pub samples: usize,
}

/// A journal, the offset of its first unread byte, and the state of its launch.
struct FollowedJournal {
    offset: u64,
    lines: Lines,
    watch: Watch,
    has_launched: bool,
    /// The type of the nodes of its launch.
    node_type: String,
}

impl FollowedJournal {
    fn new(offset: u64) -> Self {
        let (lines, watch, node_type) = (Lines::new(MAX_LINE_BYTES), Watch::default(), String::new());
        Self { offset, lines, watch, has_launched: offset > 0, node_type }
    }
}

impl Tail {
    /// Starts at the present ends of the journals. `progress` holds the samples before that.
    pub fn new(folder: &Folder, plan: &Plan, progress: &Progress) -> Result<Self> {
        let file_length = |path: &PathBuf| path.metadata().map_or(0, |meta| meta.len());
        let journals = folder.journal_files()?;
        let journals =
            journals.into_iter().map(|path| (path.clone(), FollowedJournal::new(file_length(&path)))).collect();
        let mut seconds = HashMap::new();
        for entry in &plan.entries {
            for block in 0..plan.blocks {
                let held = progress.samples_of(&entry.key, block).map(|held| &held.values);
                let by_name =
                    |(index, seconds): (&usize, &Vec<f64>)| (progress.node_types[*index].clone(), seconds.clone());
                seconds.insert((entry.key.clone(), block), held.into_iter().flatten().map(by_name).collect());
            }
        }
        Ok(Self { journals, seconds, node_types: NodeTypes::new(&progress.node_types), samples: 0 })
    }

    /// Reports new events to the watcher.
    pub fn read(&mut self, folder: &Folder, plan: &Plan, watcher: &mut dyn Watcher) -> Result<()> {
        for path in folder.journal_files()? {
            let journal = self.journals.entry(path.clone()).or_insert_with(|| FollowedJournal::new(0));
            let mut events = Vec::new();
            let bytes = read_from(&path, journal.offset).map_err(|e| Error::file("read the journal", &path, e))?;
            journal.offset += bytes.len() as u64;
            let _ = journal.lines.add(&bytes, |line| {
                events.extend(parse_event(line));
                Ok::<(), ()>(())
            });
            for event in events {
                self.report_event(&path, event, plan, watcher);
            }
        }
        Ok(())
    }

    fn report_event(&mut self, path: &Path, event: Event, plan: &Plan, watcher: &mut dyn Watcher) {
        let Some(journal) = self.journals.get_mut(path) else { return };
        match event {
            Event::Hello(launch) => {
                journal.watch.begin_launch(&launch);
                journal.node_type = launch.node_type().into_owned();
                if !std::mem::replace(&mut journal.has_launched, true) {
                    let (size, points) = read_launch_size(path).unwrap_or((size_of_ranks(launch.ranks), 0));
                    watcher.report_launch(&launch.launch, launch.block, size, points);
                    watcher.report_placement(&launch);
                    let line = self.node_types.add(&launch.launch, &journal.node_type);
                    line.iter().for_each(|line| watcher.say(line));
                }
            }
            Event::Preflight { canaries } => {
                let (verdict, text) = journal.watch.add_preflight(&canaries);
                watcher.report_preflight(verdict, &text);
            }
            Event::Sample(sample) => {
                let Some(by_type) = self.seconds.get_mut(&(sample.key.clone(), sample.block)) else { return };
                let seconds = by_type.entry(journal.node_type.clone()).or_default();
                watcher.report_start(&sample.point, seconds);
                let is_good = sample.status == Status::Ok;
                seconds.extend(kernels::repeated_value(&sample));
                journal.watch.add_sample(&sample);
                self.samples += usize::from(is_good);
                watcher.report_sample(&sample, !is_good || plan.repeat.is_satisfied(seconds), &journal.watch);
            }
            Event::Ended { status, message, output, .. } => {
                watcher.report_end(&Ending { output, ..Ending::new(status, message) });
            }
            Event::Start { .. }
            | Event::Progress { .. }
            | Event::Simulation { .. }
            | Event::Memory { .. }
            | Event::Done { .. }
            | Event::Fatal { .. } => {}
        }
    }
}

/// Returns the bytes of a file from this offset on.
fn read_from(path: &Path, offset: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if path.metadata()?.len() > offset {
        let mut file = regular_file::open(path)?;
        file.seek(SeekFrom::Start(offset))?;
        file.read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

/// Returns the size of a launch and its number of points, from its job file.
fn read_launch_size(journal: &Path) -> Option<(LaunchSize, usize)> {
    let job: Job = serde_json::from_str(&regular_file::read_text(&journal.with_extension("job")).ok()?).ok()?;
    Some((job.tasks.first()?.point.launch_size(), job.tasks.len()))
}

fn size_of_ranks(ranks: usize) -> LaunchSize {
    LaunchSize { ranks, nodes: None, ranks_per_node: None, node: None }
}
