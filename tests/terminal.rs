//! Tests that text for a terminal is printable and bounded, and that a terminal which fails ends no measurement.

use super::architecture::sources;
use super::common::{Scratch, apexmap, samples, successful_stdout, table, write};
use apexmap::commands::diagnostics::render;
use apexmap_base::error::Error;
use apexmap_base::terminal::{is_unprintable, to_printable};
use apexmap_results::disk::Folder;
use nix::sys::signal::Signal;
use proptest::prelude::*;
use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

const PROGRAM: &str = env!("CARGO_BIN_EXE_apexmap");

pub const TINY_SWEEP: &str = "[launch]\nlaunches = 2\npreflight = 0\n[repeat]\nmin = 2\n[fixed]\nkernel = \"apex_map.sequential\"\n\
                    M = 4096\nI = 64\nN = 2\n[axes]\nL = [1, 8]\n";

fn write_tiny_sweep(scratch: &Scratch) -> PathBuf {
    let path = scratch.join("tiny.toml");
    std::fs::write(&path, TINY_SWEEP).unwrap();
    path
}

fn run(sweep: &Path, out: &Path) -> Command {
    let mut command = Command::new(PROGRAM);
    command.args(["run", "--no-report", "--out"]).arg(out).arg(sweep).stdin(Stdio::null()).stdout(Stdio::null());
    command
}

fn is_complete(out: &Path) -> bool {
    successful_stdout(&["status", out.to_str().unwrap()]).contains("2 planned, 2 done")
}

#[test]
fn a_sweep_continues_when_its_message_pipe_is_closed() {
    let scratch = Scratch::new();
    let sweep = write_tiny_sweep(&scratch);
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    assert!(run(&sweep, &scratch.join("full")).stderr(full).status().unwrap().success());
    assert!(is_complete(&scratch.join("full")));

    let mut driver = run(&sweep, &scratch.join("pipe")).stderr(Stdio::piped()).spawn().unwrap();
    // Reads one line and closes the pipe, like `head -n 1`.
    BufReader::with_capacity(1, driver.stderr.take().unwrap()).read_line(&mut String::new()).unwrap();
    assert!(driver.wait().unwrap().success());
    assert!(is_complete(&scratch.join("pipe")));
}

/// Opens both ends of a terminal that does not know its size.
fn terminal() -> (File, OwnedFd) {
    terminal_with_size(0, 0)
}

/// Opens both ends of a terminal with this size in characters.
pub fn terminal_with_size(columns: u16, rows: u16) -> (File, OwnedFd) {
    let (mut master, mut slave) = (0, 0);
    let size = nix::libc::winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: the call writes both descriptors if it succeeds, and no other code owns them; the other arguments may be
    // null.
    unsafe {
        let null = std::ptr::null_mut();
        let opened = nix::libc::openpty(&mut master, &mut slave, null, null.cast_const().cast(), &size);
        assert_eq!(opened, 0);
        (File::from_raw_fd(master), OwnedFd::from_raw_fd(slave))
    }
}

#[test]
fn a_sweep_continues_when_its_terminal_is_closed() {
    let scratch = Scratch::new();
    let (mut master, slave) = terminal();
    let mut driver = run(&write_tiny_sweep(&scratch), &scratch.join("r")).stderr(slave).spawn().unwrap();
    master.read_exact(&mut [0]).unwrap();
    drop(master);
    assert!(driver.wait().unwrap().success());
    assert!(is_complete(&scratch.join("r")));
}

#[test]
fn unwritable_standard_output_is_an_error_and_a_closed_pipe_is_not() {
    let scratch = Scratch::new();
    let folder = Folder::create(&scratch.join("r")).unwrap();
    write(&folder, &table(samples()));
    for arguments in
        [&["query"][..], &["export"], &["export", "--format", "jsonl"], &["--help"], &["kernels"], &["man"]]
    {
        let command = || {
            let mut command = Command::new(PROGRAM);
            command.args(arguments);
            if ["query", "export"].contains(&arguments[0]) {
                command.arg(&folder.path);
            }
            command
        };
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = command().stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(3), "{arguments:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("cannot write to standard output"), "{arguments:?}");
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = command().stdout(writer).output().unwrap();
        let stderr_text = String::from_utf8_lossy(&output.stderr).into_owned();
        // These samples have no manifest.
        let is_known = |line: &str| line.starts_with("note: ") && line.contains("has no checksum");
        assert!(output.status.code() == Some(0) && stderr_text.lines().all(is_known), "{arguments:?}: {stderr_text}");
    }
}

