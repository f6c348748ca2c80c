//! Tests that the map of a sweep is drawn on real pseudo-terminals, whose screens a terminal emulator interprets.

use super::common::{Scratch, apexmap, successful_stdout};
use apexmap_base::new_file;
use apexmap_results::disk::manifest::Manifest;
use apexmap_results::disk::{Folder, parquet};
use apexmap_results::table::TableBuilder;
use nix::libc;
use std::fs::File;
use std::io::Read;
use std::num::NonZero;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

const PROGRAM: &str = env!("CARGO_BIN_EXE_apexmap");
const SURFACE: &str = "[launch]\nlaunches = 1\npreflight = 0\n[repeat]\nmin = 3\n[fixed]\nkernel = \"apex_map.sequential\"\n\
    M = 65536\nI = 64\nN = 2\n[axes]\nL = [1, 8, 64, 1024]\nalpha = [0.01, 0.1, 1.0]\n";
/// The same surface, measured until a signal; a test that fails leaves it no longer than the budget.
const ENDLESS: (&str, &str) = ("min = 3", "min = 1000000\nbudget = \"600 s\"");
const TITLE: &str = "1 core: ";

/// A pseudo-terminal with an emulator of its screen.
pub struct Terminal {
    master: File,
    slave: Option<OwnedFd>,
    pub emulator: vt100::Parser,
    /// All that was written to it.
    written: String,
}

impl Terminal {
    pub fn new(columns: u16, rows: u16) -> Self {
        let (master, slave) = super::terminal::terminal_with_size(columns, rows);
        let emulator = vt100::Parser::new(not_zero(rows), not_zero(columns), 500);
        Self { master, slave: Some(slave), emulator, written: String::new() }
    }

    /// Starts the program with standard error, and standard output if `with_output`, on this terminal.
    pub fn start(&mut self, arguments: &[&str], variables: &[(&str, &str)], with_output: bool) -> Child {
        let mut command = Command::new(PROGRAM);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null());
        command.env("TERM", "xterm-256color").env("COLORTERM", "").env("NO_COLOR", "").envs(variables.iter().copied());
        let slave = self.slave.take().unwrap();
        if with_output {
            command.stdout(slave.try_clone().unwrap());
        }
        command.stderr(slave).spawn().unwrap()
    }

    /// Interprets output until the screen meets a condition. Fails if the program ends before.
    fn wait_for(&mut self, expected: &str, is_met: impl Fn(&vt100::Screen) -> bool) {
        while !is_met(self.emulator.screen()) {
            assert!(self.read(), "the program ended before {expected}:\n{}", self.emulator.screen().contents());
        }
    }

    /// Interprets the next output. Returns false at the end: reading from a closed terminal is an error.
    fn read(&mut self) -> bool {
        let mut bytes = [0; 4096];
        let count = self.master.read(&mut bytes).unwrap_or(0);
        self.emulator.process(&bytes[..count]);
        self.written.push_str(&String::from_utf8_lossy(&bytes[..count]));
        count > 0
    }

    /// Interprets all output. Returns the screen's lines at the end.
    pub fn finish(&mut self, child: &mut Child) -> (ExitStatus, Vec<String>) {
        while self.read() {}
        (child.wait().unwrap(), self.lines())
    }

    fn lines(&self) -> Vec<String> {
        let columns = self.emulator.screen().size().1.get();
        self.emulator.screen().rows(0, columns).collect()
    }

    fn resize(&mut self, columns: u16, rows: u16) {
        let size = window(columns, rows);
        // SAFETY: the descriptor is a terminal, and the call reads the size only.
        assert_eq!(unsafe { libc::ioctl(self.master.as_raw_fd(), libc::TIOCSWINSZ, &size) }, 0);
        self.emulator.screen_mut().set_size(not_zero(rows), not_zero(columns));
    }

    /// Returns the backgrounds of the screen's cells, without the default one.
    fn backgrounds(&self) -> Vec<vt100::Color> {
        let screen = self.emulator.screen();
        let [rows, columns] = <[_; 2]>::from(screen.size()).map(NonZero::get);
        let cells = (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column)));
        let colours = cells.filter_map(|(row, column)| Some(screen.cell(row, column)?.bgcolor()));
        colours.filter(|colour| *colour != vt100::Color::Default).collect()
    }
}

fn not_zero(count: u16) -> NonZero<u16> {
    NonZero::new(count).unwrap()
}

