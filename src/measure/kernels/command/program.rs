//! One run of a program: started without a shell, watched, and ended with everything that it started.

use super::environment::{CHUNK, Started, run_delay};
use super::start::Program;
use crate::progress;
use apexmap_base::disturbance::{Fact, Facts};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::Signal;
use std::collections::BTreeMap;
use std::io::{PipeReader, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

/// A program that prints more is ended, so that memory is bounded.
const MAX_OUTPUT: usize = 16 << 20;
/// Longest wait for an event, because the run gives signs of life to the driver.
const WAIT: Duration = Duration::from_millis(500);
/// Between the request to end and the kill.
const GRACE: Duration = Duration::from_secs(2);

/// A run that nothing ended before its time. Times are in seconds.
#[derive(Debug)]
pub struct Finished {
    pub wall: f64,
    /// Processor time of its instructions and of the system for it, with the processes that it waited for.
    pub user: f64,
    pub system: f64,
    /// The largest of one of its processes.
    pub peak_bytes: u64,
    pub status: ExitStatus,
    pub output: Vec<u8>,
    pub errors: Vec<u8>,
    /// Time that its first thread waited for a core.
    pub delay: Option<f64>,
    pub involuntary_switches: f64,
    pub major_faults: f64,
}

#[derive(Default)]
struct Pipes {
    stdout: Option<PipeReader>,
    stderr: Option<PipeReader>,
    output: Vec<u8>,
    errors: Vec<u8>,
}

impl Program {
    /// For at most `limit` seconds.
    pub fn run(&self, limit: f64) -> Result<Finished, String> {
        let limit = Duration::try_from_secs_f64(limit).unwrap_or(Duration::MAX);
        let Started { mut group, stdout, stderr, begun_at } = Started::start(self)?;
        let mut pipes = Pipes { stdout, stderr, ..Pipes::default() };
        let ended_at = loop {
            let wait = WAIT.min(limit.saturating_sub(begun_at.elapsed()));
            if let Some(ended_at) = pipes.wait_for_end(group.end_event(), wait) {
                break ended_at;
            }
            // A run is no silence to the driver: its own limit ends it.
            progress::clock_starts();
            if pipes.output.len() + pipes.errors.len() > MAX_OUTPUT {
                group.end(GRACE);
                let why =
                    format!("the program wrote more than {} MiB and was ended; redirect its output", MAX_OUTPUT >> 20);
                return Err(format!("{why}; {}", beginning(&pipes.output, &pipes.errors)));
            }
            if begun_at.elapsed() >= limit {
                group.end(GRACE);
                let seconds = limit.as_secs_f64();
                let why = format!(
                    "the program did not end within {seconds} s and was ended; raise time_limit if it needs longer"
                );
                return Err(format!("{why}; {}", beginning(&pipes.output, &pipes.errors)));
            }
        };
        let (wall, delay) = ((ended_at - begun_at).as_secs_f64(), run_delay(group.id()));
        let left = group.finish();
        // The whole output of the program is in the pipes now. Others that hold them open do not matter.
        while pipes.read_rest() && pipes.output.len() + pipes.errors.len() <= MAX_OUTPUT {}
        let (status, usage) = group.reap()?;
        if !left.is_empty() {
            let why = format!("the program left processes behind, which were ended: {}", count_names(&left));
            return Err(format!("{why}; let it wait for them; {}", beginning(&pipes.output, &pipes.errors)));
        }
        let seconds = |time: nix::libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 * 1e-6;
        Ok(Finished {
            wall,
            user: seconds(usage.ru_utime),
            system: seconds(usage.ru_stime),
            peak_bytes: usage.ru_maxrss.unsigned_abs() << 10,
            status,
            output: pipes.output,
            errors: pipes.errors,
            delay,
            involuntary_switches: usage.ru_nivcsw as f64,
            major_faults: usage.ru_majflt as f64,
        })
    }
}

impl Pipes {
    /// Waits for output or for the end of the program, and reads the output. Returns the time of the end.
    fn wait_for_end(&mut self, end: BorrowedFd, wait: Duration) -> Option<Instant> {
        let ready = self.wait(Some(end), wait);
        // Before the output is read: that is no time of the program.
        let now = Instant::now();
        self.read(ready);
        ready[2].then_some(now)
    }

    /// Reads what the pipes hold. Returns whether they held anything.
    fn read_rest(&mut self) -> bool {
        let ready = self.wait(None, Duration::ZERO);
        self.read(ready);
        ready[0] || ready[1]
    }

    /// Returns which of standard output, standard error and the end are ready.
    fn wait(&self, end: Option<BorrowedFd>, wait: Duration) -> [bool; 3] {
        let files = [self.stdout.as_ref().map(|pipe| pipe.as_fd()), self.stderr.as_ref().map(|pipe| pipe.as_fd()), end];
        let mut polled: Vec<PollFd> =
            files.iter().flatten().map(|file| PollFd::new(*file, PollFlags::POLLIN)).collect();
        // Whole milliseconds, rounded up, because 0 would not wait.
        let wait = wait.as_nanos().div_ceil(1_000_000).min(60_000) as u16;
        let _ = poll(&mut polled, PollTimeout::from(wait));
        let mut ready = polled.iter().map(|file| file.any().unwrap_or(false));
        files.map(|file| file.is_some() && ready.next().unwrap_or(false))
    }

    fn read(&mut self, [has_output, has_errors, _]: [bool; 3]) {
        if has_output {
            read(&mut self.stdout, &mut self.output);
        }
        if has_errors {
            read(&mut self.stderr, &mut self.errors);
        }
    }
}

/// Reads once. A pipe that cannot be read counts as ended.
fn read<P: Read>(pipe: &mut Option<P>, text: &mut Vec<u8>) {
    let Some(open_pipe) = pipe else { return };
    let mut buffer = [0; CHUNK];
    match open_pipe.read(&mut buffer) {
        Ok(bytes) if bytes > 0 => text.extend_from_slice(&buffer[..bytes]),
        Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
        _ => *pipe = None,
    }
}

impl Finished {
    pub fn require_success(&self, codes: &[i32]) -> Result<(), String> {
        match (self.status.code(), self.status.signal()) {
            (Some(code), _) if codes.contains(&code) => Ok(()),
            (Some(code), _) => {
                let counting = codes.iter().chain([&code]).map(i32::to_string).collect::<Vec<_>>().join(",");
                Err(format!(
                    "the program ended with exit code {code}; if that is a success, write --success {counting} (in a sweep: \
                     success = [{counting}]); {}",
                    self.beginning()
                ))
            }
            (None, signal) => {
                let name = signal.and_then(|signal| Signal::try_from(signal).ok()).map_or("a signal", Signal::as_str);
                Err(format!("the program was ended by {name}; {}", self.beginning()))
            }
        }
    }

    pub fn beginning(&self) -> String {
        beginning(&self.output, &self.errors)
    }

    /// As far as the system reports them. Waits of a program with several threads may be its own.
    pub fn facts(&self) -> Facts {
        let has_one_thread = self.user + self.system <= 1.05 * self.wall;
        let mut facts = Facts::default()
            .with_fact(Fact::WatchedSeconds, self.wall)
            .with_fact(Fact::InvoluntarySwitches, self.involuntary_switches)
            .with_fact(Fact::MajorFaults, self.major_faults);
        let delay = self.delay.filter(|_| has_one_thread && self.wall > 0.0);
        facts.set(Fact::RunDelayShare, delay.map(|delay| (delay / self.wall).clamp(0.0, 1.0)));
        facts
    }
}

fn beginning(output: &[u8], errors: &[u8]) -> String {
    const MAX_LINES: usize = 5;
    const MAX_BYTES: usize = 600;
    let (name, text) =
        if output.iter().all(u8::is_ascii_whitespace) { ("error output", errors) } else { ("output", output) };
    let text = String::from_utf8_lossy(&text[..text.len().min(MAX_BYTES)]).into_owned();
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).take(MAX_LINES).collect();
    if lines.is_empty() { "it wrote nothing".into() } else { format!("its {name} begins: {}", lines.join(" | ")) }
}

/// `sleep (300 times), cat`.
fn count_names(names: &[String]) -> String {
    let mut counts = BTreeMap::<&str, usize>::new();
    names.iter().for_each(|name| *counts.entry(name).or_default() += 1);
    let text = |(name, count)| if count == 1 { String::from(name) } else { format!("{name} ({count} times)") };
    counts.into_iter().map(text).collect::<Vec<_>>().join(", ")
}
