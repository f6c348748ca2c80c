//! One launch seen from outside: start it, read its lines, watch its time, end it.

use crate::error::{Error, Result};
use crate::explore::launch::CommandLine;
use crate::explore::new_file;
use crate::sample::{Event, Status};
use std::io::{BufRead, BufReader};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Time limits of a launch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LaunchLimits {
    /// From the start of the launcher to the worker's first line, and between a sample and the next start.
    pub start: Duration,
    /// One sample.
    pub sample: Duration,
    /// From the worker's last line to the end of the process.
    pub end: Duration,
}

/// How a launch ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Ending {
    pub status: Status,
    pub message: String,
    /// A process died without a word (killed from outside, out of memory): worth one more try.
    pub abrupt: bool,
}

impl Ending {
    pub fn new(status: Status, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), abrupt: false }
    }
}

/// What is told of a launch: its events, and `None` a few times a second while none comes.
pub type Listener<'a> = dyn FnMut(Option<Event>) -> Result<()> + 'a;

/// Runs launches; the driver's tests put a scripted one in place of processes.
pub trait Executor {
    /// Runs one launch to its end, handing on its events as they come. An error of `on_event` ends the launch.
    fn execute(
        &mut self,
        command: &CommandLine,
        errors: &Path,
        limits: LaunchLimits,
        on_event: &mut Listener,
    ) -> Result<Ending>;
}

/// Longest time without a call of the listener.
const MOMENT: Duration = Duration::from_millis(200);

/// Real processes.
pub struct Processes;

impl Executor for Processes {
    fn execute(
        &mut self,
        command: &CommandLine,
        errors: &Path,
        limits: LaunchLimits,
        on_event: &mut Listener,
    ) -> Result<Ending> {
        let mut child = spawn(command, errors)?;
        let lines = read_lines(&mut child);
        let result = follow(&mut child, &lines, limits, on_event);
        // Whatever happened, nothing of this launch stays behind.
        let status = end(&mut child)?;
        Ok(match result? {
            Some(ending) => ending,
            None => judge(status, errors),
        })
    }
}

fn spawn(command: &CommandLine, errors: &Path) -> Result<Child> {
    let (program, arguments) = command.argv.split_first().ok_or_else(|| Error::internal("an empty command line"))?;
    let stderr = new_file::create(errors)?;
    let mut process = Command::new(program);
    process.args(arguments).envs(command.env.iter().cloned());
    process.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(stderr).process_group(0);
    // SAFETY: prctl is async-signal-safe. The launch ends with the driver, however the driver ends.
    unsafe {
        process.pre_exec(|| Ok(nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGTERM)?));
    }
    process.spawn().map_err(|e| {
        Error::environment(format!("cannot start {program}: {e}"), "check that it is installed and on the PATH")
    })
}

fn read_lines(child: &mut Child) -> Receiver<std::io::Result<Vec<u8>>> {
    let (sender, receiver) = channel();
    if let Some(stdout) = child.stdout.take() {
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).split(b'\n') {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
    }
    receiver
}

/// Hands on events until the output ends or a limit passes. `None` if the process is to be judged by its exit.
fn follow(
    child: &mut Child,
    lines: &Receiver<std::io::Result<Vec<u8>>>,
    limits: LaunchLimits,
    on_event: &mut Listener,
) -> Result<Option<Ending>> {
    let mut allowed = limits.start;
    let mut since = Instant::now();
    let mut done = false;
    loop {
        let left = allowed.saturating_sub(since.elapsed());
        let line = match lines.recv_timeout(left.min(MOMENT)) {
            Ok(Ok(line)) => line,
            Ok(Err(_)) | Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) if left > MOMENT => {
                on_event(None)?;
                continue;
            }
            Err(RecvTimeoutError::Timeout) if done => return Ok(Some(hung())),
            Err(RecvTimeoutError::Timeout) => {
                let message = format!("no sign of life within {} s", allowed.as_secs_f64());
                return Ok(Some(Ending::new(Status::TimedOut, message)));
            }
        };
        // Launchers print warnings among the worker's lines; only events count, and only they are signs of life.
        let Ok(event) = serde_json::from_slice::<Event>(&line) else { continue };
        allowed = match &event {
            Event::Start { .. } => limits.sample,
            Event::Done { .. } | Event::Fatal { .. } => limits.end,
            _ => limits.start,
        };
        since = Instant::now();
        done |= matches!(event, Event::Done { .. });
        let fatal = if let Event::Fatal { message } = &event { Some(message.clone()) } else { None };
        on_event(Some(event))?;
        if let Some(message) = fatal {
            return Ok(Some(Ending::new(Status::Failed, message)));
        }
    }
    // The output has ended; the process should, too.
    let since = Instant::now();
    while child.try_wait().ok().flatten().is_none() {
        if since.elapsed() > limits.end {
            return Ok(Some(hung()));
        }
        on_event(None)?;
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(None)
}

fn hung() -> Ending {
    Ending::new(Status::Hung, "all output was written, but the launch did not end")
}

fn judge(status: ExitStatus, errors: &Path) -> Ending {
    if status.success() {
        return Ending::new(Status::Ok, "");
    }
    let how = match (status.code(), status.signal()) {
        (Some(code), _) => format!("the launch ended with exit code {code}"),
        (None, Some(signal)) => format!("the launch was killed by signal {signal}"),
        (None, None) => "the launch ended abnormally".into(),
    };
    let tail = tail(errors);
    let message = if tail.is_empty() { how } else { format!("{how}: {tail}") };
    Ending { status: Status::Failed, message, abrupt: true }
}

/// The last few lines of a file, for messages.
pub fn tail(path: &Path) -> String {
    let bytes = std::fs::read(path).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines[lines.len().saturating_sub(6)..].join("; ")
}

/// Ends the process group and reaps its leader.
fn end(child: &mut Child) -> Result<ExitStatus> {
    use nix::sys::signal::{Signal, killpg};
    let group = nix::unistd::Pid::from_raw(child.id() as i32);
    let wait = |child: &mut Child| {
        child.try_wait().map_err(|e| Error::environment(format!("cannot wait for the launch: {e}"), ""))
    };
    if wait(child)?.is_none() {
        // mpirun and srun end their ranks, on all nodes, when they are asked politely.
        let _ = killpg(group, Signal::SIGTERM);
        let asked = Instant::now();
        while wait(child)?.is_none() && asked.elapsed() < Duration::from_secs(3) {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    let _ = killpg(group, Signal::SIGKILL);
    child.wait().map_err(|e| Error::environment(format!("cannot wait for the launch: {e}"), ""))
}