fn window(columns: u16, rows: u16) -> libc::winsize {
    libc::winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }
}

fn write_sweep(scratch: &Scratch, text: &str) -> [String; 2] {
    let path = scratch.join("surface.toml");
    std::fs::write(&path, text).unwrap();
    [path, scratch.join("r")].map(|path| path.to_str().unwrap().to_owned())
}

/// Returns the lines of the last map on the screen, from its title to its scale.
fn map_lines(lines: &[String]) -> &[String] {
    let start = lines.iter().rposition(|line| line.starts_with(TITLE)).unwrap_or_else(|| panic!("no map: {lines:#?}"));
    let length = lines[start..].iter().position(|line| line.contains(" cells")).expect("a scale");
    &lines[start..=start + length]
}

/// Returns the numbers in the cells of a map's line.
fn numbers(line: &str) -> Vec<f64> {
    line.split_whitespace().skip(1).map(|word| word.parse().unwrap_or_else(|_| panic!("{line}"))).collect()
}

/// Checks a map of the surface: a title with units, a number in each of its cells, sizes in bytes, and the scale.
fn check_map(lines: &[String]) {
    let map = map_lines(lines);
    assert!(map[0].contains("B/s)") && map[0].ends_with("alpha over L"), "{map:#?}");
    for alpha in ["1", "0.1", "0.01"] {
        let row = map[1..].iter().find(|line| line.split_whitespace().next() == Some(alpha));
        assert_eq!(numbers(row.unwrap_or_else(|| panic!("{alpha}: {map:#?}"))).len(), 4, "{map:#?}");
    }
    let sizes: Vec<&str> = map[map.len() - 2].split_whitespace().collect();
    assert_eq!(sizes, ["L", "8", "B", "64", "B", "512", "B", "8", "KiB"]);
    assert!(map.last().unwrap().contains("12 of 12 cells"), "{map:#?}");
}

#[test]
fn the_map_fills_while_a_sweep_runs_and_stays_afterwards() {
    let scratch = Scratch::new();
    let [sweep, out] = write_sweep(&scratch, SURFACE);
    let mut terminal = Terminal::new(80, 24);
    let mut driver = terminal.start(&["run", "--no-report", "--out", &out, &sweep], &[], false);
    // The first value appears together with the bar.
    terminal.wait_for("the first value", |screen| {
        let text = screen.contents();
        text.contains(TITLE) && text.contains(" of 12 cells") && text.contains("░") && text.contains(" samples")
    });
    assert!(!terminal.backgrounds().is_empty());
    let (status, lines) = terminal.finish(&mut driver);
    assert!(status.success(), "{lines:#?}");
    check_map(&lines);
    assert!(!lines.iter().any(|line| line.contains('░')), "the bar is gone: {lines:#?}");
    assert!(lines.iter().all(|line| line.chars().count() <= 80), "nothing wraps: {lines:#?}");
    let screen = terminal.emulator.screen();
    assert!(!screen.hide_cursor() && !screen.alternate_screen() && screen.cursor_position().1 == 0);
    assert!(!terminal.written.contains("\u{1b}[6n"), "the terminal is not asked for a position");
}

#[test]
fn a_run_resumes_with_the_earlier_values_on_the_map() {
    let scratch = Scratch::new();
    let [sweep, out] = write_sweep(&scratch, SURFACE);
    let arguments = ["run", "--no-report", "--out", &out, &sweep];
    assert!(apexmap(&arguments).status.success());
    std::fs::write(&sweep, SURFACE.replace("min = 3", "min = 4")).unwrap();
    let mut terminal = Terminal::new(80, 24);
    let mut driver = terminal.start(&arguments, &[], false);
    terminal.wait_for("the map", |screen| screen.contents().contains("of 12 cells"));
    assert!(terminal.emulator.screen().contents().contains("12 of 12 cells"));
    assert!(terminal.finish(&mut driver).0.success());
}

