//! `apexmap status`: shows the samples, launches, jobs and failures of a result.

use super::samples::read;
use apexmap_base::error::Result;
use apexmap_base::regular_file::read_text;
use apexmap_base::terminal::{note, print, terminal_width};
use apexmap_base::text_table::{Align, TextTable};
use apexmap_base::units::{amount, plural};
use apexmap_measure::worker::Repeat;
use apexmap_results::disk::Folder;
use apexmap_results::disk::journal::{Record, SampleOutcome};
use apexmap_results::disk::manifest::Manifest;
use apexmap_results::samples::Samples;
use apexmap_results::samples::estimate::METHOD_COLUMNS;
use apexmap_run::batch::{self, JobState};
use apexmap_run::manual::outstanding_jobs;
use apexmap_run::submit::follow::ASK_EVERY;
use apexmap_run::submit::{Jobs, Queue, System, log};
use apexmap_run::sweep;
use apexmap_run::sweep::plan::Progress;
use std::collections::{BTreeMap, HashSet};
use std::fmt::Write;
use std::path::PathBuf;

#[derive(clap::Args)]
#[command(after_help = "Examples:
  apexmap status results/quickstart
  apexmap status results/quickstart --columns     the columns, for --where, --select, --group-by and figures")]
pub struct Arguments {
    /// The result folder
    #[arg(default_value = "results/quickstart")]
    result: PathBuf,
    /// List the columns of the samples instead: name, name in the papers, unit, values and meaning
    #[arg(long)]
    columns: bool,
}

/// // A result without a sweep file: one sample completes a point.
const ANY: Repeat = Repeat { min: 1, max: 1, width: None, budget_seconds: None };

pub fn run(arguments: &Arguments) -> Result<()> {
    if arguments.columns {
        return print(&list_columns(&read(&arguments.result)?.current()));
    }
    let folder = Folder::open(&arguments.result)?;
    let records = folder.outcomes()?;
    let samples = records.iter().flat_map(|record| &record.samples);
    let keys = folder.planned_keys()?.unwrap_or_else(|| samples.clone().map(|sample| sample.key.clone()).collect());
    let manifest = manifest(&folder);
    // The manifest contains a copy of the sweep.
    let kept = read_text(&folder.sweep()).ok();
    let kept =
        kept.or_else(|| manifest.as_ref().map(|manifest| manifest.sweep.clone()).filter(|text| !text.is_empty()));
    let (repeat, blocks) = kept.map_or(Ok((ANY, 1)), |text| sweep::repeat(&text, &folder.sweep()))?;
    let mut text = manifest.as_ref().map(title).unwrap_or_default();
    let progress = Progress::from_keys(keys.iter().cloned(), blocks, repeat, &records);
    let _ = writeln!(text, "points: {} planned, {}", keys.len(), progress.summary());
    let _ = writeln!(
        text,
        "samples: {} successful, {} stale (another build, machine or plan)",
        progress.samples(),
        progress.stale
    );
    records.iter().for_each(|record| launch(record, &mut text));
    jobs(&folder, &mut text)?;
    for job in outstanding_jobs(&folder, &records)? {
        let (name, points) = (&job.launch, plural(job.tasks.len(), "point"));
        let _ =
            writeln!(text, "exported launch {name}: {}, {points}, no output imported yet", plural(job.ranks, "rank"));
    }
    failures(&records, &keys, &mut text);
    intervals(&folder, &mut text);
    print(&text)
}

/// Maximum number of words of a column to list.
const MAX_WORDS: usize = 4;

/// Returns a table of the columns with their values.
fn list_columns(samples: &Samples) -> String {
    let mut table = TextTable::new([Align::Left; 4]).with_width(terminal_width());
    table.add_row(["column", "unit", "values", "meaning"]);
    for name in samples.table().names() {
        let about = samples.describe(name);
        let given = if about.symbol == *name { name.clone() } else { format!("{}, {name}", about.symbol) };
        let values = match samples.distinct_numbers(name).as_slice() {
            [] => match samples.words(name).as_slice() {
                words if words.len() <= MAX_WORDS => words.join(", "),
                words => format!("{} words", words.len()),
            },
            [only] => amount(*only, about.unit),
            [least, .., most] => format!("{} to {}", amount(*least, about.unit), amount(*most, about.unit)),
        };
        table.add_row([&given, about.unit.symbol(), &values, &about.label]);
    }
    table.to_string()
}

