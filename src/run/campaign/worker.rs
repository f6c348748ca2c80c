//! Finds the worker of a campaign, and asks it for its description.

use super::interrupt::Interrupt;
use crate::sweep::Sweep;
use crate::sweep::plan::WorkerInfo;
use crate::sweep::process::{Output, Process};
use apexmap_base::error::{Error, Result};
use apexmap_base::regular_file::read_text;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// Returns the worker program and its description of itself.
///
/// # Errors
/// If the worker cannot be asked, does not support the sweep's transport, or has another version than this program.
pub fn find(worker_path: Option<&Path>, info: Option<&Path>, sweep: &Sweep) -> Result<(PathBuf, WorkerInfo)> {
    let (program, info) = match (worker_path, info) {
        (worker_path, Some(info)) => {
            (worker_path.unwrap_or(Path::new("./apexmap-worker")).to_owned(), read_info(info)?)
        }
        (None, None) => {
            let this_program =
                std::env::current_exe().map_err(|e| Error::internal(format!("cannot find this program: {e}")))?;
            (this_program, apexmap_measure::worker::info())
        }
        (Some(path), None) => {
            // An absolute path names the same file for every launcher, in every working folder.
            let path = std::path::absolute(path).map_err(|e| Error::file("find", path, e))?;
            let info = query_info(&path, INFO_TIMEOUT)?;
            (path, info)
        }
    };
    let transport = sweep.launch.transport;
    if !info.transports.iter().any(|name| *name == transport.name()) {
        return Err(Error::environment(
            format!("the worker {} does not support the transport {transport}", program.display()),
            "build a worker with MPI: cargo build --release -p apexmap-measure --features mpi; \
             then add --worker target/release/apexmap-worker",
        ));
    }
    let own_build = apexmap_measure::worker::info().build;
    if info.build.version != own_build.version {
        return Err(Error::environment(
            format!(
                "the worker {} is version {}, but this program is version {}",
                program.display(),
                info.build.version,
                own_build.version
            ),
            "build both from the same sources",
        ));
    }
    Ok((program, info))
}

/// Reads the description that a worker gave of itself on another machine.
fn read_info(path: &Path) -> Result<WorkerInfo> {
    let text = read_text(path).map_err(|e| Error::file("read the worker's description", path, e))?;
    serde_json::from_str(&text).map_err(|error| {
        let message = format!("{} is not a worker's description: {error}", path.display());
        Error::input(message, "write it on the other machine: apexmap-worker worker --info > worker.json")
    })
}

/// Longest time for a worker to describe itself.
const INFO_TIMEOUT: Duration = Duration::from_secs(30);
/// Longest description, in bytes.
const MAX_INFO_BYTES: usize = 1 << 16;

/// Asks a worker program for its description, within a time limit.
pub fn query_info(worker: &Path, limit: Duration) -> Result<WorkerInfo> {
    let worker_error = |cause: &str| {
        Error::environment(
            format!("cannot use the worker {}: {cause}", worker.display()),
            "name a worker that runs on this machine, such as target/release/apexmap-worker, with --worker or `worker =` in the sweep",
        )
    };
    let mut command = Command::new(worker);
    command.args(["worker", "--info"]);
    let interrupt = Interrupt::catch();
    let mut process = Process::start(command).map_err(|error| worker_error(&error.message))?;
    let (begun_at, mut output_bytes) = (Instant::now(), Vec::new());
    let mut read_more = |output_bytes: &mut Vec<u8>| {
        process.read(limit.saturating_sub(begun_at.elapsed()), &mut |output| {
            if let Output::Standard(bytes) = output {
                output_bytes.extend_from_slice(bytes);
            }
        })
    };
    while read_more(&mut output_bytes) && output_bytes.len() < MAX_INFO_BYTES {
        interrupt.check()?;
        if begun_at.elapsed() >= limit {
            return Err(worker_error(&format!("it does not describe itself within {} s", limit.as_secs_f64())));
        }
    }
    process.end()?;
    serde_json::from_slice(&output_bytes).map_err(|_| worker_error("it is not apexmap, or it is another version"))
}
