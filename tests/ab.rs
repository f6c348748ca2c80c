//! Paired comparisons of two commands, or of two variants of a sweep: blocks, intervals, false alarms, drift, the command itself, and
//! its result.

use crate::common::{Scratch, apexmap, successful_stdout};
use apexmap_base::error::{Error, Result};
use apexmap_study::paired::{Limits, Pairs, Run, Side, Turn, measure};
use rand::SeedableRng;
use rand_distr::{Distribution, Normal};
use rand_pcg::Pcg64Mcg;
use std::cell::{Cell, RefCell};

/// A simulated machine: each run takes about a hundredth of a second.
struct Machine {
    /// Seconds of a run of A and of B.
    seconds: [f64; 2],
    /// Standard deviation of the logarithm of a run.
    noise: f64,
    /// Growth of all times over the budget.
    drift: f64,
}

const BUDGET: f64 = 5.0;

/// Compares the sides of a simulated machine until the interval is narrower than `width` or the simulated budget ends.
fn compare(machine: &Machine, width: f64, seed: u64) -> Pairs {
    let clock = Cell::new(0.0);
    let random = RefCell::new(Pcg64Mcg::seed_from_u64(seed));
    let noise = Normal::new(0.0, machine.noise).unwrap();
    let mut run = |Turn { side, .. }: Turn| {
        let growth = 1.0 + machine.drift * clock.get() / BUDGET;
        let seconds = machine.seconds[side as usize] * growth * noise.sample(&mut *random.borrow_mut()).exp();
        clock.set(clock.get() + seconds);
        Ok(Run { speed: 1.0 / seconds, is_disturbed: false })
    };
    let (limits, mut pairs) = (Limits { width, budget: BUDGET, seed: seed ^ 0x5EED }, Pairs::default());
    measure(&mut pairs, &limits, &mut || clock.get(), &mut run).unwrap();
    pairs
}

/// Measures pairs without earlier ones.
fn pairs_within(limits: Limits, elapsed: &mut dyn FnMut() -> f64, run: &mut dyn FnMut(Turn) -> Result<Run>) -> Pairs {
    let mut pairs = Pairs::default();
    measure(&mut pairs, &limits, elapsed, run).unwrap();
    pairs
}

#[test]
fn the_ratio_and_its_interval_have_known_values() {
    // Mean 0.02 of four values in two blocks: the quantile of t(1) at 0.9875 is 25.4517.
    let logarithms = vec![0.01, 0.03, 0.01, 0.03];
    let deviation = (4.0 * 0.01f64.powi(2) / 3.0).sqrt();
    let half = 25.451_699_579_1 * deviation / 2.0;
    let ratio = Pairs { logarithms, ..Pairs::default() }.ratio().unwrap();
    assert!((ratio.value.ln() - 0.02).abs() < 1e-12);
    assert!((ratio.low.ln() - (0.02 - half)).abs() < 1e-8 && (ratio.high.ln() - (0.02 + half)).abs() < 1e-8);
    assert_eq!(ratio.pairs, 4);
    assert_eq!(Pairs { logarithms: vec![0.1], ..Pairs::default() }.ratio(), None, "one pair has no spread");
}

#[test]
fn the_sentence_names_ratio_interval_and_pairs() {
    let ratio = apexmap_study::paired::Ratio { value: 1.043, low: 1.031, high: 1.055, pairs: 24 };
    assert_eq!(ratio.sentence(), "B is 1.043 times as fast as A (1.031 to 1.055), 24 pairs");
}

#[test]
fn equal_sides_differ_in_at_most_five_per_cent_of_200_comparisons() {
    for (width, noise) in [(0.01, 0.02), (0.001, 0.1)] {
        let equal = Machine { seconds: [0.01; 2], noise, drift: 0.0 };
        let alarms = (0..200).filter(|&seed| compare(&equal, width, seed).ratio().unwrap().is_decided()).count();
        assert!(alarms <= 10, "{alarms} false alarms with noise {noise}");
    }
}

