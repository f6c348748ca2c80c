//! Carries out a campaign on a machine that has only the worker: exports job files and scripts, and imports the worker's output.

use crate::batch::script::quote;
use crate::manual::export::{self, JOB, Start, WORKER};
use crate::manual::import::{self, ImportIndex, ImportOutcome};
use crate::manual::{exported_jobs, open_jobs};
use apexmap_base::error::{Error, Result};
use apexmap_base::point::LaunchSize;
use apexmap_base::regular_file::read_text;
use apexmap_base::terminal::note;
use apexmap_base::units::plural;
use apexmap_measure::worker::Job;
use apexmap_results::disk::Folder;
use apexmap_results::disk::manifest::Manifest;
use apexmap_run::campaign::Campaign;
use apexmap_run::campaign::starter::launch_job;
use apexmap_run::launch::LocalMachine;
use apexmap_run::sweep;
use apexmap_run::sweep::plan::Progress;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The assumed machine of an exported launch: each rank has a core.
const OTHER_MACHINE: LocalMachine = LocalMachine {
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
pub fn export(campaign: &Campaign, target: &Path, retry_failed: bool) -> Result<Option<Exported>> {
    let context = &campaign.plan.context;
    let launcher = (campaign.sweep.launch.launcher.make)(&campaign.sweep.launch.command)?;
    campaign.check_result_folder(false)?;
    let folder = Folder::create(&campaign.folder)?;
    let _lock = folder.lock()?;
    let progress = Progress::new(&campaign.plan, &folder.outcomes()?);
    let preflight = campaign.sweep.launch.preflight_seconds;
    let mut launches = open_jobs(&campaign.plan, &progress, retry_failed, preflight)?;
    if launches.is_empty() {
        return Ok(None);
    }
    campaign.write_plan(&folder)?;
    let id = export::new_id(&launches)?;
    launches.iter_mut().enumerate().for_each(|(index, (_, job))| job.launch = format!("{id}-{}", index + 1));
    let programs = launcher.programs();
    let program = programs.first().copied().unwrap_or(WORKER);
    let command = |size: LaunchSize| {
        let programs = (program, Path::new(WORKER));
        launcher.command(&launch_job((context, &campaign.hosts), programs, Path::new(JOB), size, OTHER_MACHINE))
    };
    let worker = campaign.worker.to_string_lossy();
    let [outputs, result] = [target, &campaign.folder].map(|path| quote(&path.to_string_lossy()));
    let import = format!("apexmap job import {outputs} --out {result}");
    export::write(
        &folder,
        target,
        &launches,
        &Start { command: &command, programs: &programs, worker: &worker, import: &import },
    )?;
    let points = launches.iter().map(|(_, job)| job.tasks.len()).sum();
    Ok(Some(Exported { launches: launches.len(), points, import }))
}

/// The outcome of an import: counts of outputs by their outcome, and the progress of the result.
pub struct Imported {
    pub tally: Tally,
    pub points: usize,
    pub progress: Progress,
}

/// Counts of outputs by their outcome.
#[derive(Default)]
pub struct Tally {
    pub launches: usize,
    pub samples: usize,
    pub duplicates: usize,
    pub broken: usize,
    pub absent: usize,
    pub refused: usize,
}

/// Imports outputs into the result that their launches were exported from. `outputs` are files, or folders of exports.
pub fn import(out: &Path, outputs: &[PathBuf]) -> Result<Imported> {
    let folder = Folder::open(out)?;
    let _lock = folder.lock()?;
    let jobs = exported_jobs(&folder)?;
    let manifest = Manifest::read(&folder)?;
    let mut index = ImportIndex::from_records(&folder, &folder.outcomes()?);
    let mut tally = Tally::default();
    for path in outputs {
        for file in output_files(path, &jobs, &mut tally)? {
            let file_name = file.display();
            let outcome = match import::read(import::open(&file)?, &jobs, &manifest.worker.fingerprint) {
                Ok(launch) => {
                    if let Some(reason) = &launch.incomplete_reason {
                        tally.broken += 1;
                        note(&format!("note: {file_name}: launch {} is not complete: {reason}", launch.launch));
                    }
                    index.import(&folder, &launch)?
                }
                Err(why) => Err(why),
            };
            match outcome {
                Ok(ImportOutcome::New { journal, samples }) => {
                    tally.launches += 1;
                    tally.samples += samples;
                    note(&format!("{file_name}: {} -> journal {journal}", plural(samples, "sample")));
                }
                Ok(ImportOutcome::Known) => tally.duplicates += 1,
                Err(why) => {
                    tally.refused += 1;
                    note(&format!("note: {file_name} is not imported: {why}"));
                }
            }
        }
    }
    update_result(&folder, manifest, tally)
}

/// Returns the outputs at a path: the file itself, or a folder's outputs of exported launches.
fn output_files(path: &Path, jobs: &BTreeMap<String, Job>, tally: &mut Tally) -> Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut output_paths = Vec::new();
    let mut exported = 0;
    for name in jobs
        .keys()
        .filter(|name| path.join(format!("{name}.job")).exists() || path.join(format!("{name}.out")).exists())
    {
        exported += 1;
        let output = path.join(format!("{name}.out"));
        if output.exists() {
            output_paths.push(output);
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
    Ok(output_paths)
}

/// Updates the manifest and the tables, and returns the counts.
fn update_result(folder: &Folder, manifest: Manifest, tally: Tally) -> Result<Imported> {
    let records = folder.outcomes()?;
    if tally.launches > 0 {
        let empty_manifest =
            Manifest { samples: BTreeMap::new(), launches: Vec::new(), compaction: None, ..manifest.clone() };
        empty_manifest.with_records(&records).write(folder)?;
        folder.compact()?;
    }
    let (text, blocks) = (read_text(&folder.sweep()).unwrap_or(manifest.sweep), manifest.blocks);
    let (repeat, _) = sweep::repeat(&text, &folder.sweep())?;
    let keys = folder.planned_keys()?.unwrap_or_default();
    let progress = Progress::from_keys(keys.iter().cloned(), blocks, repeat, &records);
    Ok(Imported { tally, points: keys.len(), progress })
}
