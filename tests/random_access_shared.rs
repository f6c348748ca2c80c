//! Tests of RandomAccess on one table that threads share: the same tables as `sequential`, counted errors, and the
//! paper's modes.

use crate::random_access::{hash, number, run, table};
use apexmap_base::point::Point;
use apexmap_measure::hardware::Hardware;
use apexmap_measure::kernels::keys::N_WORDS;
use apexmap_measure::kernels::shared::updates::layout::Layout;
use apexmap_measure::kernels::{self, Outcome};
use proptest::prelude::*;

fn shared_table(words: u64, cores: u64) -> Point {
    table("random_access.shared", 1, words).with_parameter("cores", cores)
}

/// Returns the hash of the table that this number of streams makes one after another.
fn sequential_hash(streams: u64, like: &Point) -> String {
    let point = table("random_access.sequential", 1, N_WORDS.of(like)).with_parameter("streams", streams);
    let point = ["updates", "stream", "starts"].iter().fold(point, |point, name| match like.params.get(*name) {
        Some(value) => point.with_parameter(name, value.clone()),
        None => point,
    });
    let outcome = run(point);
    assert_eq!(outcome.verdict, Ok(()));
    hash(&outcome)
}

fn refusal(point: Point) -> String {
    kernels::complete(point).unwrap_err().message
}

fn run_verified(point: Point) -> Outcome {
    let label = point.label();
    let outcome = run(point);
    assert_eq!(outcome.verdict, Ok(()), "{label}");
    assert_eq!(number(&outcome, "errors"), 0.0, "{label}");
    outcome
}

/// Mode, whether it conforms to the rules, and whether the node generates a single stream.
const MODES: [(u64, bool, bool); 5] =
    [(1, true, false), (5, false, false), (6, true, false), (7, false, true), (8, true, true)];

fn check_modes(cores: u64) {
    for (mode, _, single) in MODES {
        for by in ["partitioned", "atomic", "locks"] {
            if mode == 1 && by != "partitioned" {
                continue;
            }
            for (stream, look_ahead) in [("lfsr", 1u64), ("lcg", 7), ("lfsr", 1024)] {
                if mode == 6 && look_ahead < cores {
                    continue;
                }
                let point = shared_table(1 << 9, cores)
                    .with_parameter("mode", mode)
                    .with_parameter("updates_by", by)
                    .with_parameter("locks", 3u64);
                let point = point.with_parameter("stream", stream).with_parameter("Q", look_ahead);
                let expected = sequential_hash(if single { 1 } else { cores }, &point);
                let label = point.label();
                assert_eq!(hash(&run_verified(point)), expected, "{label}");
            }
        }
    }
}

#[test]
fn one_core_reproduces_the_sequential_table() {
    check_modes(1);
}

#[test]
fn two_cores_reproduce_the_sequential_table() {
    check_modes(2);
}

#[test]
fn three_cores_reproduce_the_sequential_table() {
    check_modes(3);
}

#[test]
fn seven_cores_reproduce_the_sequential_table() {
    check_modes(7);
}

#[test]
fn a_single_unlocked_core_causes_no_errors() {
    let point = shared_table(1 << 10, 1).with_parameter("updates_by", "unlocked");
    let expected = sequential_hash(1, &point);
    assert_eq!(hash(&run_verified(point)), expected);
}

#[test]
fn one_lock_and_one_lock_per_word_both_prevent_errors() {
    for locks in [1u64, 16, 32, 256] {
        run_verified(
            shared_table(256, 4)
                .with_parameter("updates_by", "locks")
                .with_parameter("locks", locks)
                .with_parameter("updates", 50.0),
        );
    }
}

/// Report and verdict agree for any number of errors. Collisions need two processors.
#[test]
fn errors_of_unlocked_updates_are_counted_and_fail_above_1_per_cent() {
    let run_on = |words: u64, updates: f64| {
        let outcome =
            run(shared_table(words, 2).with_parameter("updates_by", "unlocked").with_parameter("updates", updates));
        let (errors, share) = (number(&outcome, "errors"), number(&outcome, "error_fraction"));
        assert_eq!(share, errors / words as f64);
        match &outcome.verdict {
            Ok(()) => assert!(share <= 0.01),
            Err(reason) => assert!(share > 0.01 && reason.contains("the maximum is 1 %"), "{reason}"),
        }
        assert_eq!(share > 0.01, outcome.outputs["rules_broken"].to_string().contains("errors"));
        errors
    };
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    // In a small table many updates are lost, in a large one few.
    for (words, updates) in [(1 << 12, 200.0), (1 << 18, 4.0)] {
        let lost = (0..100).any(|_| run_on(words, updates) > 0.0);
        assert!(lost || processors == 1, "no update of {words} words was ever lost");
    }
}

#[test]
fn modes_are_marked_conformant_according_to_the_rules() {
    for (mode, conformant, _) in MODES {
        let outcome = run_verified(
            shared_table(1 << 10, 2).with_parameter("mode", mode).with_parameter("updates_by", "partitioned"),
        );
        let broken = outcome.outputs["rules_broken"].to_string();
        assert_eq!(broken, if conformant { "table size" } else { "algorithm, table size" }, "mode {mode}");
    }
    let too_far = run_verified(shared_table(1 << 12, 2).with_parameter("mode", 8u64).with_parameter("Q", 2048u64));
    assert_eq!(too_far.outputs["rules_broken"].to_string(), "look-ahead, table size");
}