#[test]
fn a_difference_of_two_per_cent_is_found_within_the_budget() {
    let slower = Machine { seconds: [0.01, 0.0102], noise: 0.02, drift: 0.0 };
    let decided = (0..100).filter(|&seed| compare(&slower, 0.01, seed).ratio().unwrap().high < 1.0).count();
    assert!(decided >= 90, "{decided} of 100");
}

#[test]
fn a_drift_of_ten_per_cent_moves_the_ratio_by_less_than_one_per_cent() {
    for seed in 0..20 {
        let drifting = Machine { seconds: [0.01, 0.0105], noise: 1e-6, drift: 0.1 };
        let ratio = compare(&drifting, 1e-9, seed).ratio().unwrap();
        assert!((ratio.value * 1.05 - 1.0).abs() < 0.001, "{ratio:?}");
    }
}

#[test]
fn blocks_have_both_orders_and_both_sides_equally() {
    let order = RefCell::new(Vec::new());
    let mut run = |turn: Turn| {
        order.borrow_mut().push(turn.side);
        Ok(Run { speed: 1.0, is_disturbed: false })
    };
    pairs_within(Limits { width: 0.0, budget: 1.0, seed: 3 }, &mut || order.borrow().len() as f64 / 40.0, &mut run);
    let blocks: Vec<Vec<Side>> = order.borrow().chunks(4).map(<[Side]>::to_vec).collect();
    use Side::{A, B};
    assert!(blocks.iter().all(|block| *block == [A, B, B, A] || *block == [B, A, A, B]));
    assert!(blocks.contains(&vec![A, B, B, A]) && blocks.contains(&vec![B, A, A, B]));
}

#[test]
fn a_disturbed_block_is_measured_again_and_a_machine_that_is_never_quiet_still_ends() {
    let runs = Cell::new(0);
    let mut run = |_| {
        runs.set(runs.get() + 1);
        // The second block.
        let is_disturbed = (5..=8).contains(&runs.get());
        Ok(Run { speed: if is_disturbed { 1.0 / f64::from(runs.get()) } else { 1.0 }, is_disturbed })
    };
    let pairs = pairs_within(Limits { width: 0.1, budget: 1e9, seed: 1 }, &mut || 0.0, &mut run);
    assert_eq!((pairs.repeated, pairs.disturbed), (1, 0));
    assert!(pairs.logarithms.iter().all(|value| *value == 0.0), "no disturbed run counts");
    let mut never_quiet = |_| Ok(Run { speed: 1.0, is_disturbed: true });
    let pairs = pairs_within(Limits { width: 0.1, budget: 1e9, seed: 1 }, &mut || 0.0, &mut never_quiet);
    assert_eq!((pairs.disturbed, pairs.repeated), (pairs.logarithms.len() / 2, 0), "each block counts");
}

/// Returns the command that prints a rate, which decides the comparison without a clock.
fn prints(rate: &str) -> String {
    format!("sh -c 'echo rate: {rate}'")
}

#[test]
fn the_last_line_has_the_ratio_and_fail_if_gives_the_exit_code() {
    let options = ["--value", "regex:rate: ([0-9.]+)", "--unit", "MB/s", "--budget", "1s"];
    let compare = |a: &str, b: &str, more: &[&str]| {
        let (a, b) = (prints(a), prints(b));
        apexmap(&[&["ab", &a, &b][..], &options, more].concat())
    };
    let faster = compare("100", "104", &["--null"]);
    let text = String::from_utf8_lossy(&faster.stdout);
    assert!(text.lines().last().unwrap().starts_with("B is 1.040 times as fast as A (1.040 to 1.040), "), "{text}");
    assert!(text.contains("null: A is 1.000 times as fast as itself"), "{text}");
    assert_eq!(compare("100", "97", &["--fail-if", "slower=2%"]).status.code(), Some(5));
    assert_eq!(compare("100", "99", &["--fail-if", "slower=2%"]).status.code(), Some(0));
    let failed = compare("100", "fast", &[]);
    let message = String::from_utf8_lossy(&failed.stderr);
    assert!(failed.status.code() == Some(4) && message.contains("does not match"), "{message}");
}

