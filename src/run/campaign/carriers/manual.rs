//! Carries out a campaign on a machine that has only the worker: exports job files and scripts, and imports the worker's output.

use crate::batch::script::quoted;
use crate::campaign::Campaign;
use crate::campaign::starter::launch_job;
use crate::launch::Here;
use crate::manual::export::{self, JOB, Start, WORKER};
use crate::manual::import::{self, Held, Taken};
use crate::manual::{exported_jobs, open_jobs};
use crate::sweep;
use crate::sweep::plan::Progress;
use apexmap_base::error::{Error, Result};
use apexmap_base::point::LaunchSize;
use apexmap_base::regular_file::read_text;
use apexmap_base::terminal::note;
use apexmap_base::units::plural;
use apexmap_measure::worker::Job;
use apexmap_results::disk::Folder;
use apexmap_results::disk::manifest::Manifest;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The assumed machine of an exported launch: each rank has a core.
const ELSEWHERE: Here = Here {
    cores: usize::MAX,
    hardware_threads: usize::MAX,
    packages: usize::MAX,
    nodes: 1,
    allocated: false,
    root: false,
};

/// The outcome of an export.
pub struct Exported {
    pub launches: usize,
    pub points: usize,
    /// The command that imports the outputs.
    pub import: String,
}

/// Writes the missing launches into a new folder. Returns `None` if nothing is left to measure.
///
/// # Errors
/// If the result or the new folder cannot be written.
pub fn export(campaign: &Campaign, to: &Path, retry_failed: bool) -> Result<Option<Exported>> {
    let context = &campaign.plan.context;
    let launcher = (campaign.sweep.launch.launcher.make)(&campaign.sweep.launch.command)?;
    campaign.keep_apart(false)?;
    let folder = Folder::create(&campaign.folder)?;
    let _lock = folder.lock()?;
    let progress = Progress::new(&campaign.plan, &folder.outcomes()?);
    let preflight = campaign.sweep.launch.preflight_seconds;
    let mut open = open_jobs(&campaign.plan, &progress, retry_failed, preflight);
    if open.is_empty() {
        return Ok(None);
    }
    campaign.describe(&folder)?;
    let id = export::new_id(&open)?;
    open.iter_mut().enumerate().for_each(|(index, (_, job))| job.launch = format!("{id}-{}", index + 1));
    let programs = launcher.programs();
    let program = programs.first().copied().unwrap_or(WORKER);
    let command = |size: LaunchSize| {
        let programs = (program, Path::new(WORKER));
        launcher.command(&launch_job((context, &campaign.hosts), programs, Path::new(JOB), size, ELSEWHERE))
    };
    let worker = campaign.worker.to_string_lossy();
    let [outputs, result] = [to, &campaign.folder].map(|path| quoted(&path.to_string_lossy()));
    let import = format!("apexmap job import {outputs} --out {result}");
    export::write(
        &folder,
        to,
        &open,
        &Start { command: &command, programs: &programs, worker: &worker, import: &import },
    )?;
    let points = open.iter().map(|(_, job)| job.tasks.len()).sum();
    Ok(Some(Exported { launches: open.len(), points, import }))
}

/// The outcome of an import: counts of outputs, and the progress of the result.
pub struct Imported {
    pub launches: usize,
    pub samples: usize,
    pub known: usize,
    pub broken: usize,
    pub absent: usize,
    pub refused: usize,
    pub points: usize,
    pub progress: Progress,
}

/// Imports outputs into the result that their launches were exported from. `outputs` are files, or folders of exports.
///
/// # Errors
/// If the result cannot be read or written, or a folder contains no launch of it.
pub fn import(out: &Path, outputs: &[PathBuf]) -> Result<Imported> {
    let folder = Folder::open(out)?;
    let _lock = folder.lock()?;
    let jobs = exported_jobs(&folder)?;
    let manifest = Manifest::read(&folder)?;
    let mut held = Held::of(&folder, &folder.outcomes()?);
    let mut tally = Tally::default();
    for path in outputs {
        for file in files(path, &jobs, &mut tally)? {
            let file_name = file.display();
            let taken = match import::read(import::open(&file)?, &jobs, &manifest.worker.fingerprint) {
                Ok(told) => {
                    if let Some(why) = &told.broken {
                        tally.broken += 1;
                        note(&format!("note: {file_name}: launch {} is not complete: {why}", told.launch));
                    }
                    held.take(&folder, &told)?
                }
                Err(why) => Err(why),
            };
            match taken {
                Ok(Taken::New { journal, samples }) => {
                    tally.launches += 1;
                    tally.samples += samples;
                    note(&format!("{file_name}: {} -> journal {journal}", plural(samples, "sample")));
                }
                Ok(Taken::Known) => tally.known += 1,
                Err(why) => {
                    tally.refused += 1;
                    note(&format!("note: {file_name} is not imported: {why}"));
                }
            }
        }
    }
    conclude(&folder, manifest, tally)
}

/// Returns the outputs at a path: the file itself, or a folder's outputs of exported launches.
fn files(path: &Path, jobs: &BTreeMap<String, Job>, tally: &mut Tally) -> Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut found = Vec::new();
    let mut exported = 0;
    for name in jobs
        .keys()
        .filter(|name| path.join(format!("{name}.job")).exists() || path.join(format!("{name}.out")).exists())
    {
        exported += 1;
        let output = path.join(format!("{name}.out"));
        if output.exists() {
            found.push(output);
        } else {
            tally.absent += 1;
            note(&format!("note: launch {name} has no output: {} does not exist", output.display()));
        }
    }
    if exported == 0 {
        return Err(Error::input(
            format!("{} contains no launch that was exported from this result", path.display()),
            "pass the folder of an export or its outputs, and with --out the result that it was exported from",
        ));
    }
    Ok(found)
}

/// Updates the manifest and the tables, and returns the counts.
fn conclude(folder: &Folder, manifest: Manifest, tally: Tally) -> Result<Imported> {
    let records = folder.outcomes()?;
    if tally.launches > 0 {
        let bare = Manifest { samples: BTreeMap::new(), launches: Vec::new(), compaction: None, ..manifest.clone() };
        bare.with_records(&records).write(folder)?;
        folder.compact()?;
    }
    let text = read_text(&folder.sweep()).unwrap_or(manifest.sweep);
    let (repeat, blocks) = sweep::repeat(&text, &folder.sweep())?;
    let keys = folder.planned_keys()?.unwrap_or_default();
    let progress = Progress::of(keys.iter().cloned(), blocks, repeat, &records);
    let Tally { launches, samples, known, broken, absent, refused } = tally;
    Ok(Imported { launches, samples, known, broken, absent, refused, points: keys.len(), progress })
}

/// Counts of outputs by their outcome.
#[derive(Default)]
struct Tally {
    launches: usize,
    samples: usize,
    known: usize,
    broken: usize,
    absent: usize,
    refused: usize,
}
