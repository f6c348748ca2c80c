//! `local`: the worker itself, whose ranks are threads.

use super::{CommandLine, LaunchJob, Launcher, LauncherEntry};
use apexmap_measure::comm::TransportKind;
use apexmap_measure::hardware::Place;

pub const ENTRY: LauncherEntry = LauncherEntry {
    id: "local",
    summary: "this machine: the ranks are threads of one process",
    transport: TransportKind::Threads,
    remote: false,
    allocation: None,
    takes_command: false,
    make: |_| Ok(Box::new(Local)),
};

pub struct Local;

impl Launcher for Local {
    fn entry(&self) -> &'static LauncherEntry {
        &ENTRY
    }

    fn programs(&self) -> Vec<&str> {
        Vec::new()
    }

    fn install(&self) -> &'static str {
        ""
    }

    fn command(&self, job: &LaunchJob) -> CommandLine {
        CommandLine { argv: job.worker_line().collect(), env: Vec::new() }
    }

    fn places(&self) -> &'static [Place] {
        &Place::ALL
    }
}