#[test]
fn json_has_the_ratio_and_the_medians() {
    let _scratch = Scratch::new();
    let (a, b) = (prints("100"), prints("50"));
    let text = successful_stdout(&["ab", &a, &b, "--value", "regex:rate: ([0-9.]+)", "--budget", "1s", "--json"]);
    let report: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(report["medians"], serde_json::json!([100.0, 50.0]));
    assert!((report["ratio"]["value"].as_f64().unwrap() - 0.5).abs() < 1e-12, "{report}");
}

#[test]
fn the_runs_of_a_pair_are_neighbours_of_both_sides() {
    let turns = RefCell::new(Vec::new());
    let mut run = |turn: Turn| {
        turns.borrow_mut().push(turn);
        // The second block is disturbed, so that it is measured again.
        Ok(Run { speed: 1.0, is_disturbed: (5..=8).contains(&turns.borrow().len()) })
    };
    let pairs = pairs_within(Limits { width: 0.1, budget: 1e9, seed: 5 }, &mut || 0.0, &mut run);
    let turns = turns.into_inner();
    assert_eq!((pairs.next as usize, turns.len()), (pairs.logarithms.len(), 2 * pairs.logarithms.len() + 4));
    for runs in turns.chunks(2) {
        assert!(runs[0].side != runs[1].side && runs[0].pair == runs[1].pair, "{runs:?}");
    }
    let places: Vec<(u32, u32)> = turns.chunks(2).map(|runs| (runs[0].pair, runs[0].repetition)).collect();
    assert_eq!(places[..6], [(0, 0), (1, 0), (2, 0), (3, 0), (2, 1), (3, 1)]);
}

#[test]
fn a_failed_run_keeps_the_complete_pairs_and_later_ones_are_added() {
    for runs_before in 0..12 {
        let count = Cell::new(0);
        let mut run = |turn: Turn| {
            count.set(count.get() + 1);
            let speed = if turn.side == Side::A { 1.0 } else { 2.0 };
            if count.get() > runs_before {
                Err(Error::measurement("it failed", ""))
            } else {
                Ok(Run { speed, is_disturbed: false })
            }
        };
        let (limits, mut pairs) = (Limits { width: 0.1, budget: 1e9, seed: runs_before }, Pairs::default());
        assert!(measure(&mut pairs, &limits, &mut || 0.0, &mut run).is_err());
        assert_eq!(pairs.logarithms, vec![2f64.ln(); runs_before as usize / 2], "{runs_before} runs");
        let begun = (runs_before as u32 / 4 + 1) * 2;
        assert_eq!(pairs.next, begun, "the block that failed is not continued");
        let mut run = |turn: Turn| {
            assert!(turn.pair >= begun, "{turn:?}");
            Ok(Run { speed: if turn.side == Side::A { 1.0 } else { 2.0 }, is_disturbed: false })
        };
        measure(&mut pairs, &limits, &mut || 0.0, &mut run).unwrap();
        assert!(pairs.logarithms.len() >= 12 && pairs.logarithms.iter().all(|value| *value == 2f64.ln()));
    }
}

