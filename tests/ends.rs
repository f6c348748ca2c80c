//! What `ab`, `run` and `locate` start ends with them, and what `ab` measured is kept, whatever ends them.
//!
//! The ignored tests make many tries and print the counts of docs/appendix/faults.md: `cargo test ends:: -- --ignored --nocapture`.
//! `APEXMAP_END_TRIES` is their number.

use crate::common::{Scratch, apexmap};
use apexmap_results::disk::Folder;
use apexmap_results::samples::Samples;
use apexmap_study::paired::pairs_of;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use Signal::{SIGHUP, SIGINT, SIGKILL, SIGTERM};

/// Shapes of programs. `{n}` is the name of the try.
const SHAPES: [(&str, &str); 9] = [
    ("one process", "sleep {n}"),
    ("a shell with a child", "sh -c 'sleep {n}; true'"),
    ("a pipe", "sh -c 'sleep {n} | cat'"),
    ("an own session", "sh -c 'setsid sleep {n}; true'"),
    ("a daemon without an environment", "sh -c 'env -i setsid sleep {n} > /dev/null 2>&1 & exec sleep {n}'"),
    ("a daemon of a daemon", "sh -c '(env -i setsid sh -c \"sleep {n} & sleep {n}\" > /dev/null 2>&1 &); sleep {n}'"),
    ("it ignores SIGTERM", "sh -c 'trap : 15 1 2; sleep {n}; sleep {n}; sleep {n}'"),
    ("an own session ignores signals", "sh -c 'trap \"\" 15 1 2; setsid sleep {n}; true'"),
    ("it is stopped", "sh -c 'sleep {n} & kill -STOP $$'"),
];

/// Longest wait for a condition, even on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

fn wait_until(holds: impl Fn() -> bool) -> bool {
    let begun = Instant::now();
    while begun.elapsed() < LIMIT {
        if holds() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    false
}

/// Returns the processes with this word in their command line.
fn processes(word: &str) -> Vec<i32> {
    let pids = fs::read_dir("/proc").unwrap().flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let line = |pid: i32| fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    pids.filter(|pid| String::from_utf8_lossy(&line(*pid)).contains(word)).collect()
}

fn start(arguments: &[&str], folder: &Path) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_apexmap"));
    command.args(arguments).env("TMPDIR", folder).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap()
}

/// Ends a command while it runs a program of this shape. Returns what is left after its time to end.
fn end_during_shape(verb: &str, shape: &str, signal: Signal, number: usize) -> String {
    let scratch = Scratch::new();
    let name = format!("8{}.{number}", std::process::id());
    let (program, out) = (shape.replace("{n}", &name), scratch.join("out"));
    let temporary = scratch.join("tmp");
    fs::create_dir(&temporary).unwrap();
    let out = out.to_str().unwrap();
    let arguments = match verb {
        "run" => vec!["run", "--command", &program, "--out", out],
        _ => vec!["ab", &program, &program, "--out", out],
    };
    let mut child = start(&arguments, &temporary);
    let sleeping = format!("sleep\0{name}");
    assert!(wait_until(|| !processes(&sleeping).is_empty()), "{verb} {shape}");
    kill(Pid::from_raw(child.id() as i32), signal).unwrap();
    child.wait().unwrap();
    let files = || fs::read_dir(&temporary).unwrap().flatten().count();
    wait_until(|| processes(&name).is_empty() && files() == 0);
    let left = processes(&name);
    left.iter().for_each(|pid| _ = kill(Pid::from_raw(*pid), SIGKILL));
    if left.is_empty() && files() == 0 { String::new() } else { format!("{} processes, {} files", left.len(), files()) }
}

#[test]
fn everything_that_a_command_started_ends_with_it() {
    for (number, (verb, (name, shape), signal)) in [
        ("ab", SHAPES[1], SIGTERM),
        ("ab", SHAPES[5], SIGKILL),
        ("run", SHAPES[5], SIGKILL),
        ("run", SHAPES[7], SIGHUP),
    ]
    .into_iter()
    .enumerate()
    {
        assert_eq!(end_during_shape(verb, shape, signal, number), "", "{verb}: {name}, {signal}");
    }
}

#[test]
#[ignore = "takes minutes: see the head of this file"]
fn each_shape_is_ended_in_each_way() {
    let tries: usize = std::env::var("APEXMAP_END_TRIES").ok().and_then(|n| n.parse().ok()).unwrap_or(20);
    let (mut number, mut problems) = (100, Vec::new());
    for verb in ["run", "ab"] {
        for (name, shape) in SHAPES {
            for signal in [SIGINT, SIGTERM, SIGHUP, SIGKILL] {
                for _ in 0..tries {
                    number += 1;
                    let left = end_during_shape(verb, shape, signal, number);
                    problems.extend((!left.is_empty()).then(|| format!("{verb}: {name}, {signal}: {left}")));
                }
            }
        }
    }
    println!("| ends of {} programs | left |\n|---|---|\n| {} | {} |", SHAPES.len(), number - 100, problems.len());
    assert!(problems.is_empty(), "{problems:#?}");
}

/// Returns the number of complete pairs in a folder, which may not be one yet.
fn pairs_in(folder: &Path) -> usize {
    let table = Folder { path: folder.to_owned() }.table();
    table.ok().and_then(|table| pairs_of(&Samples::from(table))).map_or(0, |pairs| pairs.count())
}

