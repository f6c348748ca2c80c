//! Checks the name, the launch and the repetitions of a sweep.

use super::spec::{File, Repeat, Scalar};
use super::values::quantity;
use crate::batch::{self, Submit};
use crate::launch::{self, HostsSource, LauncherEntry, custom};
use apexmap_base::error::{Error, Result};
use apexmap_base::nearest::suggest;
use apexmap_base::toml_file::Page;
use apexmap_base::units::Unit;
use apexmap_measure::comm::TransportKind;
use apexmap_measure::hardware::Place;
use apexmap_measure::worker;
use std::path::PathBuf;
use toml::Spanned;

/// The settings of a sweep's launches.
#[derive(Clone, Debug, PartialEq)]
pub struct LaunchSpec {
    /// The transport: threads of one process, or MPI.
    pub transport: TransportKind,
    /// The launcher that starts the ranks: `local`, `srun`, `openmpi` and others.
    pub launcher: &'static LauncherEntry,
    /// Arguments of the custom launcher, with placeholders; empty for the others.
    pub command: Vec<String>,
    /// Ranks per node; the launcher's default if `None`.
    pub ranks_per_node: Option<usize>,
    /// Hosts to place the ranks on; the launcher's default if `None`.
    pub hosts: Option<HostsSource>,
    /// The order of cores for the ranks of a node, if it is not the launcher's default.
    pub place: Option<Place>,
    /// Number of launches for each rank count.
    pub launches: u32,
    /// Another build of this program to start, as the file names it; this program if `None`.
    pub worker: Option<PathBuf>,
    /// Longest time in seconds without a sign of life in one sample, and from there to the start of the next; `None` if the sweep
    /// sets none.
    pub timeout_seconds: Option<f64>,
    /// Longest time in seconds from the start of a launcher to its worker's first line, and from there to the start of the first
    /// sample; `None` if the sweep sets none.
    pub start_timeout_seconds: Option<f64>,
    /// Time that the machine is watched before the first sample of a run, in seconds.
    pub preflight_seconds: f64,
    /// Whether Open MPI falls back to its one-sided component that uses only messages, if its default one cannot use the network.
    pub fallback: bool,
    /// The options of jobs of a batch system; `None` if the sweep runs here.
    pub submit: Option<Submit>,
}

impl LaunchSpec {
    /// Returns the time limit for a start, in seconds. A launch that waits in a queue has practically no limit, unless the sweep
    /// sets one.
    pub fn start_limit(&self, queued: bool) -> f64 {
        let usual =
            if queued { LONGEST_SECONDS } else { DEFAULT_START_TIMEOUT_SECONDS.max(2.0 * self.preflight_seconds) };
        self.start_timeout_seconds.unwrap_or(usual)
    }
}

const DEFAULT_START_TIMEOUT_SECONDS: f64 = 300.0;
const DEFAULT_PREFLIGHT_SECONDS: f64 = 1.0;
const DEFAULT_MIN: u32 = 6;
const DEFAULT_MAX: u32 = 30;
/// Upper limit of all times in a sweep.
const LONGEST_SECONDS: f64 = 1e9;
/// With fewer samples, even the whole range is not a 95 % interval of the median: 1 - 2 (1/2)^5 = 93.75 %.
const LEAST_FOR_INTERVAL: u32 = 6;

/// Returns the sweep's name, which becomes the name of a folder.
pub fn name(file: &File, page: &Page) -> Result<String> {
    match &file.name {
        Some(name) => {
            if !is_folder_name(name.get_ref()) {
                let next = "write a word such as quickstart, without slashes and without a dot at the start";
                return Err(page.wrong(name.span(), no_folder_name(name.get_ref()), next));
            }
            Ok(name.get_ref().clone())
        }
        None => {
            let stem = page.path.file_stem().map_or("sweep".into(), |stem| stem.to_string_lossy().into_owned());
            if !is_folder_name(&stem) {
                let next = "set its name in the file, for example name = \"quickstart\", or rename the file";
                return Err(Error::input(format!("{}: {}", page.path.display(), no_folder_name(&stem)), next));
            }
            Ok(stem)
        }
    }
}

