//! `custom`: a command from the sweep, such as `["jsrun", "-n", "{ranks}", "{worker}", "{arguments}"]`.

use super::{CommandLine, LaunchJob, Launcher, LauncherEntry};
use apexmap_base::error::{Error, Result};
use apexmap_measure::comm::TransportKind;

pub const ENTRY: LauncherEntry = LauncherEntry {
    id: "custom",
    summary: "the command line in `command`",
    transport: TransportKind::Mpi,
    remote: true,
    allocation: None,
    takes_command: true,
    make: |command| Ok(Box::new(Custom::new(command.to_vec())?)),
};

/// What a command may name in braces.
pub const PLACEHOLDERS: &[&str] = &["ranks", "nodes", "ranks_per_node", "hosts", "worker", "arguments"];

pub const EXAMPLE: &str = "command = [\"jsrun\", \"-n\", \"{ranks}\", \"{worker}\", \"{arguments}\"]";

/// The first placeholder that a command needs and does not have; `{arguments}` must be an argument of its own.
pub fn missing_placeholder(command: &[String]) -> Option<&'static str> {
    let has = |needed: &str| match needed {
        "{arguments}" => command.iter().any(|argument| argument == needed),
        _ => command.iter().any(|argument| argument.contains(needed)),
    };
    ["{worker}", "{arguments}", "{ranks}"].into_iter().find(|needed| !has(needed))
}

#[derive(Debug)]
pub struct Custom {
    template: Vec<String>,
}

impl Custom {
    /// The template's arguments may contain `{ranks}`, `{nodes}`, `{ranks_per_node}`, `{hosts}` and `{worker}`; the argument `{arguments}`
    /// is replaced by all of the worker's. `{ranks}`, `{worker}` and `{arguments}` are needed.
    pub fn new(template: Vec<String>) -> Result<Self> {
        match missing_placeholder(&template) {
            None => Ok(Self { template }),
            Some(missing) => {
                let what = format!("the command of launcher \"custom\" lacks the argument \"{missing}\"");
                Err(Error::input(what, format!("write it as in {EXAMPLE}")))
            }
        }
    }
}

impl Launcher for Custom {
    fn entry(&self) -> &'static LauncherEntry {
        &ENTRY
    }

    fn programs(&self) -> Vec<&str> {
        self.template.iter().take(1).map(String::as_str).collect()
    }

    fn install(&self) -> &'static str {
        "correct the first word of the command in the sweep, or install that program"
    }

    /// Without ranks per node in the sweep, `{ranks_per_node}` is the number of ranks: all of them on one node.
    fn command(&self, job: &LaunchJob) -> CommandLine {
        let per_node = job.ranks_per_node.unwrap_or(job.ranks);
        let nodes = job.nodes.unwrap_or(job.ranks.div_ceil(per_node.max(1)));
        let [ranks, nodes, per_node] = [job.ranks, nodes, per_node].map(|number| number.to_string());
        let worker = job.worker.to_string_lossy();
        let hosts = job.used_hosts().0.join(",");
        let fill = |argument: &String| match argument.as_str() {
            "{arguments}" => job.arguments.clone(),
            text => {
                let values = [
                    ("ranks", &*ranks),
                    ("nodes", &nodes),
                    ("ranks_per_node", &per_node),
                    ("hosts", &hosts),
                    ("worker", &worker),
                ];
                vec![substitute(text, &values)]
            }
        };
        CommandLine { argv: self.template.iter().flat_map(fill).collect(), env: Vec::new() }
    }

    /// They stand in the command itself.
    fn hosts(&self, _: &[String], _: usize) -> Option<Vec<String>> {
        self.template.iter().any(|argument| argument.contains("{hosts}")).then(Vec::new)
    }
}

/// Replaces `{name}` by its value in one pass: braces within values stay.
fn substitute(text: &str, values: &[(&str, &str)]) -> String {
    let mut filled = String::new();
    let mut rest = text;
    while let Some(start) = rest.find('{') {
        let (before, tail) = rest.split_at(start);
        filled.push_str(before);
        let known =
            values.iter().find(|(name, _)| tail[1..].starts_with(name) && tail[1 + name.len()..].starts_with('}'));
        match known {
            Some((name, value)) => {
                filled.push_str(value);
                rest = &tail[name.len() + 2..];
            }
            None => {
                filled.push('{');
                rest = &tail[1..];
            }
        }
    }
    filled + rest
}
