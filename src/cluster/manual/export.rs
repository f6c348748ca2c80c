//! Writes a plan's launches as files: for each launch its job, as the worker reads it, and a script; and README.txt with
//! instructions.

use super::script::Script;
use apexmap_base::error::{Error, Result};
use apexmap_base::new_file;
use apexmap_base::point::LaunchSize;
use apexmap_base::units::plural;
use apexmap_measure::worker::Job;
use apexmap_results::disk::Folder;
use apexmap_run::launch::CommandLine;
use std::path::Path;

pub use super::script::{JOB, WORKER};

/// How to start exported launches.
pub struct Start<'a> {
    /// Returns the command of a launch of this size, with the markers [`WORKER`] and [`JOB`] for the two paths.
    pub command: &'a dyn Fn(LaunchSize) -> CommandLine,
    /// Possible launcher programs; the first one that exists on the other machine starts the ranks.
    pub programs: &'a [&'a str],
    /// The worker's path on the other machine.
    pub worker: &'a str,
    /// The command that imports the outputs, shown in README.txt.
    pub import: &'a str,
}

/// Returns an id that no other export has: a hash of the jobs, the time and the process.
pub fn new_id(jobs: &[(LaunchSize, Job)]) -> Result<String> {
    use sha2::{Digest, Sha256};
    let mut hash = Sha256::new();
    for (_, job) in jobs {
        hash.update(serde_json::to_vec(job).map_err(|e| Error::internal(e.to_string()))?);
    }
    hash.update(format!("{:?} {}", std::time::SystemTime::now(), std::process::id()));
    Ok(hash.finalize().iter().take(4).map(|byte| format!("{byte:02x}")).collect())
}

/// Writes the jobs into the result and, with their scripts, into a new folder.
pub fn write(result: &Folder, folder: &Path, jobs: &[(LaunchSize, Job)], start: &Start) -> Result<()> {
    std::fs::create_dir_all(folder).map_err(|e| Error::file("create", folder, e))?;
    let mut entries = std::fs::read_dir(folder).map_err(|e| Error::file("list", folder, e))?;
    if entries.next().is_some() {
        return Err(Error::input(
            format!("{} is not empty", folder.display()),
            "name a folder that does not exist yet",
        ));
    }
    let (mut scripts, mut commands) = (String::new(), String::new());
    for (size, job) in jobs {
        let name = &job.launch;
        let description = format!("{size}, {}", plural(job.tasks.len(), "point"));
        let command = (start.command)(*size);
        let script = Script {
            name,
            description: &description,
            command: &command,
            programs: start.programs,
            worker: start.worker,
        };
        let text = serde_json::to_string(job).map_err(|e| Error::internal(e.to_string()))?;
        new_file::replace_contents(&folder.join(format!("{name}.job")), &text)?;
        new_file::replace_contents(&folder.join(format!("{name}.sh")), script.text())?;
        // The import checks the output against this job, not against the copy on the other machine.
        result.replace_text(&result.journals().join(format!("{name}.job")), &text)?;
        scripts.push_str(&format!("    sh {name}.sh        # {description}\n"));
        commands.push_str(&format!("    {}\n", script.shown_command()));
    }
    let page = format!(
        "Launches for the worker of apexmap {version}. The machine needs only the worker and its launcher.

1. Copy this folder to the machine. The scripts start the worker
    {worker}
   To use another worker, set APEXMAP_WORKER=/another/path in the environment.

2. Run these scripts one at a time, in any order, on an otherwise idle machine. Under a batch system,
   run each in a job with its number of nodes and ranks.

{scripts}
   The worker writes its samples to NAME.out, which is never overwritten, and its messages to NAME.err. A stopped
   script keeps its samples. Set a time limit, because nothing else ends a launch that hangs.

3. Copy the files NAME.out back to the machine with the result, and run:

    {import}

The scripts start:

{commands}",
        version = env!("CARGO_PKG_VERSION"),
        worker = start.worker,
        import = start.import,
    );
    new_file::replace_contents(&folder.join("README.txt"), page)
}
