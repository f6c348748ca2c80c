//! Tests that a panic which escapes gives one message and exit code 70: in the program, in a rank, and where no
//! unwinding is possible.

use crate::common::{Scratch, output};
use apexmap_base::crash::{EXIT_CODE, guard};
use apexmap_base::error::Error;
use apexmap_base::fatal_signal;
use apexmap_base::terminal::note;
use apexmap_measure::comm::{self, Comm, TransportKind};
use apexmap_measure::hardware::PlacementOrder;
use apexmap_measure::on_transport;
use apexmap_run::launch::causes;
use std::process::Command;

/// Executed by the child below: an access to memory that does not exist.
#[inline(never)]
fn read_missing_memory() -> u8 {
    // The fault must not be in the first instruction, which the backtrace of a signal attributes to no function.
    let address = std::hint::black_box(0x1000);
    // SAFETY: not sound: the test needs the fault.
    unsafe { std::ptr::without_provenance::<u8>(address).read_volatile() }
}

#[inline(never)]
fn overflow_stack(depth: u64) -> u64 {
    let frame = std::hint::black_box([depth; 512]);
    if depth == u64::MAX { 0 } else { overflow_stack(depth + 1) + frame[7] }
}

const CRASH_VARIABLE: &str = "APEXMAP_TEST_CRASH";

struct PanicsWhenDropped;

impl Drop for PanicsWhenDropped {
    fn drop(&mut self) {
        panic!("out of luck twice");
    }
}

fn crash(how: &str) -> u8 {
    match how {
        "program" => panic!("out of luck"),
        "thread" => std::thread::scope(|scope| scope.spawn(|| -> u8 { panic!("out of luck") }).join())
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
        "cleanup" => {
            let _falls = PanicsWhenDropped;
            panic!("out of luck");
        }
        "rank" => {
            let program = |transport: comm::Transport, _: &mut comm::arena::Arena| -> Result<(), Error> {
                on_transport!(transport, comm => {
                    assert_ne!(comm.rank(), 1, "out of luck");
                    comm::Collectives::barrier(comm);
                });
                Ok(())
            };
            let ended = comm::start(TransportKind::Threads, 3, PlacementOrder::default(), program, |_| ());
            ended.map_or_else(
                |error| {
                    note(&format!("error: {error}"));
                    error.exit_code()
                },
                |()| 0,
            )
        }
        "memory" => {
            fatal_signal::catch();
            read_missing_memory()
        }
        "stack" => {
            fatal_signal::catch();
            let small = std::thread::Builder::new().stack_size(1 << 18);
            let run = || {
                fatal_signal::prepare_thread();
                overflow_stack(0) as u8
            };
            small.spawn(run).unwrap().join().unwrap_or(1)
        }
        "allocator" => {
            fatal_signal::catch();
            // SAFETY: ends the process, as the C library does if its memory is damaged.
            unsafe { nix::libc::abort() }
        }
        _ => 0,
    }
}

#[test]
#[ignore = "the process that the other tests start"]
fn child() {
    if let Ok(how) = std::env::var(CRASH_VARIABLE) {
        std::process::exit(guard(move || crash(&how)).into());
    }
}

/// Runs a program that panics and returns its exit code and standard error.
fn run_crashing(how: &str) -> (Option<i32>, String) {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child
        .args(["crash::child", "--exact", "--ignored", "--nocapture"])
        .env(CRASH_VARIABLE, how)
        .env("RUST_BACKTRACE", "1");
    let output = child.output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn an_uncaught_panic_prints_one_message_with_reporting_instructions() {
    for how in ["program", "thread", "rank", "cleanup"] {
        let (code, stderr_text) = run_crashing(how);
        assert_eq!(code, Some(EXIT_CODE.into()), "{how}: {stderr_text}");
        assert_eq!(stderr_text.matches("out of luck").count(), 1, "{how}: {stderr_text}");
        assert!(
            stderr_text.contains("tests/crash.rs:") && stderr_text.contains("please report it"),
            "{how}: {stderr_text}"
        );
        assert!(
            stderr_text.lines().count() <= 4 && !stderr_text.contains("panicked") && !stderr_text.contains("backtrace"),
            "{how}: {stderr_text}"
        );
    }
}

#[test]
fn a_fault_prints_a_backtrace_and_ends_the_process_by_its_signal() {
    for (how, signal, name, frame) in [
        ("memory", 11, "signal 11 (SIGSEGV) at address 0x1000; backtrace:", "read_missing_memory"),
        ("stack", 6, "signal 11 (SIGSEGV) at address", "overflow_stack"),
        ("allocator", 6, "signal 6 (SIGABRT) at address", "crash"),
    ] {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["crash::child", "--exact", "--ignored", "--nocapture"]).env(CRASH_VARIABLE, how);
        let output = child.output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&output.status), Some(signal), "{how}: {text}");
        assert!(text.contains(name) && text.contains(frame), "{how}: {text}");
        let cause = causes::find(&text).expect("a known cause");
        assert_eq!(cause.cause.summary, "a rank crashed", "{how}");
    }
}

#[test]
fn a_normal_exit_keeps_its_exit_code() {
    assert_eq!(run_crashing("not at all").0, Some(0));
}

#[test]
fn a_small_limit_of_the_stack_is_no_crash() {
    for arguments in ["kernels apex_map.two_sided", "plan quickstart"] {
        let script = format!("ulimit -s 96; exec \"$0\" {arguments}");
        let output = output(Command::new("sh").args(["-c", &script, env!("CARGO_BIN_EXE_apexmap")]));
        assert!(output.status.success(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn a_machine_without_proc_is_named_and_is_no_bug() {
    needs!(Network);
    let scratch = Scratch::new();
    for arguments in ["run quickstart --no-report --out r", "locate -- true"] {
        let script = format!("mount -t tmpfs none /proc && exec \"$0\" {arguments}");
        let mut program = Command::new("unshare");
        program.args(["--mount", "sh", "-c", &script, env!("CARGO_BIN_EXE_apexmap")]).current_dir(&*scratch);
        let output = output(&mut program);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(3), "{arguments}: {message}");
        assert!(message.contains("mount -t proc proc /proc") && !message.contains("bug"), "{message}");
    }
}
