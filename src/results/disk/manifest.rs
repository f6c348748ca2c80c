//! The manifest: summary of a result folder, for people and for programs that do not read journals.

use crate::disk::compaction::Compaction;
use crate::disk::folder::Folder;
use crate::disk::record::{self, Record, Run};
use apexmap_base::error::{Error, Result};
use apexmap_base::other_output::OtherOutput;
use apexmap_base::provenance::{Build, Host, PlainNode};
use apexmap_base::regular_file::read_text;
use apexmap_base::sample::{Launch, SCHEMA_VERSION, Status};
use apexmap_base::shell::command_words;
use apexmap_measure::provenance;
use apexmap_measure::worker::unix_seconds;
use apexmap_theory::machine::Card;
use apexmap_theory::models::tested;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    pub schema: u32,
    pub name: String,
    pub title: String,
    /// The sweep file as given; its expansion is in points.jsonl.
    pub sweep: String,
    pub seed: u64,
    pub machine: String,
    /// Hosts given to the launcher; empty if it chose them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    pub points: usize,
    /// Requested launches per rank count.
    pub blocks: u32,
    /// Measuring time of the run that wrote this, in seconds; absent if it was unlimited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_seconds: Option<f64>,
    /// Command line of the driver that wrote this.
    pub command: Vec<String>,
    pub driver: Build,
    pub driver_host: Host,
    /// Build of the worker, which may be another program than the driver.
    pub worker: Build,
    pub unix_seconds: f64,
    /// Number of samples by status, over all launches.
    pub samples: BTreeMap<Status, usize>,
    pub launches: Vec<LaunchEnd>,
    /// Source of the node sizes for words such as "cores", if they are not those of the driver's machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sized_for: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulated: Option<SimulatedMachine>,
    /// The other programs that measured an imported result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<Import>,
    /// Checksums of samples.parquet and its sources; absent before the file is written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compaction: Option<Compaction>,
}

/// The origin of an imported result. It has no launches, and can be neither resumed nor measured into.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Import {
    pub programs: Vec<String>,
    /// What a reader of the values must know, one sentence each.
    pub notes: Vec<String>,
}

impl Import {
    pub fn label(&self) -> String {
        format!("imported from {}", self.programs.join(" and "))
    }
}

/// The machine of simulated ranks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SimulatedMachine {
    pub card: String,
    /// What took the place of numbers that the card does not have, in one sentence each.
    pub assumptions: Vec<String>,
    /// Reasons why points lie outside of what was compared with another simulator, each with the number of points.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub untested: BTreeMap<String, usize>,
    /// Number of points with at least one such reason.
    #[serde(default)]
    pub untested_points: usize,
    /// Number of points of each family of kernels where ranks share a node.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub on_shared_nodes: BTreeMap<String, usize>,
}

