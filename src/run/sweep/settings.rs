//! Checks the name, the launch and the repetitions of a sweep.

use super::launch_spec::{DEFAULT_PREFLIGHT_SECONDS, LaunchSpec, MAX_SECONDS, parse_time};
use super::spec::{File, Launch, RESAMPLES, Repeat, Scalar};
use super::{memory::Machine, submit_table::SubmitTable, values::quantity};
use crate::launch::{self, HostsSource, LauncherEntry, custom};
use apexmap_base::error::{Error, Result};
use apexmap_base::name_lookup::suggest;
use apexmap_base::toml_file::TomlSource;
use apexmap_base::units::Unit;
use apexmap_measure::comm::TransportKind;
use apexmap_measure::hardware::PlacementOrder;
use apexmap_measure::worker;
use std::path::PathBuf;
use toml::Spanned;

const DEFAULT_MIN: u32 = MIN_FOR_INTERVAL;
const DEFAULT_MAX: u32 = 30;
/// With fewer samples, even the whole range is not a 95 % interval of the median: 1 - 2 (1/2)^5 = 93.75 %.
const MIN_FOR_INTERVAL: u32 = 6;

/// The sweep's name becomes the name of a folder.
pub fn name(file: &File, page: &TomlSource) -> Result<String> {
    match &file.name {
        Some(name) => {
            if !is_folder_name(name.get_ref()) {
                let advice = "write a word such as quickstart, without slashes and without a dot at the start";
                return Err(page.error_at(name.span(), bad_name_message(name.get_ref()), advice));
            }
            Ok(name.get_ref().clone())
        }
        None => {
            let stem = page.path.file_stem().map_or("sweep".into(), |stem| stem.to_string_lossy().into_owned());
            if !is_folder_name(&stem) {
                let advice = "set its name in the file, for example name = \"quickstart\", or rename the file";
                return Err(Error::input(format!("{}: {}", page.path.display(), bad_name_message(&stem)), advice));
            }
            Ok(stem)
        }
    }
}

fn is_folder_name(name: &str) -> bool {
    !name.trim().is_empty() && !name.starts_with('.') && !name.contains(|c: char| "/\\".contains(c) || c.is_control())
}

fn bad_name_message(name: &str) -> String {
    format!("\"{name}\" cannot be the name of a folder")
}

