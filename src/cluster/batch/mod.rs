//! Batch systems: the job script, and the commands that submit it and list nodes.
//!
//! Each system is a [`Template`]: a TOML file in `batch/templates/`, listed in [`TEMPLATES`], or a file of the user. Commands are lists
//! of arguments that no shell interprets, and texts in scripts are quoted.

pub mod nodes;
pub mod script;
pub mod system;
pub mod template;

pub use script::JobScript;
pub use system::{Submission, System};
pub use template::Template;

use apexmap_base::error::{Error, Result};
use apexmap_base::name_lookup::suggest;
use apexmap_base::programs::find_program;
use apexmap_base::toml_file;
use apexmap_run::sweep::Sweep;
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

/// The system of this name, or the one whose programs are installed here.
pub fn choose(system: Option<&str>) -> Result<Template> {
    system.map_or_else(|| detect(&std::env::var_os("PATH").unwrap_or_default()), find)
}

/// The built-in system of this name, or the template file at this path.
pub fn find(name: &str) -> Result<Template> {
    if let Some((_, text)) = TEMPLATES.iter().find(|(built_in, _)| *built_in == name) {
        return Template::parse(text, Path::new(name));
    }
    let path = Path::new(name);
    if path.is_file() {
        let text = toml_file::read_text(
            path,
            "template of a batch system",
            "see docs/appendix/batch-systems.md for an example",
        )?;
        return Template::parse(&text, path);
    }
    let names: Vec<&str> = TEMPLATES.iter().map(|(name, _)| *name).collect();
    Err(Error::input(
        format!("\"{name}\" is neither a batch system nor a template file"),
        format!("{}; or name a template file (docs/appendix/batch-systems.md)", suggest(name, &names)),
    ))
}

/// Checks that the batch system of a sweep exists. The error has the place in the sweep.
pub fn check_submit(sweep: &Sweep) -> Result<()> {
    let Some(submit) = &sweep.launch.submit else { return Ok(()) };
    let Some(system) = &submit.get_ref().system else { return Ok(()) };
    find(system).map(drop).map_err(|error| sweep.source().error_at(submit.span(), error.message, error.help))
}

/// The first system whose submit program is on the PATH `search_path`.
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
