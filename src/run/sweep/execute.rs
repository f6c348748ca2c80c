//! One launch seen from outside: start it, read its lines, watch its time, end it.

use super::errors::Errors;
use super::lines::{Lines, event};
use super::process::{Output, Process};
use crate::launch::CommandLine;
use crate::launch::causes::{self, Cause, Found, Nature};
use apexmap_base::error::{Error, Result};
use apexmap_base::sample::{Event, Status, shortened};
use apexmap_measure::hardware::{Below, Files, memory_kills};
use nix::libc::SIGKILL;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

/// Limits of a launch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LaunchLimits {
    /// From the start of the launcher to the worker's first line, and from that to the start of the first sample.
    pub start: Duration,
    /// One sample, and from there to the start of the next.
    pub sample: Duration,
    /// From the worker's last line to the end of the process.
    pub end: Duration,
    /// Longest line that may be an event, in bytes; the driver adds what the ranks of a launch need.
    pub line: usize,
}

/// How a launch ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Ending {
    pub status: Status,
    pub message: String,
    /// A process died without a word (killed from outside, out of memory): worth one more try.
    pub abrupt: bool,
    /// The system ended it for lack of memory.
    pub lacked_memory: bool,
    /// What the message means, if that is known.
    pub cause: Option<&'static Cause>,
}

impl Ending {
    pub fn new(status: Status, message: impl Into<String>) -> Self {
        Self { status, message: shortened(message.into()), abrupt: false, lacked_memory: false, cause: None }
    }

    /// Whether the job ended it.
    pub fn is_over(&self) -> bool {
        self.cause.is_some_and(|cause| cause.nature == Nature::Over)
    }

    /// With the cause first, and the line that tells of it; `how` the launch ended goes after it.
    fn because(status: Status, found: &Found, how: &str) -> Self {
        let how = if how.is_empty() { String::new() } else { format!("; {how}") };
        let ending = Self::new(status, format!("{}: {}{how}", found.cause.what, found.line));
        let lacked_memory = found.cause.nature == Nature::Memory;
        Self { lacked_memory, cause: Some(found.cause), ..ending }
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

/// Real processes on a machine whose counts stand in these files.
pub struct ProcessesOn<'a>(pub &'a dyn Files);

impl Executor for Processes {
    fn execute(
        &mut self,
        command: &CommandLine,
        errors: &Path,
        limits: LaunchLimits,
        on_event: &mut Listener,
    ) -> Result<Ending> {
        ProcessesOn(&Below(Path::new("/"))).execute(command, errors, limits, on_event)
    }
}

impl Executor for ProcessesOn<'_> {
    fn execute(
        &mut self,
        command: &CommandLine,
        errors: &Path,
        limits: LaunchLimits,
        on_event: &mut Listener,
    ) -> Result<Ending> {
        let (program, arguments) =
            command.argv.split_first().ok_or_else(|| Error::internal("an empty command line"))?;
        let mut errors = Errors::create(errors)?;
        let mut start = Command::new(program);
        start.args(arguments).envs(command.env.iter().cloned());
        let kills = memory_kills(self.0);
        let mut process = Process::start(start)?;
        let result = follow(&mut process, &mut errors, limits, on_event);
        errors.finish();
        // Whatever happened, nothing of this launch stays behind.
        let status = process.end()?;
        Ok(match result? {
            Some(ending) if ending.status == Status::TimedOut => match errors.cause() {
                Some(found) => Ending::because(ending.status, &found, &ending.message),
                None => ending,
            },
            Some(ending) => ending,
            None => judge(status, &errors, memory_kills(self.0) > kills),
        })
    }
}

/// Why a launch is not followed any further.
enum Stop {
    Ending(Ending),
    Error(Error),
}

/// What was heard of a launch, and how long its next word may take.
struct Hearing<'a, 'b> {
    limits: LaunchLimits,
    on_event: &'a mut Listener<'b>,
    allowed: Duration,
    since: Instant,
    greeted: bool,
    started: bool,
    done: bool,
    /// Lines that are no events.
    other: Vec<u8>,
}

impl Hearing<'_, '_> {
    /// Launchers print warnings among the worker's lines; only events count, and only they are signs of life.
    fn hear(&mut self, line: &[u8]) -> std::result::Result<(), Stop> {
        let Some(event) = event(line) else {
            if !line.trim_ascii().is_empty() {
                self.other.extend_from_slice(line);
                self.other.push(b'\n');
            }
            return Ok(());
        };
        self.greeted = true;
        self.started |= matches!(event, Event::Start { .. });
        self.done |= matches!(event, Event::Done { .. });
        self.allowed = match &event {
            Event::Done { .. } | Event::Fatal { .. } => self.limits.end,
            _ if self.started => self.limits.sample,
            _ => self.limits.start,
        };
        self.since = Instant::now();
        let fatal = if let Event::Fatal { message } = &event { Some(message.clone()) } else { None };
        (self.on_event)(Some(event)).map_err(Stop::Error)?;
        let Some(message) = fatal else { return Ok(()) };
        Err(Stop::Ending(match causes::find(&message) {
            Some(found) => Ending::because(Status::Failed, &Found { line: message, ..found }, ""),
            None => Ending::new(Status::Failed, message),
        }))
    }