fn is_folder_name(name: &str) -> bool {
    !name.trim().is_empty() && !name.starts_with('.') && !name.contains(|c: char| "/\\".contains(c) || c.is_control())
}

fn no_folder_name(name: &str) -> String {
    format!("\"{name}\" cannot be the name of a folder")
}

/// Checks `[launch]`.
pub fn launch(file: &File, page: &Page) -> Result<LaunchSpec> {
    let launch = &file.launch;
    let transport = launch.transport.as_ref().map_or(TransportKind::Threads, |t| *t.get_ref());
    let mut fitting = launch::starting(transport);
    let launcher = match (&launch.launcher, fitting.next(), fitting.next()) {
        (Some(id), ..) => launch::find(id.get_ref()).map_err(|error| page.wrong(id.span(), error.what, error.next))?,
        (None, Some(only), None) => only,
        _ => {
            let place = launch.transport.as_ref().map_or(0..0, Spanned::span);
            let next = format!("add launcher = {}", launch::ids(launch::starting(transport)));
            return Err(page.wrong(place, format!("transport \"{transport}\" needs a launcher"), next));
        }
    };
    if launcher.transport != transport {
        let place = launch.launcher.as_ref().map_or(0..0, Spanned::span);
        let what = format!("launcher \"{}\" does not support transport \"{transport}\"", launcher.id);
        let one = |kind: &TransportKind| {
            format!("transport \"{kind}\" goes with launcher {}", launch::ids(launch::starting(*kind)))
        };
        return Err(page.wrong(place, what, TransportKind::ALL.iter().map(one).collect::<Vec<_>>().join("; ")));
    }
    if let (TransportKind::Threads, Some(number)) = (transport, &launch.ranks_per_node) {
        let what = "ranks_per_node has no meaning for threads, because all run on this machine";
        return Err(page.wrong(number.span(), what, "remove it, or choose transport = \"mpi\""));
    }
    let command = command(file, launcher, page)?;
    Ok(LaunchSpec {
        transport,
        place: place(file, launcher, &command, page)?,
        launcher,
        command,
        ranks_per_node: at_least_one(&launch.ranks_per_node, "ranks_per_node", page)?.map(|n| n as usize),
        hosts: hosts(file, page)?,
        launches: at_least_one(&launch.launches, "launches", page)?.unwrap_or(1),
        worker: launch.worker.as_ref().map(PathBuf::from),
        timeout_seconds: seconds(&launch.timeout, "timeout", page)?,
        start_timeout_seconds: start_timeout(file, page)?,
        preflight_seconds: seconds_or_none(&launch.preflight, "preflight", page)?.unwrap_or(DEFAULT_PREFLIGHT_SECONDS),
        fallback: launch.fallback.unwrap_or(true),
        submit: submit(file, page)?,
    })
}

/// Returns the source of the hosts. The hosts are checked only when used, because the command line may replace them.
fn hosts(file: &File, page: &Page) -> Result<Option<HostsSource>> {
    let launch = &file.launch;
    match (&launch.hosts, &launch.hostfile) {
        (Some(_), Some(file)) => Err(page.wrong(file.span(), "hosts and hostfile are both set", "keep one of the two")),
        (Some(hosts), None) => Ok(Some(HostsSource::List(hosts.get_ref().clone()))),
        (None, file) => Ok(file.as_ref().map(|file| HostsSource::File(PathBuf::from(file.get_ref())))),
    }
}

/// Checks and returns `submit`.
fn submit(file: &File, page: &Page) -> Result<Option<Submit>> {
    let Some(submit) = &file.launch.submit else { return Ok(None) };
    let table = submit.get_ref().table();
    if let Some(system) = &table.system {
        batch::find(system).map_err(|error| page.wrong(submit.span(), error.what, error.next))?;
    }
    table.options("", time).map_err(|(what, next)| page.wrong(submit.span(), format!("submit: {what}"), next))?;
    Ok(Some(submit.get_ref().clone()))
}

