//! The papers' experiments on simulated machines: the sweeps of `make papers`, their cards, their checks and their page.

use super::common::{Scratch, refusal_message, successful_stdout};
use crate::browser;
use apexmap_study::validate::papers;
use apexmap_theory::paper_tables;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

const FOLDER: &str = "examples/papers";

fn files(folder: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    entries.filter(|path| path.extension().is_some_and(|extension| extension == "toml")).collect()
}

fn sweeps() -> BTreeSet<String> {
    files(FOLDER).iter().map(|path| path.file_stem().unwrap_or_default().to_string_lossy().into_owned()).collect()
}

#[test]
fn every_sweep_of_the_papers_can_be_simulated() {
    for path in files(FOLDER) {
        let text = successful_stdout(&["plan", path.to_str().expect("a path")]);
        assert!(text.contains("simulated ranks of"), "{}: {text}", path.display());
    }
}

#[test]
fn every_simulated_value_belongs_to_one_part_of_a_paper_and_to_a_sweep() {
    let table = paper_tables::table("checks-simulated").expect("a table");
    let items = papers::items().expect("the items");
    let mut used = BTreeSet::new();
    for row in 0..table.rows.len() {
        let source = table.word(row, "source");
        let own = items.iter().filter(|item| item.simulated.iter().any(|prefix| source.starts_with(prefix)));
        assert_eq!(own.count(), 1, "{source}");
        let words = table.word(row, "quantities").split([' ', ';']);
        used.extend(words.filter_map(|word| word.strip_prefix("sweep=")).map(str::to_owned));
    }
    let unknown: Vec<_> = used.difference(&sweeps()).cloned().collect();
    assert!(unknown.is_empty() && !used.is_empty(), "{unknown:?}");
}

/// Cards of variants differ from the published machine in a few lines only.
#[test]
fn variants_of_published_machines_differ_in_few_numbers() {
    let published = |name: &str| match name {
        name if name.starts_with("nic") => "simulated-nic",
        _ => "bluegene-l",
    };
    for path in files(&format!("{FOLDER}/cards")) {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let lines = |path: &Path| {
            let text = std::fs::read_to_string(path).expect("a card");
            text.lines().map(str::to_owned).collect::<BTreeSet<String>>()
        };
        let own = lines(&path);
        let base = lines(&PathBuf::from(format!("models/{}.toml", published(&name))));
        let values = |changed: Vec<&String>| changed.iter().filter(|line| line.starts_with("value")).count();
        assert!(values(own.difference(&base).collect()) <= 2, "{name}: {:?}", own.difference(&base));
        assert!(base.difference(&own).count() <= 6, "{name}: {:?}", base.difference(&own));
    }
}

#[test]
fn the_page_of_the_papers_shows_what_is_simulated_and_what_is_missing() {
    let scratch = Scratch::new();
    let [results, page] = ["results", "page"].map(|name| scratch.join(name).to_string_lossy().into_owned());
    successful_stdout(&[
        "run",
        "examples/papers/nic-latency.toml",
        "--no-report",
        "--out",
        &format!("{results}/nic-latency"),
    ]);
    let text = successful_stdout(&["validate", "--all", "--simulated", &results]);
    assert!(text.contains("share of two routers (%)") && text.contains("reproduced"), "{text}");
    assert!(text.contains("input: 1 of 1 agree"), "{text}");
    assert!(text.contains("41 more measured values are not simulated: run `make papers` (bluegene-loads, "), "{text}");
    // The share of two routers has been counted as a value of the equations.
    assert!(text.contains("simulated: latency [input, counted above]"), "{text}");
    // `cargo test` builds it next to the program.
    let program = Path::new(env!("CARGO_BIN_EXE_apexmap")).with_file_name("examples").join("papers");
    let made = Command::new(program).args([&results, &page]).output().expect("the program");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let html = std::fs::read_to_string(scratch.join("page/papers.html")).expect("a page");
    assert!(html.contains("share of HyperTransport"), "the values that are simulated");
    assert!(html.contains("is not simulated"), "the values that are missing");
    assert!(scratch.join("page/figures/nic-latency.png").is_file());
    browser::check_usable(&scratch.join("page/papers.html"));
    assert!(refusal_message(&["validate", "--simulated", "no-such-folder"]).contains("does not exist"));
}

#[test]
fn each_value_of_a_simulated_table_counts_once() {
    let scratch = Scratch::new();
    let results = scratch.join("results").to_string_lossy().into_owned();
    let text = std::fs::read_to_string(format!("{FOLDER}/hypercube-look-ahead.toml")).expect("a sweep");
    let small = text.replace(", 256, 1024, 2048, 4096, 8192, 32768]", "]").replace(", 2, 8, 16, 32, 64, 256]", "]");
    assert_ne!(small, text);
    let file = scratch.join("small.toml");
    std::fs::write(&file, small).expect("a file");
    let out = format!("{results}/hypercube-look-ahead");
    successful_stdout(&["run", file.to_str().expect("a path"), "--no-report", "--out", &out]);
    let text = successful_stdout(&["validate", "--format", "json", "--simulated", &results]);
    let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let checks = json["checks"].as_array().expect("checks").iter().filter(|check| check["is_simulated"] == true);
    let counts: Vec<bool> = checks.map(|check| check["counts"] == true).collect();
    assert_eq!(counts, [true; 4]);
}
