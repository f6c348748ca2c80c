//! Tests of launches that users run manually: exported, run by scripts where only the worker is installed, and
//! imported. Their outputs may be damaged in between.

use super::common::{Scratch, apexmap, launch, refusal_message, sample, small_point, two_rank_job};
use super::mpi_worker::{MPICH, Mpi, OPEN_MPI, lock_launches};
use apexmap_base::sample::{Event, Phase, SCHEMA_VERSION};
use apexmap_cluster::manual::import::read;
use apexmap_measure::worker::Job;
use apexmap_results::disk::Folder;
use apexmap_results::disk::journal;
use proptest::prelude::*;
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const SMALL_SWEEP: &str = r#"
[fixed]
kernel = "apex_map.two_sided"
M = "4 kwords per rank"
I = 16
N = 1
[axes]
alpha = [0.1, 1.0]
L = [1, 8]
ranks = [1, 2]
[launch]
launches = 2
[repeat]
min = 6
"#;
/// Number of samples of `SMALL_SWEEP`.
const TOTAL_SAMPLES: usize = 2 * 2 * 2 * 2 * 6;

/// A sweep, the result folder and the folder of the exported launches.
struct ManualRun {
    scratch: Scratch,
    sweep: String,
    out: String,
    jobs: String,
}

impl ManualRun {
    fn new(text: &str) -> Self {
        let scratch = Scratch::new();
        let path = |name: &str| scratch.join(name).to_str().expect("a path").to_owned();
        let (sweep, out, jobs) = (path("sweep.toml"), path("result"), path("it's a folder"));
        std::fs::write(&sweep, text).expect("written");
        Self { scratch, sweep, out, jobs }
    }

    fn export(&self, more: &[&str]) -> Output {
        apexmap(&[&["job", "export", &self.sweep, &self.jobs, "--out", &self.out], more].concat())
    }

    fn import(&self) -> Output {
        apexmap(&["job", "import", &self.jobs, "--out", &self.out])
    }

    fn files(&self, end: &str) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(&self.jobs).expect("a folder").flatten().map(|entry| entry.path());
        let mut files: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|e| e == end)).collect();
        files.sort();
        files
    }

    /// Runs all scripts, as README.txt describes.
    fn run_scripts(&self) {
        for script in self.files("sh") {
            let output = start(&script);
            let errors = std::fs::read_to_string(script.with_extension("err")).unwrap_or_default();
            assert!(output.status.success(), "{}: {}{errors}", script.display(), text(&output.stderr));
        }
    }

    fn run(&self, more: &[&str]) -> Output {
        apexmap(&[&["run", "--no-report", "--out", &self.out, &self.sweep], more].concat())
    }

    /// Returns the number of samples in the result, after asserting that no run is duplicated.
    fn samples(&self) -> usize {
        let records = Folder::open(Path::new(&self.out)).expect("a result").records().expect("journals");
        assert!(records.iter().all(|record| record.damage().is_none()), "a journal is damaged");
        let samples = records.iter().flat_map(|record| &record.samples);
        let runs: Vec<_> = samples.map(|sample| (sample.key.clone(), sample.block, sample.repetition)).collect();
        assert_eq!(runs.iter().collect::<HashSet<_>>().len(), runs.len(), "a run is duplicated");
        runs.len()
    }
}

/// Cuts an output in the middle of the line of this sample.
fn cut(output: &[u8], sample: usize) -> &[u8] {
    let text = std::str::from_utf8(output).expect("text");
    let (start, line) = text.match_indices("{\"event\":\"sample\"").nth(sample).expect("enough samples");
    &output[..start + line.len() + 20]
}

/// Value of an environment variable that a shell must not interpret.
const SPECIAL_CHARACTERS: &str = "it's \"a\" $(touch evil) = ü";