proptest! {
    #[test]
    fn unprintable_text_is_escaped_and_other_text_stays_unchanged(text: String) {
        let printed_text = to_printable(&text);
        prop_assert!(!printed_text.contains(is_unprintable));
        prop_assert_eq!(printed_text.chars().count(), text.chars().count());
        prop_assert!(printed_text.chars().zip(text.chars()).all(|(made, given)| made == given || is_unprintable(given)));
    }

    #[test]
    fn an_error_anywhere_in_any_text_is_shown_within_bounds(
        texts in proptest::collection::vec("[a-z\u{1b}\u{202e}\r\té=\\[]{0,400}", 1..30),
        (from, length) in (0..3000usize, 0..3000usize),
    ) {
        let text = texts.join("\n");
        let error = Error::input("wrong", "right").with_location(Path::new("a\u{1b}.toml"), &text, from..from + length);
        let shown = render(&error, false, 100);
        prop_assert!(!shown.contains(is_unprintable), "{:?}", shown);
        prop_assert!(shown.len() < 20_000, "{} bytes", shown.len());
    }
}

#[test]
fn a_place_far_to_the_right_is_shown_with_its_line_and_column() {
    let text = format!("first\n{}zz{}\nlast", "1,".repeat(50_000), ",1".repeat(50_000));
    let error = Error::input("not a number", "").with_location(Path::new("wide.toml"), &text, 100_006..100_008);
    let shown = render(&error, false, 100);
    assert!(shown.contains("[wide.toml:2:100001]") && shown.contains(" 2 │ ...1,1,"), "{shown}");
    assert!(shown.contains("1,1,zz,1,1") && shown.lines().all(|line| line.chars().count() < 250), "{shown}");
}

#[test]
fn the_place_of_an_error_is_drawn() {
    let draw = |text: &str, part: &str| {
        let start = text.find(part).expect("a part");
        let error =
            Error::input("wrong", "correct it").with_location(Path::new("a.toml"), text, start..start + part.len());
        render(&error, false, 100)
    };
    let line = "  × wrong\n   ╭─[a.toml:2:6]\n 2 │     b = 7\n   ·         ^\n  help: correct it\n";
    assert_eq!(draw("a\n\tb = 7\nc\nd", "7"), line);
    let several = "  × wrong\n   ╭─[a.toml:2:3]\n 2 │ b [\n   ·   ^\n  help: correct it\n";
    assert_eq!(draw("a\nb [\n1\n] # c\nd", "[\n1\n]"), several, "the first of its lines");
    assert!(draw("[ab\nb", "[ab").contains("\n 1 │ [ab\n   · ^^^\n"));
    assert!(draw("[a\nb", "").contains("\n 1 │ [a\n   · ^\n"));
    let error = Error::input("wrong", "").with_location(Path::new("a.toml"), "a", 0..1);
    assert!(
        render(&error, true, 100).contains("\u{1b}[35;1m^\u{1b}[0m") && !render(&error, false, 100).contains('\u{1b}')
    );
}

#[test]
fn a_message_with_a_long_list_is_truncated() {
    let error = Error::input("1,".repeat(1_000_000), "2,".repeat(1_000_000));
    assert!(render(&error, false, 100).len() < 10_000);
}

#[test]
fn an_error_with_a_long_argument_is_truncated() {
    let long = "--".to_owned() + &"é".repeat(50_000);
    for arguments in [&["query", &long][..], &["query", "r", &long], &[&long], &["kernels", "a", &long]] {
        let output = apexmap(arguments);
        assert_eq!(output.status.code(), Some(2));
        assert!(output.stderr.len() < 4000, "{} bytes", output.stderr.len());
    }
}

#[test]
fn terminal_control_codes_in_results_and_arguments_are_removed() {
    let scratch = Scratch::new();
    let (sweep, out) = (scratch.join("evil.toml"), scratch.join("r"));
    std::fs::write(&sweep, format!("title = \"\\u001b]0;x\\u0007\\u202e\"\n{TINY_SWEEP}")).unwrap();
    let (sweep, out) = (sweep.to_str().unwrap(), out.to_str().unwrap());
    let hostile = "\u{1b}]0;pwned\u{7}\u{9b}31m\u{202e}";
    let wrong = scratch.join("wrong.toml");
    std::fs::write(&wrong, format!("# {hostile}\ntitel = 1")).unwrap();
    let with = |arguments: &[&str]| {
        let output = apexmap(arguments);
        for text in [&output.stdout, &output.stderr] {
            let text = String::from_utf8_lossy(text);
            assert!(!text.contains(is_unprintable), "{arguments:?}: {text:?}");
        }
    };
    with(&["run", "--no-report", "--machine", hostile, "--out", out, sweep]);
    for command in ["status", "query", "report"] {
        with(&[command, out]);
    }
    with(&["plan", "--machine", hostile, "--out", out, sweep]);
    with(&["plan", wrong.to_str().unwrap()]);
    with(&["plan", hostile]);
    with(&[hostile]);
    with(&["query", out, hostile]);
    with(&["query", out, "--where", hostile]);
}

