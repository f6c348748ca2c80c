//! Runs one launch: starts it, reads its lines, enforces its time limits and ends it.

use super::errors::ErrorOutput;
use super::protocol::{Lines, parse_event};
use crate::launch::CommandLine;
use crate::launch::causes::{self, Cause, CauseMatch, Nature, Stage};
use apexmap_base::error::{Error, Result};
use apexmap_base::other_output::OtherOutput;
use apexmap_base::process::{Output, Process};
use apexmap_base::sample::{Event, Status, shorten_message};
use apexmap_base::units::short_number;
use apexmap_measure::hardware::{SystemFiles, memory_kills};
use nix::libc::SIGKILL;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LaunchLimits {
    /// Limit from the start of the launcher to the worker's first line, and from there to the start of the first sample.
    pub start: Duration,
    /// Limit of one sample, and from there to the start of the next.
    pub sample: Duration,
    /// Limit from the worker's last line to the end of the process.
    pub end: Duration,
    /// Longest line that can be an event, in bytes. The driver adds the bytes for each rank.
    pub line: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Ending {
    pub status: Status,
    pub message: String,
    /// Whether a process died without a message, for example when it was killed. One more try is worthwhile.
    pub abrupt: bool,
    /// Whether the system ended it because memory ran out.
    pub lacked_memory: bool,
    pub cause: Option<&'static Cause>,
    /// Lines besides the events, if the launch succeeded.
    pub output: OtherOutput,
}

impl Ending {
    pub fn new(status: Status, message: impl Into<String>) -> Self {
        let (message, output) = (shorten_message(message.into()), OtherOutput::default());
        Self { status, message, abrupt: false, lacked_memory: false, cause: None, output }
    }

    /// The last line of the launch's journal. `doubtful`: its lines are inconsistent.
    pub fn event(&self, doubtful: bool) -> Event {
        let Self { status, message, output, .. } = self.clone();
        Event::Ended { status, message, doubtful, output }
    }

    /// Whether the launch ended because its job ended.
    pub fn is_over(&self) -> bool {
        self.cause.is_some_and(|cause| cause.nature == Nature::JobOver)
    }

    /// The message has the cause and its line first, then `end_text`.
    fn with_cause(status: Status, cause_match: &CauseMatch, end_text: &str) -> Self {
        let end_text = if end_text.is_empty() { String::new() } else { format!("; {end_text}") };
        let ending = Self::new(status, format!("{}: {}{end_text}", cause_match.cause.summary, cause_match.line));
        let lacked_memory = cause_match.cause.nature == Nature::Memory;
        Self { lacked_memory, cause: Some(cause_match.cause), ..ending }
    }
}

/// Receives the events of a launch, and `None` several times a second while no event arrives.
pub type Listener<'a> = dyn FnMut(Option<Event>) -> Result<()> + 'a;

/// Runs launches. Tests of the driver use a scripted executor.
pub trait Executor {
    /// Runs one launch to its end, and passes its events to `on_event` as they arrive. An error of `on_event` ends the launch.
    fn execute(
        &mut self,
        command: &CommandLine,
        errors: &Path,
        limits: LaunchLimits,
        on_event: &mut Listener,
    ) -> Result<Ending>;
}

const LISTENER_INTERVAL: Duration = Duration::from_millis(200);

/// Runs real processes, and reads the system's counts from these files.
pub struct Processes<'a>(pub &'a dyn SystemFiles);

impl Executor for Processes<'_> {
    fn execute(
        &mut self,
        command: &CommandLine,
        errors: &Path,
        limits: LaunchLimits,
        on_event: &mut Listener,
    ) -> Result<Ending> {
        let (program, arguments) =
            command.argv.split_first().ok_or_else(|| Error::internal("an empty command line"))?;
        let mut errors = ErrorOutput::create(errors, &command.argv)?;
        let mut start = Command::new(program);
        start.args(arguments).envs(command.env.iter().cloned());
        let kills_before = memory_kills(self.0);
        let mut process = Process::start(start)?;
        let result = follow(&mut process, &mut errors, limits, on_event);
        errors.finish();
        // Nothing of this launch may survive, whatever happened.
        let status = process.end()?;
        Ok(match result? {
            // A launcher that printed the cause of its failure may hang instead of ending.
            Some(ending) if ending.status == Status::TimedOut => match errors.cause() {
                Some(found) => Ending::with_cause(ending.status, &found, &ending.message),
                None => ending,
            },
            Some(ending) => ending,
            None if status.success() => Ending { output: errors.into_counts(), ..Ending::new(Status::Ok, "") },
            None => judge_failure(status, &errors, memory_kills(self.0) > kills_before),
        })
    }
}

enum Stop {
    Ending(Ending),
    Error(Error),
}

struct LaunchState<'a, 'b> {
    limits: LaunchLimits,
    on_event: &'a mut Listener<'b>,
    limit: Duration,
    last_event: Instant,
    has_greeted: bool,
    has_started: bool,
    is_done: bool,
    other_output: Vec<u8>,
}