#[test]
fn a_terminal_that_becomes_narrower_shows_the_map_in_its_width() {
    let scratch = Scratch::new();
    let [sweep, out] = write_sweep(&scratch, &SURFACE.replace(ENDLESS.0, ENDLESS.1));
    let mut terminal = Terminal::new(80, 24);
    let mut driver = terminal.start(&["run", "--no-report", "--out", &out, &sweep], &[], false);
    terminal.wait_for("the first value", |screen| screen.contents().contains(" of 12 cells"));
    terminal.resize(60, 24);
    terminal.wait_for("all values", |screen| screen.contents().contains("12 of 12 cells"));
    interrupt(&driver);
    let (status, lines) = terminal.finish(&mut driver);
    assert_eq!(status.code(), Some(130), "{lines:#?}");
    let map = map_lines(&lines);
    assert!(map.iter().all(|line| line.chars().count() < 60), "{map:#?}");
    assert_eq!(lines.iter().filter(|line| line.contains(" cells")).count(), 1, "{lines:#?}");
    assert!(!terminal.emulator.screen().hide_cursor());
}

fn interrupt(child: &Child) {
    let pid = nix::unistd::Pid::from_raw(child.id() as i32);
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).unwrap();
}

#[test]
fn a_terminal_that_cannot_move_its_cursor_gets_plain_lines() {
    let scratch = Scratch::new();
    let [sweep, out] = write_sweep(&scratch, SURFACE);
    let mut terminal = Terminal::new(80, 24);
    let mut driver = terminal.start(&["run", "--no-report", "--out", &out, &sweep], &[("TERM", "dumb")], false);
    let (status, lines) = terminal.finish(&mut driver);
    assert!(status.success() && lines.iter().any(|line| line.starts_with("launch 0001")), "{lines:#?}");
    assert!(!terminal.written.contains('\u{1b}'), "{:?}", terminal.written);
}

#[test]
fn a_calibration_shows_its_stage_and_the_time_left_and_divides_its_budget() {
    let scratch = Scratch::new();
    let out = scratch.join("r").to_str().unwrap().to_owned();
    let mut terminal = Terminal::new(120, 24);
    let arguments = ["calibrate", "--budget", "40s", "--allow-disturbed", "--out", &out];
    let mut driver = terminal.start(&arguments, &[], false);
    terminal.wait_for("the stage", |screen| {
        let text = screen.contents();
        text.contains("stage 1 of 2: caches, memory and messages: ")
            && text.contains(" so far, ")
            && text.contains(" left; ")
    });
    interrupt(&driver);
    assert_eq!(terminal.finish(&mut driver).0.code(), Some(130));
    let manifest = Manifest::read(&Folder { path: out.into() }).expect("a manifest");
    assert_eq!(manifest.budget_seconds, Some(30.0), "the second stage gets the rest");
}

/// Measures the surface, and returns the result.
fn measure(scratch: &Scratch) -> String {
    let [sweep, out] = write_sweep(scratch, SURFACE);
    assert!(apexmap(&["run", "--no-report", "--out", &out, &sweep]).status.success());
    out
}

#[test]
fn show_draws_with_the_colours_of_the_terminal() {
    let scratch = Scratch::new();
    let out = measure(&scratch);
    let show = |variables: &[(&str, &str)]| {
        let mut terminal = Terminal::new(80, 24);
        let mut child = terminal.start(&["show", &out], variables, true);
        let (status, lines) = terminal.finish(&mut child);
        assert!(status.success());
        check_map(&lines);
        terminal
    };
    let are_all = |terminal: &Terminal, wanted: fn(&vt100::Color) -> bool| {
        let colours = terminal.backgrounds();
        assert!(colours.len() > 100 && colours.iter().all(wanted), "{colours:?}");
    };
    are_all(&show(&[]), |colour| matches!(colour, vt100::Color::Idx(16..)));
    are_all(&show(&[("TERM", "xterm")]), |colour| matches!(colour, vt100::Color::Idx(..16)));
    are_all(&show(&[("COLORTERM", "truecolor")]), |colour| matches!(colour, vt100::Color::Rgb(..)));
    for variable in [("NO_COLOR", "1"), ("TERM", "dumb")] {
        let terminal = show(&[variable]);
        assert!(!terminal.written.contains('\u{1b}'), "{variable:?}: {:?}", terminal.written);
    }
}

