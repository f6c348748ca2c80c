//! Tests that sizes which no machine has are refused before they are used.

use super::common::{Scratch, apexmap, refusal_message};
use super::terminal::TINY_SWEEP;
use proptest::prelude::*;

/// Returns the message of `plan`, which refuses a changed sweep.
fn refusal(from: &str, to: &str) -> String {
    let scratch = Scratch::new();
    let sweep = scratch.join("sweep.toml");
    assert!(TINY_SWEEP.contains(from));
    std::fs::write(&sweep, TINY_SWEEP.replace(from, to)).unwrap();
    refusal_message(&["plan", "--out", scratch.join("r").to_str().unwrap(), sweep.to_str().unwrap()])
}

#[test]
fn more_launches_than_the_point_limit_allows_are_refused() {
    let message = refusal("launches = 2", "launches = 4294967295");
    assert!(
        message.contains("4294967295 launches of 2 points") && message.contains("launches = 500000 or less"),
        "{message}"
    );
}

#[test]
fn more_ranks_than_runnable_threads_are_refused() {
    let message = refusal(
        "apex_map.sequential\"\nM = 4096\nI = 64\nN = 2\n[axes]\nL = [1, 8]",
        "calibrate.get\"\nranks = 16777216",
    );
    assert!(message.contains("P = 16777216 is more than 4096 ranks"), "{message}");
}

#[test]
fn ranks_as_threads_with_rings_that_exceed_memory_are_refused() {
    let message = refusal(
        "apex_map.sequential\"\nM = 4096\nI = 64\nN = 2\n[axes]\nL = [1, 8]",
        "apex_map.two_sided\"\nranks = 4096\nM = 4096\nI = 64\nN = 2\nL = 1\nB = 1024",
    );
    assert!(message.contains("4096 ranks need a total of") && message.contains(" has "), "{message}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn times_longer_than_a_generation_are_refused(exponent in 10..308i32, key in 0..3usize) {
        let key = ["timeout", "preflight", "budget"][key];
        let line = format!("{key} = \"1e{exponent} s\"");
        let message = match key {
            "budget" => refusal("min = 2", &format!("min = 2\n{line}")),
            _ => refusal("preflight = 0", &line),
        };
        prop_assert!(message.contains("longer than 1000000000 s"), "{}", message);
    }
}

#[test]
fn too_deeply_nested_conditions_are_refused_in_every_form() {
    let scratch = Scratch::new();
    let sweep = scratch.join("sweep.toml");
    for deep in ["(", "!", "-", "!(", "-("].map(|sign| sign.repeat(30_000)) {
        std::fs::write(&sweep, format!("where = ['{deep}L']\n{TINY_SWEEP}")).unwrap();
        let message = refusal_message(&["plan", sweep.to_str().unwrap()]);
        assert!(message.contains("more than 100 levels of nesting") && message.len() < 2000, "{message}");
    }
}

#[test]
fn a_file_name_is_checked_like_a_sweep_name() {
    let scratch = Scratch::new();
    for name in ["...toml", "..toml", ".hidden.toml", "a\u{1b}b.toml", "a\\b.toml"] {
        let sweep = scratch.join(name);
        std::fs::write(&sweep, TINY_SWEEP).unwrap();
        let message = refusal_message(&["plan", sweep.to_str().unwrap()]);
        assert!(message.contains("cannot be the name of a folder") && message.contains("name = "), "{name}: {message}");
        std::fs::write(&sweep, format!("name = \"good\"\n{TINY_SWEEP}")).unwrap();
        let output = apexmap(&["plan", "--out", scratch.join("r").to_str().unwrap(), sweep.to_str().unwrap()]);
        assert!(output.status.success(), "{name}");
    }
}
