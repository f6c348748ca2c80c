//! The launches of a sweep: what is checked before them, how they are started, and what is said of them in a result folder.

use super::fallback::Fallback;
use super::progress::Progress;
use super::setup::Setup;
use super::shell::words;
use apexmap_base::error::{Error, Result};
use apexmap_base::point::LaunchSize;
use apexmap_base::units::plural;
use apexmap_measure::provenance;
use apexmap_measure::worker::unix_seconds;
use apexmap_results::disk::Folder;
use apexmap_results::disk::manifest::Manifest;
use apexmap_run::launch::{self, CommandLine, Here, LaunchJob, Launcher, causes};
use apexmap_run::submit::parts;
use apexmap_run::sweep::cost::LEAST_SILENCE;
use apexmap_run::sweep::driver::{Setting, Watcher, drive};
use apexmap_run::sweep::environment::messaging;
use apexmap_run::sweep::execute::{LaunchLimits, Processes};
use apexmap_run::sweep::plan::{Context, Progress as Done};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

/// What a run does besides measuring what is missing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Conduct {
    pub retry_failed: bool,
    pub report: bool,
    pub ends_if_noisy: bool,
}

/// Time limit for a launch to end after its last sample.
const END_LIMIT: Duration = Duration::from_secs(15);
/// Longest line that a worker writes, in bytes, apart from what it tells of each rank.
const LINE_LIMIT: usize = 1 << 20;

/// Checks what can be checked before anything is launched; the launcher, and the program that it starts.
pub fn ready(setup: &Setup) -> Result<(Box<dyn Launcher>, String)> {
    setup.check_memory()?;
    let found = launcher(setup)?;
    check_nodes(setup)?;
    Ok(found)
}

/// The launcher of a sweep, and the program that it starts.
pub fn launcher(setup: &Setup) -> Result<(Box<dyn Launcher>, String)> {
    let launcher = (setup.sweep.launch.launcher.make)(&setup.sweep.launch.command)?;
    let search = std::env::var_os("PATH").unwrap_or_default();
    let program = launch::check(launcher.as_ref(), &setup.worker, &search)?;
    Ok((launcher, program))
}

/// Checks that this job has as many nodes as the largest launch takes.
fn check_nodes(setup: &Setup) -> Result<()> {
    let here = Here::look();
    let context = &setup.plan.context;
    let launcher = context.launcher;
    if !launcher.remote || launcher.waits_in_queue() || !here.allocated {
        return Ok(());
    }
    let nodes = |size: LaunchSize| parts::nodes(size, context).map(|nodes| (nodes, size));
    let most = setup.plan.by_size().into_keys().filter_map(nodes).max_by_key(|(nodes, _)| *nodes);
    match most {
        Some((nodes, size)) if nodes > here.nodes => Err(Error::input(
            format!(
                "{}: {size} take {}, this job has {}",
                setup.sweep.path.display(),
                plural(nodes, "node"),
                plural(here.nodes, "node")
            ),
            "ask the batch system for as many nodes, or name fewer ranks in the sweep",
        )),
        _ => Ok(()),
    }
}

/// Runs the launches that the plan lacks.
pub fn measure(
    setup: &Setup,
    folder: &Folder,
    launcher: &dyn Launcher,
    program: &str,
    conduct: Conduct,
    watcher: &mut Progress,
    interrupted: &dyn Fn() -> Result<()>,
) -> Result<()> {
    let here = Here::look();
    let library = &setup.plan.context.library;
    let chosen = launcher.chosen(library);
    if let Some((name, value)) = &chosen {
        watcher.say(&format!("note: {name}={value} is set for the launches, as the worker is built for {library}"));
    }
    let fallback = Fallback::new(setup, folder)?;
    fallback.note().iter().for_each(|text| watcher.say(text));
    let command = |job: &Path, size: LaunchSize| -> CommandLine {
        let job = launch_job((&setup.plan.context, &setup.hosts), (program, &setup.worker), job, size, here);
        let mut line = launcher.command(&job);
        line.env.extend(chosen.clone().into_iter().chain(fallback.variable()));
        line
    };
    let limit = |seconds| Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
    let timeout = setup.sweep.launch.timeout_seconds;
    let limits = LaunchLimits {
        start: limit(setup.sweep.launch.start_limit(setup.plan.context.launcher.waits_in_queue())),
        sample: limit(timeout.unwrap_or(LEAST_SILENCE)),
        end: END_LIMIT,
        line: LINE_LIMIT,
    };
    let driven = drive(
        &setup.plan,
        &mut Setting {
            folder,
            executor: &mut Processes,
            command: &command,
            limits,
            limits_grow: timeout.is_none(),
            retry_failed: conduct.retry_failed,
            preflight_seconds: setup.sweep.launch.preflight_seconds,
            ends_if_noisy: conduct.ends_if_noisy,
            remedy: &|ending| fallback.remedy(ending),
            watcher,
            interrupted,
        },
    );
    driven.map_err(|error| fallback.advise(error)).map_err(|error| match launcher.offers(library) {
        Some(offers) if causes::is_of_launcher(&error.what) => {
            Error { next: format!("{offers}; {}", error.next), ..error }
        }
        _ => error,
    })
}

