//! Numbers in README and the guide follow from samples in the repository (`tests/recorded`).
//!
//! `shown/` and `quickstart-epyc-2` (without the answer of its sweep, so that the page has that of this version) are of one hour on two
//! cores of an AMD EPYC (Zen 5), `random-access-xeon-16.parquet` and
//! `hpcc-xeon-16.csv` are four rounds in turn on 16 cores of a Xeon.

use super::common::{Scratch, output};
use super::docs::{pages, words};
use apexmap_results::disk::parquet;
use apexmap_results::samples::Samples;
use apexmap_theory::statistics::median;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn recorded_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded")
}

/// Makes the folder `results` that the guide shows: the recorded results under their names, and the card of the quickstart.
pub fn recorded_results() -> Scratch {
    let folder = Scratch::new();
    let copy = |from: PathBuf, to: &str| {
        let to = folder.join("results").join(to);
        fs::create_dir_all(to.parent().expect("a folder")).expect("a folder");
        fs::copy(from, to).expect("a copy");
    };
    for entry in fs::read_dir(recorded_folder().join("shown")).expect("recorded samples").flatten() {
        let name = entry.path().file_stem().expect("a name").to_string_lossy().into_owned();
        copy(entry.path(), &format!("{name}/samples.parquet"));
    }
    for entry in fs::read_dir(recorded_folder().join("quickstart-epyc-2")).expect("the recorded result").flatten() {
        copy(entry.path(), &format!("quickstart/{}", entry.file_name().display()));
    }
    copy(recorded_folder().join("quickstart-epyc-2/machine.toml"), "calibrate/card.toml");
    folder
}

/// Returns the commands of a page whose output follows them: the command's words, and the lines of the output.
fn shown_outputs(text: &str) -> Vec<(Vec<String>, Vec<&str>)> {
    let blocks = text.split("```").skip(1).step_by(2);
    let commands = blocks.flat_map(|block| block.split("\n$ apexmap ").skip(1));
    commands
        .filter_map(|shown| shown.split_once('\n'))
        .map(|(line, output)| (words(line), output.lines().collect()))
        .collect()
}

/// Returns the lines of a page that are not in the output of their command. Columns may be as wide as they like, and `...` stands for
/// words that are left out.
fn missing_lines(shown: &[&str], printed: &str) -> Vec<String> {
    let squeeze = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let printed: Vec<String> = printed.lines().map(squeeze).collect();
    let is_missing = |line: &String| match line.strip_suffix("...") {
        Some(begin) => !printed.iter().any(|printed| printed.starts_with(begin.trim_end())),
        None => !printed.contains(line),
    };
    shown.iter().map(|line| squeeze(line)).filter(is_missing).collect()
}

#[test]
fn outputs_of_the_readme_and_the_guide_are_those_of_the_recorded_results() {
    let folder = recorded_results();
    let is_recorded = |word: &String| {
        word.strip_prefix("results/").is_none_or(|rest| {
            let end = rest.find(['[', '/']).unwrap_or(rest.len());
            folder.join("results").join(&rest[..end]).is_dir()
        })
    };
    let (mut count, mut wrong) = (0, Vec::new());
    for (page, text) in pages() {
        for (arguments, shown) in shown_outputs(&text) {
            let is_of_result = arguments.iter().any(|word| word.starts_with("results/"));
            if !is_of_result || !arguments.iter().all(is_recorded) {
                continue;
            }
            count += 1;
            let mut program = Command::new(env!("CARGO_BIN_EXE_apexmap"));
            let output = output(program.args(&arguments).current_dir(&*folder));
            let printed = String::from_utf8_lossy(&output.stdout);
            let missing = missing_lines(&shown, &printed);
            if !missing.is_empty() {
                wrong.push(format!(
                    "{}: {}\n{}\nprinted:\n{printed}",
                    page.display(),
                    arguments.join(" "),
                    missing.join("\n")
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert!(count >= 9, "{count} outputs");
}

/// Median rates of the four rounds by number of ranks, in GUPS.
fn hpcc_rates() -> Vec<(f64, Vec<f64>)> {
    let mut reader = csv::Reader::from_path(recorded_folder().join("hpcc-xeon-16.csv")).expect("rates");
    let rows: Vec<(f64, f64, f64)> = reader.deserialize().map(|row| row.expect("a row")).collect();
    let rates = |ranks: f64| rows.iter().filter(|row| row.0 == ranks).map(|row| row.2).collect();
    [2.0, 4.0, 8.0, 16.0].map(|ranks| (ranks, rates(ranks))).to_vec()
}

/// Returns `0.94 to 1.54 times`. Numbers with one digit and two decimals sort as text.
fn ends(mut ratios: Vec<String>) -> String {
    ratios.sort();
    format!("{} to {} times", ratios[0], ratios[ratios.len() - 1])
}

#[test]
fn ratios_to_hpcc_follow_from_the_recorded_rounds() {
    let table = parquet::read(&recorded_folder().join("random-access-xeon-16.parquet")).expect("samples");
    let samples = Samples::from(table);
    let middle = |values: &[f64]| median(values).expect("four rounds");
    let ratio = |transport: &str, (ranks, hpcc): (f64, Vec<f64>)| {
        let samples = samples.with_word("transport", &[transport]);
        let selected = samples.filter_rows(|row| samples.table().number("ranks", row) == ranks);
        let rounds: Vec<f64> = selected
            .group_by(&["block"])
            .iter()
            .map(|round| median(&round.numbers("operations_per_second")).expect("six samples"))
            .collect();
        assert_eq!((rounds.len(), hpcc.len()), (4, 4));
        format!("{:.2}", middle(&rounds) / 1e9 / middle(&hpcc))
    };
    let ratios = |transport: &str| hpcc_rates().into_iter().map(|rates| ratio(transport, rates)).collect::<Vec<_>>();
    let (messages, threads) = (ratios("mpi"), ratios("threads"));
    let readme = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).expect("README");
    let text = readme.split_whitespace().collect::<Vec<_>>().join(" ");
    let claim = format!("{} the updates of HPCC's optimised algorithm between threads", ends(threads));
    assert!(text.contains(&claim), "README does not say: {claim}");
    let claim = format!("{} by messages over Open MPI", ends(messages));
    assert!(text.contains(&claim), "README does not say: {claim}");
}
