//! Traces a program under valgrind, with a tool of our own that is compiled at first use.
//!
//! The tool's licence is MIT. With valgrind it becomes a work under the GPL, only on the user's machine, never distributed.

pub mod compiler;
mod messages;
mod program;
mod untraced;
mod valgrind;

use crate::site::{SAMPLE_LIMIT, Sink, Site};
use apexmap_base::error::{Error, Result};
use apexmap_base::guarded::{Guarded, Terms};
use apexmap_base::new_file::create_in_memory;
use apexmap_base::process::this_program;
use apexmap_base::shell::quote_words;
use apexmap_base::terminal::to_printable;
use apexmap_base::units::bytes;
use messages::{End, Messages};
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::libc;
use nix::poll::PollTimeout;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};
use nix::unistd::Pid;
use std::ffi::OsString;
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Command, ExitStatus};
use std::sync::atomic::{AtomicI32, Ordering};

/// The program that compiles the tool, for tests of its absence.
pub use compiler::COMPILER_VARIABLE;

#[derive(Clone, Debug)]
pub struct TraceOptions {
    /// The trace begins at the first call of this function.
    pub from: Option<String>,
    /// The trace ends after this number of accesses; the program continues.
    pub accesses: Option<u64>,
    /// The trace ends after this time in seconds; the program continues.
    pub seconds: Option<u32>,
    /// Different lines whose accesses are all kept; `None` keeps all accesses.
    pub line_limit: Option<u32>,
    /// Folder that keeps the compiled tool; by default the user's cache.
    pub cache: Option<PathBuf>,
}

impl Default for TraceOptions {
    fn default() -> Self {
        Self { from: None, accesses: None, seconds: None, line_limit: Some(SAMPLE_LIMIT as u32), cache: None }
    }
}

#[derive(Clone, Debug)]
pub struct Traced {
    /// All sites, by their index in sampled accesses. Sites that were never executed have no accesses.
    pub sites: Vec<Site>,
    pub exit: ExitStatus,
    /// Accesses of the trace, whether sampled or not.
    pub accesses: u64,
    /// Accesses before the trace began; `None` if it ended before the program.
    pub skipped: Option<u64>,
    /// A sentence about programs that it started, which are not traced.
    pub untraced: Option<String>,
    /// Sentences about other parts that were not traced, and about the program.
    pub notes: Vec<String>,
}

/// The smallest map whose failure is noted. Allocators try others in vain.
const LARGE_MAP: u64 = 1 << 30;
/// Bytes of valgrind's messages that are read: its last ones matter.
const LOG_BYTES: u64 = 1 << 20;

/// Runs a program under the tool, and passes sampled accesses on. Input, output, exit code and signals are its own.
pub fn trace(program: &[OsString], options: &TraceOptions, sink: &mut dyn Sink) -> Result<Traced> {
    let name = program.first().ok_or_else(|| Error::input("there is no program to trace", "name one after --"))?;
    program::check(name)?;
    // Valgrind reads /proc as this program does.
    this_program()?;
    let tool = valgrind::Tool::prepare(options.cache.as_deref())?;
    let failed = |cause: std::io::Error| Error::environment(format!("cannot make a socket for the trace: {cause}"), "");
    let (output, input) = UnixStream::pair().map_err(failed)?;
    let log = create_in_memory(c"valgrind").map_err(failed)?;
    let mut command = tool.command();
    command.args(arguments(options, &input, &log)).args(program);
    let mut child = start(command, &tool, [input.as_raw_fd(), log.as_raw_fd()])?;
    drop(input);
    let passed_on = PassedOn::forward_to(child.id());
    let mut messages = Messages::default();
    let received = messages.receive(&mut BufReader::with_capacity(1 << 18, output), sink);
    while received.is_ok() && !child.has_ended(PollTimeout::NONE)? {}
    let exit = child.end(&mut std::thread::sleep)?;
    drop(passed_on);
    received?;
    let log = read_log(log);
    conclude(name, options, messages, exit, &log)
}

/// The arguments of the tool. `-q` without files of the user's, so that each run is alike.
fn arguments(options: &TraceOptions, socket: &UnixStream, log: &File) -> Vec<String> {
    let fixed = [
        "--tool=apexmap",
        "--command-line-only=yes",
        "-q",
        "--vgdb=no",
        "--child-silent-after-fork=yes",
        "--keep-debuginfo=yes",
        "--read-inline-info=yes",
        "--fullpath-after=",
        "--sigill-diagnostics=yes",
        "--fair-sched=try",
    ];
    let mut arguments: Vec<String> = fixed.map(str::to_owned).to_vec();
    // Valgrind writes to a copy; the tool closes the descriptor itself, which the program would see.
    arguments.extend(["log-fd", "close"].map(|option| format!("--{option}={}", log.as_raw_fd())));
    arguments.push(format!("--socket={}", socket.as_raw_fd()));
    arguments.push(format!("--lines={}", options.line_limit.unwrap_or(0)));
    arguments.extend(options.from.iter().map(|function| format!("--from={function}")));
    arguments.extend(options.accesses.map(|accesses| format!("--accesses={}", accesses.min(i64::MAX as u64))));
    arguments.extend(options.seconds.map(|seconds| format!("--seconds={}", seconds.min(i32::MAX as u32))));
    arguments
}