impl SimulatedMachine {
    /// Names the shared resources that the simulation leaves out. What tests on real machines say is one sentence for each family of
    /// kernels.
    pub fn describe_left_out(&self) -> Vec<String> {
        let sentence = |(family, count): (&String, &usize)| {
            let place = if *count == 1 { "At 1 point".to_owned() } else { format!("At {count} points") };
            match tested::of_simulation(family) {
                Some(reservation) => {
                    format!("{place} of {family}, ranks share a node. It was tested: simulations are {reservation}.")
                }
                None => format!(
                    "{place} of {family}, ranks share a node. Left out: its memory and caches, which they share."
                ),
            }
        };
        let links = self.assumptions.iter().filter(|text| text.starts_with("links "));
        self.on_shared_nodes.iter().map(sentence).chain(links.map(|text| format!("Left out: {text}."))).collect()
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LaunchEnd {
    #[serde(flatten)]
    pub launch: Launch,
    pub samples: usize,
    pub budget_spent: bool,
    /// Absent if the driver was killed before the launch ended.
    pub ended: Option<Status>,
    #[serde(default)]
    pub message: String,
    /// Lines besides its events, if it succeeded.
    #[serde(default, skip_serializing_if = "OtherOutput::is_empty")]
    pub output: OtherOutput,
    /// Number of unreadable lines of its journal. A killed driver leaves at most one.
    #[serde(default)]
    pub unreadable_lines: usize,
}

impl Manifest {
    pub fn new(name: String, title: String) -> Self {
        Self {
            schema: SCHEMA_VERSION,
            name,
            title,
            machine: provenance::host_name(),
            command: command_words(),
            driver: provenance::build(),
            driver_host: provenance::host(),
            worker: provenance::build(),
            unix_seconds: unix_seconds(),
            ..Self::default()
        }
    }

    /// Returns the host of rank 0 in the first launch, or that of the driver without a launch.
    pub fn first_host(&self) -> &Host {
        self.launches.first().map_or(&self.driver_host, |end| &end.launch.host)
    }

    /// Returns the facts for plain names about the node of all launches. Its cores are unknown if a launch had several nodes.
    pub fn plain_node(&self) -> PlainNode {
        // `None` is the smallest.
        let cores = self.launches.iter().map(|end| end.launch.plain_node().cores).min().flatten();
        PlainNode { cores, granularity: self.is_measured().then_some(self.first_host().granularity) }
    }

    /// Returns the machine for titles: `Intel Xeon Processor, 2 cores (vm)`, `red-storm, simulated`.
    pub fn plain_machine(&self) -> String {
        let processor = if self.is_measured() { self.first_host().plain_name() } else { String::new() };
        match (processor.is_empty(), &self.simulated) {
            (false, _) => format!("{processor} ({})", self.machine),
            (true, Some(_)) => format!("{}, simulated", self.machine),
            (true, None) => self.machine.clone(),
        }
    }

    /// Returns whether worker and driver of this program measured the result on real ranks.
    pub fn is_measured(&self) -> bool {
        self.simulated.is_none() && self.imported.is_none()
    }

    /// Returns the host of rank 0 of a launch, or else of the driver; `None` for simulated ranks and imported results.
    pub fn host_of(&self, launch: &str) -> Option<&Host> {
        let end = self.launches.iter().find(|end| end.launch.launch == launch);
        self.is_measured().then(|| end.map_or(&self.driver_host, |end| &end.launch.host))
    }

    pub fn simulated_card(&self) -> Result<Option<Card>> {
        self.simulated.as_ref().map(|machine| Card::parse(&machine.card, Path::new("manifest.json"))).transpose()
    }

    pub fn with_records<S: Run>(mut self, records: &[Record<S>]) -> Self {
        self.schema = SCHEMA_VERSION;
        for record in records {
            for sample in &record.samples {
                *self.samples.entry(sample.status()).or_default() += 1;
            }
            let Some(launch) = &record.launch else { continue };
            let (ended, message) = record.ended.clone().unzip();
            self.launches.push(LaunchEnd {
                launch: launch.clone(),
                samples: record.samples.len(),
                budget_spent: record.budget_spent,
                ended,
                message: message.unwrap_or_default(),
                output: record.output.clone(),
                unreadable_lines: record.unreadable,
            });
        }
        self
    }

    pub fn write(&self, folder: &Folder) -> Result<()> {
        folder.replace_json("manifest.json", self)
    }

    pub fn read(folder: &Folder) -> Result<Self> {
        let path = folder.manifest();
        let text = read_text(&path).map_err(|e| Error::file("read", &path, e))?;
        serde_json::from_str(&text).map_err(|error| {
            let schema = |value: serde_json::Value| value.get("schema")?.as_u64();
            let newer = serde_json::from_str(&text)
                .ok()
                .and_then(schema)
                .is_some_and(|version| version > u64::from(SCHEMA_VERSION));
            if newer {
                return record::newer_schema_error(&path);
            }
            Error::environment(
                format!("{} is damaged: {error}", path.display()),
                "delete it and run the sweep again: `apexmap run` writes it again and repeats no finished sample",
            )
        })
    }
}
