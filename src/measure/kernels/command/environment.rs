//! The system around a program: its start, its cores, its process group, and the processes that it leaves behind.

use super::start::{self, Program};
use crate::hardware::{Hardware, PlacementOrder, place_ranks};
use apexmap_base::guarded::Live;
use nix::libc;
use nix::sys::prctl;
use nix::sys::signal::{Signal, kill, killpg};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::{Pid, getpid, getsid};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::PipeReader;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Per read: the capacity of a pipe.
pub const CHUNK: usize = 1 << 16;
/// An environment variable of a program, which its descendants inherit.
const MARK: &str = "APEXMAP_COMMAND_RUN";
/// Longest wait for the end of killed processes.
const END_TIMEOUT: Duration = Duration::from_secs(5);

pub struct Started {
    pub group: Group,
    pub stdout: Option<PipeReader>,
    pub stderr: Option<PipeReader>,
    pub begun_at: Instant,
}

/// In its own session and process group. Dropping it ends them.
pub struct Group {
    id: Pid,
    /// Readable once the program has ended.
    end: OwnedFd,
    /// The value of [`MARK`] in the environment of the program and its descendants, which finds those that left its session.
    mark: String,
    /// The children that this process had before.
    earlier: Vec<Pid>,
    is_reaped: bool,
}

impl Started {
    pub fn start(program: &Program) -> Result<Self, String> {
        if program.arguments.is_empty() {
            return Err("command is empty".into());
        }
        // Processes whose parent ends become children of this process, which then finds and ends them.
        let _ = prctl::set_child_subreaper(true);
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let mark = format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = program.input.as_deref().unwrap_or("/dev/null");
        let input = File::open(path).map_err(|error| format!("cannot open the input {path}: {error}"))?;
        let mut variables: BTreeMap<OsString, OsString> =
            program.env.iter().map(|(name, value)| (name.into(), value.into())).collect();
        variables.insert(MARK.into(), mark.clone().into());
        let allowed = Hardware::this_machine().allowed.as_slice();
        let cores = program.cores.as_deref().unwrap_or(allowed);
        let earlier = children();
        let child = start::start(program, &input, &variables, cores).map_err(|error| start_error(program, &error))?;
        let end = open_process(child.id).map_err(|error| {
            let _ = killpg(child.id, Signal::SIGKILL);
            let _ = waitpid(child.id, None);
            format!("this system cannot watch a process (pidfd_open: {error})")
        })?;
        running().push(child.id);
        let group = Group { id: child.id, end, mark, earlier, is_reaped: false };
        Ok(Self { group, stdout: Some(child.stdout), stderr: Some(child.stderr), begun_at: child.begun_at })
    }
}

fn start_error(program: &Program, error: &std::io::Error) -> String {
    let name = &program.arguments[0];
    let advice = match error.kind() {
        std::io::ErrorKind::NotFound => match &program.cwd {
            Some(folder) => format!("check that it is installed and on the PATH, and that the folder {folder} exists"),
            None => {
                "check that it is installed and on the PATH; a shell command needs command = [\"sh\", \"-c\", \"...\"]"
                    .into()
            }
        },
        std::io::ErrorKind::PermissionDenied => "make it executable (chmod +x)".into(),
        _ => "check that it is a program for this machine".into(),
    };
    format!("cannot start {name}: {error}; {advice}")
}

fn open_process(id: Pid) -> std::io::Result<OwnedFd> {
    // SAFETY: the call takes only numbers; the file that it opens is new, so nothing else closes it.
    unsafe {
        match libc::syscall(libc::SYS_pidfd_open, id.as_raw(), 0) {
            file if file >= 0 => Ok(OwnedFd::from_raw_fd(file as RawFd)),
            _ => Err(std::io::Error::last_os_error()),
        }
    }
}

impl Group {
    pub fn id(&self) -> Pid {
        self.id
    }

