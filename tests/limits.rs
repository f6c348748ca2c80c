//! Tests that sizes which no machine has are refused before they are used.

use super::common::{Scratch, apexmap, refused};
use super::terminal::TINY;
use proptest::prelude::*;

/// Returns the message of `plan`, which refuses a changed sweep.
fn refusal(from: &str, to: &str) -> String {
    let scratch = Scratch::new();
    let sweep = scratch.join("sweep.toml");
    assert!(TINY.contains(from));
    std::fs::write(&sweep, TINY.replace(from, to)).unwrap();
    refused(&["plan", "--out", scratch.join("r").to_str().unwrap(), sweep.to_str().unwrap()])
}

#[test]
fn more_launches_than_points_could_be_measured_are_refused() {
    let said = refusal("launches = 2", "launches = 4294967295");
    assert!(said.contains("4294967295 launches of 2 points") && said.contains("launches = 500000 or less"), "{said}");
}

#[test]
fn more_ranks_than_threads_that_a_machine_runs_are_refused() {
    let said = refusal(
        "apex_map.sequential\"\nM = 4096\nI = 64\nN = 2\n[axes]\nL = [1, 8]",
        "calibrate.get\"\nranks = 16777216",
    );
    assert!(said.contains("P = 16777216 is more than 4096 ranks"), "{said}");
}

#[test]
fn ranks_as_threads_whose_rings_do_not_fit_into_memory_are_refused() {
    let said = refusal(
        "apex_map.sequential\"\nM = 4096\nI = 64\nN = 2\n[axes]\nL = [1, 8]",
        "apex_map.two_sided\"\nranks = 4096\nM = 4096\nI = 64\nN = 2\nL = 1\nB = 1024",
    );
    assert!(said.contains("4096 ranks need a total of") && said.contains("this machine has"), "{said}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn times_longer_than_a_generation_are_refused(exponent in 10..308i32, key in 0..3usize) {
        let key = ["timeout", "preflight", "budget"][key];
        let line = format!("{key} = \"1e{exponent} s\"");
        let said = match key {
            "budget" => refusal("min = 2", &format!("min = 2\n{line}")),
            _ => refusal("preflight = 0", &line),
        };
        prop_assert!(said.contains("longer than 1000000000 s"), "{}", said);
    }
}

#[test]
fn conditions_nested_too_deep_are_refused_however_they_are_nested() {
    let scratch = Scratch::new();
    let sweep = scratch.join("sweep.toml");
    for deep in ["(", "!", "-", "!(", "-("].map(|sign| sign.repeat(30_000)) {
        std::fs::write(&sweep, format!("where = ['{deep}L']\n{TINY}")).unwrap();
        let said = refused(&["plan", sweep.to_str().unwrap()]);
        assert!(said.contains("more than 100 levels of nesting") && said.len() < 2000, "{said}");
    }
}

#[test]
fn the_name_of_a_file_is_checked_as_the_name_of_a_sweep_is() {
    let scratch = Scratch::new();
    for name in ["...toml", "..toml", ".hidden.toml", "a\u{1b}b.toml", "a\\b.toml"] {
        let sweep = scratch.join(name);
        std::fs::write(&sweep, TINY).unwrap();
        let said = refused(&["plan", sweep.to_str().unwrap()]);
        assert!(said.contains("cannot be the name of a folder") && said.contains("name = "), "{name}: {said}");
        std::fs::write(&sweep, format!("name = \"good\"\n{TINY}")).unwrap();
        let output = apexmap(&["plan", "--out", scratch.join("r").to_str().unwrap(), sweep.to_str().unwrap()]);
        assert!(output.status.success(), "{name}");
    }
}