fn start(script: &Path) -> Output {
    let mut shell = Command::new("sh");
    shell.arg(script).envs(["OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"].map(|name| (name, "1")));
    shell.env("UCX_NOTE", SPECIAL_CHARACTERS).env("APEXMAP_TEST_NOTE", "of no interest");
    shell.output().expect("a shell")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn assert_output(output: &Output, code: i32, expected: &str) {
    let messages = text(&output.stdout) + &text(&output.stderr);
    assert!(output.status.code() == Some(code) && messages.contains(expected), "{:?}: {messages}", output.status);
}

#[test]
fn a_manual_run_gives_the_same_result_as_the_driver() {
    let trip = ManualRun::new(SMALL_SWEEP);
    assert_output(&trip.export(&[]), 0, "4 launches of 16 points");
    assert_output(&apexmap(&["status", &trip.out]), 0, "no output imported yet");
    trip.run_scripts();
    // A script that is started again overwrites nothing.
    let script = &trip.files("sh")[0];
    let before = std::fs::read(script.with_extension("out")).expect("an output");
    assert!(!start(script).status.success());
    assert_eq!(std::fs::read(script.with_extension("out")).expect("an output"), before);

    assert_output(&trip.import(), 0, &format!("imported 4 launches with {TOTAL_SAMPLES} samples"));
    assert_eq!(trip.samples(), TOTAL_SAMPLES);
    // Settings that change how messages are sent are recorded with their values on the machine of the scripts.
    for record in Folder::open(Path::new(&trip.out)).expect("a result").records().expect("journals") {
        let environment = record.launch.expect("a launch").environment;
        assert_eq!(environment.get("UCX_NOTE").map(String::as_str), Some(SPECIAL_CHARACTERS));
        assert_eq!(environment.get("OMPI_ALLOW_RUN_AS_ROOT").map(String::as_str), Some("1"));
        assert!(!environment.contains_key("APEXMAP_TEST_NOTE"));
    }
    assert_output(&trip.import(), 0, "imported 0 launches with 0 samples; 4 had been imported before");
    assert_output(&apexmap(&["status", &trip.out]), 0, "8 planned, 8 done, 0 partial, 0 missing, 0 failed");
    assert_output(&trip.run(&[]), 0, "");
    assert_eq!(trip.samples(), TOTAL_SAMPLES, "nothing is measured again");
    assert_output(&apexmap(&["report", &trip.out]), 0, "");
    assert!(!text(&apexmap(&["status", &trip.out]).stdout).contains("no output imported yet"));
    let again = apexmap(&["job", "export", &trip.sweep, &(trip.jobs.clone() + "2"), "--out", &trip.out]);
    assert_output(&again, 0, "nothing is left to measure");
}

#[test]
fn the_scripts_for_both_mpis_run_their_launches() {
    needs!(Mpi);
    for (mpi, launcher) in [(&OPEN_MPI, "openmpi"), (&MPICH, "mpich")] as [(&Mpi, &str); 2] {
        let trip = ManualRun::new(
            &SMALL_SWEEP.replace("[launch]", &format!("[launch]\ntransport = \"mpi\"\nlauncher = \"{launcher}\"")),
        );
        let worker = mpi.worker().to_str().expect("a path");
        assert_output(&trip.export(&["--worker", worker]), 0, "4 launches of 16 points");
        let _alone = lock_launches();
        trip.run_scripts();
        assert_output(&trip.import(), 0, &format!("imported 4 launches with {TOTAL_SAMPLES} samples"));
        assert_output(&trip.run(&["--worker", worker]), 0, "");
        assert_eq!(trip.samples(), TOTAL_SAMPLES, "nothing is measured again");
    }
}

#[test]
fn a_truncated_output_gives_its_samples_and_later_the_rest() {
    let trip = ManualRun::new(SMALL_SWEEP);
    assert_output(&trip.export(&[]), 0, "");
    trip.run_scripts();
    let outputs = trip.files("out");
    let contents: Vec<Vec<u8>> = outputs.iter().map(|path| std::fs::read(path).expect("an output")).collect();
    std::fs::write(&outputs[0], cut(&contents[0], 10)).expect("written");
    std::fs::remove_file(&outputs[1]).expect("removed");
    let first = trip.import();
    assert_output(&first, 4, "its output ends before the launch was complete");
    assert_output(&first, 4, "has no output");
    // Two of the four launches are complete.
    assert_eq!(trip.samples(), TOTAL_SAMPLES / 2 + 10);
    // Imports the same again, then a longer part, then everything.
    assert_output(&trip.import(), 4, "imported 0 launches with 0 samples");
    std::fs::write(&outputs[0], cut(&contents[0], 17)).expect("written");
    assert_output(&trip.import(), 4, "imported 1 launch with 7 samples");
    assert_eq!(trip.samples(), TOTAL_SAMPLES / 2 + 17);
    std::fs::write(&outputs[0], &contents[0]).expect("written");
    std::fs::write(&outputs[1], &contents[1]).expect("written");
    assert_output(&trip.import(), 0, "imported 2 launches");
    assert_eq!(trip.samples(), TOTAL_SAMPLES);
    // An output that is shorter than the last import removes no samples.
    std::fs::write(&outputs[0], cut(&contents[0], 3)).expect("written");
    assert_output(&trip.import(), 4, "imported 0 launches");
    assert_eq!(trip.samples(), TOTAL_SAMPLES);
}

#[test]
fn points_missing_from_an_output_are_run_or_exported_again() {
    for by_hand in [true, false] {
        let trip = ManualRun::new(SMALL_SWEEP);
        assert_output(&trip.export(&[]), 0, "");
        trip.run_scripts();
        let outputs = trip.files("out");
        let contents = std::fs::read(&outputs[0]).expect("an output");
        std::fs::write(&outputs[0], cut(&contents, 7)).expect("written");
        assert_output(&trip.import(), 4, "not complete");
        if by_hand {
            let copy = ManualRun { jobs: trip.jobs.clone() + " again", ..ManualRun::new(SMALL_SWEEP) };
            let copy = ManualRun { out: trip.out.clone(), ..copy };
            assert_output(&copy.export(&[]), 0, "1 launch of 4 points");
            copy.run_scripts();
            assert_output(&copy.import(), 0, "imported 1 launch");
        } else {
            assert_output(&trip.run(&[]), 0, "");
        }
        assert_eq!(trip.samples(), TOTAL_SAMPLES);
        // Another run has measured the rest of this launch in the meantime; the samples must not count twice.
        std::fs::write(&outputs[0], &contents).expect("written");
        assert_output(&trip.import(), 3, "has already measured it");
        assert_eq!(trip.samples(), TOTAL_SAMPLES);
    }
}

#[test]
fn damaged_outputs_and_outputs_of_other_plans_are_refused() {
    let trip = ManualRun::new(SMALL_SWEEP);
    assert_output(&trip.export(&[]), 0, "");
    let other = ManualRun::new(&SMALL_SWEEP.replace("[0.1, 1.0]", "[0.2, 1.0]"));
    assert_output(&other.export(&[]), 0, "");
    other.run_scripts();
    trip.run_scripts();
    // A folder of another plan, and one of its outputs.
    let message = refusal_message(&["job", "import", &other.jobs, "--out", &trip.out]);
    assert!(message.contains("no launch that was exported from this result"), "{message}");
    let foreign = other.files("out")[0].to_str().expect("a path").to_owned();
    let import = |file: &str| apexmap(&["job", "import", file, "--out", &trip.out]);
    assert_output(&import(&foreign), 3, "was not exported from this result");

    let output = std::fs::read_to_string(&trip.files("out")[0]).expect("an output");
    let good = &output[output.find('{').expect("a line of the worker")..];
    let lines: Vec<&str> = good.lines().collect();
    let sample = lines.iter().position(|line| line.contains("\"sample\"")).expect("a sample");
    let replace_line = |index: usize, new: String| {
        let mut lines: Vec<String> = lines.iter().map(|line| line.to_string()).collect();
        lines[index] = new;
        lines.join("\n") + "\n"
    };
    let build = lines[0].split("\"build\":\"").nth(1).and_then(|rest| rest.split('"').next()).expect("a build");
    let schema = format!("\"schema\":{SCHEMA_VERSION}");
    let seconds =
        lines[sample].split("\"seconds\":").nth(1).and_then(|rest| rest.split([',', '}']).next()).expect("a time");
    let cases = [
        (String::new(), "it contains no line of a worker"),
        ("what a launcher says\n".into(), "it contains no line of a worker"),
        (replace_line(0, lines[0].replace(build, "another")), "another build"),
        (replace_line(0, lines[0].replace(&schema, "\"schema\":99")), "another version"),
        (
            replace_line(0, lines[0].replace("\"launch\":\"", "\"launch\":\"../../")),
            "was not exported from this result",
        ),
        (lines[1..].join("\n"), "does not name a launch"),
        (good.repeat(2), "after the launch was done"),
        (replace_line(sample, format!("{0}\n{0}", lines[sample])), "a sample without a start"),
        (replace_line(sample, String::new()), "before the last run's sample"),
        (replace_line(sample, lines[sample].replace(seconds, "-1.0")), "a time is not positive"),
        ("{\"event\":\"fatal\",\"message\":\"no such job\"}\n".into(), "no launch began: no such job"),
    ];
    let file = trip.scratch.join("one.out");
    for (content, why) in cases {
        std::fs::write(&file, &content).expect("written");
        assert_output(&import(file.to_str().expect("a path")), 3, why);
        assert_eq!(trip.samples(), 0, "{why}");
    }
    // A pipe without a writer.
    nix::unistd::mkfifo(&trip.scratch.join("pipe.out"), nix::sys::stat::Mode::S_IRWXU).expect("a pipe");
    assert_output(&import(trip.scratch.join("pipe.out").to_str().expect("a path")), 2, "not a file");
    assert_output(&import("/nonexistent.out"), 3, "/nonexistent.out");
    // The valid outputs among them are still imported.
    assert_output(&trip.import(), 0, "imported 4 launches");
}

#[test]
fn the_fatal_error_of_a_worker_is_reported_and_its_point_fails() {
    let trip = ManualRun::new(SMALL_SWEEP);
    assert_output(&trip.export(&[]), 0, "");
    trip.run_scripts();
    let output = &trip.files("out")[0];
    let good = std::fs::read_to_string(output).expect("an output");
    let lines: Vec<&str> = good.lines().collect();
    let starts: Vec<usize> = (0..lines.len()).filter(|&index| lines[index].contains("\"start\"")).collect();
    let cut = lines[..=starts[5]].join("\n") + "\n{\"event\":\"fatal\",\"message\":\"out of luck\"}\n";
    std::fs::write(output, cut.clone() + "{\"event\":\"fatal\",\"message\":\"so am I\"}\n").expect("written");
    assert_output(&trip.import(), 4, "out of luck");
    assert_output(&trip.import(), 4, "imported 0 launches");
    assert_output(&apexmap(&["status", &trip.out]), 0, "1 failed");
    assert_output(&trip.run(&["--retry-failed"]), 0, "");
    assert_eq!(trip.samples(), TOTAL_SAMPLES + 1, "the failure is kept, too");
}

#[test]
fn scripts_never_execute_text_from_a_sweep_or_a_path() {
    let command = r#"["sh", "-c", "echo \"$2\" >marks; exec \"$1\" $3 $4 $5 $6 $7 $8 $9", "x'; touch evil; '", "{worker}", "$(touch evil) `touch evil` {ranks}", "{arguments}"]"#;
    let trip = ManualRun::new(
        &SMALL_SWEEP
            .replace("[launch]", &format!("[launch]\ntransport = \"mpi\"\nlauncher = \"custom\"\ncommand = {command}")),
    );
    let info = trip.scratch.join("worker.json");
    let info_text = text(&apexmap(&["worker", "--info"]).stdout);
    std::fs::write(&info, info_text.replace("[\"threads\"", "[\"threads\",\"mpi\"")).expect("written");
    let worker = trip.scratch.join("a 'worker' $(touch evil)");
    std::fs::write(&worker, "#!/bin/sh\necho \"$@\"\n").expect("written");
    let mut mode = std::fs::metadata(&worker).expect("a file").permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut mode, 0o755);
    std::fs::set_permissions(&worker, mode).expect("a mode");
    let (worker, info) = (worker.to_str().expect("a path"), info.to_str().expect("a path"));
    let message = refusal_message(&["job", "export", &trip.sweep, &trip.jobs, "--worker-info", info]);
    assert!(message.contains("--machine"), "{message}");
    assert_output(&trip.export(&["--worker", worker, "--worker-info", info, "--machine", "far"]), 0, "4 launches");
    for script in trip.files("sh") {
        start(&script);
        let name = script.file_stem().expect("a name").to_str().expect("a name").to_owned();
        let output = std::fs::read_to_string(script.with_extension("out")).expect("an output");
        assert!(output.contains("\nworker --job "), "{output}");
        let marks = std::fs::read_to_string(Path::new(&trip.jobs).join("marks")).expect("what the command wrote");
        assert!(marks.starts_with("$(touch evil) `touch evil` "), "{name}: {marks}");
    }
    let evil = |folder: &Path| folder.join("evil").exists();
    assert!(!evil(Path::new(&trip.jobs)) && !evil(&trip.scratch) && !evil(Path::new(".")));
    // The scripts run in any POSIX shell, and a page describes them.
    let page = std::fs::read_to_string(Path::new(&trip.jobs).join("README.txt")).expect("a page");
    trip.files("sh").iter().for_each(|script| {
        assert!(page.contains(script.file_name().expect("a name").to_str().expect("a name")), "{page}");
    });
}