/// Returns the standard error of a command, which is a terminal.
fn run_on_terminal(arguments: &[&str], no_color: &str) -> String {
    let (mut master, slave) = terminal();
    let mut command = Command::new(PROGRAM);
    command.args(arguments).env("NO_COLOR", no_color).stdout(Stdio::null()).stderr(slave);
    assert_eq!(command.status().unwrap().code(), Some(2));
    drop(command);
    let mut shown = Vec::new();
    // Reading from a terminal ends with an error.
    let _ = master.read_to_end(&mut shown);
    String::from_utf8_lossy(&shown).into_owned()
}

#[test]
fn errors_are_coloured_on_capable_terminals_and_arguments_are_escaped() {
    let scratch = Scratch::new();
    let wrong = scratch.join("wrong.toml");
    std::fs::write(&wrong, "titel = 1").unwrap();
    let foreign = "\u{1b}[35mpurple\u{1b}]0;title\u{7}";
    for arguments in [&["query", "--wher"][..], &["plan", wrong.to_str().unwrap()], &["query", "r", foreign]] {
        let text = run_on_terminal(arguments, "");
        assert!(text.contains("\u{1b}[") && text.contains("help"), "{arguments:?}: {text:?}");
        assert!(!text.contains("\u{1b}[35mpurple") && !text.contains("\u{1b}]"), "{arguments:?}: {text:?}");
        let plain = run_on_terminal(arguments, "1");
        assert!(!plain.contains('\u{1b}') && plain.contains("help"), "{arguments:?}: {plain:?}");
        let output = apexmap(arguments);
        assert!(!output.stderr.contains(&0x1b), "{arguments:?}: a pipe is no terminal");
    }
}

#[test]
fn exported_data_are_escaped_only_on_a_terminal() {
    let scratch = Scratch::new();
    let (sweep, out) = (write_tiny_sweep(&scratch), scratch.join("r"));
    let hostile = "a\u{1b}[31mb";
    assert!(run(&sweep, &out).args(["--machine", hostile]).stderr(Stdio::null()).status().unwrap().success());
    let journal = out.join("journals/0001.jsonl");
    let text = std::fs::read_to_string(&journal).unwrap();
    std::fs::write(&journal, text.replace("\"launcher\":\"local\"", "\"launcher\":\"a\\u001b[31mb\"")).unwrap();
    std::fs::remove_file(out.join("samples.parquet")).unwrap();
    let export = ["export", "--select", "launcher", out.to_str().unwrap()];
    assert!(successful_stdout(&export).contains(hostile), "a file gets what was measured");
    let (mut master, slave) = terminal();
    let mut command = Command::new(PROGRAM);
    command.args(export).stdout(slave).stderr(Stdio::null());
    assert!(command.status().unwrap().success());
    drop(command);
    let mut shown = Vec::new();
    // Reading from a terminal ends with an error.
    let _ = master.read_to_end(&mut shown);
    let shown = String::from_utf8_lossy(&shown);
    assert!(shown.contains("a\u{fffd}[31mb") && !shown.contains('\u{1b}'), "{shown:?}");
}

#[test]
fn arguments_that_are_not_utf_8_are_accepted_or_refused() {
    let scratch = Scratch::new();
    let path_with_bytes = |text: &[u8]| scratch.join(OsStr::from_bytes(text));
    let sweep = path_with_bytes(b"odd\xff.toml");
    std::fs::write(&sweep, TINY_SWEEP).unwrap();
    assert!(run(&sweep, &scratch.join("r")).stderr(Stdio::null()).status().unwrap().success());
    assert!(is_complete(&scratch.join("r")));
    let refused = run(&sweep, &path_with_bytes(b"out\xff")).output().unwrap();
    let stderr_text = String::from_utf8_lossy(&refused.stderr);
    assert!(refused.status.code() == Some(2) && stderr_text.contains("is not UTF-8"), "{stderr_text}");
    assert!(!path_with_bytes(b"out\xff").exists());
    let page = path_with_bytes(b"page\xff");
    let (a, b) = (scratch.join("r"), scratch.join("s"));
    assert!(run(&sweep, &b).stderr(Stdio::null()).status().unwrap().success());
    let compared = Command::new(PROGRAM)
        .args(["compare", "--allow", "one-launch,page-size", "--out"])
        .args([&page, &a, &b])
        .output();
    let compared = compared.unwrap();
    assert!(compared.status.success(), "{}", String::from_utf8_lossy(&compared.stderr));
    assert!(page.is_dir());
}