/// Parses a time such as "2 h" and returns seconds.
///
/// # Errors
/// If the text is not a time.
pub fn time(text: &str) -> std::result::Result<f64, String> {
    match quantity(&Scalar::Text(text.to_owned()), Unit::Seconds)?.as_f64() {
        Some(seconds) if (0.0..=LONGEST_SECONDS).contains(&seconds) => Ok(seconds),
        _ => Err(format!("\"{text}\" is not a time")),
    }
}

/// Returns the start timeout. It must exceed the time that the ranks watch the machine before their first sample.
fn start_timeout(file: &File, page: &Page) -> Result<Option<f64>> {
    let launch = &file.launch;
    let preflight = seconds_or_none(&launch.preflight, "preflight", page)?.unwrap_or(DEFAULT_PREFLIGHT_SECONDS);
    match (seconds(&launch.start_timeout, "start_timeout", page)?, &launch.start_timeout) {
        (Some(limit), Some(place)) if limit <= preflight => {
            let what = format!("start_timeout must be longer than preflight, which is {preflight} s");
            Err(page.wrong(place.span(), what, "write a longer start_timeout, or preflight = \"0 s\""))
        }
        (limit, _) => Ok(limit),
    }
}

/// Returns the order of cores for the ranks of a node, if it is not the launcher's default.
fn place(file: &File, launcher: &LauncherEntry, command: &[String], page: &Page) -> Result<Option<Place>> {
    let Some(place) = &file.launch.place else { return Ok(None) };
    let known = (launcher.make)(command)?.places();
    if known.contains(place.get_ref()) {
        // Threads are spread by default.
        let is_default = launcher.transport == TransportKind::Threads && *place.get_ref() == Place::default();
        return Ok(Some(*place.get_ref()).filter(|_| !is_default));
    }
    let what = format!("launcher \"{}\" does not support place = \"{}\"", launcher.id, place.get_ref().name());
    let known: Vec<String> = known.iter().map(|place| format!("\"{}\"", place.name())).collect();
    let next = match known.is_empty() {
        true => "remove place: the result records where each rank ran".to_owned(),
        false => format!("write {}, or remove place: the result records where each rank ran", known.join(" or ")),
    };
    Err(page.wrong(place.span(), what, next))
}

fn command(file: &File, launcher: &LauncherEntry, page: &Page) -> Result<Vec<String>> {
    let launch = &file.launch;
    let command = match (&launch.command, launcher.takes_command) {
        (Some(command), true) => command,
        (None, true) => {
            let place = launch.launcher.as_ref().map_or(0..0, Spanned::span);
            let what = format!("launcher \"{}\" needs a command", launcher.id);
            return Err(page.wrong(place, what, format!("add {}", custom::EXAMPLE)));
        }
        (Some(command), false) => {
            let what = format!("launcher \"{}\" has its own command", launcher.id);
            return Err(page.wrong(command.span(), what, "remove the command, or choose launcher = \"custom\""));
        }
        (None, false) => return Ok(Vec::new()),
    };
    for argument in command.get_ref() {
        for name in argument.get_ref().split('{').skip(1).filter_map(|part| part.split_once('}')).map(|(name, _)| name)
        {
            if !custom::PLACEHOLDERS.contains(&name) {
                let what = format!("the command contains the unknown placeholder {{{name}}}");
                return Err(page.wrong(argument.span(), what, suggest(name, custom::PLACEHOLDERS)));
            }
            let per_node = launch.ranks_per_node.is_some() || file.names("ranks_per_node");
            if matches!(name, "nodes" | "ranks_per_node") && !per_node {
                let what = format!("the command contains {{{name}}}, which is not set");
                return Err(page.wrong(
                    argument.span(),
                    what,
                    "add ranks_per_node to [launch], for example ranks_per_node = 1",
                ));
            }
        }
    }
    let arguments: Vec<String> = command.get_ref().iter().map(|argument| argument.get_ref().clone()).collect();
    match custom::missing_placeholder(&arguments) {
        None => Ok(arguments),
        Some(missing) => {
            let what = format!("the command has no \"{missing}\"");
            Err(page.wrong(command.span(), what, format!("write it as in {}", custom::EXAMPLE)))
        }
    }
}

