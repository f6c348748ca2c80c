//! Batch systems: a job as a script, commands that submit it, ask for it and cancel it, and what their answers mean.
//!
//! A system is a [`Template`], a TOML file in `batch/templates/` and its line in [`ALL`]; a user's own file serves as well. All is
//! text and lists of arguments: no shell sees a command, and what stands in a script is quoted.

pub mod answer;
pub mod options;
pub mod script;
pub mod template;

pub use options::{JobOptions, Submit};
pub use script::JobScript;
pub use template::Template;

use apexmap_base::error::{Error, Result};
use apexmap_base::nearest::suggest;
use apexmap_base::toml_file;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The systems of the program: name and template.
pub const ALL: &[(&str, &str)] = &[
    ("slurm", include_str!("templates/slurm.toml")),
    ("pbs", include_str!("templates/pbs.toml")),
    ("torque", include_str!("templates/torque.toml")),
    ("lsf", include_str!("templates/lsf.toml")),
    ("flux", include_str!("templates/flux.toml")),
];

/// Environment variables that hold the id of the job in which a process runs.
pub const VARIABLES: &[&str] = &["SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_ENCLOSING_ID", "FLUX_JOB_ID"];

/// What a batch system says of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum JobState {
    /// In the queue, held, or put back into it.
    Waiting,
    /// On its nodes; also while it is suspended, or ends.
    Running,
    Completed,
    /// Its script ended with an error.
    Failed,
    TimeLimit,
    NodeFailure,
    Preempted,
    /// By its user, as far as the system tells.
    Cancelled,
    /// Cancelled by somebody else.
    Removed,
    OutOfMemory,
    /// It could not end before its deadline.
    Deadline,
    /// What it depends on will not come.
    NeverStarts,
    /// It asks for more than the system gives to any job.
    Unsatisfiable,
    /// It is not in the queue any more, and the system does not say how it ended.
    Ended,
}

impl JobState {
    /// Whether it may still measure something.
    pub fn is_alive(self) -> bool {
        matches!(self, Self::Waiting | Self::Running)
    }

    /// In a sentence that begins with the job.
    pub fn words(self) -> &'static str {
        match self {
            Self::Waiting => "is waiting in the queue",
            Self::Running => "is running",
            Self::Completed => "has ended",
            Self::Failed => "ended with an error",
            Self::TimeLimit => "was ended at its time limit",
            Self::NodeFailure => "lost a node",
            Self::Preempted => "was preempted",
            Self::Cancelled => "was cancelled",
            Self::Removed => "was cancelled by somebody else",
            Self::OutOfMemory => "was killed for lack of memory",
            Self::Deadline => "was ended at its deadline",
            Self::NeverStarts => "can never start: what it waits for did not come",
            Self::Unsatisfiable => "can never start: it asks for what the batch system does not give",
            Self::Ended => "has left the queue",
        }
    }
}

/// The system of this name, one of the program's own: names in results are not those of files.
///
/// # Errors
/// If there is none.
pub fn known(name: &str) -> Result<Template> {
    match ALL.iter().find(|(known, _)| *known == name) {
        Some((name, text)) => Template::parse(text, Path::new(name)),
        None => Err(Error::input(
            format!("the jobs were submitted with the template {name}, and nothing that a result names is run"),
            "name the template yourself: --submit=FILE of `run`, --system FILE of `cancel`",
        )),
    }
}

/// The system of this name, or of the template file at this path.
///
/// # Errors
/// If there is neither, or the file is no template.
pub fn find(name: &str) -> Result<Template> {
    if let Ok(template) = known(name) {
        return Ok(template);
    }
    let path = Path::new(name);
    if path.is_file() {
        let text = toml_file::text(path, "template of a batch system", "see docs/clusters.md for an example")?;
        return Template::parse(&text, path);
    }
    let known: Vec<&str> = ALL.iter().map(|(name, _)| *name).collect();
    Err(Error::input(
        format!("there is no batch system \"{name}\", and no template file of this name"),
        format!("{}; or name a template file (docs/clusters.md)", suggest(name, &known)),
    ))
}

/// The system whose program is on this PATH.
///
/// # Errors
/// If there is none.
pub fn here(search: &std::ffi::OsStr) -> Result<Template> {
    let templates = ALL.iter().map(|(name, text)| Template::parse(text, Path::new(name)));
    let found = |template: &Template| {
        let program = template.submit.first().map_or("", String::as_str);
        std::env::split_paths(search).any(|folder| folder.join(program).is_file())
    };
    for template in templates {
        let template = template?;
        if found(&template) {
            return Ok(template);
        }
    }
    let names: Vec<&str> = ALL.iter().map(|(name, _)| *name).collect();
    Err(Error::environment(
        "no batch system's program is on the PATH (sbatch, qsub, bsub, flux)",
        format!("run this on a login node, or name the system: --submit with one of {}", names.join(", ")),
    ))
}
