//! A plan's launches as files: for each its job, as the worker reads it, and a script; and a page that says what to do.

use super::script::Script;
use crate::launch::CommandLine;
use apexmap_base::error::{Error, Result};
use apexmap_base::new_file;
use apexmap_base::point::LaunchSize;
use apexmap_base::units::plural;
use apexmap_measure::worker::Job;
use apexmap_results::disk::Folder;
use std::path::Path;

pub use super::script::{JOB, WORKER};

/// How exported launches are started.
pub struct Start<'a> {
    /// The command of a launch of this size, with [`WORKER`] and [`JOB`] in their places.
    pub command: &'a dyn Fn(LaunchSize) -> CommandLine,
    /// Programs of which the first that is on the other machine starts the ranks.
    pub programs: &'a [&'a str],
    /// The worker, as the other machine knows it.
    pub worker: &'a str,
    /// What stands on the page for readers: the command that brings the outputs into the result.
    pub import: &'a str,
}

/// A name that no other export has: what it is made of, the time and the process make it.
pub fn new_id(jobs: &[(LaunchSize, Job)]) -> Result<String> {
    use sha2::{Digest, Sha256};
    let mut hash = Sha256::new();
    for (_, job) in jobs {
        hash.update(serde_json::to_vec(job).map_err(|e| Error::internal(e.to_string()))?);
    }
    hash.update(format!("{:?} {}", std::time::SystemTime::now(), std::process::id()));
    Ok(hash.finalize().iter().take(4).map(|byte| format!("{byte:02x}")).collect())
}

/// Writes jobs into a result and, with their scripts, into a new folder.
///
/// # Errors
/// If the folder holds something, or a file cannot be written.
pub fn write(result: &Folder, to: &Path, jobs: &[(LaunchSize, Job)], start: &Start) -> Result<()> {
    std::fs::create_dir_all(to).map_err(|e| Error::file("create", to, e))?;
    let mut there = std::fs::read_dir(to).map_err(|e| Error::file("list", to, e))?;
    if there.next().is_some() {
        return Err(Error::input(format!("{} is not empty", to.display()), "name a folder that is not there yet"));
    }
    let (mut scripts, mut commands) = (String::new(), String::new());
    for (size, job) in jobs {
        let name = &job.launch;
        let about = format!("{size}, {}", plural(job.tasks.len(), "point"));
        let command = (start.command)(*size);
        let script = Script { name, about: &about, command: &command, programs: start.programs, worker: start.worker };
        let text = serde_json::to_string(job).map_err(|e| Error::internal(e.to_string()))?;
        new_file::replace_by(&to.join(format!("{name}.job")), &text)?;
        new_file::replace_by(&to.join(format!("{name}.sh")), script.text())?;
        // What comes back is checked against this one.
        result.replace_text(&result.journals().join(format!("{name}.job")), &text)?;
        scripts.push_str(&format!("    sh {name}.sh        # {about}\n"));
        commands.push_str(&format!("    {}\n", script.shown()));
    }
    let page = format!(
        "Launches for the worker of apexmap {version}. The machine needs the worker and its launcher, nothing else.

1. Copy this folder to the machine. The worker is expected there as
    {worker}
   With APEXMAP_WORKER=/another/path in the environment the scripts take that one.

2. Run these, one after the other and in any order, on a machine that does nothing else; under a batch system,
   in jobs of your own with as many nodes and ranks.

{scripts}
   The worker's lines go into NAME.out, which is never written over, its messages into NAME.err. A script that was
   stopped leaves what it has measured. Nobody ends a launch that hangs: give it a time limit.

3. Bring the files NAME.out back, and on the machine with the result:

    {import}

The scripts start:

{commands}",
        version = env!("CARGO_PKG_VERSION"),
        worker = start.worker,
        import = start.import,
    );
    new_file::replace_by(&to.join("README.txt"), page)
}
