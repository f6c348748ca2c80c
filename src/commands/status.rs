//! `apexmap status`: shows the samples, launches, open jobs and failures of a result.

use super::{opened::Opened, pretty};
use apexmap_base::error::{Error, Result};
use apexmap_base::other_output::OtherOutput;
use apexmap_base::point::Value;
use apexmap_base::shell::command_to_resume;
use apexmap_base::terminal::{note, print, print_data, terminal_width, to_printable};
use apexmap_base::text_table::{Align, TextTable};
use apexmap_base::units::{amount, plural};
use apexmap_cluster::jobs::files::JobFiles;
use apexmap_results::disk::journal::{Record, SampleOutcome};
use apexmap_results::disk::{Folder, manifest::Manifest};
use apexmap_results::samples::{PLANNED_LAUNCH, Samples, estimate::METHOD_COLUMNS, remarks::REMARK_COLUMNS};
use apexmap_results::table::columns::{Role, exact_value};
use apexmap_run::drive::result_state::{Facts, Failure, NodeStatus, PointCounts, ResultState};
use apexmap_study::answers::declared::{self, Declared};
use apexmap_study::nodes;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
#[command(after_help = "Examples:
  apexmap status results/quickstart
  apexmap status results/quickstart --columns     the columns, for --where, --select, --group-by and figures
  apexmap status --all             all results in the folder results

With --exit-code, the exit code is that of the state: 0 done, 4 incomplete, 10 queued, 11 running.")]
pub struct Arguments {
    /// A result: folder, archive or report.html; with --all, the folder of results [default: results/quickstart; with --all: results]
    result: Option<PathBuf>,
    /// List all results in a folder, one per line
    #[arg(long)]
    all: bool,
    /// List the columns of the samples instead: name, name in the papers, unit, values and meaning
    #[arg(long, conflicts_with_all = ["all", "json", "exit_code"])]
    columns: bool,
    /// Print the state as JSON; docs/appendix/results.md lists the fields
    #[arg(long)]
    json: bool,
    /// End with the exit code of the state
    #[arg(long, conflicts_with = "all")]
    exit_code: bool,
}

/// Version of `--json`. It changes when a field changes its meaning or is removed.
const VERSION: u32 = 2;

/// The fields of `--json`.
#[derive(Serialize)]
struct StatusReport {
    version: u32,
    result: PathBuf,
    name: Option<String>,
    machine: Option<String>,
    state: ResultState,
    exit_code: u8,
    points: PointCounts,
    samples: SampleCounts,
    /// The question of the sweep with its answer; only for a single result with samples.
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<Declared>,
    jobs: Vec<JobRow>,
    /// The nodes of a sweep that each node runs alone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    nodes: Vec<NodeStatus>,
    failures: Vec<Failure>,
}

#[derive(Serialize)]
struct SampleCounts {
    successful: usize,
    stale: usize,
}

#[derive(Serialize)]
struct JobRow {
    part: String,
    state: ResultState,
    id: Option<String>,
}

impl StatusReport {
    fn new(facts: &Facts, result: &Path) -> Result<Self> {
        let open_jobs = JobFiles::new(&facts.folder).open_jobs().into_iter();
        let state_of = |id: &Option<String>| if id.is_some() { ResultState::Queued } else { ResultState::Running };
        let jobs = open_jobs.map(|job| JobRow { part: job.part, state: state_of(&job.queued_id), id: job.queued_id });
        let jobs: Vec<JobRow> = jobs.collect();
        let state = facts.state(!jobs.is_empty());
        let (points, successful) = facts.counts();
        let open_job = |node: &str| jobs.iter().find(|job| job.part == node).map(|job| job.state);
        let nodes = facts.nodes(open_job)?;
        let manifest = facts.manifest.as_ref();
        Ok(Self {
            version: VERSION,
            result: result.to_owned(),
            name: manifest.map(|manifest| manifest.name.clone()),
            machine: manifest.map(|manifest| manifest.machine.clone()),
            state,
            exit_code: state.exit_code(),
            points,
            samples: SampleCounts { successful, stale: facts.progress.stale },
            answer: None,
            jobs,
            nodes,
            failures: facts.failures(),
        })
    }
}

