//! Writes job scripts, and the command lines of batch systems.

use super::template::Template;
use apexmap_run::placeholder::fill;
use apexmap_run::sweep::submit_table::SubmitTable;
use std::fmt::Write;
use std::path::Path;

#[derive(Clone, Debug, PartialEq)]
pub struct JobScript<'a> {
    pub name: &'a str,
    pub nodes: usize,
    pub node: Option<&'a str>,
    /// The largest number of ranks per node among the job's launches, if known.
    pub ranks_per_node: Option<usize>,
    pub seconds: f64,
    /// The file for the job's output, relative to `folder`.
    pub log: &'a str,
    /// The absolute path of the result folder.
    pub folder: &'a Path,
    /// The file that the job removes when it starts, relative to `folder`.
    pub queued: &'a str,
    pub command: &'a [String],
}

impl JobScript<'_> {
    pub fn text(&self, template: &Template, options: &SubmitTable) -> String {
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
        let is_exclusive = options.exclusive.unwrap_or(true);
        let exclusive =
            template.exclusive.iter().filter(|line| is_exclusive && !is_replaced(line, &options.directives));
        let on_node = if self.node.is_some() { &template.on_node[..] } else { &[] };
        let directives = template.directives.iter().filter(|line| !is_replaced(line, on_node)).chain(on_node);
        let lines = directives.chain(exclusive).filter_map(|line| fill(line, value));
        for line in lines.chain(options.directives.iter().cloned()) {
            let _ = writeln!(text, "{}{line}", template.prefix);
        }
        text.push_str("# Written by apexmap. All samples are kept, however this job ends.\n");
        text.push_str(&environment_lines(options));
        let _ = writeln!(text, "cd {} || exit 3", quote(&self.folder.to_string_lossy()));
        let _ = writeln!(text, "rm -f {}", quote(self.queued));
        let command: Vec<String> = self.command.iter().map(|word| quote(word)).collect();
        // `exec` lets the batch system's signals reach the driver.
        let _ = writeln!(text, "exec {}", command.join(" "));
        text
    }
}

/// The arguments and path of a shell that loads these modules. Only login shells define the function `module`.
pub fn shell(modules: &[String]) -> (&'static [&'static str], &'static str) {
    (if modules.is_empty() { &[] } else { &["-l"] }, "/bin/bash")
}

pub fn environment_lines(options: &SubmitTable) -> String {
    let modules = options.modules.iter().map(|module| format!("module load {}\n", quote(module)));
    let variables = options.environment.iter().map(|(name, value)| format!("export {name}={}\n", quote(value)));
    modules.chain(variables).collect()
}

/// Whether other directives contain this option with any value, or a longer option with the same beginning: `--exclusive=user`
/// replaces `--exclusive`, and `--mem-per-cpu` replaces `--mem=0`.
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

pub fn submit_command(template: &Template, script: &str) -> Vec<String> {
    fill_command(&template.submit, "script", Some(script))
}

/// The command that asks for the sizes of nodes; empty if the template has none.
pub fn nodes_command(template: &Template, partition: Option<&str>) -> Vec<String> {
    fill_command(&template.nodes, "partition", partition)
}

/// Fills the only placeholder. An argument whose placeholder has no value is left out.
fn fill_command(texts: &[String], placeholder: &str, value: Option<&str>) -> Vec<String> {
    let value_of = |name: &str| value.filter(|_| name == placeholder).map(str::to_owned);
    texts.iter().filter_map(|text| fill(text, value_of)).collect()
}

pub fn parse_job_id(template: &Template, output: &str) -> Option<String> {
    let id_format = &template.id;
    let read_behind = |text: &str, line: &str| {
        let start = line.find(text).filter(|_| !text.is_empty())? + text.len();
        let id = first_word(line[start..].trim_start(), &id_format.until);
        is_id(id).then(|| id.to_owned())
    };
    let read_line = |line: &str| {
        let line = line.trim();
        let id = first_word(line, &id_format.until);
        // A line of news may begin with digits: 2026-12-01. In an id, `.server` or `[]` may follow the digits.
        let rest = id.trim_start_matches(|c: char| c.is_ascii_digit());
        let is_suffix = rest.is_empty()
            || rest.starts_with('[')
            || rest.starts_with('.') && !rest[1..].starts_with(|c: char| c.is_ascii_digit());
        (!line.contains(char::is_whitespace) && is_id(id) && (is_suffix || rest == id)).then(|| id.to_owned())
    };
    // Sites print news before and after the answer.
    let last = |read: &dyn Fn(&str) -> Option<String>| output.lines().rev().find_map(read);
    match id_format.behind.as_str() {
        "" => last(&read_line).or_else(|| last(&|line| read_behind(&id_format.sentence, line))),
        text => last(&|line| read_behind(text, line)),
    }
}

fn first_word<'a>(text: &'a str, ends: &str) -> &'a str {
    text.split(|c: char| c.is_whitespace() || ends.contains(c)).next().unwrap_or(text)
}

/// The id of one job starts with digits that are not all 0, or in Flux with `ƒ` or `f`, then letters and digits with a digit.
fn is_id(word: &str) -> bool {
    let digits: String = word.chars().take_while(char::is_ascii_digit).collect();
    let is_number = digits.contains(|digit| digit != '0');
    let of_flux = word.strip_prefix(['ƒ', 'f']).is_some_and(|rest| {
        rest.contains(|c: char| c.is_ascii_digit()) && rest.chars().all(|c| c.is_ascii_alphanumeric())
    });
    (is_number || of_flux) && !word.contains(|c: char| c.is_whitespace() || c.is_control() || c == ',')
}

pub fn parse_cluster_name(text: &str) -> Option<String> {
    let value = text.lines().find_map(|line| line.trim().strip_prefix("ClusterName"))?;
    let name = value.trim_start_matches([' ', '=']).trim();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    (!name.is_empty() && name.chars().all(is_plain)).then(|| name.to_owned())
}
