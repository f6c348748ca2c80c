//! Runs a program next to this one. Its output is read as it arrives. The program and everything that it started end with this
//! process.

use super::guardian::Guardian;
use apexmap_base::error::{Error, Result};
use apexmap_measure::worker::watchdog::{LAUNCH_VARIABLE, process_identity};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, kill, killpg, sigaction};
use nix::unistd::Pid;
use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStderr, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Time between the request to end and the kill.
const GRACE: Duration = Duration::from_secs(3);
/// Longest wait for the end of the processes. The system may be unable to end killed ones.
const END_TIMEOUT: Duration = Duration::from_secs(5);
/// Bytes per read: the capacity of a pipe.
const CHUNK: usize = 1 << 16;

/// A chunk of a program's output.
#[derive(Debug, PartialEq, Eq)]
pub enum Output<'a> {
    Standard(&'a [u8]),
    Error(&'a [u8]),
}

/// A running program in its own process group.
pub struct Process {
    child: Child,
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
    /// Ends the group when this process dies.
    _guardian: Option<Guardian>,
    /// The entry `APEXMAP_LAUNCH=...` in the environment of the program and all its descendants, which finds those that left the
    /// group.
    mark: String,
    status: Option<ExitStatus>,
    buffer: Vec<u8>,
}

/// Returns the next step after a program could not be started.
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
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let process_id = std::process::id();
        let process_name = process_identity(process_id).unwrap_or_else(|| process_id.to_string());
        let mark = format!("{process_name}-{}", NEXT.fetch_add(1, Ordering::Relaxed));
        command.env(LAUNCH_VARIABLE, &mark).process_group(0);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // SAFETY: prctl and sigaction are async-signal-safe. The program ends with this process, however this process ends. If
        // `nohup` or a script's background job makes this process ignore signals, the program must not inherit that, because a
        // script cannot trap signals that were ignored at its start.
        unsafe {
            command.pre_exec(|| {
                let default = SigAction::new(SigHandler::SigDfl, SaFlags::empty(), SigSet::empty());
                sigaction(Signal::SIGINT, &default)?;
                sigaction(Signal::SIGQUIT, &default)?;
                Ok(nix::sys::prctl::set_pdeathsig(Signal::SIGTERM)?)
            });
        }
        let mut child = command.spawn().map_err(|e| {
            let program = command.get_program().to_string_lossy().into_owned();
            Error::environment(format!("cannot start {program}: {e}"), start_advice(&e))
        })?;
        let guardian = Guardian::new(Pid::from_raw(child.id() as i32));
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let mark = format!("{LAUNCH_VARIABLE}={mark}");
        Ok(Self { child, stdout, stderr, _guardian: guardian, mark, status: None, buffer: vec![0; CHUNK] })
    }

    /// Waits up to `wait` for output and passes it on. Returns `false` once standard output has ended.
    pub fn read(&mut self, wait: Duration, visit: &mut dyn FnMut(Output)) -> bool {
        let ready = {
            let pipes = [self.stdout.as_ref().map(|pipe| pipe.as_fd()), self.stderr.as_ref().map(|pipe| pipe.as_fd())];
            let mut fds: Vec<PollFd> = pipes.iter().flatten().map(|fd| PollFd::new(*fd, PollFlags::POLLIN)).collect();
            // Poll takes whole milliseconds. Round up, because 0 would not wait.
            let wait = wait.as_nanos().div_ceil(1_000_000).min(60_000) as u16;
            // A signal ends the wait, so that the caller can handle it.
            let _ = poll(&mut fds, PollTimeout::from(wait));
            let mut ready = fds.iter().map(|fd| fd.any().unwrap_or(true));
            pipes.map(|pipe| pipe.is_some() && ready.next().unwrap_or(false))
        };
        if ready[0] {
            read(&mut self.stdout, &mut self.buffer, |bytes| visit(Output::Standard(bytes)));
        }
        if ready[1] {
            read(&mut self.stderr, &mut self.buffer, |bytes| visit(Output::Error(bytes)));
        }
        self.stdout.is_some()
    }

    /// Returns true if the program itself has ended. Its descendants may still run.
    pub fn has_ended(&mut self) -> Result<bool> {
        if self.status.is_none() {
            self.status = self
                .child
                .try_wait()
                .map_err(|e| Error::environment(format!("cannot wait for the launch: {e}"), "rerun to resume"))?;
        }
        Ok(self.status.is_some())
    }

    /// Ends the program with everything that it started, and returns its exit status.
    pub fn end(&mut self) -> Result<ExitStatus> {
        // Close the pipes, so that a writing process notices that its output is no longer read.
        (self.stdout, self.stderr) = (None, None);
        let group = Pid::from_raw(self.child.id() as i32);
        let (begun_at, mut signalled, mut pause) = (Instant::now(), Vec::new(), Duration::from_millis(1));
        loop {
            let is_ended = self.has_ended()?;
            let processes = list_processes(group, &self.mark);
            if (is_ended && processes.is_empty()) || begun_at.elapsed() > END_TIMEOUT {
                break;
            }
            let is_late = begun_at.elapsed() > GRACE;
            if is_late && !is_ended {
                let _ = killpg(group, Signal::SIGKILL);
            }
            // mpirun and srun end their ranks on all nodes when they receive SIGTERM. A process outside the group may be one of
            // these ranks, so it is asked only after the group has ended.
            let has_group_members = processes.iter().any(|process| process.in_group) || !is_ended;
            for process in processes.iter().filter(|process| is_late || process.in_group || !has_group_members) {
                if is_late {
                    let _ = kill(process.pid, Signal::SIGKILL);
                } else if !signalled.contains(&process.pid) {
                    signalled.push(process.pid);
                    let _ = kill(process.pid, Signal::SIGTERM);
                    // A stopped process receives SIGTERM only when it continues.
                    let _ = kill(process.pid, Signal::SIGCONT);
                }
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(50));
        }
        self.status.ok_or_else(|| {
            let message = format!("process {group} of the launch does not end even after SIGKILL");
            Error::environment(message, "check what it waits for, such as a file system that does not answer")
        })
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.end();
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

struct LiveProcess {
    pid: Pid,
    in_group: bool,
}

/// Returns the processes of a group, and those with this mark in their environment. Zombies do not count.
#[expect(clippy::disallowed_methods, reason = "/proc is the system's")]
fn list_processes(group: Pid, mark: &str) -> Vec<LiveProcess> {
    let parse_process = |entry: std::fs::DirEntry| {
        let pid = Pid::from_raw(entry.file_name().to_str()?.parse().ok()?);
        let stat = std::fs::read(entry.path().join("stat")).ok()?;
        // The fields after the name are state, parent and group. The name may contain any character.
        let fields = String::from_utf8_lossy(&stat[stat.iter().rposition(|&byte| byte == b')')? + 1..]).into_owned();
        let mut fields = fields.split_ascii_whitespace();
        let (state, group_id) = (fields.next()?, fields.nth(1)?.parse().ok()?);
        let in_group = Pid::from_raw(group_id) == group;
        let has_mark = || {
            let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
            environment.split(|&byte| byte == 0).any(|entry| entry == mark.as_bytes())
        };
        (!matches!(state, "Z" | "X") && (in_group || has_mark())).then_some(LiveProcess { pid, in_group })
    };
    match std::fs::read_dir("/proc") {
        Ok(entries) => entries.flatten().filter_map(parse_process).collect(),
        // Without /proc, only the group is known.
        Err(_) if killpg(group, None) != Err(Errno::ESRCH) => {
            vec![LiveProcess { pid: Pid::from_raw(-group.as_raw()), in_group: true }]
        }
        Err(_) => Vec::new(),
    }
}
