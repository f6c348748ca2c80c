//! The settings of a sweep's launches, checked.

use super::{spec::Scalar, submit_table::SubmitTable, values::quantity};
use crate::launch::{HostsSource, LauncherEntry};
use apexmap_base::units::Unit;
use apexmap_measure::comm::{TransportKind, simulated::Mapping};
use apexmap_measure::hardware::PlacementOrder;
use std::path::PathBuf;
use toml::Spanned;

const DEFAULT_START_TIMEOUT_SECONDS: f64 = 300.0;
pub const DEFAULT_PREFLIGHT_SECONDS: f64 = 1.0;
/// Upper limit of all times in a sweep.
pub const MAX_SECONDS: f64 = 1e9;

/// The settings of a sweep's launches.
#[derive(Clone, Debug, PartialEq)]
pub struct LaunchSpec {
    /// Threads of one process, or MPI.
    pub transport: TransportKind,
    /// The machine card that the file names for simulated ranks.
    pub simulate: Option<String>,
    /// Number of cards that a simulation draws from the intervals of its card.
    pub resamples: u32,
    /// The mapping of simulated nodes onto their network.
    pub mapping: Mapping,
    /// Starts the ranks: `local`, `srun`, `openmpi` and others.
    pub launcher: &'static LauncherEntry,
    /// Arguments of the custom launcher, with placeholders.
    pub command: Vec<String>,
    /// `None` for the launcher's default, also of `hosts` and `place`.
    pub ranks_per_node: Option<usize>,
    /// Hosts to place the ranks on.
    pub hosts: Option<HostsSource>,
    /// The order of cores for the ranks of a node.
    pub place: Option<PlacementOrder>,
    /// For each rank count.
    pub launches: u32,
    /// As the file names it; this program if `None`.
    pub worker: Option<PathBuf>,
    /// Longest time without a sign of life in one sample, and from there to the start of the next.
    pub timeout_seconds: Option<f64>,
    /// Longest time from the start of a launcher to its worker's first line, and from there to the start of the first sample.
    pub start_timeout_seconds: Option<f64>,
    /// Time that the machine is watched before the first sample of a run.
    pub preflight_seconds: f64,
    /// Whether Open MPI falls back to its one-sided component of messages, if its default one cannot use the network.
    pub fallback: bool,
    /// Largest number of node hours that the jobs of the sweep may take.
    pub max_node_hours: Option<f64>,
    /// The request of the sweep to a batch system, with its place in the text.
    pub submit: Option<Spanned<SubmitTable>>,
}

impl LaunchSpec {
    /// The settings of a sweep that sets only its launcher.
    pub fn new(launcher: &'static LauncherEntry) -> Self {
        Self {
            transport: launcher.transport,
            simulate: None,
            resamples: 0,
            mapping: Mapping::default(),
            launcher,
            command: Vec::new(),
            ranks_per_node: None,
            hosts: None,
            place: None,
            launches: 1,
            worker: None,
            timeout_seconds: None,
            start_timeout_seconds: None,
            preflight_seconds: DEFAULT_PREFLIGHT_SECONDS,
            fallback: true,
            max_node_hours: None,
            submit: None,
        }
    }

    /// The time limit for a start in seconds. A launch that waits in a queue has practically none, unless the sweep sets one.
    pub fn start_limit(&self, waits_in_queue: bool) -> f64 {
        // The ranks watch the machine before they measure, and the limit must not end this.
        let default_limit =
            if waits_in_queue { MAX_SECONDS } else { DEFAULT_START_TIMEOUT_SECONDS.max(2.0 * self.preflight_seconds) };
        self.start_timeout_seconds.unwrap_or(default_limit)
    }
}

/// The seconds of a time such as "2 h".
pub fn parse_time(text: &str) -> Result<f64, String> {
    match quantity(&Scalar::Text(text.to_owned()), Unit::Seconds)?.as_f64() {
        Some(seconds) if (0.0..=MAX_SECONDS).contains(&seconds) => Ok(seconds),
        _ => Err(format!("\"{text}\" is not a time")),
    }
}

impl SubmitTable {
    /// The longest time of one job in seconds. An error holds what is wrong, and the next step.
    pub fn time_limit_seconds(&self) -> Result<Option<f64>, (String, String)> {
        let refuse = |message: String, help: &str| Err((message, help.to_owned()));
        match self.time_limit.as_deref().map(parse_time) {
            None => Ok(None),
            // Scripts have whole minutes.
            Some(Ok(seconds)) if seconds >= 60.0 => Ok(Some(seconds)),
            Some(Ok(_)) => refuse("time_limit is shorter than a minute".into(), "write time_limit = \"5 min\" or more"),
            Some(Err(message)) => refuse(format!("time_limit: {message}"), "write time_limit = \"2 h\""),
        }
    }

    /// Checks that each text can be written into a script. An error holds what is wrong, and the next step.
    pub fn check(&self) -> Result<(), (String, String)> {
        let words = [
            ("account", &self.account),
            ("partition", &self.partition),
            ("qos", &self.qos),
            ("constraint", &self.constraint),
            ("reservation", &self.reservation),
        ];
        let is_special = |c: char| c.is_whitespace() || c.is_control() || "'\"\\`$".contains(c);
        for (name, value) in words.iter().filter_map(|(name, value)| Some((name, value.as_ref()?))) {
            if value.is_empty() || value.contains(is_special) {
                let help = "write one word without blanks, quotes, backticks, $ and backslashes";
                return Err((format!("{name} = {value:?} is not allowed in a job script"), help.into()));
            }
        }
        for (name, lines) in [("modules", &self.modules), ("directives", &self.directives)] {
            if let Some(text) = lines.iter().find(|text| text.trim().is_empty() || text.contains(char::is_control)) {
                let message = format!("{name}: {text:?} is not one line of text");
                return Err((message, "write each entry as one line".into()));
            }
        }
        for (name, value) in &self.environment {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
            if name.is_empty() || !name.chars().all(is_plain) || name.starts_with(|c: char| c.is_ascii_digit()) {
                let help = "use letters, digits and _, as in UCX_TLS";
                return Err((format!("environment: {name:?} is not a valid name of a variable"), help.into()));
            }
            if value.contains(char::is_control) {
                let message = format!("environment: {name} = {value:?} is not one line");
                return Err((message, "write the value as one line".into()));
            }
        }
        self.time_limit_seconds().map(drop)
    }
}