/// Checks `[repeat]`.
pub fn repeat(repeat: &Repeat, page: &Page) -> Result<worker::Repeat> {
    let min = at_least_one(&repeat.min, "min", page)?.unwrap_or(DEFAULT_MIN);
    let budget_seconds = seconds(&repeat.budget, "budget", page)?;
    let Some(width) = &repeat.width else {
        if let Some(max) = &repeat.max {
            let what = "max has no meaning without width: every point is measured min times";
            return Err(page.wrong(max.span(), what, "add width, for example width = 0.05, or remove max"));
        }
        return Ok(worker::Repeat { min, max: min, width: None, budget_seconds });
    };
    if !(width.get_ref().is_finite() && *width.get_ref() > 0.0) {
        let what = "width must be greater than 0";
        return Err(page.wrong(width.span(), what, "write width = 0.05 for 5 % of the median"));
    }
    if let Some(place) = repeat.min.as_ref().filter(|_| min < LEAST_FOR_INTERVAL) {
        let what =
            format!("{min} samples are too few for a 95 % interval of the median, which needs {LEAST_FOR_INTERVAL}");
        return Err(page.wrong(
            place.span(),
            what,
            format!("write min = {LEAST_FOR_INTERVAL} or more, or remove width"),
        ));
    }
    let max = match &repeat.max {
        Some(max) if *max.get_ref() < min => {
            let what = format!("max = {} is less than min = {min}", max.get_ref());
            return Err(page.wrong(max.span(), what, format!("write max = {min} or more")));
        }
        Some(max) => *max.get_ref(),
        None => DEFAULT_MAX.max(min),
    };
    Ok(worker::Repeat { min, max, width: Some(*width.get_ref()), budget_seconds })
}

fn at_least_one(number: &Option<Spanned<u32>>, name: &str, page: &Page) -> Result<Option<u32>> {
    match number {
        Some(number) if *number.get_ref() == 0 => {
            Err(page.wrong(number.span(), format!("{name} must be at least 1"), format!("write {name} = 1 or more")))
        }
        _ => Ok(number.as_ref().map(|number| *number.get_ref())),
    }
}

fn seconds(time: &Option<Spanned<Scalar>>, name: &str, page: &Page) -> Result<Option<f64>> {
    match (seconds_or_none(time, name, page)?, time) {
        (Some(0.0), Some(time)) => Err(not_seconds(time, name, page, format!("{name} must be longer than 0 s"))),
        (seconds, _) => Ok(seconds),
    }
}

/// Parses a time that may be 0.
fn seconds_or_none(time: &Option<Spanned<Scalar>>, name: &str, page: &Page) -> Result<Option<f64>> {
    let Some(time) = time else { return Ok(None) };
    let read = quantity(time.get_ref(), Unit::Seconds).map_err(|what| not_seconds(time, name, page, what))?.as_f64();
    match read {
        Some(seconds) if seconds > LONGEST_SECONDS => {
            Err(not_seconds(time, name, page, format!("{name} is longer than {LONGEST_SECONDS} s, which is 31 years")))
        }
        Some(seconds) if seconds >= 0.0 => Ok(Some(seconds)),
        _ => Err(not_seconds(time, name, page, format!("{name} must be longer than 0 s"))),
    }
}

fn not_seconds(time: &Spanned<Scalar>, name: &str, page: &Page, what: String) -> Error {
    page.wrong(time.span(), what, format!("write a time, for example {name} = \"90 s\""))
}
