//! Tests of complete runs of the program: killed, resumed, failed, inspected.

use crate::common::{Scratch, apexmap, output, successful_stdout, wait_for_output};
use apexmap_base::sample::Status;
use apexmap_base::shell::command_to_resume;
use apexmap_results::disk::Folder;
use apexmap_results::disk::manifest::Manifest;
use apexmap_results::table::Table;
use std::collections::HashSet;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

const PROGRAM: &str = env!("CARGO_BIN_EXE_apexmap");

fn sweep(scratch: &Scratch, text: &str) -> std::path::PathBuf {
    let path = scratch.join("sweep.toml");
    std::fs::write(&path, text).unwrap();
    path
}

fn command(sweep: &Path, out: &Path) -> Command {
    let mut command = Command::new(PROGRAM);
    command.args(["run", "--no-report", "--out"]).arg(out).arg(sweep);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

fn run(sweep: &Path, out: &Path) -> Output {
    output(&mut command(sweep, out))
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn kill(pid: u32) {
    use nix::sys::signal::{Signal, kill};
    let _ = kill(nix::unistd::Pid::from_raw(pid as i32), Signal::SIGKILL);
}

/// Returns the driver's child, which is the launch.
fn worker_of(driver: &Child) -> Option<u32> {
    let children = format!("/proc/{0}/task/{0}/children", driver.id());
    std::fs::read_to_string(children).ok()?.split_ascii_whitespace().next()?.parse().ok()
}

fn samples(folder: &Path) -> Vec<(String, u32, u32, Status)> {
    let records = Folder::open(folder).unwrap().records().unwrap();
    let recorded_samples = records.into_iter().flat_map(|record| record.samples);
    recorded_samples.map(|sample| (sample.key, sample.block, sample.repetition, sample.status)).collect()
}

fn table(folder: &Path) -> Table {
    Folder::open(folder).unwrap().table().unwrap()
}

const SLOW_ENOUGH_TO_KILL: &str = r#"
[fixed]
kernel = "apex_map.two_sided"
M = "1 Mwords"
I = 256
N = 16
[axes]
alpha = [0.01, 1.0]
L = [1, 16, 256, 2048]
ranks = [1, 2]
[launch]
launches = 2
[repeat]
min = 60
"#;

/// Returns the size of all journals in bytes.
fn journal_bytes(out: &Path) -> u64 {
    let entries = std::fs::read_dir(out.join("journals")).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.metadata().ok()).map(|file| file.len()).sum()
}

/// Waits until a run has written more than this number of bytes. Returns false if it ended before.
fn wait_for_bytes(driver: &mut Child, out: &Path, bytes: u64) -> bool {
    let before = journal_bytes(out);
    while journal_bytes(out) <= before + bytes {
        if driver.try_wait().unwrap().is_some() {
            return false;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    true
}

/// Starts or resumes a sweep and kills its driver after it has written more than this number of bytes. With
/// `worker_first`, kills its worker before, which the driver survives. Returns false if the sweep ended before.
fn run_and_kill(sweep: &Path, out: &Path, bytes: u64, worker_first: bool) -> bool {
    let mut driver = command(sweep, out).spawn().unwrap();
    let mut still_runs = wait_for_bytes(&mut driver, out, bytes);
    if worker_first && let Some(worker) = worker_of(&driver) {
        kill(worker);
        still_runs = still_runs && wait_for_bytes(&mut driver, out, bytes);
    }
    kill(driver.id());
    driver.wait().unwrap();
    still_runs
}

#[test]
fn a_sweep_killed_five_times_completes_without_a_duplicate() {
    let scratch = Scratch::new();
    let (sweep, out) = (sweep(&scratch, SLOW_ENOUGH_TO_KILL), scratch.join("result"));
    // Kills it after different amounts of output. If a sweep ends before the kill, starts again.
    let five_kills = || (0..5).all(|attempt| run_and_kill(&sweep, &out, 20_000 * (attempt * 7 % 5), attempt % 2 == 1));
    let mut tries = 0;
    while !five_kills() {
        tries += 1;
        assert!(tries < 20, "sweeps end before they can be killed");
        std::fs::remove_dir_all(&out).unwrap();
    }
    let last = run(&sweep, &out);
    assert!(last.status.success(), "{}", errors(&last));

    let all_samples = samples(&out);
    let distinct: HashSet<_> = all_samples.iter().map(|(key, block, repetition, _)| (key, block, repetition)).collect();
    assert_eq!(distinct.len(), all_samples.len(), "no sample was taken twice");
    assert_eq!(all_samples.len(), 16 * 2 * 60, "every point has its samples in both blocks");
    assert!(all_samples.iter().all(|(_, _, _, status)| *status == Status::Ok));
    assert_eq!(table(&out).rows, all_samples.len(), "and the Parquet file holds them all");
}

const SMALL_SWEEP: &str = r#"
[fixed]
kernel = "apex_map.sequential"
M = "4 kwords"
I = 16
N = 1
[axes]
alpha = [0.1, 1.0]
L = [1, 8]
[repeat]
min = 6
"#;

#[test]
fn a_finished_sweep_is_not_repeated() {
    let scratch = Scratch::new();
    let (sweep, out) = (sweep(&scratch, SMALL_SWEEP), scratch.join("result"));
    assert!(run(&sweep, &out).status.success());
    let first = samples(&out);
    assert!(run(&sweep, &out).status.success());
    assert_eq!(samples(&out), first);
}

#[test]
fn a_changed_sweep_keeps_common_samples_and_marks_others_stale() {
    let scratch = Scratch::new();
    let (path, out) = (sweep(&scratch, SMALL_SWEEP), scratch.join("result"));
    assert!(run(&path, &out).status.success());
    sweep(&scratch, &SMALL_SWEEP.replace("L = [1, 8]", "L = [8, 16]"));
    assert!(run(&path, &out).status.success());
    let table = table(&out);
    assert_eq!(table.rows, 6 * 6, "two points of the first sweep were kept, two are new");
    let stale = (0..table.rows).filter(|&row| table.number("stale", row) == 1.0).count();
    assert_eq!(stale, 2 * 6);
}

#[test]
fn another_sweep_replaces_a_result_only_on_request_with_a_backup() {
    let scratch = Scratch::new();
    let (path, out) = (sweep(&scratch, SMALL_SWEEP), scratch.join("result"));
    assert!(run(&path, &out).status.success());
    let first = samples(&out);

    // First: the same name without a common point. Second: another name with some common points. Third: another name
    // with the same points.
    let refused = run(&sweep(&scratch, &SMALL_SWEEP.replace("L = [1, 8]", "L = [16, 32]")), &out);
    assert_eq!(refused.status.code(), Some(2));
    assert!(errors(&refused).contains("0 of them in \"sweep\""), "{}", errors(&refused));
    let other = scratch.join("other.toml");
    std::fs::write(&other, SMALL_SWEEP.replace("L = [1, 8]", "L = [8, 16]")).unwrap();
    let refused = run(&other, &out);
    assert_eq!(refused.status.code(), Some(2));
    assert!(errors(&refused).contains("another sweep, \"sweep\"") && errors(&refused).contains("--replace"));
    assert_eq!(samples(&out), first, "nothing was changed");
    std::fs::write(&other, SMALL_SWEEP).unwrap();
    assert!(run(&other, &out).status.success());

    std::fs::write(&other, SMALL_SWEEP.replace("L = [1, 8]", "L = [16, 32]")).unwrap();
    let replaced = command(&other, &out).arg("--replace").output().unwrap();
    assert!(replaced.status.success(), "{}", errors(&replaced));
    assert_eq!(samples(&scratch.join("result.1")), first);
    assert!(samples(&out).iter().all(|sample| !first.contains(sample)));
}

#[test]
fn a_complete_result_is_measured_again_with_more_launches_or_afresh() {
    let scratch = Scratch::new();
    let (path, out) = (sweep(&scratch, SMALL_SWEEP), scratch.join("result"));
    assert!(run(&path, &out).status.success());
    let first = samples(&out);
    let again = |flags: &[&str]| {
        let ended = output(command(&path, &out).args(flags));
        assert!(ended.status.success(), "{}", errors(&ended));
        samples(&out)
    };
    let more = again(&["--launches", "3"]);
    assert_eq!(more.len(), 3 * first.len());
    assert!(first.iter().all(|sample| more.contains(sample)), "the samples of the first launch are kept");
    let afresh = again(&["--replace"]);
    assert_eq!(samples(&scratch.join("result.1")), more, "the earlier result is kept");
    assert_eq!(afresh.len(), first.len());
    let words = ["apexmap", "run", "--replace", "my sweep.toml"].map(str::to_owned);
    assert_eq!(command_to_resume(&words), "apexmap run 'my sweep.toml'", "a command to resume does not start afresh");
    assert_eq!(
        std::fs::read_dir(out.join("journals")).unwrap().flatten().count(),
        3,
        "lines, job and errors of one launch"
    );
}

#[test]
fn a_truncated_journal_loses_only_its_last_line() {
    let scratch = Scratch::new();
    let (sweep, out) = (sweep(&scratch, SMALL_SWEEP), scratch.join("result"));
    assert!(run(&sweep, &out).status.success());
    let journal = out.join("journals/0001.jsonl");
    let text = std::fs::read_to_string(&journal).unwrap();
    // Cuts the journal within the line of the 20th sample.
    let cut = text.match_indices("\"event\":\"sample\"").nth(19).unwrap().0 + 40;
    std::fs::write(&journal, &text[..cut]).unwrap();
    std::fs::remove_file(out.join("samples.parquet")).unwrap();
    let query = apexmap(&["query", &out.to_string_lossy()]);
    let note = String::from_utf8_lossy(&query.stderr);
    assert!(query.status.success() && note.contains("0001.jsonl: 1"), "{note}");
    assert!(run(&sweep, &out).status.success());
    let all_samples = samples(&out);
    let distinct: HashSet<_> = all_samples.iter().map(|(key, block, repetition, _)| (key, block, repetition)).collect();
    assert_eq!((all_samples.len(), distinct.len()), (24, 24));
}

#[test]
fn a_timed_out_point_gets_a_status_and_the_sweep_continues() {
    let scratch = Scratch::new();
    // Four thousand million messages take much longer than the limit, one takes much less.
    let text = "[fixed]\nkernel = \"calibrate.mailbox\"\nranks = 2\n[axes]\nmessage_bytes = [8, 64]\nmessages = [1, 4294967296]\n\
                [repeat]\nmin = 6\n[launch]\ntimeout = \"5 s\"\n";
    let (sweep, out) = (sweep(&scratch, text), scratch.join("result"));
    let output = run(&sweep, &out);
    assert_eq!(output.status.code(), Some(4), "{}", errors(&output));
    let all_samples = samples(&out);
    let count = |wanted: Status| all_samples.iter().filter(|(_, _, _, status)| *status == wanted).count();
    assert_eq!((count(Status::Ok), count(Status::TimedOut)), (12, 2));
}

/// Every second run takes minutes.
const LONG_RUNS: &str = r#"
[fixed]
kernel = "calibrate.mailbox"
ranks = 2
[axes]
message_bytes = [8, 64]
messages = [1, 4294967296]
[launch]
timeout = "10 min"
"#;

/// Counts the processes whose command line names a job of this result.
fn count_processes(out: &Path) -> usize {
    let job = out.join("journals").canonicalize().unwrap().to_string_lossy().into_owned();
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).contains(&job)).count()
}

#[test]
fn an_interrupted_sweep_reports_kept_samples_and_how_to_resume() {
    use nix::sys::signal::{Signal, kill};
    let scratch = Scratch::new();
    let sweep = sweep(&scratch, LONG_RUNS);
    let signals =
        [(Signal::SIGINT, "Ctrl-C (SIGINT)", 130), (Signal::SIGTERM, "SIGTERM", 143), (Signal::SIGHUP, "SIGHUP", 129)];
    for (signal, name, code) in signals {
        let out = scratch.join("two words").join(name.split(' ').next().unwrap());
        let mut driver = command(&sweep, &out).spawn().unwrap();
        // The worker has started when its first line is in the journal.
        let begun = || std::fs::metadata(out.join("journals/0001.jsonl")).is_ok_and(|journal| journal.len() > 0);
        while !begun() {
            assert!(driver.try_wait().unwrap().is_none(), "it ended before");
            std::thread::sleep(Duration::from_millis(2));
        }
        assert_ne!(count_processes(&out), 0);
        kill(nix::unistd::Pid::from_raw(driver.id() as i32), signal).unwrap();
        let ended = wait_for_output(driver);
        assert_eq!(ended.status.code(), Some(code), "{}", errors(&ended));
        assert_eq!(count_processes(&out), 0, "no process of the launch stays behind");
        let text = errors(&ended);
        let kept = samples(&out).len();
        assert!(text.contains(&format!("interrupted by {name}: {kept} sample")), "{text}");
        assert!(text.contains("0 of 4 points done in "), "{text}");
        let command = format!("resume with: {PROGRAM} run --no-report --out '{}' {}", out.display(), sweep.display());
        assert!(text.contains(&command), "{text}");
        assert!(text.lines().any(|line| line.contains("launch 1 of 1") || line.contains("launch 0001")), "{text}");
    }
}

#[test]
fn an_interrupted_run_writes_its_report_without_fits() {
    use nix::sys::signal::{Signal, kill};
    let scratch = Scratch::new();
    let endless = SMALL_SWEEP.replace("min = 6", "min = 1000000\nbudget = \"600 s\"");
    let (sweep, out) = (sweep(&scratch, &endless), scratch.join("result"));
    let mut with_report = Command::new(PROGRAM);
    with_report.args(["run", "--out"]).arg(&out).arg(&sweep).stdin(Stdio::null());
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        let mut driver = with_report.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // The records of the launch alone take some of these bytes.
        assert!(wait_for_bytes(&mut driver, &out, 200_000), "it ended before");
        kill(nix::unistd::Pid::from_raw(driver.id() as i32), signal).unwrap();
        let ended = wait_for_output(driver);
        assert_eq!(ended.status.code(), Some(128 + signal as i32), "{}", errors(&ended));
        let report = out.join("report.html");
        let text = String::from_utf8_lossy(&ended.stdout).into_owned();
        assert!(text.contains(&format!("report: {}\n", report.display())), "{text}");
        assert!(errors(&ended).contains("resume with: "), "{}", errors(&ended));
        std::fs::remove_dir_all(&out).unwrap();
    }
}

