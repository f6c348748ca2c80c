//! The template of a batch system.

use super::JobState;
use crate::placeholder::check;
use apexmap_base::error::{Error, Result};
use apexmap_base::toml_file::Page;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

/// How jobs are written, submitted, asked for and cancelled. Texts hold placeholders in braces, such as `{nodes}`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Template {
    /// As users call it.
    pub name: String,
    /// What a line of the script begins with that is for the batch system: `#SBATCH `.
    pub prefix: String,
    /// Such lines, without the prefix. A line whose placeholder has no value is left out.
    pub directives: Vec<String>,
    /// Further ones if the nodes are for the job only.
    #[serde(default)]
    pub exclusive: Vec<String>,
    /// How times are written: "hh:mm:ss", "hh:mm" or "minutes".
    pub time: TimeFormat,
    /// Submits a script, `{script}`.
    pub submit: Vec<String>,
    /// Further arguments of `submit`, before the script, for a job that begins after another has ended, `{after}`.
    pub after: Vec<String>,
    /// The script goes to the standard input of `submit`.
    #[serde(default)]
    pub by_input: bool,
    /// Where the job's id is in the output of `submit`.
    pub id: Between,
    /// An id means the same without what follows this text, and answers may lack some of that.
    pub short_id: Option<String>,
    /// Asks for all jobs of `{user}`, or for `{ids}`.
    pub ask: Question,
    /// Asks for jobs that the first answer lacks, as they ended some time ago, and for those that were cancelled.
    pub ask_ended: Option<Question>,
    /// Asks what the nodes of `{partition}` are: a line for each, with its partition (`*` after the default one), sockets, cores of a
    /// socket, hardware threads of a core, and memory in MiB; then, if it tells, the longest time of a job (`[days-]hours:minutes:seconds` or `infinite`) and its most nodes
    /// (`1-4` or `1-infinite`). An argument whose placeholder has no value is left out.
    #[serde(default)]
    pub nodes: Vec<String>,
    /// Tells the cluster's name, in a line `ClusterName = NAME`: login nodes have names of their own.
    #[serde(default)]
    pub cluster: Vec<String>,
    /// Cancels `{ids}`, each an argument of its own.
    pub cancel: Vec<String>,
    /// The system's words for states.
    pub states: BTreeMap<String, JobState>,
    /// Parts of reasons that say more than the state; `..` stands for anything.
    #[serde(default)]
    pub reasons: BTreeMap<String, JobState>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum TimeFormat {
    #[serde(rename = "hh:mm:ss")]
    HoursMinutesSeconds,
    #[serde(rename = "hh:mm")]
    HoursMinutes,
    #[serde(rename = "minutes")]
    Minutes,
}

/// The text behind one text and before another.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Between {
    #[serde(default)]
    pub behind: String,
    /// Any of these characters ends it, as does a blank or the end of the line.
    #[serde(default)]
    pub until: String,
}

/// A command whose answer has a line for each job.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    pub command: Vec<String>,
    /// What separates columns; blanks if absent.
    pub separator: Option<String>,
    /// Columns by their numbers from 0; a negative number counts from the end, -1 being the last.
    pub id: i32,
    pub state: i32,
    pub name: Option<i32>,
    pub reason: Option<i32>,
    pub start: Option<i32>,
}

/// What `submit`, `after`, questions and `cancel` may name.
const IN_COMMANDS: &[&str] = &["script", "after", "user", "ids"];
/// What directives may name.
pub const IN_DIRECTIVES: &[&str] = &[
    "name",
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
    /// # Errors
    /// If the text is not a template.
    pub fn parse(text: &str, path: &Path) -> Result<Self> {
        let page = Page { path, text, examples: "src/run/batch/templates/" };
        let template: Self = toml::from_str(text).map_err(|error| page.unreadable(&error))?;
        let commands = [&template.submit, &template.after, &template.ask.command, &template.cancel];
        let ended = template.ask_ended.iter().map(|question| &question.command);
        let known = |texts: &[String], known: &[&str]| check(path, texts.iter().map(String::as_str), known);
        for command in commands.into_iter().chain(ended) {
            known(command, IN_COMMANDS)?;
        }
        known(&template.directives, IN_DIRECTIVES)?;
        known(&template.exclusive, IN_DIRECTIVES)?;
        for (name, command) in
            [("submit", &template.submit), ("ask", &template.ask.command), ("cancel", &template.cancel)]
        {
            if command.is_empty() {
                return Err(Error::input(format!("{}: {name} is empty", path.display()), "name the program to run"));
            }
        }
        Ok(template)
    }

    /// The part of an id that tells jobs apart, also where a table has cut the rest off.
    pub fn short<'a>(&self, id: &'a str) -> &'a str {
        self.short_id.as_deref().and_then(|end| id.split_once(end)).map_or(id, |(short, _)| short)
    }

    /// A time as the system takes it, rounded up to a minute.
    pub fn time(&self, seconds: f64) -> String {
        let minutes = (seconds / 60.0).ceil().max(1.0) as u64;
        match self.time {
            TimeFormat::HoursMinutesSeconds => format!("{:02}:{:02}:00", minutes / 60, minutes % 60),
            TimeFormat::HoursMinutes => format!("{}:{:02}", minutes / 60, minutes % 60),
            TimeFormat::Minutes => minutes.to_string(),
        }
    }
}