    /// Before the first word something was told that keeps ranks from starting: few launchers end then by themselves.
    fn despair(&mut self, told: Option<&Found>) {
        if !self.greeted && told.is_some_and(|found| found.cause.nature == Nature::Setup) {
            self.allowed = self.allowed.min(self.since.elapsed() + self.limits.end);
        }
    }

    fn left(&self) -> Duration {
        self.allowed.saturating_sub(self.since.elapsed())
    }

    /// For a launch that took too long.
    fn late(&self) -> Ending {
        if self.done {
            return hung();
        }
        Ending::new(Status::TimedOut, format!("no sign of life within {} s", self.allowed.as_secs_f64()))
    }
}

/// Hands on events until the output ends or a limit passes. `None` if the process is to be judged by its exit.
fn follow(
    process: &mut Process,
    errors: &mut Errors,
    limits: LaunchLimits,
    on_event: &mut Listener,
) -> Result<Option<Ending>> {
    let mut lines = Lines::new(limits.line);
    let (allowed, since) = (limits.start, Instant::now());
    let (greeted, started, done) = (false, false, false);
    let mut hearing = Hearing { limits, on_event, allowed, since, greeted, started, done, other: Vec::new() };
    loop {
        let heard = hearing.since;
        let mut result = Ok(());
        let open = process.read(hearing.left().min(MOMENT), &mut |output| match output {
            Output::Standard(bytes) => result = lines.add(bytes, |line| hearing.hear(line)),
            Output::Error(bytes) => _ = errors.add(bytes),
        });
        if !open && result.is_ok() {
            result = hearing.hear(lines.rest());
        }
        // Some launchers and libraries write what went wrong to standard output.
        errors.add(&std::mem::take(&mut hearing.other));
        hearing.despair(errors.told());
        match result {
            Ok(()) => {}
            Err(Stop::Ending(ending)) => return Ok(Some(ending)),
            Err(Stop::Error(error)) => return Err(error),
        }
        if !open {
            break;
        }
        if hearing.left().is_zero() {
            return Ok(Some(hearing.late()));
        }
        if hearing.since == heard {
            (hearing.on_event)(None)?;
        }
    }
    // The output has ended; the process should, too.
    let (since, mut pause) = (Instant::now(), Duration::from_millis(1));
    let mut add = |output: Output| {
        if let Output::Error(bytes) = output {
            errors.add(bytes);
        }
    };
    while !process.has_ended()? {
        if since.elapsed() > limits.end {
            return Ok(Some(hung()));
        }
        on_event(None)?;
        process.read(pause, &mut add);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
    // What it wrote last is still in the pipe.
    process.read(Duration::ZERO, &mut add);
    Ok(None)
}

fn hung() -> Ending {
    Ending::new(Status::Hung, "all output was written, but the launch did not end")
}

/// `kills`: the system has ended something for lack of memory meanwhile.
fn judge(status: ExitStatus, errors: &Errors, kills: bool) -> Ending {
    if status.success() {
        return Ending::new(Status::Ok, "");
    }
    let how = match (status.code(), status.signal()) {
        (Some(code), _) => format!("the launch ended with exit code {code}"),
        (None, Some(signal)) => format!("the launch was killed by signal {signal}"),
        (None, None) => "the launch ended abnormally".into(),
    };
    let words = errors.last_words();
    let killed = status.signal() == Some(SIGKILL) || status.code() == Some(128 + SIGKILL) || tells_of_kill(&words);
    if kills && killed {
        let ending = Ending::new(Status::Failed, "killed by the system for lack of memory");
        return Ending { abrupt: true, lacked_memory: true, ..ending };
    }
    let ending = match errors.cause() {
        Some(found) => Ending::because(Status::Failed, &found, &how),
        None if words.is_empty() => Ending::new(Status::Failed, how),
        None => Ending::new(Status::Failed, format!("{how}: {words}")),
    };
    Ending { abrupt: true, ..ending }
}

/// Whether a launcher says that a rank was killed: mpirun of Open MPI and of MPICH, srun.
fn tells_of_kill(words: &str) -> bool {
    ["signal 9", "Signal: 9", "signal: 9", "Killed", "SIGKILL", "oom"].iter().any(|sign| words.contains(sign))
}
