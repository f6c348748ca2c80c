//! `cargo bench --bench quick -- RUNS`: whether `apexmap try` gives the numbers of the whole calibration.
//!
//! Runs `apexmap calibrate` once and `apexmap try` RUNS times (10 by default) on a quiet machine. Prints the ratios of the
//! numbers, and how many runs have all of them within 10 %. Core to core is the median of the pairs that both have.

use apexmap_theory::machine::{Card, NumberName, catalogue};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

const LIMIT: f64 = 0.1;

fn main() {
    let runs = std::env::args().find_map(|argument| argument.parse().ok()).unwrap_or(10);
    let folder = std::env::temp_dir().join(format!("apexmap-quick-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    let whole = folder.join("calibrate").to_string_lossy().into_owned();
    let (_, seconds) = apexmap(&["calibrate", "--allow-disturbed", "--out", &whole]);
    println!("calibrate: {seconds:.1} s");
    let whole = Card::read(&folder.join("calibrate/card.toml")).expect("the card of the whole calibration");
    let mut within = 0;
    for run in 1..=runs {
        let (card, seconds) = apexmap(&["try", "--json"]);
        let path = folder.join("card.json");
        std::fs::write(&path, card).expect("the card");
        let ratios = ratios(&Card::read(&path).expect("a card"), &whole);
        let is_within = ratios.iter().all(|(_, ratio)| (1.0 - LIMIT..=1.0 + LIMIT).contains(ratio));
        within += usize::from(is_within);
        let text: Vec<String> = ratios.iter().map(|(name, ratio)| format!("{name} {ratio:.3}")).collect();
        println!("try {run}: {seconds:.1} s, {}: {}", if is_within { "within" } else { "NOT within" }, text.join(", "));
    }
    let _ = std::fs::remove_dir_all(Path::new(&folder));
    println!("{within} of {runs} runs have all numbers within {} %", 100.0 * LIMIT);
}

/// Standard output, and the time of the whole command in seconds.
fn apexmap(arguments: &[&str]) -> (Vec<u8>, f64) {
    let start = Instant::now();
    let mut command = Command::new(env!("CARGO_BIN_EXE_apexmap"));
    let output = command.args(arguments).stderr(Stdio::inherit()).output().expect("apexmap starts");
    assert!(output.status.success(), "{arguments:?}: {}", output.status);
    (output.stdout, start.elapsed().as_secs_f64())
}

/// The measured numbers of the first card relative to those of the second one.
fn ratios(card: &Card, whole: &Card) -> Vec<(String, f64)> {
    let pair = catalogue::CORE_TO_CORE_SECONDS.name;
    let is_pair = |name: &str| NumberName::parse(name).is_ok_and(|name| name.entry.name == pair);
    let measured = card.numbers().iter().filter(|(_, number)| number.runs.is_some());
    let ratio = |name: &String| Some((name.clone(), card.get(name)? / whole.get(name)?));
    let (mut pairs, mut ratios): (Vec<_>, Vec<_>) =
        measured.filter_map(|(name, _)| ratio(name)).partition(|(name, _)| is_pair(name));
    pairs.sort_by(|a, b| a.1.total_cmp(&b.1));
    let median = pairs.get(pairs.len() / 2).map(|(_, ratio)| (pair.to_owned(), *ratio));
    ratios.extend(median);
    ratios
}