#[test]
fn two_drivers_cannot_use_one_result() {
    let scratch = Scratch::new();
    let (sweep, out) = (sweep(&scratch, SLOW_ENOUGH_TO_KILL), scratch.join("result"));
    let mut first = command(&sweep, &out).spawn().unwrap();
    while !out.join("points.jsonl").exists() {
        std::thread::sleep(Duration::from_millis(2));
    }
    let second = run(&sweep, &out);
    first.kill().unwrap();
    first.wait().unwrap();
    assert_eq!(second.status.code(), Some(3));
    assert!(errors(&second).contains("another apexmap is writing"), "{}", errors(&second));
}

#[test]
fn memory_beyond_the_size_of_the_machine_is_refused_before_a_launch() {
    let scratch = Scratch::new();
    let (sweep, out) = (sweep(&scratch, &SMALL_SWEEP.replace("4 kwords", "1 Twords")), scratch.join("result"));
    let output = run(&sweep, &out);
    assert_eq!(output.status.code(), Some(2));
    assert!(errors(&output).contains(" has "), "{}", errors(&output));
    assert!(!out.exists());
}

#[test]
fn an_invalid_card_is_refused_before_the_result_is_created() {
    let scratch = Scratch::new();
    let (sweep, out) = (sweep(&scratch, SMALL_SWEEP), scratch.join("result"));
    let output = command(&sweep, &out).args(["--card", "/dev/null"]).output().unwrap();
    assert!(output.status.code() == Some(2) && !out.exists(), "{}", errors(&output));
}

