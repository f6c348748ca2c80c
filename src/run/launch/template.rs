//! Launchers defined by data: a TOML file in `launch/templates/`.

use super::{CommandLine, Fit, LaunchJob, Launcher, LauncherEntry, srun};
use crate::placeholder::{check, expand_arguments};
use apexmap_base::error::Result;
use apexmap_base::toml_file::TomlSource;
use apexmap_measure::comm::TransportKind;
use apexmap_measure::hardware::PlacementOrder;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

/// Arguments that belong together. The group is left out if one of its placeholders has no value.
type Group = Vec<String>;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Template {
    #[serde(skip)]
    id: &'static str,
    summary: String,
    #[serde(default)]
    remote: bool,
    allocation: Option<String>,
    #[serde(default)]
    slurm_plugins: bool,
    programs: Vec<String>,
    install: String,
    /// The command line. Its groups may use the placeholders in [`PLACEHOLDERS`].
    command: Vec<Group>,
    /// `{binding}` is the first group for this [`Fit`] whose placeholders all have values.
    #[serde(default)]
    binding: BTreeMap<Fit, Vec<Group>>,
    #[serde(default)]
    place: PlaceWords,
}

/// `{place}` in the launcher's words. The launcher does not support a place without a word.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct PlaceWords {
    spread: Option<String>,
    compact: Option<String>,
    smt: Option<String>,
}

/// `{nodes}` is the sweep's number of nodes; `{needed_nodes}` also covers the number that follows from the ranks per node.
const PLACEHOLDERS: &[&str] = &[
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

pub fn entry(id: &'static str, text: &str) -> Result<LauncherEntry> {
    let page = TomlSource { path: Path::new(id), text, examples: "src/run/launch/templates/" };
    let template: Template = toml::from_str(text).map_err(|error| page.parse_error(&error))?;
    let template = Template { id, ..template };
    check(page.path, template.groups().flatten().map(String::as_str), PLACEHOLDERS)?;
    let (remote, allocation, summary) = (template.remote, template.allocation.clone(), template.summary.clone());
    let make = move |_: &[String]| Ok(Box::new(template.clone()) as Box<dyn Launcher>);
    Ok(LauncherEntry { remote, allocation, ..LauncherEntry::new(id, summary, TransportKind::Mpi, make) })
}

impl Template {
    fn groups(&self) -> impl Iterator<Item = &Group> {
        [&self.command].into_iter().chain(self.binding.values()).flatten()
    }

    fn place_word(&self, place: PlacementOrder) -> Option<&str> {
        let PlaceWords { spread, compact, smt } = &self.place;
        match place {
            PlacementOrder::Spread => spread.as_deref(),
            PlacementOrder::Compact => compact.as_deref(),
            PlacementOrder::Smt => smt.as_deref(),
        }
    }

    fn values_of(&self, name: &str, job: &LaunchJob) -> Option<Vec<String>> {
        let single = |text: &str| vec![text.to_owned()];
        let number = |number: usize| vec![number.to_string()];
        match name {
            "program" => Some(single(&job.program)),
            "ranks" => Some(number(job.ranks)),
            "nodes" => job.nodes.map(number),
            "needed_nodes" => job
                .nodes
                .or(job.ranks_per_node.map(|ranks_per_node| job.ranks.div_ceil(ranks_per_node.max(1))))
                .map(number),
            "ranks_per_node" => job.ranks_per_node.map(number),
            "hosts" => Some(job.used_hosts().0).filter(|hosts| !hosts.is_empty()).map(|hosts| single(&hosts.join(","))),
            "binding" => self.binding.get(&job.fit())?.iter().find_map(|group| self.expand_group(group, job)),
            "place" => job.place.and_then(|place| self.place_word(place)).map(single),
            "worker" => Some(single(&job.worker.to_string_lossy())),
            "arguments" => Some(job.arguments.clone()),
            _ => None,
        }
    }

    fn expand_group(&self, group: &Group, job: &LaunchJob) -> Option<Vec<String>> {
        expand_arguments(group, |name| self.values_of(name, job))
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
        let groups = self.command.iter().filter_map(|group| self.expand_group(group, job));
        CommandLine { argv: groups.flatten().collect(), env: Vec::new() }
    }

    fn takes_hosts(&self) -> bool {
        self.groups().flatten().any(|text| text.contains("{hosts}"))
    }

    fn places(&self) -> Vec<PlacementOrder> {
        PlacementOrder::ALL.into_iter().filter(|place| self.place_word(*place).is_some()).collect()
    }

    fn choose_variable(&self, library: &str) -> Option<(String, String)> {
        if self.slurm_plugins { srun::choose_plugin_variable(library) } else { None }
    }

    fn describe_plugins(&self, library: &str) -> Option<String> {
        if self.slurm_plugins { srun::describe_plugins(library) } else { None }
    }
}
