//! Batch systems: the job script, the commands that submit, query and cancel jobs, and the parsing of their answers.
//!
//! Each system is a [`Template`]: a TOML file in `batch/templates/`, listed in [`TEMPLATES`], or a file of the user. Commands are lists
//! of arguments that no shell interprets, and texts in scripts are quoted.

pub mod answer;
pub mod nodes;
pub mod options;
pub mod script;
pub mod template;

pub use options::JobOptions;
pub use script::JobScript;
pub use template::Template;

use apexmap_base::error::{Error, Result};
use apexmap_base::name_lookup::suggest;
use apexmap_base::programs::find_program;
use apexmap_base::toml_file;
use apexmap_run::sweep::Sweep;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The built-in systems: name and template.
pub const TEMPLATES: &[(&str, &str)] = &[
    ("slurm", include_str!("templates/slurm.toml")),
    ("pbs", include_str!("templates/pbs.toml")),
    ("torque", include_str!("templates/torque.toml")),
    ("lsf", include_str!("templates/lsf.toml")),
    ("flux", include_str!("templates/flux.toml")),
];

/// Environment variables that hold the id of the job that this process runs in.
pub const JOB_ID_VARIABLES: &[&str] = &["SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_ENCLOSING_ID", "FLUX_JOB_ID"];

/// The state of a job, as the batch system reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum JobState {
    /// In the queue, or requeued.
    Waiting,
    /// In the queue, and it does not start before someone releases it.
    Held,
    /// On its nodes, including suspended and completing.
    Running,
    Completed,
    /// The script ended with an error.
    Failed,
    TimeLimit,
    NodeFailure,
    Preempted,
    /// Cancelled by its own user, as far as the system reports it.
    Cancelled,
    /// Cancelled by another user.
    Removed,
    OutOfMemory,
    /// It could not end before its deadline.
    Deadline,
    /// Its dependency can never be satisfied.
    NeverStarts,
    /// It requests more than the system gives to any job.
    Unsatisfiable,
    /// It has left the queue, and the system does not report how it ended.
    Ended,
    /// As `Ended`, but a signal ended its driver long before its time limit.
    Interrupted,
}

impl JobState {
    /// Returns true if the job is in the queue or running.
    pub fn is_alive(self) -> bool {
        matches!(self, Self::Waiting | Self::Held | Self::Running)
    }

    /// Returns the predicate of a sentence whose subject is the job.
    pub fn predicate(self) -> &'static str {
        match self {
            Self::Waiting => "is waiting in the queue",
            Self::Held => "is held in the queue",
            Self::Running => "is running",
            Self::Completed => "has ended",
            Self::Failed => "ended with an error",
            Self::TimeLimit => "was ended at its time limit",
            Self::NodeFailure => "lost a node",
            Self::Preempted => "was preempted",
            Self::Cancelled => "was cancelled",
            Self::Removed => "was cancelled by another user",
            Self::OutOfMemory => "ran out of memory",
            Self::Deadline => "was ended at its deadline",
            Self::NeverStarts => "can never start: its dependency cannot be satisfied",
            Self::Unsatisfiable => "can never start: it requests more than the batch system allows",
            Self::Ended => "has left the queue",
            Self::Interrupted => "was ended by a signal long before its time limit",
        }
    }
}

/// The batch system that the user requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum BatchSystem {
    /// No jobs are requested.
    #[default]
    None,
    /// The system whose programs are installed here.
    Installed,
    /// A built-in system, or the path of a template.
    Named(String),
}

impl BatchSystem {
    /// Returns the template of the requested system.
    pub fn template(&self) -> Option<Result<Template>> {
        match self {
            Self::None => None,
            Self::Installed => Some(detect(&std::env::var_os("PATH").unwrap_or_default())),
            Self::Named(name) => Some(find(name)),
        }
    }
}

/// Returns the built-in system of this name. Names in results are resolved only here, because a result must not choose a file to
/// run.
pub fn find_built_in(name: &str) -> Result<Template> {
    match TEMPLATES.iter().find(|(built_in, _)| *built_in == name) {
        Some((name, text)) => Template::parse(text, Path::new(name)),
        None => Err(Error::input(
            format!("the result names the template {name}, and apexmap runs only its built-in templates for a result"),
            "name the template on the command line: `run --submit=FILE` or `cancel --system FILE`",
        )),
    }
}

/// Returns the system that a result names: a built-in one, or a template that the site file names.
pub fn find_trusted(name: &str, site_templates: &[&str]) -> Result<Template> {
    if site_templates.contains(&name) { find(name) } else { find_built_in(name) }
}

/// Returns the built-in system of this name, or the template file at this path.
pub fn find(name: &str) -> Result<Template> {
    if let Ok(template) = find_built_in(name) {
        return Ok(template);
    }
    let path = Path::new(name);
    if path.is_file() {
        let text =
            toml_file::read_text(path, "template of a batch system", "see docs/batch-systems.md for an example")?;
        return Template::parse(&text, path);
    }
    let names: Vec<&str> = TEMPLATES.iter().map(|(name, _)| *name).collect();
    Err(Error::input(
        format!("\"{name}\" is neither a batch system nor a template file"),
        format!("{}; or name a template file (docs/batch-systems.md)", suggest(name, &names)),
    ))
}

/// Checks what a sweep requests from a batch system.
///
/// # Errors
/// If the system is unknown, or an option cannot be one of a job. The error has the place in the sweep.
pub fn check_submit(sweep: &Sweep) -> Result<()> {
    let Some(submit) = &sweep.launch.submit else { return Ok(()) };
    let error_at = |message, help| sweep.source().error_at(submit.span(), message, help);
    if let Some(system) = &submit.get_ref().system {
        find(system).map_err(|error| error_at(error.message, error.help))?;
    }
    let options = JobOptions::new(submit.get_ref().clone(), "");
    options.map_err(|(message, help)| error_at(format!("submit: {message}"), help)).map(drop)
}

/// Returns the first system whose submit program is on the PATH `search_path`.
pub fn detect(search_path: &std::ffi::OsStr) -> Result<Template> {
    let templates = TEMPLATES.iter().map(|(name, text)| Template::parse(text, Path::new(name)));
    let is_installed = |template: &Template| {
        let program = template.submit.first().map_or("", String::as_str);
        find_program(program, search_path).is_some()
    };
    for template in templates {
        let template = template?;
        if is_installed(&template) {
            return Ok(template);
        }
    }
    let names: Vec<&str> = TEMPLATES.iter().map(|(name, _)| *name).collect();
    Err(Error::environment(
        "no batch system found: none of sbatch, qsub, bsub and flux is on the PATH",
        format!("run this on a login node, or name the system: --submit with one of {}", names.join(", ")),
    ))
}