fn job() -> Job {
    two_rank_job("0a-1", |block| {
        small_point("apex_map.two_sided", 2).with_parameter("L", block).with_parameter("I", 64 / block)
    })
}

/// Returns the output of a worker that completes its job.
fn complete_output() -> Vec<u8> {
    let job = job();
    let mut events = vec![Event::Hello(Box::new(launch("0a-1", 2, "b")))];
    for (index, repetition) in [(1, 0), (0, 0), (0, 1), (1, 1)] {
        events.push(Event::Start { index, repetition });
        events.push(Event::Progress { phase: Phase::Filling, share: Some(0.5) });
        let task = &job.tasks[index];
        events.push(Event::Sample(Box::new(sample(&task.point, &task.key, repetition, 1.5))));
    }
    events.push(Event::Done { budget_spent: false });
    let line = |event: &Event| serde_json::to_string(event).expect("a line") + "\n";
    events.iter().map(line).collect::<String>().into_bytes()
}

/// Asserts that an output is either refused or gives a journal with valid lines that belong to the job.
fn is_sound(bytes: &[u8]) -> Result<(), TestCaseError> {
    let jobs = BTreeMap::from([("0a-1".to_owned(), job())]);
    let Ok(output) = read(bytes, &jobs, "b") else { return Ok(()) };
    let scratch = Scratch::new();
    let path = scratch.join("0001.jsonl");
    let mut file = journal::Journal::create(&path).expect("a journal");
    output.events.iter().for_each(|event| file.append(event).expect("a line"));
    let record = journal::read(&path).expect("a journal");
    prop_assert_eq!(record.damage(), None);
    prop_assert!(record.ended.is_some() && record.launch.is_some_and(|launch| launch.launch == "0a-1"));
    let good = record.samples.iter().filter(|sample| sample.status == apexmap_base::sample::Status::Ok);
    prop_assert!(good.count() <= output.samples && output.samples <= 4);
    for sample in record.samples {
        prop_assert!(job().tasks.iter().any(|task| task.key == sample.key && task.point == sample.point));
    }
    Ok(())
}

