//! `local` and `simulated`: start the worker directly; its ranks are threads, or simulated.

use super::{CommandLine, LaunchJob, Launcher, LauncherEntry};
use apexmap_measure::comm::TransportKind;
use apexmap_measure::hardware::PlacementOrder;

pub struct Local;

pub fn entry() -> LauncherEntry {
    let summary = "this machine: the ranks are threads of one process";
    LauncherEntry::new(Local.id(), summary, TransportKind::Threads, |_| Ok(Box::new(Local)))
}

/// Starts the worker, which simulates its ranks.
pub struct Simulated;

pub fn simulated_entry() -> LauncherEntry {
    let summary = "the ranks of a machine that has a card, simulated in virtual time in one process";
    LauncherEntry::new(Simulated.id(), summary, TransportKind::Simulated, |_| Ok(Box::new(Simulated)))
}

impl Launcher for Simulated {
    fn id(&self) -> &'static str {
        "simulated"
    }

    fn command(&self, job: &LaunchJob) -> CommandLine {
        Local.command(job)
    }
}

impl Launcher for Local {
    fn id(&self) -> &'static str {
        "local"
    }

    fn command(&self, job: &LaunchJob) -> CommandLine {
        CommandLine { argv: job.worker_line().collect(), env: Vec::new() }
    }

    fn places(&self) -> Vec<PlacementOrder> {
        PlacementOrder::ALL.to_vec()
    }
}
