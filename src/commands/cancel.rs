//! `apexmap cancel`: cancels the batch jobs of a result.

use apexmap_base::error::{Error, Result};
use apexmap_base::terminal::{note, print};
use apexmap_base::units::plural;
use apexmap_cluster::batch::{self, JobState};
use apexmap_cluster::site::Site;
use apexmap_cluster::submit::known::cancel;
use apexmap_cluster::submit::record::{Job, Line};
use apexmap_cluster::submit::{Jobs, System};
use apexmap_results::disk::Folder;
use std::path::PathBuf;

#[derive(clap::Args)]
#[command(after_help = "Example: apexmap cancel results/paper-figures-3-to-7

Samples are kept; `apexmap run` with the same sweep submits jobs for the missing points.")]
pub struct Arguments {
    /// The result folder
    result: PathBuf,
    /// Template of the batch system, if the program does not include it
    #[arg(long, value_name = "FILE")]
    system: Option<PathBuf>,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let path = std::path::absolute(&arguments.result).map_err(|e| Error::file("find", &arguments.result, e))?;
    let folder = Folder::open(&path)?;
    let store = Jobs::new(&folder);
    let (options, jobs) = store.read()?;
    let Some(options) = options else {
        let message = format!("{} has no batch jobs", arguments.result.display());
        return Err(Error::input(message, "name a result of `apexmap run --submit`"));
    };
    if let Some(owner) = store.other_owner()? {
        let message = format!("{owner} submitted the jobs of {}", arguments.result.display());
        return Err(Error::input(
            message,
            format!("ask {owner} to run this command; only their owner can cancel jobs"),
        ));
    }
    let unfinished: Vec<&Job> = jobs.iter().filter(|job| job.end.is_none()).collect();
    if unfinished.is_empty() {
        return print("no job is left to cancel\n");
    }
    let template = match &arguments.system {
        Some(file) => batch::find(&file.to_string_lossy())?,
        None => batch::find_trusted(&options.system, &Site::load()?.templates())?,
    };
    let mut system = System::new(template, &folder.path, &|| Ok(()));
    let cancelled = cancel(&mut system, &store, &unfinished)?;
    let unknown = unfinished.iter().filter(|job| !cancelled.contains_key(&job.name));
    for Job { name, id, part, .. } in unknown {
        let id = id.as_ref().map_or(String::new(), |id| format!(" {id}"));
        note(&format!(
            "note: job{id} ({part}) is not cancelled: the batch system has no job of this id and the name {name}"
        ));
        // Recorded as ended, so that it is not listed as unfinished again.
        let why = "the batch system does not know it".to_owned();
        store.append(&Line::Ended {
            job: name.clone(),
            state: JobState::Ended,
            why,
            samples: 0,
            unix_seconds: None,
        })?;
    }
    let ids: Vec<&str> = cancelled.values().map(String::as_str).collect();
    match ids.is_empty() {
        true => print("no job is left to cancel\n"),
        false => print(&format!("cancelled {}: {}\n", plural(ids.len(), "job"), ids.join(", "))),
    }
}