pub fn launch(file: &File, page: &TomlSource, machine: &Machine) -> Result<LaunchSpec> {
    let launch = &file.launch;
    let transport = launch.transport.as_ref().map_or(TransportKind::Threads, |t| *t.get_ref());
    match (&launch.simulate, &launch.transport) {
        _ if machine.is_simulated => return Ok(simulated_launch(file, launch::find("simulated")?)),
        (Some(card), Some(other)) if *other.get_ref() != TransportKind::Simulated => {
            let message = format!("simulate = \"{}\" contradicts transport = \"{transport}\"", card.get_ref());
            return Err(page.error_at(card.span(), message, "remove one of the two"));
        }
        (Some(_), _) => return Ok(simulated_launch(file, launch::find("simulated")?)),
        (None, Some(place)) if transport == TransportKind::Simulated => {
            let message = "transport = \"simulated\" needs a machine";
            return Err(page.error_at(
                place.span(),
                message,
                "add simulate = \"red-storm\", or another machine or card",
            ));
        }
        (None, _) => refuse_mapping(launch, page)?,
    }
    let mut candidates = launch::launchers_for(transport);
    let launcher = match (&launch.launcher, candidates.next(), candidates.next()) {
        (Some(id), ..) => {
            launch::find(id.get_ref()).map_err(|error| page.error_at(id.span(), error.message, error.help))?
        }
        (None, Some(only), None) => only,
        _ => {
            let place = launch.transport.as_ref().map_or(0..0, Spanned::span);
            let advice = format!("add launcher = {}", launch::list_ids(launch::launchers_for(transport)));
            return Err(page.error_at(place, format!("transport \"{transport}\" needs a launcher"), advice));
        }
    };
    if launcher.transport != transport {
        let place = launch.launcher.as_ref().map_or(0..0, Spanned::span);
        let message = format!("launcher \"{}\" does not support transport \"{transport}\"", launcher.id);
        let launchers_of_kind = |kind: &TransportKind| {
            format!("transport \"{kind}\" goes with launcher {}", launch::list_ids(launch::launchers_for(*kind)))
        };
        return Err(page.error_at(
            place,
            message,
            TransportKind::ALL.iter().map(launchers_of_kind).collect::<Vec<_>>().join("; "),
        ));
    }
    if let (TransportKind::Threads, Some(number)) = (transport, &launch.ranks_per_node) {
        let message = "ranks_per_node has no meaning for threads, because all run on this machine";
        return Err(page.error_at(number.span(), message, "remove it, or choose transport = \"mpi\""));
    }
    let command = command(file, launcher, page)?;
    Ok(LaunchSpec {
        place: place(file, launcher, &command, page)?,
        command,
        ranks_per_node: check_count(&launch.ranks_per_node, "ranks_per_node", page)?.map(|n| n as usize),
        hosts: hosts(file, page)?,
        launches: check_count(&launch.launches, "launches", page)?.unwrap_or(1),
        worker: launch.worker.as_ref().map(PathBuf::from),
        timeout_seconds: parse_positive_seconds(&launch.timeout, "timeout", page)?,
        start_timeout_seconds: start_timeout(file, page)?,
        preflight_seconds: parse_seconds(&launch.preflight, "preflight", page)?.unwrap_or(DEFAULT_PREFLIGHT_SECONDS),
        fallback: launch.fallback.unwrap_or(true),
        max_node_hours: max_node_hours(file, page)?,
        submit: submit(file, page)?,
        ..LaunchSpec::new(launcher)
    })
}

fn refuse_mapping(launch: &Launch, page: &TomlSource) -> Result<()> {
    let Some(mapping) = &launch.mapping else { return Ok(()) };
    let message = "mapping orders the nodes of a simulated network, and no machine is simulated";
    Err(page.error_at(mapping.span(), message, "add simulate = \"red-storm\" or --simulate, or remove mapping"))
}

/// Settings of real launchers do not apply.
fn simulated_launch(file: &File, launcher: &'static LauncherEntry) -> LaunchSpec {
    LaunchSpec {
        simulate: file.launch.simulate.as_ref().map(|card| card.get_ref().clone()),
        resamples: file.launch.resamples.unwrap_or(RESAMPLES),
        mapping: file.launch.mapping.as_ref().map(|mapping| *mapping.get_ref()).unwrap_or_default(),
        ranks_per_node: file.launch.ranks_per_node.as_ref().map(|ranks| *ranks.get_ref() as usize),
        preflight_seconds: 0.0,
        fallback: false,
        ..LaunchSpec::new(launcher)
    }
}

/// The hosts are checked only when used, because the command line may replace them.
fn hosts(file: &File, page: &TomlSource) -> Result<Option<HostsSource>> {
    let launch = &file.launch;
    match (&launch.hosts, &launch.hostfile) {
        (Some(_), Some(file)) => {
            Err(page.error_at(file.span(), "hosts and hostfile are both set", "keep one of the two"))
        }
        (Some(hosts), None) => Ok(Some(HostsSource::List(hosts.get_ref().clone()))),
        (None, file) => Ok(file.as_ref().map(|file| HostsSource::File(PathBuf::from(file.get_ref())))),
    }
}

fn max_node_hours(file: &File, page: &TomlSource) -> Result<Option<f64>> {
    match &file.launch.max_node_hours {
        Some(hours) if !(hours.get_ref().is_finite() && *hours.get_ref() > 0.0) => {
            let message = "max_node_hours must be greater than 0";
            Err(page.error_at(hours.span(), message, "write max_node_hours = 100, or remove it"))
        }
        hours => Ok(hours.as_ref().map(|hours| *hours.get_ref())),
    }
}

