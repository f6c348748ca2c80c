//! Finds the worker of a campaign, and asks it for its description.

use crate::{drive::plan::WorkerInfo, sweep::Sweep};
use apexmap_base::error::{Error, ErrorKind, Result};
use apexmap_base::interrupt::Interrupt;
use apexmap_base::process::{Output, Process, this_program};
use apexmap_base::terminal::note;
use apexmap_measure::comm::TransportKind;
use apexmap_results::disk::{Folder, manifest::Manifest};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// The worker program and its description of itself.
pub fn find(worker_path: Option<&Path>, sweep: &Sweep) -> Result<(PathBuf, WorkerInfo)> {
    let (program, info) = match worker_path {
        None => (this_program()?, apexmap_measure::worker::info()),
        Some(path) => {
            // An absolute path names the same file for every launcher, in every working folder.
            let path = std::path::absolute(path).map_err(|e| Error::file("find", path, e))?;
            let info = query_info(&path, QUERY_TIMEOUT)?;
            (path, info)
        }
    };
    // The launcher starts the commands, and not the worker.
    check_info(&program, &info, if sweep.runs_commands() { TransportKind::Threads } else { sweep.launch.transport })?;
    Ok((program, info))
}

/// Describes a worker that may not be started: it is assumed to be that of the result's samples, or of this program's build.
pub fn assume(worker: PathBuf, result: &Path, sweep: &Sweep) -> (PathBuf, WorkerInfo) {
    let recorded = Manifest::read(&Folder { path: result.to_owned() }).ok();
    let path = worker.display();
    let like = if recorded.is_some() { "that of the result" } else { "of this program's build" };
    note(&format!("note: the worker {path} is not started, and is assumed to be {like}; --worker {path} asks it"));
    let own = apexmap_measure::worker::info();
    let launch = recorded.as_ref().and_then(|manifest| manifest.launches.last());
    let (transports, mpi_library) =
        (vec![sweep.launch.transport.to_string()], launch.map(|end| end.launch.library.clone()));
    let build = recorded.map_or(own.build, |manifest| manifest.worker);
    (worker, WorkerInfo { build, transports, mpi_library })
}

pub fn check_info(program: &Path, info: &WorkerInfo, transport: TransportKind) -> Result<()> {
    let path = program.display();
    if !info.transports.iter().any(|name| *name == transport.name()) {
        return Err(Error::environment(
            format!("the worker {path} does not support the transport {transport}"),
            "build a worker with MPI: cargo build --release -p apexmap-measure --features mpi; \
             then add --worker target/release/apexmap-worker",
        ));
    }
    let (version, own_version) = (&info.build.version, apexmap_measure::worker::info().build.version);
    if *version != own_version {
        return Err(Error::environment(
            format!("the worker {path} is version {version}, but this program is version {own_version}"),
            "build both from the same sources",
        ));
    }
    Ok(())
}

pub const QUERY_TIMEOUT: Duration = Duration::from_secs(30);
/// Longest description, in bytes. A program that is no worker may print without end.
const MAX_INFO_BYTES: usize = 1 << 16;

pub fn query_info(worker: &Path, limit: Duration) -> Result<WorkerInfo> {
    let worker_error = |cause: &str| {
        Error::environment(
            format!("cannot use the worker {}: {cause}", worker.display()),
            "name a worker that runs on this machine, such as target/release/apexmap-worker, with --worker or `worker =` in the sweep",
        )
    };
    let mut command = Command::new(worker);
    command.args(["worker", "--info"]);
    let output = read_output(command, limit).map_err(|error| match error.kind {
        ErrorKind::Interrupted(_) => error,
        _ => worker_error(&error.message),
    })?;
    serde_json::from_slice(&output).map_err(|_| worker_error("it is not apexmap, or it is another version"))
}

/// The beginning of the standard output of a program, which ends it in time.
pub fn read_output(command: Command, limit: Duration) -> Result<Vec<u8>> {
    let interrupt = Interrupt::catch();
    let mut process = Process::start(command)?;
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
            let message = format!("it does not describe itself within {} s", limit.as_secs_f64());
            return Err(Error::environment(message, ""));
        }
    }
    process.end()?;
    Ok(output_bytes)
}
