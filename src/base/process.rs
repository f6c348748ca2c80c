//! Runs a program next to this one, and reads its output as it arrives. What it started ends with this process.

use crate::error::{Error, Result};
use crate::guarded::{Guarded, Terms};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::io::{PipeReader, Read};
use std::os::fd::{AsFd, AsRawFd};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

/// Bytes per read: the capacity of a pipe.
const CHUNK: usize = 1 << 16;

#[derive(Debug, PartialEq, Eq)]
pub enum Output<'a> {
    Standard(&'a [u8]),
    Error(&'a [u8]),
}

/// A running program. Dropping it ends the program and everything that it started.
pub struct Process {
    program: Guarded,
    stdout: Option<PipeReader>,
    stderr: Option<PipeReader>,
    buffer: Vec<u8>,
}

pub fn this_program() -> Result<std::path::PathBuf> {
    std::env::current_exe().map_err(|error| {
        let help = "apexmap starts itself from /proc/self/exe, and reads the machine from /proc: mount it (mount -t proc proc /proc)";
        Error::environment(format!("cannot find the file of this program: {error}"), help)
    })
}

fn start_advice(error: &std::io::Error) -> &'static str {
    match error.kind() {
        std::io::ErrorKind::PermissionDenied => {
            "make it executable (chmod +x), and check that its folder may run programs (no mount option noexec)"
        }
        std::io::ErrorKind::NotFound => "check that it is installed and on the PATH",
        _ => "check that it is a program for this machine, and that the limits on processes and memory allow one more",
    }
}

impl Process {
    /// Starts a program without input.
    pub fn start(mut command: Command) -> Result<Self> {
        command.stdin(Stdio::null());
        Self::start_with_input(command)
    }

    /// Starts a program with the input that the command has.
    pub fn start_with_input(mut command: Command) -> Result<Self> {
        let name = command.get_program().to_string_lossy().into_owned();
        let start_error = |e: std::io::Error| Error::environment(format!("cannot start {name}: {e}"), start_advice(&e));
        let ((stdout, output), (stderr, errors)) =
            std::io::pipe().and_then(|pipe| Ok((pipe, std::io::pipe()?))).map_err(start_error)?;
        let outputs = Some([stdout.as_raw_fd(), stderr.as_raw_fd()]);
        command.stdout(output).stderr(errors);
        let program = Guarded::start(&mut command, Terms { outputs, ..Terms::default() }).map_err(start_error)?;
        // Its ends of the pipes.
        drop(command);
        Ok(Self { program, stdout: Some(stdout), stderr: Some(stderr), buffer: vec![0; CHUNK] })
    }

    /// Waits up to `wait` for output and passes it on. Returns `false` once standard output has ended.
    pub fn read(&mut self, wait: Duration, visit: &mut dyn FnMut(Output)) -> bool {
        read_pipes([&mut self.stdout, &mut self.stderr], &mut self.buffer, wait, visit);
        self.stdout.is_some()
    }

    pub fn has_ended(&mut self) -> Result<bool> {
        self.program.has_ended(PollTimeout::ZERO)
    }

    pub fn end(&mut self) -> Result<ExitStatus> {
        let Self { program, stdout, stderr, buffer } = self;
        // A launcher that cannot write ends before it has removed its files.
        program.end(&mut |pause| read_pipes([stdout, stderr], buffer, pause, &mut |_| ()))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

fn read_pipes(
    [stdout, stderr]: [&mut Option<PipeReader>; 2],
    buffer: &mut [u8],
    wait: Duration,
    visit: &mut dyn FnMut(Output),
) {
    let ready = {
        let pipes = [stdout.as_ref().map(|pipe| pipe.as_fd()), stderr.as_ref().map(|pipe| pipe.as_fd())];
        let mut fds: Vec<PollFd> = pipes.iter().flatten().map(|fd| PollFd::new(*fd, PollFlags::POLLIN)).collect();
        // Poll takes whole milliseconds. Round up, because 0 would not wait.
        let wait = wait.as_nanos().div_ceil(1_000_000).min(60_000) as u16;
        // A signal ends the wait, so that the caller can handle it.
        let _ = poll(&mut fds, PollTimeout::from(wait));
        let mut ready = fds.iter().map(|fd| fd.any().unwrap_or(true));
        pipes.map(|pipe| pipe.is_some() && ready.next().unwrap_or(false))
    };
    if ready[0] {
        read(stdout, buffer, |bytes| visit(Output::Standard(bytes)));
    }
    if ready[1] {
        read(stderr, buffer, |bytes| visit(Output::Error(bytes)));
    }
}

/// Reads once. A pipe that cannot be read counts as ended.
fn read<P: Read>(pipe: &mut Option<P>, buffer: &mut [u8], take: impl FnOnce(&[u8])) {
    let Some(open_pipe) = pipe else { return };
    match open_pipe.read(buffer) {
        Ok(0) => *pipe = None,
        Ok(bytes) => take(&buffer[..bytes]),
        Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
        Err(_) => *pipe = None,
    }
}
