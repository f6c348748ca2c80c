//! ReFrame runs the example of packaging/, and reports the numbers of `apexmap query`.

use crate::common::{Scratch, output, successful_stdout};
use crate::needs::python_program;
use crate::terminal::TINY_SWEEP;
use apexmap_theory::machine::{Card, Number};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const PROGRAM: &str = env!("CARGO_BIN_EXE_apexmap");

/// STREAM in a few milliseconds.
const SMALL_SWEEP: &str = "[fixed]\nkernel = \"calibrate.stream\"\nbytes = \"64 KiB\"\nranks = 1\n\
                           [axes]\naccess = [\"read\", \"copy\", \"scale\", \"add\", \"triad\"]\n\
                           [launch]\npreflight = 0\n[repeat]\nmin = 6\n";

fn recipe(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging").join(name)
}

/// Returns a command that finds this build as `apexmap`, and no settings of the user.
fn command(program: &Path, scratch: &Scratch) -> Command {
    let folder = Path::new(PROGRAM).parent().expect("a folder").to_owned();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(folder).chain(std::env::split_paths(&path));
    let mut command = Command::new(program);
    command.env("PATH", std::env::join_paths(folders).expect("a PATH")).env("HOME", &**scratch).current_dir(&**scratch);
    command
}

/// Returns the medians of each access by `apexmap query`.
fn medians(result: &Path) -> Vec<(String, f64)> {
    let result = result.to_str().expect("a path");
    let columns = ["--group-by", "access", "--select", "bytes_per_second", "--format", "json"];
    let text = successful_stdout(&[&["query", result][..], &columns].concat());
    let groups: Vec<Value> = serde_json::from_str(&text).expect("JSON");
    let number = |group: &Value| group["values"]["bytes_per_second"]["median"].as_f64().expect("a median");
    groups.iter().map(|group| (group["by"]["access"].as_str().expect("a word").to_owned(), number(group))).collect()
}

/// Writes a card whose only limit is a clock far above that of any machine.
fn write_fast_card(path: &Path) {
    let mut card = Card::new("fast", "made up", "this test");
    let texts = [("host", "node1"), ("cpu_model", "Example CPU"), ("transport", "threads")];
    texts.into_iter().for_each(|(name, text)| _ = card.provenance.insert(name.into(), text.into()));
    for (name, value, unit) in [("cores", 2.0, ""), ("core_clock_hz", 1e6, "GHz")] {
        card.set(name, Number::new(value, unit, "made up").with_best(value)).expect("a number");
    }
    card.write(path).expect("a card");
}

/// Runs ReFrame with these settings of the test. Returns its output and its report.
fn reframe(scratch: &Scratch, settings: &[&str]) -> (Output, Value) {
    let mut reframe = command(&python_program("reframe"), scratch);
    reframe.args(["--prefix", "reframe", "--report-file", "report.json", "--keep-stage-files", "--run"]);
    reframe.arg("--checkpath").arg(recipe("reframe/apexmap_check.py"));
    settings.iter().for_each(|setting| _ = reframe.args(["-S", setting]));
    let output = output(&mut reframe);
    let report = std::fs::read_to_string(scratch.join("report.json"));
    let report = report.unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stdout)));
    (output, serde_json::from_str(&report).expect("JSON"))
}

#[test]
fn reframe_reports_the_medians_of_a_query() {
    needs!(PackageTools);
    let scratch = Scratch::new();
    std::fs::write(scratch.join("small.toml"), SMALL_SWEEP).expect("a sweep");
    let (output, report) = reframe(&scratch, &["sweep=small.toml", "column=bytes_per_second"]);
    let case = &report["runs"][0]["testcases"][0];
    assert!(output.status.success(), "{case:#}");
    let expected = medians(&Path::new(case["stagedir"].as_str().expect("a folder")).join("result"));
    assert_eq!(expected.len(), 5);
    let values = case["perfvalues"].as_object().expect("numbers");
    assert_eq!(values.len(), 5, "{values:?}");
    for (access, median) in expected {
        let value = &values[&format!("generic:default:access={access}")];
        assert_eq!((value[0].as_f64(), &value[4]), (Some(median), &"B/s".into()), "{access}");
    }

    let (output, report) = reframe(&scratch, &["sweep=missing.toml"]);
    let failure = report["runs"][0]["testcases"][0]["fail_reason"].to_string();
    assert!(!output.status.success() && failure.contains("apexmap run: exit code 2"), "{failure}");
}

#[test]
fn reframe_takes_its_references_from_a_machine_card() {
    needs!(PackageTools);
    let scratch = Scratch::new();
    std::fs::write(scratch.join("tiny.toml"), TINY_SWEEP).expect("a sweep");
    write_fast_card(&scratch.join("card.toml"));
    let settings = ["sweep=tiny.toml", "card=card.toml", "arguments=--card-of-another-host"];
    let (failed, _) = reframe(&scratch, &[&settings[..], &["least=1.0"]].concat());
    let (passed, report) = reframe(&scratch, &[&settings[..], &["least=0.0"]].concat());
    let case = &report["runs"][0]["testcases"][0];
    assert_eq!([failed, passed].map(|output| output.status.success()), [false, true], "{case:#}");
    let result = Path::new(case["stagedir"].as_str().expect("a folder")).join("result");
    let columns = ["--select", "bytes_per_second_per_rank,share_of_bound", "--format", "json"];
    let text = successful_stdout(&[&["query", result.to_str().expect("a path")][..], &columns].concat());
    let groups: Vec<Value> = serde_json::from_str(&text).expect("JSON");
    assert_eq!(groups.len(), case["perfvalues"].as_object().expect("numbers").len());
    for group in groups {
        let median = |column: &str| group["values"][column]["median"].as_f64().expect("a median");
        let name = format!("generic:default:block_words={}", group["by"]["block_words"]);
        let reference = case["perfvalues"][&name][1].as_f64().expect("a reference");
        let bound = median("bytes_per_second_per_rank") / median("share_of_bound");
        assert!((reference / bound - 1.0).abs() < 1e-9, "{name}: {reference} {bound}");
    }
}