#[test]
fn only_the_terminal_and_file_modules_write_output() {
    let terminal = ["println!", "eprint", "print!(", "io::stdout().lock", "io::stderr().lock", "env::args()"];
    let files = ["fs::write(", "File::create(", ".truncate(true)"];
    for (file, text) in sources("src") {
        let refused: &[&str] = match file.to_str().unwrap() {
            // Cargo reads the output of a build script.
            "src/measure/build.rs" => continue,
            "src/base/terminal.rs" => &files,
            "src/base/new_file.rs" => &terminal,
            _ => &[&terminal[..], &files].concat(),
        };
        for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//")) {
            let bad_call = refused.iter().find(|word| line.contains(**word));
            assert!(bad_call.is_none(), "{}:{}: {}", file.display(), number + 1, line.trim());
        }
    }
}

/// Takes the time of all cores until it is dropped.
struct Load(Arc<AtomicBool>, Vec<JoinHandle<()>>);

impl Load {
    fn start() -> Self {
        let ends = Arc::new(AtomicBool::new(false));
        let spin = |ends: Arc<AtomicBool>| {
            move || {
                while !ends.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            }
        };
        let threads = std::thread::available_parallelism().unwrap().get();
        let threads = (0..2 * threads).map(|_| std::thread::spawn(spin(Arc::clone(&ends)))).collect();
        Self(ends, threads)
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
        self.1.drain(..).for_each(|thread| thread.join().unwrap());
    }
}

/// Reads from a terminal until a text appears.
fn read_until(master: &mut File, expected: &str) {
    let (mut shown, mut bytes) = (String::new(), [0; 4096]);
    while !shown.contains(expected) {
        let count = master.read(&mut bytes).unwrap_or(0);
        assert!(count > 0, "the program ended before {expected:?}: {shown}");
        shown.push_str(&String::from_utf8_lossy(&bytes[..count]));
    }
}

#[test]
fn calibrate_asks_on_a_terminal_whether_to_measure_a_disturbed_machine() {
    let scratch = Scratch::new();
    let _busy = Load::start();
    let out = scratch.join("r");
    let calibrate = || {
        let mut command = Command::new(PROGRAM);
        command.args(["calibrate", "--out"]).arg(&out).env("TERM", "dumb").stdout(Stdio::null());
        command
    };
    let output = calibrate().stdin(Stdio::null()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(4) && text.contains("nothing was measured: "), "{text}");
    assert!(text.contains("--allow-disturbed") && !text.contains("Measure anyway?"), "{text}");
    for (answer, code) in [("no\n", 4), ("y\n", 130)] {
        let (mut master, slave) = terminal();
        let stdin = slave.try_clone().unwrap();
        let mut child = calibrate().stdin(stdin).stderr(slave).spawn().unwrap();
        read_until(&mut master, "Measure anyway?");
        master.write_all(answer.as_bytes()).unwrap();
        if answer == "y\n" {
            read_until(&mut master, "machine before the first sample");
            nix::sys::signal::kill(nix::unistd::Pid::from_raw(child.id() as i32), Signal::SIGINT).unwrap();
        } else {
            read_until(&mut master, "nothing was measured");
        }
        let _ = master.read_to_end(&mut Vec::new());
        assert_eq!(child.wait().unwrap().code(), Some(code), "{answer}");
    }
}

#[test]
fn calibrate_in_the_background_of_a_terminal_does_not_ask() {
    let scratch = Scratch::new();
    let _busy = Load::start();
    let (mut master, slave) = terminal();
    // With job control, a command in the background has a process group of its own.
    let script = format!("'{PROGRAM}' calibrate --out '{}' & wait $!", scratch.join("r").display());
    let mut command = Command::new("bash");
    command.args(["-m", "-c", &script]).env("TERM", "dumb").stdout(Stdio::null());
    command.stdin(slave.try_clone().unwrap()).stderr(slave);
    // SAFETY: both calls may follow a fork.
    unsafe {
        std::os::unix::process::CommandExt::pre_exec(&mut command, || {
            nix::unistd::setsid()?;
            let result = nix::libc::ioctl(0, nix::libc::TIOCSCTTY, 0);
            if result == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
        });
    }
    let mut child = command.spawn().unwrap();
    drop(command);
    let mut shown = Vec::new();
    // Reading from a terminal ends with an error.
    let _ = master.read_to_end(&mut shown);
    let text = String::from_utf8_lossy(&shown);
    assert_eq!(child.wait().unwrap().code(), Some(4), "{text}");
    assert!(text.contains("nothing was measured: ") && !text.contains("Measure anyway?"), "{text}");
}