pub fn run(arguments: &Arguments) -> Result<()> {
    if arguments.all {
        return list(arguments.result.as_deref().unwrap_or(Path::new("results")), arguments.json);
    }
    let path = arguments.result.as_deref().unwrap_or(Path::new("results/quickstart"));
    if arguments.columns {
        return print_data(&list_columns(&Opened::open(path)?.samples()?.current()));
    }
    let opened = Opened::open(path)?;
    let facts = Facts::read(opened.folder()?).map_err(|error| opened.name_error(error))?;
    // The end of the text notes samples that cannot be read.
    let answer = find_answer(&facts).ok().flatten();
    let report = StatusReport { answer, ..StatusReport::new(&facts, path)? };
    if arguments.json {
        print_data(&pretty(&report)?)?;
    } else {
        print(&describe(&facts, &report))?;
    }
    if arguments.exit_code && report.exit_code != 0 {
        // The state is no error, so there is no message.
        std::process::exit(report.exit_code.into());
    }
    Ok(())
}

/// That of the report and of the end of a run; `None` without samples or a manifest.
fn find_answer(facts: &Facts) -> Result<Option<Declared>> {
    let samples = Samples::from(facts.folder.table()?).current();
    match facts.manifest.as_ref().filter(|_| !samples.is_empty() && !nodes::is_of_each_node(&samples)) {
        Some(manifest) => declared::of_result((&facts.folder, manifest), &samples),
        None => Ok(None),
    }
}

fn list(folder: &Path, as_json: bool) -> Result<()> {
    let mut reports = Vec::new();
    for path in find_results(folder)? {
        let read = Folder::open(&path).and_then(|folder| Facts::read(&folder));
        match read.and_then(|facts| StatusReport::new(&facts, &path)) {
            Ok(report) => reports.push(report),
            // A damaged result does not hide the others.
            Err(error) => note(&format!("note: {}: {}", path.display(), error.message)),
        }
    }
    if as_json {
        return print_data(&pretty(&reports)?);
    }
    if reports.is_empty() {
        return print(&format!("{} has no result\n", folder.display()));
    }
    let mut table = TextTable::new([Align::Left; 4]);
    for report in &reports {
        let open_jobs = report.jobs.len();
        table.add_row([
            report.result.display().to_string(),
            report.state.name().to_owned(),
            format!("{} of {} done", report.points.done, plural(report.points.planned, "point")),
            if open_jobs == 0 { String::new() } else { plural(open_jobs, "open job") },
        ]);
    }
    print(&table.to_string())
}

/// Those in a folder, or the folder itself if it is a result.
fn find_results(folder: &Path) -> Result<Vec<PathBuf>> {
    if Folder::open(folder).is_ok() {
        return Ok(vec![folder.to_owned()]);
    }
    let entries = std::fs::read_dir(folder).map_err(|e| Error::file("list", folder, e))?;
    let mut results: Vec<PathBuf> =
        entries.flatten().map(|entry| entry.path()).filter(|path| Folder::open(path).is_ok()).collect();
    // The system lists a folder in no order.
    results.sort();
    Ok(results)
}

