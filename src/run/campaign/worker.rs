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
pub fn find(named: Option<&Path>, info: Option<&Path>, sweep: &Sweep) -> Result<(PathBuf, WorkerInfo)> {
    let (program, info) = match (named, info) {
        (named, Some(info)) => (named.unwrap_or(Path::new("./apexmap")).to_owned(), read_info(info)?),
        (None, None) => {
            let own = std::env::current_exe().map_err(|e| Error::internal(format!("cannot find this program: {e}")))?;
            (own, apexmap_measure::worker::info())
        }
        (Some(path), None) => {
            // An absolute path names the same file for every launcher, in every working folder.
            let path = std::path::absolute(path).map_err(|e| Error::file("find", path, e))?;
            let info = ask(&path, ASKING)?;
            (path, info)
        }
    };
    let transport = sweep.launch.transport;
    if !info.transports.iter().any(|known| *known == transport.name()) {
        return Err(Error::environment(
            format!("the worker {} does not support the transport {transport}", program.display()),
            "build a worker with MPI: cargo build --release -p apexmap-measure --features mpi; \
             then add --worker target/release/apexmap-worker",
        ));
    }
    let own = apexmap_measure::worker::info().build;
    if info.build.version != own.version {
        return Err(Error::environment(
            format!(
                "the worker {} is version {}, but this program is version {}",
                program.display(),
                info.build.version,
                own.version
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
        let what = format!("{} is not a worker's description: {error}", path.display());
        Error::input(what, "write it on the other machine: apexmap worker --info > worker.json")
    })
}

/// Longest time for a worker to describe itself.
const ASKING: Duration = Duration::from_secs(30);
/// Longest description, in bytes.
const DESCRIPTION: usize = 1 << 16;

/// Asks a worker program for its description, within a time limit.
pub fn ask(worker: &Path, limit: Duration) -> Result<WorkerInfo> {
    let wrong = |cause: &str| {
        Error::environment(
            format!("cannot use the worker {}: {cause}", worker.display()),
            "pass a build of apexmap that runs on this machine, with --worker or `worker =` in the sweep",
        )
    };
    let mut command = Command::new(worker);
    command.args(["worker", "--info"]);
    let interrupt = Interrupt::catch();
    let mut process = Process::start(command).map_err(|error| wrong(&error.what))?;
    let (begun, mut said) = (Instant::now(), Vec::new());
    let mut listen = |said: &mut Vec<u8>| {
        process.read(limit.saturating_sub(begun.elapsed()), &mut |output| {
            if let Output::Standard(bytes) = output {
                said.extend_from_slice(bytes);
            }
        })
    };
    while listen(&mut said) && said.len() < DESCRIPTION {
        interrupt.check()?;
        if begun.elapsed() >= limit {
            return Err(wrong(&format!("it does not describe itself within {} s", limit.as_secs_f64())));
        }
    }
    process.end()?;
    serde_json::from_slice(&said).map_err(|_| wrong("it is not apexmap, or it is another version"))
}
