//! Tests of launches as real processes: followed, timed and ended, with no process left behind.

use super::common::{Scratch, launch, sample, small_point};
use apexmap_base::error::{Error, Result};
use apexmap_base::other_output::FrequentLine;
use apexmap_base::sample::{Event, Phase, Status};
use apexmap_measure::hardware::FilesBelow;
use apexmap_measure::worker::{Job, Repeat, Task};
use apexmap_run::drive::execute::{Ending, Executor, LaunchLimits, Processes};
use apexmap_run::launch::CommandLine;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::path::Path;
use std::time::Duration;

fn limits(start: f64, sample: f64, end: f64) -> LaunchLimits {
    let seconds = Duration::from_secs_f64;
    LaunchLimits { start: seconds(start), sample: seconds(sample), end: seconds(end), line: 1 << 20 }
}

/// Time limit in seconds that nothing reaches, even on a busy machine.
const LONG_SECONDS: f64 = 600.0;

/// Runs a program to its end. Returns the ending and the events that it sent.
fn execute(
    argv: &[&str],
    limits: LaunchLimits,
    on_event: &mut dyn FnMut(&Event) -> Result<()>,
) -> (Result<Ending>, Vec<Event>) {
    let scratch = Scratch::new();
    let command = CommandLine {
        argv: argv.iter().map(|word| word.to_string()).collect(),
        env: vec![("GREETING".into(), "good day".into())],
    };
    let mut events = Vec::new();
    let ending =
        Processes(&FilesBelow(Path::new("/"))).execute(&command, &scratch.join("stderr"), limits, &mut |event| {
            let Some(event) = event else { return Ok(()) };
            on_event(&event)?;
            events.push(event);
            Ok(())
        });
    (ending, events)
}

fn shell(script: &str, limits: LaunchLimits) -> (Ending, Vec<Event>) {
    let (ending, events) = execute(&["sh", "-c", script], limits, &mut |_| Ok(()));
    (ending.expect("an ending"), events)
}

fn line(event: &Event) -> String {
    format!("echo '{}'\n", serde_json::to_string(event).expect("a line"))
}

fn greeting() -> String {
    line(&Event::Hello(Box::new(launch("0001", 1, "b1"))))
}

fn start() -> String {
    line(&Event::Start { index: 0, repetition: 0 })
}

fn one_sample() -> String {
    line(&Event::Sample(Box::new(sample(&small_point("apex_map.sequential", 1), "k", 0, 1.0))))
}

fn done() -> String {
    line(&Event::Done { budget_spent: false })
}

#[test]
fn events_are_passed_on_and_other_lines_are_not() {
    let script = format!("echo a warning; {}{}echo '{{\"x\": 1}}'; {}{}", greeting(), start(), one_sample(), done());
    let (ending, events) = shell(&script, limits(LONG_SECONDS, LONG_SECONDS, LONG_SECONDS));
    let frequent = |line: &str| FrequentLine { count: 1, line: line.into() };
    assert_eq!((ending.status, ending.output.lines, events.len()), (Status::Ok, 2, 4));
    assert_eq!(ending.output.frequent, [frequent("a warning"), frequent("{\"x\": 1}")]);
}

#[test]
fn a_launch_without_a_sign_of_life_is_ended() {
    let (ending, _) = shell("sleep 100", limits(0.1, LONG_SECONDS, LONG_SECONDS));
    assert_eq!((ending.status, ending.abrupt), (Status::TimedOut, false));
    assert!(ending.message.contains("0.1 s"), "{}", ending.message);
}

/// MPICH's launcher reports an unknown host and then still waits for it.
#[test]
fn a_known_start_error_shortens_the_wait_for_the_launcher() {
    let script = "echo 'error: execve(): /nonexistent: No such file or directory' >&2; sleep 100";
    let (ending, _) = shell(script, limits(LONG_SECONDS, LONG_SECONDS, 0.1));
    assert_eq!(ending.status, Status::TimedOut);
    assert!(ending.message.starts_with("a node cannot find or execute the worker"), "{}", ending.message);
    // A worker that has greeted is running, whatever is printed.
    let script = format!(
        "{}{script_of_error}sleep 0.3; {}{}{}",
        greeting(),
        start(),
        one_sample(),
        done(),
        script_of_error = "echo 'error: execve(): /nonexistent' >&2; "
    );
    let (ending, events) = shell(&script, limits(LONG_SECONDS, LONG_SECONDS, 0.1));
    assert_eq!((ending.status, events.len()), (Status::Ok, 4), "{ending:?}");
}