#[test]
fn a_damaged_manifest_is_named_and_rewritten() {
    let scratch = Scratch::new();
    let (sweep, out) = (sweep(&scratch, SMALL_SWEEP), scratch.join("result"));
    assert!(run(&sweep, &out).status.success());
    let (manifest, result) = (out.join("manifest.json"), out.to_string_lossy().into_owned());
    for (text, expected) in [("{}", "manifest.json is damaged"), ("{\"schema\": 99}", "written by a newer apexmap")] {
        std::fs::write(&manifest, text).unwrap();
        let report = apexmap(&["report", &result]);
        assert!(report.status.code() == Some(3) && errors(&report).contains(expected), "{}", errors(&report));
        let status = apexmap(&["status", &result]);
        assert!(status.status.success() && errors(&status).contains(expected), "{}", errors(&status));
    }
    std::fs::remove_file(&manifest).unwrap();
    assert!(run(&sweep, &out).status.success() && apexmap(&["report", &result]).status.success());
    assert_eq!(samples(&out).len(), 24);
}

#[test]
fn a_worker_without_the_transport_is_refused_with_build_instructions() {
    let scratch = Scratch::new();
    let text = format!("{SMALL_SWEEP}[launch]\ntransport = \"mpi\"\nlauncher = \"openmpi\"\n");
    let (sweep, out) = (sweep(&scratch, &text), scratch.join("result"));
    let output = run(&sweep, &out);
    assert_eq!(output.status.code(), Some(3));
    assert!(errors(&output).contains("--features mpi"), "{}", errors(&output));
}

