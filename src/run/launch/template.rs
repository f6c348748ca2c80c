//! Launchers defined by data: a TOML file in `launch/templates/`.

use super::{CommandLine, Fit, LaunchJob, Launcher, LauncherEntry, srun};
use crate::placeholder::{arguments, check};
use apexmap_base::error::Result;
use apexmap_base::toml_file::Page;
use apexmap_measure::comm::TransportKind;
use apexmap_measure::hardware::Place;
use serde::Deserialize;
use std::path::Path;

/// Arguments that belong together. The group is left out if one of its placeholders has no value.
type Group = Vec<String>;

/// A launcher of MPI, and its command line.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Template {
    /// The name that users write: the name of the file.
    #[serde(skip)]
    id: &'static str,
    summary: String,
    #[serde(default)]
    remote: bool,
    allocation: Option<String>,
    /// Whether the launcher chooses MPI plugins as Slurm's srun does.
    #[serde(default)]
    slurm_plugins: bool,
    programs: Vec<String>,
    install: String,
    /// The command line. Its groups may use the placeholders in [`NAMES`].
    command: Vec<Group>,
    #[serde(default)]
    binding: Binding,
    #[serde(default)]
    place: Words,
}

/// The value of `{binding}` is the first group whose placeholders all have values. Without such a group it has no value.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Binding {
    /// Each rank has a core.
    cores: Vec<Group>,
    /// Each rank has a hardware thread.
    hardware_threads: Vec<Group>,
    /// Ranks share hardware threads.
    shared: Vec<Group>,
}

/// The value of `{place}` in the launcher's words. The launcher does not support a place without a word.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Words {
    spread: Option<String>,
    compact: Option<String>,
    smt: Option<String>,
}

/// The placeholders of a command. `{nodes}` is the sweep's number of nodes; `{needed_nodes}` also covers the number that follows
/// from the ranks per node.
const NAMES: &[&str] = &[
    "program",
    "ranks",
    "nodes",
    "needed_nodes",
    "ranks_per_node",
    "hosts",
    "binding",
    "place",
    "worker",
    "arguments",
];

/// Returns the registry entry for the launcher with this template.
///
/// # Errors
/// If the text is not a template.
pub fn entry(id: &'static str, text: &str) -> Result<LauncherEntry> {
    let page = Page { path: Path::new(id), text, examples: "src/run/launch/templates/" };
    let template: Template = toml::from_str(text).map_err(|error| page.unreadable(&error))?;
    let template = Template { id, ..template };
    check(page.path, template.groups().flatten().map(String::as_str), NAMES)?;
    Ok(LauncherEntry {
        id,
        summary: template.summary.clone(),
        transport: TransportKind::Mpi,
        remote: template.remote,
        allocation: template.allocation.clone(),
        takes_command: false,
        make: Box::new(move |_| Ok(Box::new(template.clone()))),
    })
}

impl Template {
    fn groups(&self) -> impl Iterator<Item = &Group> {
        let Binding { cores, hardware_threads, shared } = &self.binding;
        [&self.command, cores, hardware_threads, shared].into_iter().flatten()
    }

    fn word(&self, place: Place) -> Option<&str> {
        let Words { spread, compact, smt } = &self.place;
        match place {
            Place::Spread => spread.as_deref(),
            Place::Compact => compact.as_deref(),
            Place::Smt => smt.as_deref(),
        }
    }

    /// Returns the values of a placeholder.
    fn value(&self, name: &str, job: &LaunchJob) -> Option<Vec<String>> {
        let one = |text: &str| vec![text.to_owned()];
        let number = |number: usize| vec![number.to_string()];
        match name {
            "program" => Some(one(&job.program)),
            "ranks" => Some(number(job.ranks)),
            "nodes" => job.nodes.map(number),
            "needed_nodes" => job.nodes.or(job.ranks_per_node.map(|each| job.ranks.div_ceil(each.max(1)))).map(number),
            "ranks_per_node" => job.ranks_per_node.map(number),
            "hosts" => Some(job.used_hosts().0).filter(|hosts| !hosts.is_empty()).map(|hosts| one(&hosts.join(","))),
            "binding" => {
                let groups = match job.fit() {
                    Fit::Cores => &self.binding.cores,
                    Fit::HardwareThreads => &self.binding.hardware_threads,
                    Fit::Oversubscribed => &self.binding.shared,
                };
                groups.iter().find_map(|group| self.arguments(group, job))
            }
            "place" => job.place.and_then(|place| self.word(place)).map(one),
            "worker" => Some(one(&job.worker.to_string_lossy())),
            "arguments" => Some(job.arguments.clone()),
            _ => None,
        }
    }

    fn arguments(&self, group: &Group, job: &LaunchJob) -> Option<Vec<String>> {
        arguments(group, |name| self.value(name, job))
    }
}

impl Launcher for Template {
    fn id(&self) -> &'static str {
        self.id
    }

    fn programs(&self) -> Vec<&str> {
        self.programs.iter().map(String::as_str).collect()
    }

    fn install(&self) -> &str {
        &self.install
    }

    fn command(&self, job: &LaunchJob) -> CommandLine {
        let groups = self.command.iter().filter_map(|group| self.arguments(group, job));
        CommandLine { argv: groups.flatten().collect(), env: Vec::new() }
    }

    fn takes_hosts(&self) -> bool {
        self.groups().flatten().any(|text| text.contains("{hosts}"))
    }

    fn places(&self) -> Vec<Place> {
        Place::ALL.into_iter().filter(|place| self.word(*place).is_some()).collect()
    }

    fn chosen(&self, library: &str) -> Option<(String, String)> {
        if self.slurm_plugins { srun::chosen(library) } else { None }
    }

    fn offers(&self, library: &str) -> Option<String> {
        if self.slurm_plugins { srun::offers(library) } else { None }
    }
}