#[test]
fn show_agrees_with_query_and_prints_plain_text_to_a_pipe() {
    let scratch = Scratch::new();
    let out = measure(&scratch);
    let lines: Vec<String> = successful_stdout(&["show", &out]).lines().map(str::to_owned).collect();
    check_map(&lines);
    let shown = numbers(map_lines(&lines)[1..].iter().find(|line| line.trim_start().starts_with("1 ")).unwrap());
    let column = "bytes_per_second_per_rank";
    let table = successful_stdout(&[
        "query",
        &out,
        "--select",
        column,
        "--group-by",
        "L",
        "--where",
        "alpha == 1",
        "--format",
        "csv",
    ]);
    let mut rows = csv::Reader::from_reader(table.as_bytes());
    let place = rows.headers().unwrap().iter().position(|name| name.ends_with("_median")).unwrap();
    let medians: Vec<f64> = rows.records().map(|row| row.unwrap()[place].parse().unwrap()).collect();
    let factor = medians[3] / shown[3];
    assert!(
        shown.iter().zip(&medians).all(|(shown, median)| (shown * factor / median - 1.0).abs() < 0.05),
        "{table}{lines:?}"
    );
    let part: Vec<String> =
        successful_stdout(&["show", &out, "--where", "L <= 8"]).lines().map(str::to_owned).collect();
    assert!(map_lines(&part).last().unwrap().contains("6 of 6 cells"), "{part:#?}");
}

#[test]
fn show_follows_a_result_that_another_process_measures() {
    let scratch = Scratch::new();
    let [sweep, out] = write_sweep(&scratch, &SURFACE.replace(ENDLESS.0, ENDLESS.1));
    let mut driver = Command::new(PROGRAM);
    driver.args(["run", "--no-report", "--out", &out, &sweep]).stdin(Stdio::null()).stdout(Stdio::null());
    let mut driver = driver.stderr(Stdio::null()).spawn().unwrap();
    while std::fs::read_dir(Path::new(&out).join("journals")).map_or(0, Iterator::count) == 0 {
        assert!(driver.try_wait().unwrap().is_none());
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let mut terminal = Terminal::new(80, 24);
    let mut show = terminal.start(&["show", &out], &[], true);
    terminal.wait_for("the map", |screen| screen.contents().contains("12 of 12 cells"));
    assert!(terminal.emulator.screen().contents().contains("Ctrl-C ends this view only"));
    interrupt(&driver);
    assert_eq!(driver.wait().unwrap().code(), Some(130));
    let (status, lines) = terminal.finish(&mut show);
    assert!(status.success(), "{lines:#?}");
    check_map(&lines);
}

#[test]
fn show_of_a_result_without_samples_is_an_error() {
    let scratch = Scratch::new();
    let out = scratch.join("r");
    std::fs::create_dir_all(out.join("journals")).unwrap();
    let fails = |arguments: &[&str], expected: &str| {
        let output = apexmap(arguments);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && text.contains(expected) && text.contains("help:"), "{text}");
    };
    fails(&["show", out.to_str().unwrap()], "has no successful sample yet");
    std::fs::write(out.join("journals/0001.jsonl"), "{\"event\":\"sample\"\n\u{1b}[31m\0\n").unwrap();
    fails(&["show", out.to_str().unwrap()], "has no successful sample yet");
    fails(&["show", scratch.join("none").to_str().unwrap()], "does not exist");
}

#[test]
fn a_map_that_is_wider_than_the_terminal_shows_the_ends_of_its_axes() {
    let scratch = Scratch::new();
    let mut table = TableBuilder::default();
    for (alpha, block) in [0.1, 1.0].into_iter().flat_map(|alpha| (1..=100u64).map(move |block| (alpha, block))) {
        table.begin_row();
        table.set("key", &format!("{alpha} {block}").as_str().into());
        table.set("kernel", &"apex_map.sequential".into());
        table.set("status", &"ok".into());
        table.set("ranks", &1u64.into());
        table.set("alpha", &alpha.into());
        table.set("block_words", &block.into());
        table.set("seconds", &1.0.into());
        table.set("bytes_per_second_per_rank", &(block as f64 * 1.5e9).into());
    }
    let file = scratch.join("wide.parquet");
    new_file::replace(&file, |out| parquet::write(out, &file, &table.finish())).expect("written");
    let lines: Vec<String> = successful_stdout(&["show", file.to_str().unwrap()]).lines().map(str::to_owned).collect();
    assert!(lines[0].ends_with("alpha over L, 76 of 100 values of L"), "{lines:#?}");
    assert!(lines[1..].iter().all(|line| line.chars().count() <= 80), "{lines:#?}");
    assert!(lines.last().unwrap().contains("1.5 GB/s") && lines.last().unwrap().contains("150 GB/s"), "{lines:#?}");
    assert!(
        lines[1].contains("1.5 GB/s") && lines[1].contains("150 GB/s"),
        "the corners are those of the map: {lines:#?}"
    );
}