#[test]
fn warnings_before_the_greeting_do_not_shorten_the_wait() {
    for warning in [
        "mca_base_component_repository_open: unable to open mca_btl_openib: librdmacm.so.1: cannot open shared object file (ignored)",
        "[n1:9] PMIX ERROR: ERROR in file ptl_tcp_component.c at line 168",
        "The OpenFabrics (openib) BTL failed to initialize while trying to allocate some locked memory.",
        "PMIx version mismatch",
    ] {
        let script = format!("echo '{warning}' >&2; sleep 0.3; {}{}{}{}", greeting(), start(), one_sample(), done());
        let (ending, events) = shell(&script, limits(LONG_SECONDS, LONG_SECONDS, 0.1));
        assert_eq!((ending.status, events.len()), (Status::Ok, 4), "{warning}: {ending:?}");
        // Nor do they hide what ends the launch.
        let end = "echo 'mpirun noticed that process rank 1 exited on signal 9 (Killed).' >&2; exit 137";
        let script = format!("echo '{warning}' >&2; {}{}{end}", greeting(), start());
        let (ending, _) = shell(&script, limits(LONG_SECONDS, LONG_SECONDS, LONG_SECONDS));
        assert!(ending.message.starts_with("signal 9 killed a rank"), "{warning}: {ending:?}");
    }
}

#[test]
fn a_run_that_exceeds_its_time_limit_ends_the_launch() {
    let (ending, events) =
        shell(&format!("{}{}sleep 100", greeting(), start()), limits(LONG_SECONDS, 0.1, LONG_SECONDS));
    assert_eq!((ending.status, events.len()), (Status::TimedOut, 2));
}

/// A table takes longer to fill than a run may be silent.
#[test]
fn progress_is_a_sign_of_life() {
    let progress = |share| line(&Event::Progress { phase: Phase::Filling, share: Some(share) });
    let progress_lines: String = (1..=8).map(|step| progress(f64::from(step) / 8.0) + "sleep 0.5; ").collect();
    let script = format!("{}{}{progress_lines}{}{}", greeting(), start(), one_sample(), done());
    let (ending, events) = shell(&script, limits(LONG_SECONDS, 3.0, LONG_SECONDS));
    assert_eq!((ending.status, events.len()), (Status::Ok, 12), "{ending:?}");
}

#[test]
fn a_run_that_hangs_after_progress_ends_the_launch() {
    let progress = line(&Event::Progress { phase: Phase::Measuring, share: None });
    let script = format!("{}{}{progress}{progress}sleep 100", greeting(), start());
    let (ending, events) = shell(&script, limits(LONG_SECONDS, 0.3, LONG_SECONDS));
    assert_eq!((ending.status, events.len()), (Status::TimedOut, 4));
}

/// Launchers and libraries print messages, which do not show that a run makes progress.
#[test]
fn other_output_does_not_extend_the_limit_of_a_run() {
    let script = format!("{}{}for i in $(seq 200); do echo still here; sleep 0.05; done", greeting(), start());
    let (ending, _) = shell(&script, limits(LONG_SECONDS, 0.3, LONG_SECONDS));
    assert_eq!(ending.status, Status::TimedOut);
}

#[test]
fn a_launch_that_stays_after_its_farewell_is_hung() {
    for stay in ["sleep 100", "exec >&-; sleep 100"] {
        let (ending, events) =
            shell(&format!("{}{}{stay}", greeting(), done()), limits(LONG_SECONDS, LONG_SECONDS, 0.1));
        assert_eq!((ending.status, events.len()), (Status::Hung, 2), "{stay}");
    }
}

#[test]
fn a_failed_launch_reports_its_last_messages() {
    let (ending, _) =
        shell("echo one >&2; echo; echo 'no slots left' >&2; exit 3", limits(LONG_SECONDS, LONG_SECONDS, LONG_SECONDS));
    assert_eq!((ending.status, ending.abrupt), (Status::Failed, true));
    assert_eq!(ending.message, "the launch ended with exit code 3: one; no slots left");
}

#[test]
fn a_fatal_message_is_reported_and_not_an_abrupt_end() {
    let fatal = line(&Event::Fatal { message: "out of luck".into() });
    let (ending, _) =
        shell(&format!("{}{fatal}sleep 100", greeting()), limits(LONG_SECONDS, LONG_SECONDS, LONG_SECONDS));
    assert_eq!(ending, Ending::new(Status::Failed, "out of luck"));
}

#[test]
fn the_environment_is_passed_on_and_the_input_is_empty() {
    let (ending, _) = shell("cat; test \"$GREETING\" = 'good day'", limits(LONG_SECONDS, LONG_SECONDS, LONG_SECONDS));
    assert_eq!(ending.status, Status::Ok);
}

