//! `local`: the worker itself, whose ranks are threads.

use super::{LaunchJob, Launcher};
use crate::explore::sweep::execute::CommandLine;

pub struct Local;

impl Launcher for Local {
    fn id(&self) -> &'static str {
        "local"
    }

    fn transport(&self) -> &'static str {
        "threads"
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
}