/// Starts the tool. It inherits two descriptors; other processes that this one starts at the same time do not.
fn start(mut command: Command, tool: &valgrind::Tool, inherited: [RawFd; 2]) -> Result<Guarded> {
    let inherit = move || {
        for descriptor in inherited {
            // SAFETY: the descriptors are open until the child has started.
            fcntl(unsafe { BorrowedFd::borrow_raw(descriptor) }, FcntlArg::F_SETFD(FdFlag::empty()))?;
        }
        Ok(())
    };
    // SAFETY: the closure only makes system calls.
    unsafe { command.pre_exec(inherit) };
    Guarded::start(&mut command, Terms { shares_terminal: true, outputs: None }).map_err(|e| {
        Error::environment(
            format!("cannot start {}: {e}", tool.path.display()),
            "if its folder forbids programs (noexec), set XDG_CACHE_HOME to another folder",
        )
    })
}

/// Passes signals on to the program while it exists: the program decides, and its trace is then complete.
struct PassedOn(Vec<(Signal, SigAction)>);

/// The traced program; 0 if there is none.
static PROGRAM: AtomicI32 = AtomicI32::new(0);

extern "C" fn pass_on(number: libc::c_int, information: *mut libc::siginfo_t, _: *mut libc::c_void) {
    let program = PROGRAM.load(Ordering::Relaxed);
    // A terminal's keys reach the program without this process.
    // SAFETY: the system passes a valid record, and `kill` may be called in a handler.
    unsafe {
        let is_key = matches!(number, libc::SIGINT | libc::SIGQUIT) && (*information).si_code > 0;
        if program > 0 && !is_key {
            libc::kill(program, number);
        }
    }
}

impl PassedOn {
    fn forward_to(program: Pid) -> Self {
        PROGRAM.store(program.as_raw(), Ordering::Relaxed);
        let action = SigAction::new(SigHandler::SigAction(pass_on), SaFlags::SA_RESTART, SigSet::empty());
        let signals = [Signal::SIGINT, Signal::SIGQUIT, Signal::SIGTERM, Signal::SIGHUP];
        // SAFETY: the handler only reads an atomic variable and calls `kill`.
        Self(
            signals
                .into_iter()
                .filter_map(|signal| Some((signal, unsafe { sigaction(signal, &action) }.ok()?)))
                .collect(),
        )
    }
}

impl Drop for PassedOn {
    fn drop(&mut self) {
        PROGRAM.store(0, Ordering::Relaxed);
        for (signal, old) in &self.0 {
            // SAFETY: this restores the previous action.
            let _ = unsafe { sigaction(*signal, old) };
        }
    }
}

fn read_log(mut file: File) -> String {
    let mut bytes = Vec::new();
    let length = file.metadata().map_or(0, |metadata| metadata.len());
    let _ = file.seek(SeekFrom::Start(length.saturating_sub(LOG_BYTES)));
    let _ = file.take(LOG_BYTES).read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

fn conclude(
    name: &OsString,
    options: &TraceOptions,
    messages: Messages,
    exit: ExitStatus,
    log: &str,
) -> Result<Traced> {
    let name = quote_words([name]);
    let mut notes = Vec::new();
    if exit.signal() == Some(Signal::SIGILL as i32) && log.contains("unhandled instruction") {
        return Err(Error::input(
            format!("{name} has an instruction that valgrind does not know"),
            "it is probably built with AVX-512; rebuild with -mno-avx512f or -march=x86-64-v3",
        ));
    }
    let Some(end) = messages.end else {
        return Err(match exit.signal() {
            Some(signal) => Error::measurement(
                format!("signal {signal} ended {name} before its counters could be read"),
                "if it was killed for too much memory, use smaller data; valgrind needs about as much again",
            ),
            None if log.contains("ensure_valid failed") => Error::input(
                format!("valgrind cannot read the debug information of {name}"),
                "rebuild it without -gsplit-dwarf, or with -gdwarf-4; or remove it: strip -g",
            ),
            None => Error::environment(format!("valgrind could not run {name}: {}", untraced::first_message(log)), ""),
        });
    };
    let accesses = messages.sites.iter().map(|site| site.counters.accesses).sum();
    if let (0, Some(function)) = (accesses, &options.from) {
        return Err(Error::input(
            format!("{name} never called {function}"),
            "check the name; a function that the compiler has inlined has no call: build with -fno-inline, or name its caller",
        ));
    }
    notes.extend(match end {
        End::Ended => None,
        End::Replaced => None,
        End::Accesses => options.accesses.map(|accesses| format!("The trace ends after {accesses} accesses.")),
        End::Seconds => options.seconds.map(|seconds| format!("The trace ends after {seconds} s.")),
    });
    if let [first, .., last] = &messages.programs[..] {
        let [first, last] = [first, last].map(|program| to_printable(program));
        notes.push(format!("{first} replaced itself by {last} (exec), which is traced."));
    }
    if messages.failed_map >= LARGE_MAP {
        let size = bytes(messages.failed_map as f64);
        notes.push(format!("The program got no map of {size}: valgrind has less room than the program alone."));
    }
    let code = exit.code().filter(|code| *code != 0);
    notes.extend(code.map(|code| format!("The program ended with exit code {code}.")));
    notes.extend(exit.signal().map(|signal| format!("Signal {signal} ended the program.")));
    let skipped = (!matches!(end, End::Accesses | End::Seconds)).then_some(messages.skipped);
    let untraced = untraced::sentence(log, messages.ticks, end == End::Replaced);
    Ok(Traced { sites: messages.sites, exit, accesses, skipped, untraced, notes })
}