#[test]
fn progress_in_an_output_is_not_imported() {
    let jobs = BTreeMap::from([("0a-1".to_owned(), job())]);
    let output = read(&complete_output()[..], &jobs, "b").expect("an output");
    assert_eq!((output.samples, output.incomplete_reason), (4, None));
    let kept = |event: &Event| !matches!(event, Event::Progress { .. } | Event::Start { .. });
    assert!(output.events.iter().all(kept), "{:?}", output.events);
}

proptest! {
    #[test]
    fn an_output_truncated_anywhere_gives_its_complete_samples(share in 0.0f64..1.0) {
        let bytes = complete_output();
        let cut = &bytes[..(share * bytes.len() as f64) as usize];
        let complete_samples = String::from_utf8_lossy(cut).split_inclusive('\n').filter(|line| line.ends_with('\n') && line.contains("\"sample\"")).count();
        let jobs = BTreeMap::from([("0a-1".to_owned(), job())]);
        match read(cut, &jobs, "b") {
            // A line that misses only its line break counts as complete, and so does an output that ends with it.
            Ok(output) => {
                prop_assert!((complete_samples..=complete_samples + 1).contains(&output.samples));
                prop_assert_eq!(output.incomplete_reason.is_some(), cut.len() + 1 < bytes.len());
            }
            Err(why) => prop_assert!(complete_samples == 0 && why.contains("no line of a worker"), "{}", why),
        }
        is_sound(cut)?;
    }

    #[test]
    fn damaged_outputs_are_refused_or_valid(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4), swap in any::<(prop::sample::Index, prop::sample::Index)>(),
    ) {
        let mut bytes = complete_output();
        for (position, byte) in changes {
            let offset = position.index(bytes.len());
            bytes[offset] = byte;
        }
        is_sound(&bytes)?;
        let original = complete_output();
        let mut lines: Vec<&[u8]> = original.split_inclusive(|&byte| byte == b'\n').collect();
        let (first, second) = (swap.0.index(lines.len()), swap.1.index(lines.len()));
        lines.swap(first, second);
        is_sound(&lines.concat())?;
    }

    #[test]
    fn any_bytes_are_refused_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        is_sound(&bytes)?;
        is_sound(&[&complete_output()[..], &bytes[..]].concat())?;
    }
}