    pub fn end_event(&self) -> BorrowedFd<'_> {
        self.end.as_fd()
    }

    /// Asks the group to end, and kills it if it does not.
    pub fn end(&mut self, grace: Duration) {
        let _ = killpg(self.id, Signal::SIGTERM);
        let begun_at = Instant::now();
        while begun_at.elapsed() < grace && !is_over(self.id) {
            std::thread::sleep(Duration::from_millis(5));
        }
        self.finish();
        let _ = self.reap();
    }

    /// Ends what the program left behind when it ended, and returns the names of these processes.
    pub fn finish(&self) -> Vec<String> {
        let is_left = |id: &Pid| !is_over(*id);
        let mut left = self.orphans();
        // A program's last child may be about to end, as in a pipe of a shell.
        if left.iter().any(is_left) {
            std::thread::sleep(Duration::from_millis(20));
            left = self.orphans();
        }
        let names = left.iter().filter(|id| is_left(id)).map(|id| name(*id)).collect();
        // The program itself is not reaped yet, so its id and that of its group are still its own.
        let _ = killpg(self.id, Signal::SIGKILL);
        let begun_at = Instant::now();
        // The children of killed processes become children of this process, so this repeats until none is left.
        while !left.is_empty() && begun_at.elapsed() < END_TIMEOUT {
            for id in left {
                let _ = kill(id, Signal::SIGKILL);
                let _ = waitpid(id, Some(WaitPidFlag::WNOHANG));
            }
            std::thread::sleep(Duration::from_micros(200));
            left = self.orphans();
        }
        names
    }

    /// The processes of the program that became children of this process, also those that have ended: those of its session, those
    /// with its mark, and those of new sessions with another environment, unless another program that runs now may have started
    /// them.
    fn orphans(&self) -> Vec<Pid> {
        let others: Vec<Pid> = running().iter().copied().filter(|id| *id != self.id).collect();
        let own_session = getsid(None).ok();
        let belongs = |process: &Live| match process.variable(MARK) {
            _ if process.session == self.id => true,
            _ if others.contains(&process.session) => false,
            Some(mark) => mark == self.mark.as_bytes(),
            None => {
                let is_new = Some(process.session) != own_session && !self.earlier.contains(&process.id);
                // Another rank's program is this program for a moment.
                is_new && executable(process.id) != executable(getpid())
            }
        };
        let is_child = |id: &Pid| *id != self.id && !others.contains(id);
        let children = children().into_iter().filter(is_child).filter_map(Live::find);
        children.filter(belongs).map(|process| process.id).collect()
    }

    /// For a program that has ended or was killed. Returns what it used.
    pub fn reap(&mut self) -> Result<(ExitStatus, libc::rusage), String> {
        let (mut status, begun_at) = (0, Instant::now());
        // SAFETY: a record of numbers, for which zeros are valid.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        loop {
            // SAFETY: the call writes to both variables, which live longer than it.
            let result = unsafe { libc::wait4(self.id.as_raw(), &raw mut status, libc::WNOHANG, &raw mut usage) };
            if result == self.id.as_raw() {
                self.is_reaped = true;
                return Ok((ExitStatus::from_raw(status), usage));
            }
            let is_interrupted = std::io::Error::last_os_error().kind() == std::io::ErrorKind::Interrupted;
            if (result < 0 && !is_interrupted) || begun_at.elapsed() > END_TIMEOUT {
                return Err("the program does not end even after SIGKILL; check what it waits for".into());
            }
            std::thread::sleep(Duration::from_micros(200));
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        running().retain(|id| *id != self.id);
        if !self.is_reaped {
            self.finish();
            let _ = self.reap();
        }
    }
}

/// Also those that have ended; empty if the system does not list them.
fn children() -> Vec<Pid> {
    let process = std::process::id();
    let Ok(threads) = std::fs::read_dir(format!("/proc/{process}/task")) else { return Vec::new() };
    let of_thread =
        |thread: std::fs::DirEntry| std::fs::read_to_string(thread.path().join("children")).unwrap_or_default();
    let text: Vec<String> = threads.flatten().map(of_thread).collect();
    text.iter()
        .flat_map(|line| line.split_ascii_whitespace())
        .filter_map(|id| id.parse().ok())
        .map(Pid::from_raw)
        .collect()
}

fn is_over(id: Pid) -> bool {
    Live::find(id).is_none_or(|process| process.is_over)
}

fn executable(id: Pid) -> Option<PathBuf> {
    std::fs::read_link(format!("/proc/{id}/exe")).ok()
}

/// The programs that run now, one for each rank that is a thread of this process.
fn running() -> MutexGuard<'static, Vec<Pid>> {
    static RUNNING: Mutex<Vec<Pid>> = Mutex::new(Vec::new());
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

fn name(id: Pid) -> String {
    std::fs::read_to_string(format!("/proc/{id}/comm")).map_or_else(|_| id.to_string(), |name| name.trim().to_owned())
}

/// The time that the first thread of a process waited for a core, in seconds. The process may have ended.
pub fn run_delay(id: Pid) -> Option<f64> {
    let text = std::fs::read_to_string(format!("/proc/{id}/schedstat")).ok()?;
    let mut fields = text.split_ascii_whitespace().map(str::parse::<u64>);
    let (run_time, delay) = (fields.next()?.ok()?, fields.next()?.ok()?);
    (run_time > 0).then_some(delay as f64 * 1e-9)
}

pub fn first_cores(count: usize) -> Result<Vec<usize>, String> {
    let machine = Hardware::this_machine();
    let order = place_ranks(&machine.threads, &machine.allowed, PlacementOrder::Spread);
    match order.get(..count) {
        Some(threads) => Ok(threads.to_vec()),
        None => Err(format!("cores = {count}, but this process may use {} hardware threads", order.len())),
    }
}