#[test]
fn a_result_has_the_pairs_and_every_command_takes_it() {
    let scratch = Scratch::new();
    let (a, b, out) = (prints("100"), prints("104"), scratch.join("pairs"));
    let out = out.to_str().unwrap();
    let options = ["--value", "regex:rate: ([0-9.]+)", "--unit", "MB/s", "--budget", "1s", "--out", out];
    let text = successful_stdout(&[&["ab", &a, &b][..], &options].concat());
    let sentence = text.lines().last().unwrap();
    let page = std::fs::read_to_string(scratch.join("pairs/report.html")).unwrap().replace('\u{a0}', " ");
    let (question, answer) = (page.find("Is B faster than A?").unwrap(), page.find(sentence).unwrap());
    let figure = page.find("Speed of B relative to A, by pair").unwrap();
    assert!(question < answer && answer < figure, "{question} {answer} {figure}");
    let rows = successful_stdout(&["query", out, "--group-by", "side", "--select", "value_bytes_per_second"]);
    assert!(rows.contains("100 MB/s") && rows.contains("104 MB/s"), "{rows}");
    successful_stdout(&["show", out]);
    assert!(successful_stdout(&["status", out]).contains("2 planned, 2 done"));
    successful_stdout(&["report", out]);
    let [first, second] = ["A", "B"].map(|side| format!("{out}[side == \"{side}\"]"));
    let check = ["compare", &first, &second, "--no-page", "--fail-if", "slower=2%"];
    assert_eq!(apexmap(&check).status.code(), Some(0));
    assert_eq!(apexmap(&["compare", &second, &first, "--no-page", "--fail-if", "slower=2%"]).status.code(), Some(5));
    let again = apexmap(&[&["ab", &a, &b][..], &options].concat());
    assert!(String::from_utf8_lossy(&again.stderr).contains("continues after"), "the same command continues");
    let other = apexmap(&[&["ab", &b, &a][..], &options].concat());
    let message = String::from_utf8_lossy(&other.stderr);
    assert!(other.status.code() == Some(2) && message.contains("something other than this comparison"), "{message}");
}

#[test]
fn two_settings_of_a_sweep_are_compared_over_its_points() {
    let scratch = Scratch::new();
    let sweep = scratch.join("rates.toml");
    let text = "[fixed]\nkernel = \"command\"\ncommand = [\"sh\", \"-c\", \"echo rate: $(({speed} * {size}))\"]\n\
                value = { regex = 'rate: ([0-9]+)' }\n[axes]\nsize = [1, 10]\nspeed = [1, 2, 3]\n";
    std::fs::write(&sweep, text).unwrap();
    let (sweep, out) = (sweep.to_str().unwrap(), scratch.join("pairs"));
    let compare = ["ab", "--sweep", sweep, "--set-a", "speed=100", "--set-b", "speed=96", "--budget", "1s"];
    let text = successful_stdout(&[&compare[..], &["--out", out.to_str().unwrap()]].concat());
    assert!(text.lines().last().unwrap().starts_with("B is 0.9600 times as fast as A (0.9600 to 0.9600), "), "{text}");
    assert!(text.contains("A  speed=100"), "{text}");
    assert_eq!(apexmap(&[&compare[..], &["--fail-if", "slower=2%"]].concat()).status.code(), Some(5));
    let rows = successful_stdout(&["query", out.to_str().unwrap(), "--group-by", "side,size", "--select", "value"]);
    assert!(rows.contains("960") && rows.contains("1000"), "{rows}");
    let refused = apexmap(&["ab", "--sweep", sweep, "--set-a", "speed"]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("is no setting"));
}

#[test]
fn two_workers_of_a_sweep_are_compared() {
    let scratch = Scratch::new();
    let sweep = scratch.join("small.toml");
    let text = "[fixed]\nkernel = \"apex_map.sequential\"\nM = 4096\nI = 64\nN = 4\n[axes]\nL = [1, 64]\n";
    std::fs::write(&sweep, text).unwrap();
    let worker = env!("CARGO_BIN_EXE_apexmap");
    let compare =
        ["ab", "--sweep", sweep.to_str().unwrap(), "--worker-a", worker, "--worker-b", worker, "--budget", "1s"];
    let text = successful_stdout(&compare);
    let last = text.lines().last().unwrap();
    assert!(last.starts_with("B is ") && last.ends_with("pairs"), "{text}");
    let missing = apexmap(&["ab", "--sweep", sweep.to_str().unwrap(), "--worker-b", "no/worker"]);
    assert!(String::from_utf8_lossy(&missing.stderr).contains("no/worker"));
}
