//! The template of a batch system.

use super::JobState;
use apexmap_base::error::{Error, Result};
use apexmap_base::toml_file::TomlSource;
use apexmap_run::placeholder::check;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

/// How to write, submit, query and cancel jobs. Texts hold placeholders in braces, such as `{nodes}`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Template {
    /// The name that users write.
    pub name: String,
    /// The beginning of a line of the script that the batch system reads: `#SBATCH `.
    pub prefix: String,
    /// These lines, without the prefix. A line whose placeholder has no value is left out.
    pub directives: Vec<String>,
    /// Further lines for exclusive nodes.
    #[serde(default)]
    pub exclusive: Vec<String>,
    /// The format of times: "hh:mm:ss", "hh:mm" or "minutes".
    pub time: TimeFormat,
    /// Submits a script, `{script}`.
    pub submit: Vec<String>,
    /// Further arguments of `submit`, before the script, for a job that starts after the job `{after}` ends.
    pub after: Vec<String>,
    /// `submit` reads the script from its standard input.
    #[serde(default)]
    pub by_input: bool,
    /// The position of the job's id in the output of `submit`. Without `behind`, the id is a whole line.
    pub id: Delimiters,
    /// The text where the short form of an id ends. Some answers contain only the short form.
    pub short_id: Option<String>,
    /// Parts of the messages of `submit` when the queue accepts no more jobs of this user now, but will later; `..` matches any text.
    #[serde(default)]
    pub full: Vec<String>,
    /// Asks for all jobs of `{user}`, or for the jobs `{ids}`.
    pub ask: Question,
    /// Asks for the jobs that are not in the first answer because they ended some time ago, and for cancelled jobs.
    pub ask_ended: Option<Question>,
    /// Asks for the nodes of `{partition}`. The answer has one line per node: partition (`*` after the default one), sockets,
    /// cores per socket, hardware threads per core, and memory in MiB. Five more columns are optional: the longest time of a job
    /// (`[days-]hours:minutes:seconds` or `infinite`), its largest number of nodes (`1-4` or `1-infinite`), the node's features
    /// (`haswell,ib`), its name and its state. An argument whose placeholder has no value is left out.
    #[serde(default)]
    pub nodes: Vec<String>,
    /// States of nodes that jobs may get, and those of nodes that only jobs in a reservation get.
    #[serde(default)]
    pub usable_states: Vec<String>,
    #[serde(default)]
    pub reserved_states: Vec<String>,
    /// Further lines of a job on one chosen node, `{node}`. Each replaces the directive with the same option.
    #[serde(default)]
    pub on_node: Vec<String>,
    /// Prints the cluster's name in a line `ClusterName = NAME`. Login nodes have other names than the cluster.
    #[serde(default)]
    pub cluster: Vec<String>,
    /// Cancels the jobs `{ids}`; each id is one argument.
    pub cancel: Vec<String>,
    /// Releases the held jobs `{ids}`. Only shown to users.
    #[serde(default)]
    pub release: Vec<String>,
    /// The state for each word of the system.
    pub states: BTreeMap<String, JobState>,
    /// Reasons that are more specific than the state; `..` matches any text.
    #[serde(default)]
    pub reasons: BTreeMap<String, JobState>,
}

/// The format of times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum TimeFormat {
    #[serde(rename = "hh:mm:ss")]
    HoursMinutesSeconds,
    #[serde(rename = "hh:mm")]
    HoursMinutes,
    #[serde(rename = "minutes")]
    Minutes,
}

/// Selects the text after one text and before another.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Delimiters {
    #[serde(default)]
    pub behind: String,
    /// Each of these characters ends the text, as does a blank or the end of the line.
    #[serde(default)]
    pub until: String,
    /// The text before the id where no line is an id: sites replace `submit` by programs that print more.
    #[serde(default)]
    pub sentence: String,
}

/// A command whose answer has one line per job.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    pub command: Vec<String>,
    /// The separator of columns; blanks if absent.
    pub separator: Option<String>,
    /// Columns, counted from 0; negative numbers count from the end, -1 is the last.
    pub id: i32,
    pub state: i32,
    pub name: Option<i32>,
    pub reason: Option<i32>,
    pub start: Option<i32>,
}

/// Placeholders of `submit`, `after`, questions and `cancel`.
const COMMAND_PLACEHOLDERS: &[&str] = &["script", "after", "user", "ids"];
/// Placeholders of directives.
pub const DIRECTIVE_PLACEHOLDERS: &[&str] = &[
    "name",
    "node",
    "nodes",
    "ranks_per_node",
    "cores",
    "time",
    "log",
    "account",
    "partition",
    "qos",
    "constraint",
    "reservation",
];

impl Template {
    /// Parses a template.
    pub fn parse(text: &str, path: &Path) -> Result<Self> {
        let page = TomlSource { path, text, examples: "src/cluster/batch/templates/" };
        let template: Self = toml::from_str(text).map_err(|error| page.parse_error(&error))?;
        let commands = [&template.submit, &template.after, &template.ask.command, &template.cancel, &template.release];
        let ended_query = template.ask_ended.iter().map(|question| &question.command);
        let check_texts = |texts: &[String], known: &[&str]| check(path, texts.iter().map(String::as_str), known);
        for command in commands.into_iter().chain(ended_query) {
            check_texts(command, COMMAND_PLACEHOLDERS)?;
        }
        check_texts(&template.directives, DIRECTIVE_PLACEHOLDERS)?;
        check_texts(&template.exclusive, DIRECTIVE_PLACEHOLDERS)?;
        check_texts(&template.on_node, DIRECTIVE_PLACEHOLDERS)?;
        for (name, command) in
            [("submit", &template.submit), ("ask", &template.ask.command), ("cancel", &template.cancel)]
        {
            if command.is_empty() {
                return Err(Error::input(
                    format!("{}: {name} is empty", path.display()),
                    "write the program and its arguments",
                ));
            }
        }
        Ok(template)
    }

    /// Returns the short form of an id, which identifies a job where a table cuts off the rest.
    pub fn short_id<'a>(&self, id: &'a str) -> &'a str {
        self.short_id.as_deref().and_then(|end| id.split_once(end)).map_or(id, |(short, _)| short)
    }

    /// Returns whether jobs may get a node in this state, `in_reservation` or not. Slurm appends marks to states: `idle~` is a
    /// node that is powered down and starts for a job. The mark `*` of nodes that do not respond is no such mark.
    pub fn is_usable(&self, state: &str, in_reservation: bool) -> bool {
        let state = state.to_lowercase();
        let state = state.trim_end_matches(['~', '#', '!', '%', '@', '^', '-', '$', '+']);
        let is_listed = |states: &[String]| states.iter().any(|listed| listed == state);
        is_listed(&self.usable_states) || in_reservation && is_listed(&self.reserved_states)
    }

    /// Formats a time for the system, rounded up to a minute.
    pub fn format_time(&self, seconds: f64) -> String {
        let minutes = (seconds / 60.0).ceil().max(1.0) as u64;
        match self.time {
            TimeFormat::HoursMinutesSeconds => format!("{:02}:{:02}:00", minutes / 60, minutes % 60),
            TimeFormat::HoursMinutes => format!("{}:{:02}", minutes / 60, minutes % 60),
            TimeFormat::Minutes => minutes.to_string(),
        }
    }
}
