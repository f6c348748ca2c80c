//! `custom`: a command from the sweep, such as `["mpiexec", "-n", "{ranks}", "{worker}", "{arguments}"]`.

use super::{CommandLine, LaunchJob, Launcher, LauncherEntry};
use crate::placeholder::{escape_braces, expand_arguments};
use apexmap_base::error::{Error, Result};
use apexmap_measure::comm::TransportKind;

pub fn entry() -> LauncherEntry {
    let make = |command: &[String]| Ok(Box::new(Custom::new(command.to_vec())?) as Box<dyn Launcher>);
    let summary = "the command line in `command`";
    LauncherEntry { remote: true, takes_command: true, ..LauncherEntry::new(ID, summary, TransportKind::Mpi, make) }
}

const ID: &str = "custom";

/// `arguments` is the last one, because [`escape_argument`] leaves it out.
pub const PLACEHOLDERS: &[&str] = &["ranks", "nodes", "ranks_per_node", "hosts", "worker", "arguments"];

pub const EXAMPLE: &str = "command = [\"mpiexec\", \"-n\", \"{ranks}\", \"{worker}\", \"{arguments}\"]";

/// The first required placeholder that is not in the command. `{arguments}` must be a separate argument.
pub fn missing_placeholder(command: &[String]) -> Option<&'static str> {
    let contains = |needed: &str| match needed {
        "{arguments}" => command.iter().any(|argument| argument == needed),
        _ => command.iter().any(|argument| argument.contains(needed)),
    };
    ["{worker}", "{arguments}", "{ranks}"].into_iter().find(|needed| !contains(needed))
}

#[derive(Debug)]
pub struct Custom {
    command: Vec<String>,
}

impl Custom {
    /// `{ranks}`, `{worker}` and `{arguments}`, a separate argument, are required. All braces besides [`PLACEHOLDERS`] stay.
    pub fn new(command: Vec<String>) -> Result<Self> {
        match missing_placeholder(&command) {
            None => Ok(Self { command }),
            Some(missing) => {
                let message = format!("the command of launcher \"custom\" has no \"{missing}\"");
                Err(Error::input(message, format!("write it as in {EXAMPLE}")))
            }
        }
    }
}

impl Launcher for Custom {
    fn id(&self) -> &'static str {
        ID
    }

    fn programs(&self) -> Vec<&str> {
        self.command.iter().take(1).map(String::as_str).collect()
    }

    fn install(&self) -> &str {
        "correct the first word of the command in the sweep, or install that program"
    }

    /// Without ranks per node in the sweep, all ranks are on one node.
    fn command(&self, job: &LaunchJob) -> CommandLine {
        let ranks_per_node = job.ranks_per_node.unwrap_or(job.ranks);
        let value = |name: &str| match name {
            "ranks" => Some(vec![job.ranks.to_string()]),
            "nodes" => Some(vec![job.nodes.unwrap_or(job.ranks.div_ceil(ranks_per_node.max(1))).to_string()]),
            "ranks_per_node" => Some(vec![ranks_per_node.to_string()]),
            "hosts" => Some(vec![job.used_hosts().0.join(",")]),
            "worker" => Some(vec![job.worker.to_string_lossy().into_owned()]),
            "arguments" => Some(job.arguments.clone()),
            _ => None,
        };
        let texts: Vec<String> = self.command.iter().map(|text| escape_argument(text)).collect();
        CommandLine { argv: expand_arguments(&texts, value).unwrap_or_default(), env: Vec::new() }
    }

    fn takes_hosts(&self) -> bool {
        self.command.iter().any(|argument| argument.contains("{hosts}"))
    }
}

/// Makes a text with placeholders of an argument. `{arguments}` is one only if it is the whole argument.
fn escape_argument(argument: &str) -> String {
    match argument {
        "{arguments}" => argument.to_owned(),
        _ => escape_braces(argument, &PLACEHOLDERS[..PLACEHOLDERS.len() - 1]),
    }
}