/// Interrupts a comparison once it has some pairs. Returns the numbers of pairs before, afterwards, and after the same command again.
fn interrupt_comparison(of_sweep: bool, signal: Signal, wait: Duration) -> [usize; 3] {
    let scratch = Scratch::new();
    let (sweep, out) = (scratch.join("sweep.toml"), scratch.join("pairs"));
    fs::write(&sweep, "[fixed]\nkernel = \"apex_map.sequential\"\nM = 4096\nI = 64\nN = 2\n[axes]\nL = [1, 8]\n")
        .unwrap();
    let (sweep, folder) = (sweep.to_str().unwrap(), out.to_str().unwrap());
    let sides = if of_sweep {
        vec!["ab", "--sweep", sweep, "--set-a", "I=32", "--set-b", "I=64"]
    } else {
        vec!["ab", "sleep 0.01", "sleep 0.011"]
    };
    let command = [&sides[..], &["--width", "0.0001", "--out", folder, "--budget"]].concat();
    let mut child = start(&[&command[..], &["10min"]].concat(), &scratch);
    assert!(wait_until(|| pairs_in(&out) >= 2));
    std::thread::sleep(wait);
    let before = pairs_in(&out);
    kill(Pid::from_raw(child.id() as i32), signal).unwrap();
    let status = child.wait().unwrap();
    assert_eq!(status.code(), (signal != SIGKILL).then_some(128 + signal as i32), "{signal}");
    let after = pairs_in(&out);
    assert_eq!(out.join("report.html").exists(), signal != SIGKILL, "the page of an interrupted comparison");
    // The processes of a killed comparison may hold its lock for a moment.
    let again = std::cell::RefCell::new(None);
    assert!(wait_until(|| {
        let output = apexmap(&[&command[..], &["0.1s"]].concat());
        let is_held = String::from_utf8_lossy(&output.stderr).contains("another apexmap is writing");
        again.replace(Some(output));
        !is_held
    }));
    let again = again.take().expect("it ran");
    let message = String::from_utf8_lossy(&again.stderr);
    assert!(again.status.success() && message.contains(&format!("continues after {after} pairs")), "{message}");
    [before, after, pairs_in(&out)]
}

#[test]
fn an_interrupted_comparison_keeps_its_pairs_and_the_same_command_continues() {
    for (of_sweep, signal) in [(false, SIGINT), (false, SIGKILL), (true, SIGTERM), (true, SIGKILL)] {
        let [before, after, again] = interrupt_comparison(of_sweep, signal, Duration::ZERO);
        assert!(before <= after && after < again, "{before} {after} {again} after {signal}");
    }
}

#[test]
fn a_failed_run_keeps_the_pairs_before_it() {
    let scratch = Scratch::new();
    let (count, out) = (scratch.join("count"), scratch.join("pairs"));
    let program = format!("sh -c 'echo x >> {0}; test $(wc -l < {0}) -lt 12'", count.display());
    let output = apexmap(&["ab", &program, "true", "--width", "0.0001", "--out", out.to_str().unwrap()]);
    let (text, message) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(4), "{message}");
    let pairs = pairs_in(&out);
    assert!(pairs >= 8 && text.contains(&format!("interrupted after {pairs} pairs")), "{pairs}: {text}");
    assert!(message.contains(&format!("after {pairs} pairs")) && out.join("report.html").exists(), "{message}");
}

#[test]
#[ignore = "takes minutes: see the head of this file"]
fn each_interruption_keeps_the_pairs() {
    let tries: usize = std::env::var("APEXMAP_END_TRIES").ok().and_then(|n| n.parse().ok()).unwrap_or(20);
    println!("| end of `ab` | tries | pairs lost |\n|---|---|---|");
    for of_sweep in [false, true] {
        for signal in [SIGINT, SIGTERM, SIGHUP, SIGKILL] {
            let lost = (0..tries).map(|number| {
                let wait = Duration::from_millis(37 * number as u64 % 400);
                let [before, after, again] = interrupt_comparison(of_sweep, signal, wait);
                before.saturating_sub(after) + after.saturating_sub(again)
            });
            let lost: usize = lost.sum();
            println!("| {}, {signal} | {tries} | {lost} |", if of_sweep { "`--sweep`" } else { "commands" });
            assert_eq!(lost, 0);
        }
    }
}

#[test]
fn a_signal_to_locate_ends_the_traced_program() {
    needs!(Valgrind);
    for (number, signal) in [SIGTERM, SIGHUP, SIGINT, SIGKILL].into_iter().enumerate() {
        let scratch = Scratch::new();
        let name = format!("9{}.{number}", std::process::id());
        let mut child = start(&["locate", "--", "sleep", &name], &scratch);
        let (program, tool) = (format!("sleep\0{name}"), "locate-valgrind");
        let runs = || processes(&program).iter().any(|pid| processes(tool).contains(pid));
        assert!(wait_until(runs), "{signal}");
        std::thread::sleep(Duration::from_millis(300));
        kill(Pid::from_raw(child.id() as i32), signal).unwrap();
        child.wait().unwrap();
        assert!(wait_until(|| processes(&name).is_empty()), "{signal}: the program runs on");
    }
}

#[test]
fn a_cut_tool_of_locate_is_compiled_again() {
    needs!(Valgrind);
    let scratch = Scratch::new();
    let mut locate = Command::new(env!("CARGO_BIN_EXE_apexmap"));
    locate.args(["locate", "--", "true"]).env("XDG_CACHE_HOME", &*scratch);
    assert!(locate.output().unwrap().status.success());
    let tool = fs::read_dir(scratch.join("apexmap")).unwrap().next().unwrap().unwrap().path();
    let whole = fs::read(&tool).unwrap();
    for length in [0, 100, whole.len() / 2, whole.len() - 1] {
        fs::write(&tool, &whole[..length]).unwrap();
        assert!(locate.output().unwrap().status.success(), "cut to {length} bytes");
        assert_eq!(fs::metadata(&tool).unwrap().len(), whole.len() as u64);
    }
}