fn submit(file: &File, page: &TomlSource) -> Result<Option<Spanned<SubmitTable>>> {
    let Some(submit) = &file.launch.submit else { return Ok(None) };
    let table = submit.get_ref().to_table();
    table.check().map_err(|(message, help)| page.error_at(submit.span(), format!("submit: {message}"), help))?;
    Ok(Some(Spanned::new(submit.span(), table)))
}

/// The seconds of the budget of a command line.
pub fn parse_budget(text: &str) -> Result<f64, String> {
    match parse_time(text) {
        Ok(seconds) if seconds > 0.0 => Ok(seconds),
        Ok(_) => Err("the budget must be longer than 0 s".to_owned()),
        Err(message) => Err(format!("{message}; write a time, for example 20s or 10min")),
    }
}

/// It must exceed the time that the ranks watch the machine before their first sample.
fn start_timeout(file: &File, page: &TomlSource) -> Result<Option<f64>> {
    let launch = &file.launch;
    let preflight = parse_seconds(&launch.preflight, "preflight", page)?.unwrap_or(DEFAULT_PREFLIGHT_SECONDS);
    match (parse_positive_seconds(&launch.start_timeout, "start_timeout", page)?, &launch.start_timeout) {
        (Some(limit), Some(place)) if limit <= preflight => {
            let message = format!("start_timeout must be longer than preflight, which is {preflight} s");
            Err(page.error_at(place.span(), message, "write a longer start_timeout, or preflight = \"0 s\""))
        }
        (limit, _) => Ok(limit),
    }
}

/// `None` for the launcher's default.
fn place(
    file: &File,
    launcher: &LauncherEntry,
    command: &[String],
    page: &TomlSource,
) -> Result<Option<PlacementOrder>> {
    let Some(place) = &file.launch.place else { return Ok(None) };
    let places = (launcher.make)(command)?.places();
    if places.contains(place.get_ref()) {
        // Threads are spread by default. Without `place` in their keys, such samples belong to those of a sweep that does not name it.
        let is_default = launcher.transport == TransportKind::Threads && *place.get_ref() == PlacementOrder::default();
        return Ok(Some(*place.get_ref()).filter(|_| !is_default));
    }
    let message = format!("launcher \"{}\" does not support place = \"{}\"", launcher.id, place.get_ref().name());
    let place_names: Vec<String> = places.iter().map(|place| format!("\"{}\"", place.name())).collect();
    let advice = match place_names.is_empty() {
        true => "remove place: the result records where each rank ran".to_owned(),
        false => format!("write {}, or remove place: the result records where each rank ran", place_names.join(" or ")),
    };
    Err(page.error_at(place.span(), message, advice))
}

fn command(file: &File, launcher: &LauncherEntry, page: &TomlSource) -> Result<Vec<String>> {
    let launch = &file.launch;
    let command = match (&launch.command, launcher.takes_command) {
        (Some(command), true) => command,
        (None, true) => {
            let place = launch.launcher.as_ref().map_or(0..0, Spanned::span);
            let message = format!("launcher \"{}\" needs a command", launcher.id);
            return Err(page.error_at(place, message, format!("add {}", custom::EXAMPLE)));
        }
        (Some(command), false) => {
            let message = format!("launcher \"{}\" has its own command", launcher.id);
            return Err(page.error_at(command.span(), message, "remove the command, or choose launcher = \"custom\""));
        }
        (None, false) => return Ok(Vec::new()),
    };
    for argument in command.get_ref() {
        for name in argument.get_ref().split('{').skip(1).filter_map(|part| part.split_once('}')).map(|(name, _)| name)
        {
            if !custom::PLACEHOLDERS.contains(&name) {
                let message = format!("the command contains the unknown placeholder {{{name}}}");
                return Err(page.error_at(argument.span(), message, suggest(name, custom::PLACEHOLDERS)));
            }
            let per_node = launch.ranks_per_node.is_some() || file.has_parameter("ranks_per_node");
            if matches!(name, "nodes" | "ranks_per_node") && !per_node {
                let message = format!("the command contains {{{name}}}, which is not set");
                return Err(page.error_at(
                    argument.span(),
                    message,
                    "add ranks_per_node to [launch], for example ranks_per_node = 1",
                ));
            }
        }
    }
    let arguments: Vec<String> = command.get_ref().iter().map(|argument| argument.get_ref().clone()).collect();
    match custom::missing_placeholder(&arguments) {
        None => Ok(arguments),
        Some(missing) => {
            let message = format!("the command has no \"{missing}\"");
            Err(page.error_at(command.span(), message, format!("write it as in {}", custom::EXAMPLE)))
        }
    }
}

