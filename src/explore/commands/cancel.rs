//! `apexmap cancel`: ends the jobs of a result.

use crate::error::{Error, Result};
use crate::explore::batch;
use crate::explore::store::Folder;
use crate::explore::submit::follow::cancel;
use crate::explore::submit::record::Job;
use crate::explore::submit::{Jobs, System};
use crate::terminal::print;
use crate::units::plural;
use std::path::PathBuf;

#[derive(clap::Args)]
#[command(after_help = "Example: apexmap cancel results/paper-figures-3-to-7

What was measured is kept; `apexmap run` with the same sweep submits what is left.")]
pub struct Arguments {
    /// The result folder
    result: PathBuf,
    /// Template of the batch system, if it is not one that the program has
    #[arg(long, value_name = "FILE")]
    system: Option<PathBuf>,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let path = std::path::absolute(&arguments.result).map_err(|e| Error::file("find", &arguments.result, e))?;
    let folder = Folder::open(&path)?;
    let store = Jobs::of(&folder);
    let (options, jobs) = store.read()?;
    let Some(options) = options else {
        let what = format!("{} has no jobs", arguments.result.display());
        return Err(Error::input(what, "jobs are those of `apexmap run --submit`"));
    };
    let living: Vec<&Job> = jobs.iter().filter(|job| job.ended.is_none() && job.id.is_some()).collect();
    if living.is_empty() {
        return print("no job is left to cancel\n");
    }
    let template = match &arguments.system {
        Some(file) => batch::find(&file.to_string_lossy())?,
        None => batch::known(&options.system)?,
    };
    let mut system = System { template, folder: folder.path.clone() };
    cancel(&mut system, &store, &living)?;
    let ids: Vec<&str> = living.iter().filter_map(|job| job.id.as_deref()).collect();
    print(&format!("cancelled {}: {}\n", plural(ids.len(), "job"), ids.join(", ")))
}
