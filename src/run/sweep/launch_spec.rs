//! The settings of a sweep's launches, checked.

use super::submit_table::SubmitTable;
use crate::launch::{HostsSource, LauncherEntry};
use apexmap_measure::comm::TransportKind;
use apexmap_measure::comm::simulated::Mapping;
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
    /// The transport: threads of one process, or MPI.
    pub transport: TransportKind,
    /// The machine card that the file names for simulated ranks.
    pub simulate: Option<String>,
    /// Number of cards that a simulation draws from the intervals of its card.
    pub resamples: u32,
    /// The mapping of simulated nodes onto their network.
    pub mapping: Mapping,
    /// The launcher that starts the ranks: `local`, `srun`, `openmpi` and others.
    pub launcher: &'static LauncherEntry,
    /// Arguments of the custom launcher, with placeholders; empty for the others.
    pub command: Vec<String>,
    /// Ranks per node; the launcher's default if `None`.
    pub ranks_per_node: Option<usize>,
    /// Hosts to place the ranks on; the launcher's default if `None`.
    pub hosts: Option<HostsSource>,
    /// The order of cores for the ranks of a node, if it is not the launcher's default.
    pub place: Option<PlacementOrder>,
    /// Number of launches for each rank count.
    pub launches: u32,
    /// The worker program to start, as the file names it; this program if `None`.
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
    /// Largest number of node hours that the jobs of the sweep may take; `None` if the sweep sets none.
    pub max_node_hours: Option<f64>,
    /// What the sweep requests from a batch system, with its place in the text; `None` if the sweep runs here. The crate `cluster`
    /// checks it.
    pub submit: Option<Spanned<SubmitTable>>,
}

impl LaunchSpec {
    /// Returns the settings of a sweep that sets only its launcher.
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

    /// Returns the time limit for a start, in seconds. A launch that waits in a queue has practically no limit, unless the sweep
    /// sets one.
    pub fn start_limit(&self, waits_in_queue: bool) -> f64 {
        // The ranks watch the machine before they measure, and the limit must not end this.
        let default_limit =
            if waits_in_queue { MAX_SECONDS } else { DEFAULT_START_TIMEOUT_SECONDS.max(2.0 * self.preflight_seconds) };
        self.start_timeout_seconds.unwrap_or(default_limit)
    }
}
