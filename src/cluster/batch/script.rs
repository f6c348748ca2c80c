//! Writes job scripts, and the command lines of batch systems.

use super::options::JobOptions;
use super::template::Template;
use apexmap_base::error::{Error, Result};
use apexmap_run::placeholder::{expand_arguments, fill};
use std::fmt::Write;
use std::path::Path;

/// The contents of a job script.
#[derive(Clone, Debug, PartialEq)]
pub struct JobScript<'a> {
    /// The job's unique name for the batch system.
    pub name: &'a str,
    pub nodes: usize,
    /// The chosen node, if the job runs on a certain one.
    pub node: Option<&'a str>,
    /// The largest number of ranks per node among the job's launches, if known.
    pub ranks_per_node: Option<usize>,
    pub seconds: f64,
    /// The file for the job's output, relative to `folder`.
    pub log: &'a str,
    /// The absolute path of the result folder.
    pub folder: &'a Path,
    /// The command that the job runs.
    pub command: &'a [String],
}

impl JobScript<'_> {
    /// Returns the text of the script.
    pub fn text(&self, template: &Template, options: &JobOptions) -> String {
        let value = |name: &str| match name {
            "name" => Some(self.name.to_owned()),
            "nodes" => Some(self.nodes.to_string()),
            "node" => self.node.map(str::to_owned),
            "ranks_per_node" | "cores" => self.ranks_per_node.map(|ranks| ranks.to_string()),
            "time" => Some(template.format_time(self.seconds)),
            "log" => Some(self.log.to_owned()),
            "account" => options.account.clone(),
            "partition" => options.partition.clone(),
            "qos" => options.qos.clone(),
            "constraint" => options.constraint.clone(),
            "reservation" => options.reservation.clone(),
            _ => None,
        };
        let (arguments, interpreter) = shell(&options.modules);
        let mut text =
            format!("#!{interpreter}{}\n", arguments.iter().map(|word| format!(" {word}")).collect::<String>());
        let exclusive =
            template.exclusive.iter().filter(|line| options.exclusive && !is_replaced(line, &options.directives));
        let on_node = if self.node.is_some() { &template.on_node[..] } else { &[] };
        let directives = template.directives.iter().filter(|line| !is_replaced(line, on_node)).chain(on_node);
        let lines = directives.chain(exclusive).filter_map(|line| fill(line, value));
        for line in lines.chain(options.directives.iter().cloned()) {
            let _ = writeln!(text, "{}{line}", template.prefix);
        }
        text.push_str("# Written by apexmap. All samples are kept, however this job ends.\n");
        text.push_str(&environment_lines(options));
        let _ = writeln!(text, "cd {} || exit 3", quote(&self.folder.to_string_lossy()));
        let command: Vec<String> = self.command.iter().map(|word| quote(word)).collect();
        // `exec` lets the batch system's signals reach the driver.
        let _ = writeln!(text, "exec {}", command.join(" "));
        text
    }
}

/// Returns the shell of a script that loads these modules: its arguments and its path. Only login shells define the function `module`.
pub fn shell(modules: &[String]) -> (&'static [&'static str], &'static str) {
    (if modules.is_empty() { &[] } else { &["-l"] }, "/bin/bash")
}

/// Returns the lines that load the modules of jobs and set their variables.
pub fn environment_lines(options: &JobOptions) -> String {
    let modules = options.modules.iter().map(|module| format!("module load {}\n", quote(module)));
    let variables = options.environment.iter().map(|(name, value)| format!("export {name}={}\n", quote(value)));
    modules.chain(variables).collect()
}

/// Returns true if other directives contain this option with any value, or a longer option with the same beginning:
/// `--exclusive=user` replaces `--exclusive`, and `--mem-per-cpu` replaces `--mem=0`.
fn is_replaced(line: &str, others: &[String]) -> bool {
    others.iter().any(|other| match line.split_once('=') {
        Some((option, _)) => other.starts_with(option),
        None => other.split('=').next().is_some_and(|option| option.trim() == line.trim()),
    })
}

/// Quotes a word for a shell, unless it has only plain characters.
pub fn quote(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// Returns the command that submits a script, to start after the job `predecessor` ends.
///
/// # Errors
/// If a placeholder of the template has no value.
pub fn submit_command(template: &Template, script: &str, predecessor: Option<&str>) -> Result<Vec<String>> {
    let value = |name: &str| match name {
        "script" => Some(vec![script.to_owned()]),
        "after" => predecessor.map(|id| vec![id.to_owned()]),
        _ => None,
    };
    let position = template.submit.iter().position(|text| text.contains("{script}")).unwrap_or(template.submit.len());
    let (head, tail) = template.submit.split_at(position);
    let dependency = if predecessor.is_some() { &template.after[..] } else { &[] };
    expand_arguments(&[head, dependency, tail].concat(), value).ok_or_else(|| missing_value(template, "submit"))
}

/// Returns the command of a question or of `cancel`. An argument `{ids}` becomes one argument per id; inside an argument, the ids
/// are joined by commas.
///
/// # Errors
/// If a placeholder of the template has no value.
pub fn query_command(template: &Template, command: &[String], user: &str, ids: &[String]) -> Result<Vec<String>> {
    let value = |name: &str| match name {
        "user" => Some(vec![user.to_owned()]),
        "ids" => Some(ids.to_vec()),
        _ => None,
    };
    expand_arguments(command, value).ok_or_else(|| missing_value(template, "a command"))
}

/// Returns the command that asks for the sizes of nodes; empty if the template has none.
pub fn nodes_command(template: &Template, partition: Option<&str>) -> Vec<String> {
    let value = |name: &str| partition.filter(|_| name == "partition").map(str::to_owned);
    template.nodes.iter().filter_map(|text| fill(text, value)).collect()
}

fn missing_value(template: &Template, command: &str) -> Error {
    Error::input(
        format!("the template \"{}\": {command} has a placeholder without a value", template.name),
        "see docs/batch-systems.md for the placeholders of each command",
    )
}