fn describe(facts: &Facts, state: &StatusReport) -> String {
    if let Some(manifest) = facts.manifest.as_ref().filter(|manifest| manifest.imported.is_some()) {
        return describe_import(manifest, &facts.folder);
    }
    let mut text = facts.manifest.as_ref().map(title).unwrap_or_default();
    let _ = writeln!(text, "points: {} planned, {}", state.points.planned, state.points);
    let _ = writeln!(
        text,
        "samples: {} successful, {} stale (another build, machine or plan)",
        state.samples.successful, state.samples.stale
    );
    text.push_str(&state.answer.as_ref().map_or(String::new(), Declared::lines));
    for failure in &state.failures {
        let _ = writeln!(text, "{}: {}: {}", failure.status, failure.point, failure.message);
    }
    text.push_str(&next_steps(facts, state));
    if !state.nodes.is_empty() {
        text.push_str(&describe_nodes(&state.nodes));
    }
    facts.records.iter().for_each(|record| launch(record, &mut text));
    text.push_str(&describe_overlaps(&facts.records));
    let output = OtherOutput::total(facts.records.iter().map(|record| &record.output));
    output.sentences().iter().for_each(|sentence| text.push_str(&format!("{}\n", to_printable(sentence))));
    state.jobs.iter().for_each(|job| describe_job(job, &mut text));
    intervals(&facts.folder, &mut text);
    text
}

/// The place of the report, and the command that measures the rest. An archive has neither.
fn next_steps(facts: &Facts, state: &StatusReport) -> String {
    if facts.folder.path != state.result {
        return String::new();
    }
    let report = facts.folder.report();
    let mut text = if report.is_file() { format!("report: {}\n", report.display()) } else { String::new() };
    let jobs = facts.folder.path.join("jobs");
    if jobs.is_dir() && state.state != ResultState::Done {
        let _ = writeln!(text, "output of its jobs: {}", jobs.join("*.log").display());
    }
    let measures =
        |command: &&Vec<String>| command.get(1).is_some_and(|name| ["run", "calibrate"].contains(&name.as_str()));
    let command = facts.manifest.as_ref().map(|manifest| &manifest.command).filter(measures);
    // A run continues journals only.
    let has_journals = facts.folder.journal_files().is_ok_and(|files| !files.is_empty());
    let command = command.filter(|_| has_journals || state.samples.successful == 0);
    if let (Some(command), ResultState::Incomplete) = (command, state.state) {
        let _ = writeln!(text, "resume with: {}", command_to_resume(command));
    }
    text
}

fn describe_import(manifest: &Manifest, folder: &Folder) -> String {
    let mut text = format!("{}: {}\n", manifest.name, manifest.title);
    let counts = manifest.samples.iter().map(|(status, count)| format!("{count} {}", status.name()));
    let counts = counts.collect::<Vec<_>>().join(", ");
    let _ = writeln!(text, "points: {}; rows: {counts}; it can be neither resumed nor measured into", manifest.points);
    manifest.imported.iter().flat_map(|import| &import.notes).for_each(|note| text.push_str(&format!("{note}\n")));
    intervals(folder, &mut text);
    text
}

/// More words of a column are only counted.
const MAX_WORDS: usize = 4;

fn list_columns(samples: &Samples) -> String {
    let mut table = TextTable::new([Align::Left; 4]).with_width(terminal_width());
    table.add_row(["column", "unit", "values", "meaning"]);
    for name in samples.table().names() {
        let about = samples.describe(name);
        let given = if about.symbol == *name { name.clone() } else { format!("{}, {name}", about.symbol) };
        let shown = |value: f64| match about.role {
            _ if name == "unix_seconds" => format!("{value:.0}"),
            Role::Parameter if value.fract() == 0.0 => exact_value(name, &Value::Integer(value as u64)),
            _ => amount(value, about.unit),
        };
        let values = match samples.distinct_numbers(name).as_slice() {
            [] => match samples.words(name).as_slice() {
                words if words.len() <= MAX_WORDS => words.join(", "),
                words => format!("{} words", words.len()),
            },
            [only] => shown(*only),
            [least, .., most] => format!("{} to {}", shown(*least), shown(*most)),
        };
        table.add_row([&given, about.unit.symbol(), &values, &about.label]);
    }
    table.to_string()
}