impl LaunchState<'_, '_> {
    /// Launchers print warnings between the worker's lines. Only events are signs of life.
    fn handle_line(&mut self, line: &[u8]) -> Result<(), Stop> {
        let Some(event) = parse_event(line) else {
            if !line.trim_ascii().is_empty() {
                self.other_output.extend_from_slice(line);
                self.other_output.push(b'\n');
            }
            return Ok(());
        };
        self.has_greeted = true;
        self.has_started |= matches!(event, Event::Start { .. });
        self.is_done |= matches!(event, Event::Done { .. });
        self.limit = match &event {
            Event::Done { .. } | Event::Fatal { .. } => self.limits.end,
            _ if self.has_started => self.limits.sample,
            _ => self.limits.start,
        };
        self.last_event = Instant::now();
        let fatal = if let Event::Fatal { message } = &event { Some(message.clone()) } else { None };
        (self.on_event)(Some(event)).map_err(Stop::Error)?;
        let Some(message) = fatal else { return Ok(()) };
        Err(Stop::Ending(match causes::find(&message) {
            Some(found) => Ending::with_cause(Status::Failed, &CauseMatch { line: message, ..found }, ""),
            None => Ending::new(Status::Failed, message),
        }))
    }

    /// Shortens the wait for the greeting if the launcher has given up, because some launchers then do not end.
    fn shorten_wait(&mut self, output_cause: Option<CauseMatch>) {
        if !self.has_greeted && output_cause.is_some_and(|cause_match| cause_match.cause.stage == Stage::Refused) {
            self.limit = self.limit.min(self.last_event.elapsed() + self.limits.end);
        }
    }

    fn time_left(&self) -> Duration {
        self.limit.saturating_sub(self.last_event.elapsed())
    }

    fn timeout_ending(&self) -> Ending {
        if self.is_done {
            return hung_ending();
        }
        Ending::new(Status::TimedOut, format!("no sign of life within {} s", short_number(self.limit.as_secs_f64())))
    }
}

/// Passes on events until the output ends or a limit is exceeded. `None`: the exit status decides.
fn follow(
    process: &mut Process,
    errors: &mut ErrorOutput,
    limits: LaunchLimits,
    on_event: &mut Listener,
) -> Result<Option<Ending>> {
    let mut lines = Lines::new(limits.line);
    let mut state = LaunchState {
        limits,
        on_event,
        limit: limits.start,
        last_event: Instant::now(),
        has_greeted: false,
        has_started: false,
        is_done: false,
        other_output: Vec::new(),
    };
    loop {
        let last_event_before = state.last_event;
        let mut result = Ok(());
        let is_open = process.read(state.time_left().min(LISTENER_INTERVAL), &mut |output| match output {
            Output::Standard(bytes) => result = lines.add(bytes, |line| state.handle_line(line)),
            Output::Error(bytes) => errors.add(bytes),
        });
        if !is_open && result.is_ok() {
            result = state.handle_line(lines.rest());
        }
        // Some launchers and libraries write errors to standard output.
        errors.add(&std::mem::take(&mut state.other_output));
        if state.has_greeted {
            errors.record_start();
        }
        state.shorten_wait(errors.cause());
        match result {
            Ok(()) => {}
            Err(Stop::Ending(ending)) => return Ok(Some(ending)),
            Err(Stop::Error(error)) => return Err(error),
        }
        if !is_open {
            break;
        }
        if state.time_left().is_zero() {
            return Ok(Some(state.timeout_ending()));
        }
        if state.last_event == last_event_before {
            (state.on_event)(None)?;
        }
    }
    // The output has ended, so the process should end too.
    let (ended_at, mut pause) = (Instant::now(), Duration::from_millis(1));
    let mut add = |output: Output| {
        if let Output::Error(bytes) = output {
            errors.add(bytes);
        }
    };
    while !process.has_ended()? {
        if ended_at.elapsed() > limits.end {
            return Ok(Some(hung_ending()));
        }
        on_event(None)?;
        // A full pipe would keep the process from ending.
        process.read(pause, &mut add);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
    // Its last output is still in the pipe.
    process.read(Duration::ZERO, &mut add);
    Ok(None)
}

fn hung_ending() -> Ending {
    Ending::new(Status::Hung, "all output was written, but the launch did not end")
}

/// `has_kills`: since the start of the launch, the system has killed a process because memory ran out.
fn judge_failure(status: ExitStatus, errors: &ErrorOutput, has_kills: bool) -> Ending {
    let end_text = match (status.code(), status.signal()) {
        (Some(code), _) => format!("the launch ended with exit code {code}"),
        (None, Some(signal)) => format!("the launch was killed by signal {signal}"),
        (None, None) => "the launch ended abnormally".into(),
    };
    let last_lines = errors.last_lines();
    // A shell reports the signal of its child as 128 plus its number.
    let was_killed =
        status.signal() == Some(SIGKILL) || status.code() == Some(128 + SIGKILL) || mentions_kill(&last_lines);
    // The count includes other programs, so the end of this launch must look like a kill too.
    if has_kills && was_killed {
        let ending = Ending::new(Status::Failed, "killed by the system: out of memory");
        return Ending { abrupt: true, lacked_memory: true, ..ending };
    }
    let ending = match errors.cause() {
        Some(found) => Ending::with_cause(Status::Failed, &found, &end_text),
        None if last_lines.is_empty() => Ending::new(Status::Failed, end_text),
        None => Ending::new(Status::Failed, format!("{end_text}: {last_lines}")),
    };
    Ending { abrupt: true, ..ending }
}

fn mentions_kill(words: &str) -> bool {
    ["signal 9", "Signal: 9", "signal: 9", "Killed", "SIGKILL", "oom"].iter().any(|sign| words.contains(sign))
}
