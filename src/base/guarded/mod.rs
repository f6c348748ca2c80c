//! Programs that end with this process, however it ends, with everything that they started. All commands start programs here.

mod ending;
mod guardian;
mod live;

pub use live::{Live, descendants, process_identity};

use crate::error::{Error, Result};
use ending::end_all;
use guardian::Guardian;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::{Pid, mkdtemp};
use std::io::{PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Environment variable that the driver sets for a launch: its process id, the process's start time, and a number.
pub const LAUNCH_VARIABLE: &str = "APEXMAP_LAUNCH";
/// Longest wait for the guardian, which gives up before.
const END_TIMEOUT: Duration = Duration::from_secs(6);

/// A running program. Dropping it ends the program and everything that it started.
pub struct Guarded {
    guardian: Child,
    leash: PipeWriter,
    statuses: PipeReader,
    program: Pid,
    /// The value of [`LAUNCH_VARIABLE`]. It finds descendants that a service started, such as ranks through `ssh`.
    mark: String,
    status: Option<ExitStatus>,
    is_over: bool,
}

#[derive(Clone, Debug, Default)]
pub struct Terms {
    /// Whether it stays in this session and group, where a terminal's keys reach it. It then has no mark.
    pub shares_terminal: bool,
    pub outputs: Option<[RawFd; 2]>,
}

impl Guarded {
    pub fn start(command: &mut Command, terms: Terms) -> std::io::Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let process_id = std::process::id();
        let process_name = process_identity(process_id).unwrap_or_else(|| process_id.to_string());
        let mut mark = format!("{process_name}-{}", NEXT.fetch_add(1, Ordering::Relaxed));
        if terms.shares_terminal {
            mark.clear();
        } else {
            command.env(LAUNCH_VARIABLE, &mark);
        }
        let ((leash_end, leash), (mut statuses, status_writer)) = (std::io::pipe()?, std::io::pipe()?);
        let guardian = Guardian {
            own_session: !terms.shares_terminal,
            mark: mark.clone(),
            leash: leash_end.as_raw_fd(),
            status: status_writer.as_raw_fd(),
            outputs: terms.outputs.unwrap_or([-1; 2]),
            is_reported: AtomicBool::new(false),
        };
        // SAFETY: see the guardian.
        unsafe { command.pre_exec(move || guardian.split()) };
        let mut guardian = command.spawn()?;
        drop((leash_end, status_writer));
        let mut id = [0; 4];
        if let Err(error) = statuses.read_exact(&mut id) {
            let _ = guardian.wait();
            return Err(error);
        }
        let program = Pid::from_raw(i32::from_ne_bytes(id));
        Ok(Self { guardian, leash, statuses, program, mark, status: None, is_over: false })
    }

    /// Returns the program's process, which is also its group unless it shares the terminal.
    pub fn id(&self) -> Pid {
        self.program
    }

    /// Returns the started program's pipes.
    pub fn child(&mut self) -> &mut Child {
        &mut self.guardian
    }

    /// Waits up to `wait` for the end of the program itself. Its descendants may still run. A signal ends the wait.
    pub fn has_ended(&mut self, wait: PollTimeout) -> Result<bool> {
        if self.status.is_some() {
            return Ok(true);
        }
        let mut polled = [PollFd::new(self.statuses.as_fd(), PollFlags::POLLIN)];
        if poll(&mut polled, wait).is_ok_and(|ready| ready > 0) {
            let mut status = [0; 4];
            self.status = match self.statuses.read_exact(&mut status) {
                Ok(()) => Some(ExitStatus::from_raw(i32::from_ne_bytes(status))),
                // Somebody killed the guardian, and with it the program. Otherwise it gave up.
                Err(_) => {
                    let fault = |e| Error::environment(format!("cannot wait for the launch: {e}"), "rerun to resume");
                    Some(self.guardian.wait().map_err(fault)?).filter(|status| !status.success())
                }
            };
        }
        Ok(self.status.is_some())
    }

    /// Ends the program with everything that it started, and returns its exit status. Calls `wait` meanwhile.
    pub fn end(&mut self, wait: &mut dyn FnMut(Duration)) -> Result<ExitStatus> {
        if !std::mem::replace(&mut self.is_over, true) {
            // It has ended if the program left nothing behind.
            let _ = self.leash.write_all(b"e");
            let (begun_at, mut pause) = (Instant::now(), Duration::from_millis(1));
            while begun_at.elapsed() < END_TIMEOUT && self.guardian.try_wait().is_ok_and(|status| status.is_none()) {
                wait(pause);
                pause = (pause * 2).min(Duration::from_millis(20));
            }
            self.has_ended(PollTimeout::ZERO)?;
            // Processes that outlived a killed guardian, and processes with the mark that others started.
            end_all(self.program, self.program, &self.mark, wait);
        }
        self.status.ok_or_else(|| {
            let message = format!("process {} of the launch does not end even after SIGKILL", self.program);
            Error::environment(message, "check what it waits for, such as a file system that does not answer")
        })
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        let _ = self.end(&mut std::thread::sleep);
    }
}

/// A folder that only this user can read. It is removed at the end, also if this process is killed.
pub struct TemporaryFolder {
    pub path: PathBuf,
    /// A byte ends the guardian without its work.
    leash: Option<PipeWriter>,
}

impl TemporaryFolder {
    /// Creates a folder for temporary files. Its name begins with `apexmap-` and this text.
    pub fn create(name: &str) -> Result<Self> {
        Self::create_in(&std::env::temp_dir(), &format!("apexmap-{name}-"))
    }

    /// Creates a folder within another one. Its name begins with `prefix`.
    pub fn create_in(parent: &Path, prefix: &str) -> Result<Self> {
        let pattern = parent.join(format!("{prefix}XXXXXX"));
        let path = mkdtemp(&pattern).map_err(|e| Error::file("create", &pattern, std::io::Error::from(e)))?;
        // Without a guardian, which the system may refuse, a kill leaves the folder.
        let leash = std::io::pipe().ok().and_then(|(end, leash)| {
            guardian::remove_at_end(path.clone(), end.as_raw_fd()).ok()?;
            Some(leash)
        });
        Ok(Self { path, leash })
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
        if let Some(leash) = &mut self.leash {
            let _ = leash.write_all(b"e");
        }
    }
}
