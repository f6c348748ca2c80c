//! `custom`: a command from the sweep, such as `["jsrun", "-n", "{ranks}", "{worker}", "{arguments}"]`.

use super::{LaunchJob, Launcher};
use crate::error::{Error, Result};
use crate::explore::sweep::execute::CommandLine;

#[derive(Debug)]
pub struct Custom {
    template: Vec<String>,
}

impl Custom {
    /// The template's arguments may contain `{ranks}`, `{ranks_per_node}` and `{worker}`; the argument `{arguments}` is
    /// replaced by all of the worker's. The worker, its arguments and the ranks must be somewhere.
    pub fn new(template: Vec<String>) -> Result<Self> {
        let holds = |name: &str| template.iter().any(|argument| argument.contains(name));
        let missing = if !holds("{worker}") {
            "{worker}"
        } else if !template.iter().any(|argument| argument == "{arguments}") {
            "{arguments} as an argument of its own"
        } else if !holds("{ranks}") {
            "{ranks}"
        } else {
            return Ok(Self { template });
        };
        Err(Error::input(
            format!("the command of launcher \"custom\" lacks {missing}"),
            "write it like this: command = [\"jsrun\", \"-n\", \"{ranks}\", \"{worker}\", \"{arguments}\"]",
        ))
    }
}

impl Launcher for Custom {
    fn id(&self) -> &'static str {
        "custom"
    }

    fn transport(&self) -> &'static str {
        "mpi"
    }

    fn programs(&self) -> Vec<&str> {
        self.template.iter().take(1).map(String::as_str).collect()
    }

    fn install(&self) -> &'static str {
        "correct the first word of the command in the sweep, or install the program that it names"
    }

    /// Without ranks per node in the sweep, `{ranks_per_node}` is the number of ranks: all of them on one node.
    fn command(&self, job: &LaunchJob) -> CommandLine {
        let (ranks, per_node) = (job.ranks.to_string(), job.ranks_per_node.unwrap_or(job.ranks).to_string());
        let worker = job.worker.to_string_lossy();
        let fill = |argument: &String| match argument.as_str() {
            "{arguments}" => job.arguments.clone(),
            text => vec![substitute(text, &[("ranks", &ranks), ("ranks_per_node", &per_node), ("worker", &worker)])],
        };
        CommandLine { argv: self.template.iter().flat_map(fill).collect(), env: Vec::new() }
    }
}

/// Replaces `{name}` by its value, in one pass: values are not looked into.
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