#[test]
fn status_and_plan_agree_on_incomplete_points() {
    let scratch = Scratch::new();
    let text = "[launch]\nlaunches = 2\npreflight = 0\n[repeat]\nmin = 2\n[fixed]\nkernel = \"apex_map.sequential\"\nM = 4096\n\
                I = 64\nN = 2\n[axes]\nL = [1, 2, 4]\n";
    let (sweep, out) = (sweep(&scratch, text), scratch.join("result"));
    assert!(run(&sweep, &out).status.success());
    // Five samples of the first launch stay. Either two of its three points are complete, or the third one has at least
    // one sample.
    let journal = out.join("journals/0001.jsonl");
    let lines = std::fs::read_to_string(&journal).unwrap();
    let fifth = lines.lines().enumerate().filter(|(_, line)| line.contains("\"event\":\"sample\"")).nth(4).unwrap().0;
    let kept: String = lines.lines().take(fifth + 1).map(|line| format!("{line}\n")).collect();
    std::fs::write(&journal, kept).unwrap();
    std::fs::remove_file(out.join("journals/0002.jsonl")).unwrap();
    let stdout_text = |arguments: &[&str]| String::from_utf8(apexmap(arguments).stdout).unwrap();
    let (out_text, sweep) = (out.to_str().unwrap(), sweep.to_str().unwrap());
    let counts = "0 done, 3 partial, 0 missing, 0 failed";
    assert!(stdout_text(&["plan", "--out", out_text, sweep]).contains(counts));
    assert!(stdout_text(&["status", out_text]).contains(counts));
    std::fs::remove_file(out.join("sweep.toml")).unwrap();
    assert!(stdout_text(&["status", out_text]).contains(counts), "the manifest keeps the sweep, too");
}