pub fn repeat(repeat: &Repeat, page: &TomlSource) -> Result<worker::Repeat> {
    let min = check_count(&repeat.min, "min", page)?.unwrap_or(DEFAULT_MIN);
    let budget_seconds = parse_positive_seconds(&repeat.budget, "budget", page)?;
    let Some(width) = &repeat.width else {
        if let Some(max) = &repeat.max {
            let message = "max has no meaning without width: every point is measured min times";
            return Err(page.error_at(max.span(), message, "add width, for example width = 0.05, or remove max"));
        }
        return Ok(worker::Repeat { min, max: min, width: None, budget_seconds });
    };
    if !(width.get_ref().is_finite() && *width.get_ref() > 0.0) {
        let message = "width must be greater than 0";
        return Err(page.error_at(width.span(), message, "write width = 0.05 for 5 % of the median"));
    }
    if let Some(place) = repeat.min.as_ref().filter(|_| min < MIN_FOR_INTERVAL) {
        let message =
            format!("{min} samples are too few for a 95 % interval of the median, which needs {MIN_FOR_INTERVAL}");
        return Err(page.error_at(
            place.span(),
            message,
            format!("write min = {MIN_FOR_INTERVAL} or more, or remove width"),
        ));
    }
    let max = match &repeat.max {
        Some(max) if *max.get_ref() < min => {
            let message = format!("max = {} is less than min = {min}", max.get_ref());
            return Err(page.error_at(max.span(), message, format!("write max = {min} or more")));
        }
        Some(max) => *max.get_ref(),
        None => DEFAULT_MAX.max(min),
    };
    Ok(worker::Repeat { min, max, width: Some(*width.get_ref()), budget_seconds })
}

fn check_count(number: &Option<Spanned<u32>>, name: &str, page: &TomlSource) -> Result<Option<u32>> {
    match number {
        Some(number) if *number.get_ref() == 0 => {
            Err(page.error_at(number.span(), format!("{name} must be at least 1"), format!("write {name} = 1 or more")))
        }
        _ => Ok(number.as_ref().map(|number| *number.get_ref())),
    }
}

fn parse_positive_seconds(time: &Option<Spanned<Scalar>>, name: &str, page: &TomlSource) -> Result<Option<f64>> {
    match (parse_seconds(time, name, page)?, time) {
        (Some(0.0), Some(time)) => Err(time_error(time, name, page, format!("{name} must be longer than 0 s"))),
        (seconds, _) => Ok(seconds),
    }
}

/// The time may be 0.
fn parse_seconds(time: &Option<Spanned<Scalar>>, name: &str, page: &TomlSource) -> Result<Option<f64>> {
    let Some(time) = time else { return Ok(None) };
    let number =
        quantity(time.get_ref(), Unit::Seconds).map_err(|message| time_error(time, name, page, message))?.as_f64();
    match number {
        Some(seconds) if seconds > MAX_SECONDS => {
            Err(time_error(time, name, page, format!("{name} is longer than {MAX_SECONDS} s, which is 31 years")))
        }
        Some(seconds) if seconds >= 0.0 => Ok(Some(seconds)),
        _ => Err(time_error(time, name, page, format!("{name} must be longer than 0 s"))),
    }
}

fn time_error(time: &Spanned<Scalar>, name: &str, page: &TomlSource, message: String) -> Error {
    page.error_at(time.span(), message, format!("write a time, for example {name} = \"90 s\""))
}