/// Reads the manifest; prints a note if that fails.
fn manifest(folder: &Folder) -> Option<Manifest> {
    let read = Manifest::read(folder);
    if let (Err(error), true) = (&read, folder.manifest().is_file()) {
        note(&format!("note: {error}"));
    }
    read.ok()
}

/// Returns name, title and size of the sweep.
fn title(manifest: &Manifest) -> String {
    let (points, launches) = (plural(manifest.points, "point"), plural(manifest.blocks as usize, "launch"));
    format!("{}: {} ({points}, {launches} per rank count)\n", manifest.name, manifest.title)
}

/// Writes a line about a launch (ranks, library, host, samples, end), and a line about damage of its journal.
fn launch(record: &Record<SampleOutcome>, text: &mut String) {
    let end = record.ended.as_ref().map_or("did not finish (interrupted?)", |(status, _)| status.name());
    let samples = plural(record.samples.len(), "sample");
    let _ = match &record.launch {
        Some(launch) => {
            let (name, library, host) = (&launch.launch, &launch.library, &launch.host.name);
            let ranks = plural(launch.ranks, "rank");
            writeln!(text, "launch {name}: {ranks} on {library}, {host}, {samples}, {end}")
        }
        None => writeln!(text, "journal {}: no launch record, {samples}, {end}", record.journal),
    };
    if let Some(damage) = record.damage() {
        let _ = writeln!(text, "{}", damage.sentence());
    }
}

/// Writes a line per batch job. The job's records contain most states; the batch system is asked only if the last query is old
/// enough.
fn jobs(folder: &Folder, text: &mut String) -> Result<()> {
    let store = Jobs::new(folder);
    if !store.exist() {
        return Ok(());
    }
    let (options, jobs) = store.read()?;
    let ids: Vec<String> = jobs.iter().filter(|job| job.end.is_none()).filter_map(|job| job.id.clone()).collect();
    let mut answers = BTreeMap::new();
    if let (Some(options), false, true) = (options, ids.is_empty(), store.may_ask(ASK_EVERY)?) {
        let ask = |template| System { template, folder: folder.path.clone(), interrupted: &|| Ok(()) }.ask(&ids);
        match batch::find_built_in(&options.system).and_then(ask) {
            Ok(states) => answers = states,
            Err(error) => note(&format!("note: {error}")),
        }
    }
    for job in jobs {
        let id = job.id.as_deref().unwrap_or("without an id");
        let answer = job.id.as_ref().and_then(|id| answers.get(id));
        let state = match (&job.end, answer) {
            (Some((state, why, _)), _) => words(*state, why),
            (None, Some(answer)) => words(answer.state, &answer.reason),
            (None, None) if job.has_started && job.driver_end.is_none() => "has started".to_owned(),
            (None, None) => "was submitted".to_owned(),
        };
        let _ = writeln!(text, "job {id}, {}: {state}", job.part);
        let advice = match answer.filter(|answer| answer.state == JobState::Unsatisfiable) {
            Some(answer) => Some(batch::answer::advice(&answer.reason).to_owned()),
            None => log::advice(&store, &job)?,
        };
        if let Some(advice) = advice {
            let _ = writeln!(text, "  help: {advice}");
        }
    }
    Ok(())
}

fn words(state: JobState, why: &str) -> String {
    if why.is_empty() || why == "None" {
        state.predicate().to_owned()
    } else {
        format!("{} ({why})", state.predicate())
    }
}

/// Writes how the intervals of the samples were computed, and how strongly successive samples correlate.
fn intervals(folder: &Folder, text: &mut String) {
    match folder.load_some(&|column| METHOD_COLUMNS.contains(&column)) {
        Ok(loaded) => {
            if let Some(why) = loaded.fallback {
                note(&format!("note: {why}; its journals are read instead; `apexmap run` writes the file again"));
            }
            let samples = Samples::from(loaded.table).current().good();
            if !samples.is_empty() {
                let _ = writeln!(text, "{}", samples.method());
            }
        }
        Err(error) => note(&format!("note: {error}")),
    }
}

/// Writes a line per failed sample of the plan.
fn failures(records: &[Record<SampleOutcome>], keys: &HashSet<String>, text: &mut String) {
    let samples = records.iter().flat_map(|record| &record.samples).filter(|sample| keys.contains(&sample.key));
    for sample in samples.filter_map(|sample| sample.failure.as_deref()) {
        let _ = writeln!(text, "{}: {}: {}", sample.status.name(), sample.point.label(), sample.message);
    }
}