/// A job for the ranks of a launch, which this program and worker start.
pub fn launch_job(
    (context, hosts): (&Context, &[String]),
    (program, worker): (&str, &Path),
    job: &Path,
    size: LaunchSize,
    here: Here,
) -> LaunchJob {
    LaunchJob {
        program: program.to_owned(),
        worker: worker.to_owned(),
        arguments: worker_arguments(job, context, size.ranks),
        ranks: size.ranks,
        nodes: size.nodes,
        ranks_per_node: size.ranks_per_node.or(context.ranks_per_node),
        hosts: hosts.to_vec(),
        place: context.place,
        variables: messaging(&[]).into_keys().collect(),
        here,
    }
}

fn worker_arguments(job: &Path, context: &Context, ranks: usize) -> Vec<String> {
    let (job, ranks) = (job.to_string_lossy().into_owned(), ranks.to_string());
    let mut arguments = vec!["worker", "--job", &job, "--transport", context.transport.name(), "--ranks", &ranks];
    if let Some(place) = context.place {
        arguments.extend(["--place", place.name()]);
    }
    arguments.into_iter().map(str::to_owned).collect()
}

/// Writes the plan into the result folder before it runs.
pub fn describe(setup: &Setup, folder: &Folder) -> Result<()> {
    folder.replace_text(&folder.sweep(), &setup.sweep.text)?;
    let mut lines = String::new();
    for entry in &setup.plan.entries {
        lines.push_str(&serde_json::to_string(entry).map_err(|e| Error::internal(e.to_string()))?);
        lines.push('\n');
    }
    folder.replace_text(&folder.points(), &lines)?;
    manifest(setup).with_records(&folder.outcomes()?).write(folder)
}

/// What is known of a result before its journals.
pub fn manifest(setup: &Setup) -> Manifest {
    Manifest {
        schema: apexmap_base::sample::SCHEMA_VERSION,
        name: setup.sweep.name.clone(),
        title: setup.sweep.title.clone(),
        sweep: setup.sweep.text.clone(),
        seed: setup.sweep.seed,
        machine: setup.plan.context.machine.clone(),
        hosts: setup.hosts.clone(),
        points: setup.plan.entries.len(),
        blocks: setup.plan.blocks,
        command: words(),
        driver: provenance::build(),
        driver_host: provenance::host(),
        worker: setup.worker_info.build.clone(),
        unix_seconds: unix_seconds(),
        samples: BTreeMap::new(),
        launches: Vec::new(),
        sized_for: setup.sized_for.clone(),
        compaction: None,
    }
}

/// The error for failed and incomplete points, if there are any.
pub fn verdict(setup: &Setup, folder: &Folder, done: &Done) -> Result<()> {
    let [_, partial, missing, failed] = done.counts();
    let (mut what, mut next) = (Vec::new(), Vec::new());
    if failed > 0 {
        what.push(format!("{} failed", plural(failed, "point")));
        let status = format!("`apexmap status {}`", folder.path.display());
        next.push(format!("{status} lists what failed and why; --retry-failed measures it again"));
    }
    if partial + missing > 0 {
        let points = plural(setup.plan.entries.len(), "point");
        let have = if partial + missing == 1 { "has" } else { "have" };
        what.push(format!("{} of {points} {have} too few samples", partial + missing));
        next.push("rerun the same command to continue, or raise `budget` in the sweep".to_owned());
    }
    if what.is_empty() { Ok(()) } else { Err(Error::measurement(what.join(", "), next.join("; "))) }
}