fn title(manifest: &Manifest) -> String {
    let (points, launches) = (plural(manifest.points, "point"), plural(manifest.blocks as usize, "launch"));
    format!("{}: {} ({points}, {launches} per rank count)\n", manifest.name, manifest.title)
}

/// Ranks, library, host, samples and end, and damage of the journal.
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

fn describe_overlaps(records: &[Record<SampleOutcome>]) -> String {
    let mut spans_by_host: BTreeMap<&str, Vec<(f64, f64, &str)>> = BTreeMap::new();
    for record in records {
        let times = record.samples.iter().map(|sample| sample.unix_seconds);
        // A launch without samples begins after all others, and so overlaps with none.
        let (begin, end) = times.fold((f64::MAX, 0.0), |(begin, end), time| (time.min(begin), time.max(end)));
        if let Some(launch) = &record.launch {
            spans_by_host.entry(&launch.host.name).or_default().push((begin, end, &launch.launch));
        }
    }
    let mut text = String::new();
    for (host, mut spans) in spans_by_host {
        spans.sort_by(|a, b| a.0.total_cmp(&b.0));
        for pair in spans.windows(2).filter(|pair| pair[1].0 < pair[0].1) {
            let (first, second) = (pair[0].2, pair[1].2);
            let _ = writeln!(
                text,
                "launches {first} and {second} ran on {host} at the same time, so each disturbed the other"
            );
        }
    }
    text
}

fn describe_job(job: &JobRow, text: &mut String) {
    let part = to_printable(&job.part);
    let _ = match &job.id {
        None => writeln!(text, "{part}: a job measures it"),
        Some(id) => writeln!(text, "{part}: job {} is submitted and has not started", to_printable(id)),
    };
}

const MAX_NAMES: usize = 20;

/// `7 nodes: 6 done, 1 queued (n07)`.
fn describe_nodes(nodes: &[NodeStatus]) -> String {
    let part = |state: ResultState| {
        let names: Vec<&str> = nodes.iter().filter(|row| row.state == state).map(|row| row.node.as_str()).collect();
        let shown = names[..names.len().min(MAX_NAMES)].join(", ");
        let more = if names.len() > MAX_NAMES { ", ..." } else { "" };
        match names.len() {
            0 => None,
            count if state == ResultState::Done => Some(format!("{count} {}", state.name())),
            count => Some(format!("{count} {} ({shown}{more})", state.name())),
        }
    };
    let parts: Vec<String> = ResultState::ALL.into_iter().filter_map(part).collect();
    format!("{}: {}\n", plural(nodes.len(), "node"), parts.join(", "))
}

/// How intervals were computed, how strongly successive samples correlate, and remarks about the samples.
fn intervals(folder: &Folder, text: &mut String) {
    let wanted = [&METHOD_COLUMNS[..], &PLANNED_LAUNCH, &REMARK_COLUMNS].concat();
    match folder.load_some(&|column| wanted.contains(&column)) {
        Ok(loaded) => {
            if let Some(why) = loaded.fallback {
                note(&format!("note: {why}; its journals are read instead; `apexmap run` writes the file again"));
            }
            let samples = Samples::from(loaded.table).current().good();
            if !samples.is_empty() {
                let manifest = Manifest::read(folder).ok();
                let node = manifest.as_ref().map(Manifest::plain_node).unwrap_or_default();
                samples.describe_node_types().iter().for_each(|line| text.push_str(&format!("{line}\n")));
                let _ = writeln!(text, "{}", samples.method());
                let tested = manifest.and_then(|manifest| Some(manifest.simulated?.describe_left_out()));
                tested.into_iter().flatten().for_each(|sentence| text.push_str(&format!("{sentence}\n")));
                samples.remarks(&node).iter().for_each(|remark| text.push_str(&format!("remark: {remark}\n")));
            }
        }
        Err(error) => note(&format!("note: {error}")),
    }
}