#[test]
fn all_processes_of_a_launch_are_ended() {
    let scratch = Scratch::new();
    let pids = scratch.join("pids");
    // A child of the launcher runs in the background and ignores SIGTERM. The limits start after both ids are in the
    // file.
    let named = format!("echo $! $$ > {}\n{}{}", pids.display(), greeting(), start());
    let script = format!("(trap '' TERM; exec sleep 1000) & {named}wait");
    let (ending, _) = shell(&script, limits(LONG_SECONDS, 0.1, LONG_SECONDS));
    assert_eq!(ending.status, Status::TimedOut);
    let text = std::fs::read_to_string(pids).expect("the processes were started");
    for pid in text.split_whitespace() {
        // A process that has ended may remain as a zombie for a while.
        let gone = || std::fs::read_to_string(format!("/proc/{pid}/stat")).map_or(true, |stat| stat.contains(") Z"));
        let tries = (0..5000).take_while(|_| !gone()).map(|_| std::thread::sleep(Duration::from_millis(20)));
        assert!(tries.count() < 5000, "process {pid} still lives");
    }
}

#[test]
fn a_refused_event_ends_the_launch() {
    let script = format!("{}sleep 100", greeting());
    let refuse = &mut |_: &Event| Err(Error::input("not this one", ""));
    let (ending, _) = execute(&["sh", "-c", &script], limits(LONG_SECONDS, LONG_SECONDS, LONG_SECONDS), refuse);
    assert_eq!(ending.expect_err("refused").message, "not this one");
}

#[test]
fn a_missing_program_is_named() {
    let (ending, _) = execute(&["no-such-launcher"], limits(LONG_SECONDS, LONG_SECONDS, LONG_SECONDS), &mut |_| Ok(()));
    let error = ending.expect_err("it is not there");
    assert!(error.message.contains("cannot start no-such-launcher"), "{error}");
}

/// Returns the job of a worker that never ends.
fn endless_job() -> Job {
    let point = small_point("apex_map.two_sided", 2);
    Job {
        launch: "0001".into(),
        block: 0,
        launcher: "local".into(),
        transport: "threads".into(),
        ranks: 2,
        seed: 1,
        repeat: Repeat { min: u32::MAX, max: u32::MAX, width: None, budget_seconds: None },
        preflight_seconds: 0.0,
        node_type: None,
        environment: Default::default(),
        machine: None,
        resampled: Vec::new(),
        first_round_seconds: None,
        eager_bytes: None,
        on_request: false,
        tasks: vec![Task {
            key: "k".into(),
            point,
            seconds_so_far: Vec::new(),
            next_repetition: 0,
            costs: None,
            resampled_costs: Vec::new(),
        }],
    }
}

#[test]
fn a_killed_worker_ends_abruptly_and_its_samples_count() {
    let scratch = Scratch::new();
    let (file, pid_file) = (scratch.join("job.json"), scratch.join("pid"));
    std::fs::write(&file, serde_json::to_string(&endless_job()).expect("a job")).expect("written");
    let worker = env!("CARGO_BIN_EXE_apexmap");
    let script = format!(
        "echo $$ > {}; exec {worker} worker --job {} --transport threads --ranks 2",
        pid_file.display(),
        file.display()
    );
    let mut samples = 0;
    let kill_after_ten = &mut |event: &Event| {
        samples += usize::from(matches!(event, Event::Sample(_)));
        if samples == 10 {
            let pid: i32 = std::fs::read_to_string(&pid_file).expect("its number").trim().parse().expect("a number");
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
        Ok(())
    };
    let (ending, _) = execute(&["sh", "-c", &script], limits(LONG_SECONDS, LONG_SECONDS, LONG_SECONDS), kill_after_ten);
    let ending = ending.expect("an ending");
    assert!(ending.abrupt && ending.message.contains("killed by signal 9"), "{ending:?}");
    assert!(samples >= 10);
}

#[test]
fn a_kill_that_raises_the_oom_count_is_an_oom_kill() {
    let scratch = Scratch::new();
    std::fs::create_dir(scratch.join("proc")).unwrap();
    let counts = scratch.join("proc/vmstat");
    for (script, kills, expected) in [
        ("kill -9 $$", 1, true),
        ("kill -9 $$", 0, false),
        ("exit 137", 1, true),
        ("echo 'mpirun noticed that process rank 1 exited on signal 9 (Killed).' >&2; exit 137", 1, true),
        ("exit 1", 1, false),
    ] {
        std::fs::write(&counts, "oom_kill 4\n").unwrap();
        let script = format!("echo oom_kill {} > {}; {script}", 4 + kills, counts.display());
        let command = CommandLine { argv: ["sh", "-c", &script].map(String::from).into(), env: Vec::new() };
        let mut executor = Processes(&FilesBelow(&scratch));
        let limits = limits(LONG_SECONDS, LONG_SECONDS, LONG_SECONDS);
        let ending = executor.execute(&command, &scratch.join("stderr"), limits, &mut |_| Ok(())).expect("an ending");
        assert_eq!((ending.lacked_memory, ending.abrupt), (expected, true), "{script}: {ending:?}");
        assert_eq!(ending.message.contains("out of memory"), expected, "{ending:?}");
    }
}
