//! The template of a batch system.

use apexmap_base::error::{Error, Result};
use apexmap_base::toml_file::TomlSource;
use apexmap_run::placeholder::check;
use serde::Deserialize;
use std::path::Path;

/// How to write and submit jobs. Texts hold placeholders in braces, such as `{nodes}`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Template {
    pub name: String,
    /// The beginning of a line of the script that the batch system reads: `#SBATCH `.
    pub prefix: String,
    /// These lines, without the prefix. A line whose placeholder has no value is left out.
    pub directives: Vec<String>,
    /// Further lines for exclusive nodes.
    #[serde(default)]
    pub exclusive: Vec<String>,
    pub time: TimeFormat,
    pub submit: Vec<String>,
    /// `submit` reads the script from its standard input.
    #[serde(default)]
    pub by_input: bool,
    /// The position of the job's id in the output of `submit`. Without `behind`, the id is a whole line.
    pub id: Delimiters,
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
    pub fn parse(text: &str, path: &Path) -> Result<Self> {
        let page = TomlSource { path, text, examples: "src/cluster/batch/templates/" };
        let template: Self = toml::from_str(text).map_err(|error| page.parse_error(&error))?;
        let check_texts = |texts: &[String], known: &[&str]| check(path, texts.iter().map(String::as_str), known);
        check_texts(&template.submit, &["script"])?;
        for directives in [&template.directives, &template.exclusive, &template.on_node] {
            check_texts(directives, DIRECTIVE_PLACEHOLDERS)?;
        }
        if template.submit.is_empty() {
            let message = format!("{}: submit is empty", path.display());
            return Err(Error::input(message, "write the program and its arguments"));
        }
        Ok(template)
    }

    /// Whether jobs may get a node in this state, `in_reservation` or not. Slurm appends marks to states: `idle~` is powered down and
    /// starts for a job. The mark `*` of nodes that do not respond is no such mark.
    pub fn is_usable(&self, state: &str, in_reservation: bool) -> bool {
        let state = state.to_lowercase();
        let state = state.trim_end_matches(['~', '#', '!', '%', '@', '^', '-', '$', '+']);
        let is_listed = |states: &[String]| states.iter().any(|listed| listed == state);
        is_listed(&self.usable_states) || in_reservation && is_listed(&self.reserved_states)
    }

    /// For the system, rounded up to a minute.
    pub fn format_time(&self, seconds: f64) -> String {
        let minutes = (seconds / 60.0).ceil().max(1.0) as u64;
        match self.time {
            TimeFormat::HoursMinutesSeconds => format!("{:02}:{:02}:00", minutes / 60, minutes % 60),
            TimeFormat::HoursMinutes => format!("{}:{:02}", minutes / 60, minutes % 60),
            TimeFormat::Minutes => minutes.to_string(),
        }
    }
}