#[test]
fn modes_two_to_four_are_refused_with_the_reason_from_the_paper() {
    for mode in [2u64, 3, 4] {
        let reason = refusal(shared_table(1 << 10, 2).with_parameter("mode", mode));
        assert!(reason.contains("a table per core requires generation and look-ahead limit per core"), "{reason}");
        assert!(reason.contains("Section 3.2") && reason.contains("use mode 1, 5, 6, 7 or 8"), "{reason}");
    }
}

#[test]
fn the_look_ahead_limit_applies_per_core_or_per_node() {
    let stored = |mode: u64, by: &str| {
        let point = shared_table(1 << 12, 3)
            .with_parameter("mode", mode)
            .with_parameter("updates_by", by)
            .with_parameter("Q", 100u64);
        number(&run_verified(point), "stored_max")
    };
    for by in ["partitioned", "atomic"] {
        assert_eq!(stored(5, by), 100.0, "each core's");
        assert!(stored(6, by) <= 100.0 && stored(6, by) > 90.0, "all cores' together");
        assert_eq!(stored(8, by), 100.0, "the only list");
    }
    assert_eq!(stored(1, "partitioned"), 100.0);
    assert_eq!(stored(7, "atomic"), 100.0, "a core's equal share of 300");
}

#[test]
fn a_run_reports_the_cores_and_threads_used() {
    let outcome = run_verified(shared_table(1 << 10, 5));
    assert_eq!(number(&outcome, "cores_used"), 5.0);
    let outcome = run_verified(shared_table(1 << 10, 0));
    let cores = Hardware::this_machine().cores_or_threads() as f64;
    assert_eq!(number(&outcome, "cores_used"), cores, "all of them");
    assert!(number(&outcome, "hardware_threads") >= cores);
}

#[test]
fn invalid_shared_tables_are_refused_with_the_reason() {
    let point = |cores: u64| shared_table(64, cores);
    assert!(refusal(point(2).with_parameter("mode", 1u64)).contains("use updates_by = \"partitioned\""));
    assert!(refusal(point(65)).contains("65 cores are more than the 64 words"));
    assert!(
        refusal(point(2).with_parameter("updates_by", "locks").with_parameter("locks", 65u64)).contains("65 locks")
    );
    assert!(refusal(point(8).with_parameter("Q", 7u64)).contains("use a larger Q or fewer cores"));
    assert!(refusal(point(2).with_parameter("mode", 9u64)).contains("mode must lie between 1 and 8"));
    assert!(refusal(table("random_access.shared", 2, 64)).contains("runs on one rank"));
}

proptest! {
    /// Every word has one lock, and every lock has words.
    #[test]
    fn each_lock_covers_a_part_of_the_table(bits in 1u32..12, locks in 1usize..4096) {
        let locks = 1 + (locks - 1) % (1 << bits);
        let layout = Layout::new(bits, locks);
        let owners: Vec<usize> = (0..1u64 << bits).map(|word| layout.predict_owner(word)).collect();
        prop_assert!(owners.is_sorted());
        prop_assert!(owners.iter().all(|&lock| lock < locks));
        let distinct: std::collections::BTreeSet<_> = owners.into_iter().collect();
        prop_assert_eq!(distinct.len(), locks);
    }
}

/// Modes with one table per node, whether they conform to the rules, and whether a node generates a single stream.
#[test]
fn several_nodes_reproduce_the_sequential_table_in_every_mode() {
    for (mode, conformant, single) in [(5u64, false, false), (6, true, false), (7, false, true), (8, true, true)] {
        for (ranks, cores) in [(1usize, 1u64), (1, 3), (2, 2), (3, 2), (4, 1)] {
            for (stream, look_ahead) in [("lfsr", 1024u64), ("lcg", 7), ("lfsr", 3)] {
                let point = table("random_access.nodes", ranks, 1 << 9)
                    .with_parameter("cores", cores)
                    .with_parameter("mode", mode);
                let point = point.with_parameter("stream", stream).with_parameter("Q", look_ahead);
                let streams = ranks as u64 * if single { 1 } else { cores };
                let expected = sequential_hash(streams, &point);
                let label = point.label();
                let outcome = run_verified(point);
                assert_eq!(hash(&outcome), expected, "{label}");
                let rules = outcome.outputs["rules_broken"].to_string();
                assert_eq!(rules.contains("algorithm"), !conformant, "{label}: {rules}");
                assert_eq!(number(&outcome, "cores_used"), cores as f64);
                if conformant && ranks == 1 {
                    assert!(number(&outcome, "stored_max") <= look_ahead as f64, "{label}");
                }
            }
        }
    }
}

#[test]
fn nodes_exchange_remote_updates_and_refuse_impossible_points() {
    let outcome = run(table("random_access.nodes", 4, 1 << 12)
        .with_parameter("cores", 2u64)
        .with_parameter("mode", 8u64)
        .with_parameter("Q", 64u64));
    assert_eq!(outcome.verdict, Ok(()));
    assert!((number(&outcome, "hops_per_update") - 0.75).abs() < 0.05);
    assert!((number(&outcome, "messages_per_update") - 3.0 / 64.0).abs() < 1e-9);
    // Unlocked updates may be lost, but all are made.
    let racing = run(table("random_access.nodes", 2, 1 << 14)
        .with_parameter("cores", 2u64)
        .with_parameter("updates_by", "unlocked"));
    assert_eq!((racing.verdict, racing.outputs["updates_made"].as_f64()), (Ok(()), Some(65536.0)));
    let few = table("random_access.nodes", 2, 1 << 9).with_parameter("cores", 4u64).with_parameter("Q", 3u64);
    assert!(refusal(few).contains("use a larger Q or fewer cores"));
    assert!(refusal(table("random_access.nodes", 2, 4).with_parameter("cores", 4u64)).contains("8 streams"));
}
