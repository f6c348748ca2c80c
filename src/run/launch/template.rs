//! A launcher as data: a TOML file in `launch/templates/`.

use super::{CommandLine, Fit, LaunchJob, Launcher, LauncherEntry, srun};
use crate::placeholder::{arguments, check};
use apexmap_base::error::Result;
use apexmap_base::toml_file::Page;
use apexmap_measure::comm::TransportKind;
use apexmap_measure::hardware::Place;
use serde::Deserialize;
use std::path::Path;

/// Arguments that belong together: they are used if all their placeholders have values.
type Group = Vec<String>;

/// What a launcher of MPI is and how it is started.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Template {
    /// As users call it: the name of the file.
    #[serde(skip)]
    id: &'static str,
    summary: String,
    #[serde(default)]
    remote: bool,
    allocation: Option<String>,
    /// It chooses and names MPI plugins as Slurm's srun does.
    #[serde(default)]
    slurm_plugins: bool,
    programs: Vec<String>,
    install: String,
    /// The command line. Its groups may name what [`NAMES`] lists.
    command: Vec<Group>,
    #[serde(default)]
    binding: Binding,
    #[serde(default)]
    place: Words,
}

/// What `{binding}` is: the first group whose placeholders all have values. Without one it has no value.
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

/// What `{place}` is in the launcher's words. A place without a word is one that it does not know.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Words {
    spread: Option<String>,
    compact: Option<String>,
    smt: Option<String>,
}

/// What a command may name. `{nodes}` are those that the sweep names, `{needed_nodes}` also those that follow from its ranks on a node.
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

/// The entry of this launcher, whose template is this text.
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

    /// The values of a placeholder.
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