#[test]
fn status_shows_the_samples_of_a_copy_without_journals_and_the_answer_of_the_page() {
    let scratch = Scratch::new();
    let answer = "question = \"How fast?\"\n[answer]\ntext = \"{low} to {high}\"\n[answer.values]\n\
                  low = { min = \"bytes_per_second\" }\nhigh = { max = \"bytes_per_second\" }\n";
    let (question, answer) = answer.split_once('\n').expect("a line");
    let text = format!("{question}\n[launch]\nlaunches = 2\n{SMALL_SWEEP}max = 8\nwidth = 0.001\n{answer}");
    let (sweep, out) = (sweep(&scratch, &text), scratch.join("result"));
    assert!(run(&sweep, &out).status.success());
    let out_text = out.to_str().unwrap();
    // A sample of a second run is wrong.
    let journal = out.join("journals/0002.jsonl");
    let lines = std::fs::read_to_string(&journal).unwrap();
    std::fs::write(&journal, lines.replacen("\"status\":\"ok\"", "\"status\":\"wrong\",\"message\":\"lost\"", 1))
        .unwrap();
    let folder = Folder::open(&out).unwrap();
    folder.compact().unwrap();
    successful_stdout(&["report", out_text]);
    let state = || -> serde_json::Value {
        serde_json::from_str(&successful_stdout(&["status", out_text, "--json"])).expect("JSON")
    };
    let with_journals = state();
    assert_eq!(with_journals["failures"][0]["message"], "lost");
    std::fs::remove_dir_all(folder.journals()).unwrap();
    assert_eq!(state(), with_journals);
    let shown = successful_stdout(&["status", out_text]);
    assert!(shown.contains("launch 0001: 1 rank on ") && !shown.contains("resume with"), "{shown}");
    let sentence = with_journals["answer"]["text"].as_str().expect("a sentence");
    let page = std::fs::read_to_string(out.join("report.html")).unwrap();
    assert!(shown.contains(&format!("How fast?\n  {sentence}\n")), "{shown}");
    assert!(
        page.replace('\u{a0}', " ").replace("&#x2f;", "/").contains(&format!("<strong>{sentence}</strong>")),
        "{sentence}"
    );
    assert_eq!(with_journals["answer"]["values"][0]["unit"], "B/s");
}

