//! A job as text, and the arguments of commands.

use super::options::JobOptions;
use super::template::Template;
use crate::placeholder::{arguments, filled};
use apexmap_base::error::{Error, Result};
use std::fmt::Write;
use std::path::Path;

/// What a job's script says.
#[derive(Clone, Debug, PartialEq)]
pub struct JobScript<'a> {
    /// Of the job, for the batch system; unique.
    pub name: &'a str,
    pub nodes: usize,
    /// The most of all its launches, if they are known.
    pub ranks_per_node: Option<usize>,
    pub seconds: f64,
    /// Where the job's output goes, relative to `folder`.
    pub log: &'a str,
    /// The result folder, absolute.
    pub folder: &'a Path,
    /// What it runs.
    pub command: &'a [String],
}

impl JobScript<'_> {
    /// The script.
    pub fn text(&self, template: &Template, options: &JobOptions) -> String {
        let value = |name: &str| match name {
            "name" => Some(self.name.to_owned()),
            "nodes" => Some(self.nodes.to_string()),
            "ranks_per_node" | "cores" => self.ranks_per_node.map(|ranks| ranks.to_string()),
            "time" => Some(template.time(self.seconds)),
            "log" => Some(self.log.to_owned()),
            "account" => options.account.clone(),
            "partition" => options.partition.clone(),
            "qos" => options.qos.clone(),
            "constraint" => options.constraint.clone(),
            "reservation" => options.reservation.clone(),
            _ => None,
        };
        // Modules are a function of login shells.
        let shell = if options.modules.is_empty() { "#!/bin/bash\n" } else { "#!/bin/bash -l\n" };
        let mut text = shell.to_owned();
        let exclusive =
            template.exclusive.iter().filter(|line| options.exclusive && !is_said(line, &options.directives));
        let lines = template.directives.iter().chain(exclusive).filter_map(|line| filled(line, value));
        for line in lines.chain(options.directives.iter().cloned()) {
            let _ = writeln!(text, "{}{line}", template.prefix);
        }
        text.push_str("# Written by apexmap. What was measured is kept, however this job ends.\n");
        for module in &options.modules {
            let _ = writeln!(text, "module load {}", quoted(module));
        }
        for (name, value) in &options.environment {
            let _ = writeln!(text, "export {name}={}", quoted(value));
        }
        let _ = writeln!(text, "cd {} || exit 3", quoted(&self.folder.to_string_lossy()));
        let command: Vec<String> = self.command.iter().map(|word| quoted(word)).collect();
        let _ = writeln!(text, "exec {}", command.join(" "));
        text
    }
}

/// Whether the user's directives name this option themselves, or one that begins like it: `--mem-per-cpu` excludes `--mem`.
fn is_said(line: &str, directives: &[String]) -> bool {
    line.split_once('=').is_some_and(|(option, _)| directives.iter().any(|other| other.starts_with(option)))
}

/// For a shell: in single quotes, unless it is plain.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// The arguments that submit a script.
///
/// # Errors
/// If the template leaves something open.
pub fn submit(template: &Template, script: &str, after: Option<&str>) -> Result<Vec<String>> {
    let value = |name: &str| match name {
        "script" => Some(vec![script.to_owned()]),
        "after" => after.map(|id| vec![id.to_owned()]),
        _ => None,
    };
    let at = template.submit.iter().position(|text| text.contains("{script}")).unwrap_or(template.submit.len());
    let (before, rest) = template.submit.split_at(at);
    let further = if after.is_some() { &template.after[..] } else { &[] };
    arguments(&[before, further, rest].concat(), value).ok_or_else(|| open(template, "submit"))
}

/// The arguments of a question or of `cancel`; `{ids}` alone becomes an argument for each, elsewhere they are joined by commas.
///
/// # Errors
/// If the template leaves something open.
pub fn about(template: &Template, command: &[String], user: &str, ids: &[String]) -> Result<Vec<String>> {
    let value = |name: &str| match name {
        "user" => Some(vec![user.to_owned()]),
        "ids" => Some(ids.to_vec()),
        _ => None,
    };
    arguments(command, value).ok_or_else(|| open(template, "a command"))
}

/// The arguments of the question about nodes; empty if the template has none.
pub fn nodes(template: &Template, partition: Option<&str>) -> Vec<String> {
    let value = |name: &str| partition.filter(|_| name == "partition").map(str::to_owned);
    template.nodes.iter().filter_map(|text| filled(text, value)).collect()
}

fn open(template: &Template, what: &str) -> Error {
    Error::input(
        format!("the template \"{}\": {what} has a placeholder without a value", template.name),
        "see docs/clusters.md for what each command may name",
    )
}
