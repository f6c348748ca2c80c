//! Tests that a panic which escapes gives one message and exit code 70: in the program, in a rank, and where no
//! unwinding is possible.

use apexmap_base::crash::{EXIT_CODE, guard};
use apexmap_base::error::Error;
use apexmap_base::terminal::note;
use apexmap_measure::comm::{self, Comm, TransportKind};
use apexmap_measure::hardware::PlacementOrder;
use apexmap_measure::on_transport;
use std::process::Command;

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
        _ => 0,
    }
}

#[test]
#[ignore = "the process that the other tests start"]
fn child() {
    if let Ok(how) = std::env::var(CRASH_VARIABLE) {
        std::process::exit(guard(|| crash(&how)).into());
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
fn a_normal_exit_keeps_its_exit_code() {
    assert_eq!(run_crashing("not at all").0, Some(0));
}