#[test]
fn the_command_line_replaces_the_budget_and_the_launches() {
    let scratch = Scratch::new();
    let (sweep, out) = (sweep(&scratch, SMALL_SWEEP), scratch.join("result"));
    let run_with = |flags: &[&str]| output(command(&sweep, &out).args(flags));
    for (flags, reason) in [
        (["--budget", "0 s"], "--budget cannot be \"0 s\": the budget must be longer than 0 s"),
        (["--budget", "soon"], "--budget cannot be \"soon\": "),
        (["--launches", "0"], "--launches cannot be \"0\": "),
        (["--launches", "1000000"], "--launches 1000000 of 4 points are more than"),
        (["--simulate=red-storm", "--budget=20s"], "--budget does not apply: "),
    ] {
        let refused = run_with(&flags);
        let text = errors(&refused);
        assert!(refused.status.code() == Some(2) && text.contains(reason), "{text}");
    }
    assert!(run_with(&["--launches", "2", "--budget", "10min"]).status.success());
    assert_eq!(samples(&out).len(), 4 * 6 * 2);
    let manifest = Manifest::read(&Folder::open(&out).unwrap()).unwrap();
    assert_eq!((manifest.blocks, manifest.budget_seconds), (2, Some(600.0)));
    let (sweep, out) = (sweep.to_str().unwrap(), out.to_str().unwrap());
    let stdout_text = |arguments: &[&str]| String::from_utf8(apexmap(arguments).stdout).unwrap();
    assert!(stdout_text(&["status", out]).contains("4 done"));
    let plan = stdout_text(&["plan", "--out", out, "--launches", "3", "--budget", "10min", sweep]);
    assert!(plan.contains("0 done, 4 partial") && plan.contains("at most 10 min (budget)"), "{plan}");
}

#[test]
fn a_sample_that_exceeds_the_budget_is_ended_and_the_others_are_kept() {
    let scratch = Scratch::new();
    let out = scratch.join("result");
    let program = ["--command", "sh -c \"sleep {t}\"", "--axis", "t=0,600", "--no-report", "--budget", "1s", "--out"];
    let mut run = Command::new(PROGRAM);
    let ended = output(run.arg("run").args(program).arg(&out).stdin(Stdio::null()));
    assert_eq!(ended.status.code(), Some(4), "{}", errors(&ended));
    assert!(errors(&ended).contains("the budget was spent before a sample ended"), "{}", errors(&ended));
    assert!(
        errors(&ended).contains("; one sample takes more than 1 s") && errors(&ended).contains("--budget 3s"),
        "{}",
        errors(&ended)
    );
    assert_eq!(count_processes(&out), 0, "no process of the launch stays behind");
    let table = table(&out);
    assert!((0..table.rows).all(|row| table.number("t", row) == 0.0 && table.word("status", row) == "ok"));
}

#[test]
fn points_that_exceed_the_budget_are_announced_and_not_started() {
    let scratch = Scratch::new();
    let (path, out) = (sweep(&scratch, LONG_RUNS), scratch.join("result"));
    let run_with = |flags: &[&str]| output(command(&path, &out).args(flags));
    let ended = run_with(&["--budget", "5s"]);
    let text = errors(&ended);
    assert_eq!(ended.status.code(), Some(4), "{text}");
    assert!(text.contains("2 points left out: one sample takes about ") && text.contains("budget of 5 s"), "{text}");
    assert!(samples(&out).len() >= 2 * 6 && !text.contains("ended with status"), "{text}");
    // If nothing fits, nothing begins.
    std::fs::remove_dir_all(&out).unwrap();
    std::fs::write(&path, LONG_RUNS.replace("messages = [1, ", "messages = [")).unwrap();
    let refused = run_with(&["--budget", "5s"]);
    let text = errors(&refused);
    assert!(refused.status.code() == Some(2) && !out.exists(), "{text}");
    assert!(text.contains("one sample takes about ") && text.contains("longer than the budget of 5 s"), "{text}");
    assert!(text.contains("help: nothing was measured; give more time: --budget "), "{text}");
}

#[test]
fn a_budget_of_the_command_line_goes_on_where_the_last_one_ended() {
    let scratch = Scratch::new();
    let text = SMALL_SWEEP.replace("min = 6", "min = 6\nwidth = 1e-9\nmax = 1000000\nbudget = \"3 s\"");
    let (sweep, out) = (sweep(&scratch, &text), scratch.join("result"));
    assert!(run(&sweep, &out).status.success());
    let first = samples(&out).len();
    assert!(run(&sweep, &out).status.success());
    assert_eq!(samples(&out).len(), first, "the budget of the sweep is spent");
    for _ in 0..2 {
        let before = samples(&out).len();
        let ended = output(command(&sweep, &out).args(["--budget", "3s"]));
        assert!(ended.status.success(), "{}", errors(&ended));
        assert!(samples(&out).len() > before);
    }
}
