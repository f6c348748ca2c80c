//! Paired comparisons of two commands, or of two variants of a sweep: blocks, intervals, false alarms, drift, the command itself, and
//! its result.

use crate::common::{Scratch, apexmap, successful_stdout};
use crate::terminal::terminal_with_size;
use apexmap_base::error::{Error, Result};
use apexmap_base::units::Unit;
use apexmap_study::paired::{Limits, Pairs, Ratio, Run, Turn, measure};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rand::SeedableRng;
use rand_distr::{Distribution, Normal};
use rand_pcg::Pcg64Mcg;
use std::cell::{Cell, RefCell};
use std::io::Read;
use std::process::{Command, Stdio};

/// A simulated machine: each run takes about a hundredth of a second.
struct Machine {
    /// Seconds of a run of A, of B, and so on.
    seconds: Vec<f64>,
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
        let seconds = machine.seconds[side] * growth * noise.sample(&mut *random.borrow_mut()).exp();
        clock.set(clock.get() + seconds);
        Ok(Run { speed: 1.0 / seconds, is_disturbed: false })
    };
    let limits = Limits { width, budget: BUDGET, runs: None, seed: seed ^ 0x5EED };
    measure_pairs(machine.seconds.len(), limits, &mut || clock.get(), &mut run)
}

/// Measures pairs without earlier ones.
fn measure_pairs(
    sides: usize,
    limits: Limits,
    elapsed: &mut dyn FnMut() -> f64,
    run: &mut dyn FnMut(Turn) -> Result<Run>,
) -> Pairs {
    let mut pairs = Pairs::new(sides);
    measure(&mut pairs, &limits, elapsed, run, &mut |_| ()).unwrap();
    pairs
}

/// Returns the ratio of B and A.
fn ratio(pairs: &Pairs) -> Ratio {
    pairs.ratios()[0].unwrap()
}

fn limits(width: f64, budget: f64, seed: u64) -> Limits {
    Limits { width, budget, runs: None, seed }
}

#[test]
fn the_ratio_and_its_interval_have_known_values() {
    // Mean 0.02 of four values in two blocks: the quantile of t(1) at 0.9875 is 25.4517.
    let logarithms = vec![vec![0.01, 0.03, 0.01, 0.03]];
    let deviation = (4.0 * 0.01f64.powi(2) / 3.0).sqrt();
    let half = 25.451_699_579_1 * deviation / 2.0;
    let ratio = ratio(&Pairs { logarithms, ..Pairs::default() });
    assert!((ratio.value.ln() - 0.02).abs() < 1e-12);
    assert!((ratio.low.ln() - (0.02 - half)).abs() < 1e-8 && (ratio.high.ln() - (0.02 + half)).abs() < 1e-8);
    assert_eq!(ratio.pairs, 4);
    assert_eq!(Pairs { logarithms: vec![vec![0.1]], ..Pairs::default() }.ratios(), [None], "one pair has no spread");
}

#[test]
fn the_sentence_has_a_factor_above_1_with_interval_and_pairs() {
    let slower = Ratio { value: 0.672, low: 0.648, high: 0.697, pairs: 24 };
    let faster = Ratio { value: 1.25, low: 1.2, high: 1.3, pairs: 24 };
    let equal = Ratio { value: 1.0004, low: 0.9996, high: 1.0012, pairs: 24 };
    let sentence = |ratio: Ratio, unit| ratio.sentence("B", unit);
    assert_eq!(sentence(slower, Unit::Seconds), "B takes 1.49 times as long as A (1.43 to 1.54), 24 pairs");
    assert_eq!(sentence(faster, Unit::Seconds), "B is 1.25 times as fast as A (1.20 to 1.30), 24 pairs");
    assert_eq!(sentence(slower, Unit::BytesPerSecond), "A is 1.49 times as fast as B (1.43 to 1.54), 24 pairs");
    assert_eq!(sentence(slower, Unit::Bytes), "B needs 1.49 times the memory of A (1.43 to 1.54), 24 pairs");
    assert_eq!(sentence(faster, Unit::Bytes), "A needs 1.25 times the memory of B (1.20 to 1.30), 24 pairs");
    assert!(sentence(equal, Unit::Seconds).starts_with("Undecided: B is 1.000 times as fast as A (0.9996 to 1.001)"));
}

#[test]
fn the_time_left_follows_from_the_width_and_never_exceeds_the_budget() {
    // Two blocks of the same mean and spread: the interval has a known width.
    let pairs = Pairs { logarithms: vec![[0.01, 0.03].repeat(8)], ..Pairs::default() };
    let ratio = ratio(&pairs);
    let width = (ratio.high - ratio.low) / ratio.value;
    // Half the width needs four times the pairs: 48 more at one second each.
    assert!((pairs.seconds_left(0, &limits(width / 2.0, 1e9, 0), 16.0) - 48.0).abs() < 1e-6);
    assert_eq!(pairs.seconds_left(0, &limits(width / 2.0, 20.0, 0), 16.0), 4.0);
    // Eight pairs are of an earlier comparison, so that a pair takes two seconds.
    assert!((pairs.seconds_left(8, &limits(width / 2.0, 1e9, 0), 16.0) - 96.0).abs() < 1e-6);
    let runs = Limits { runs: Some(20), ..limits(0.01, 30.0, 0) };
    assert_eq!(pairs.seconds_left(0, &runs, 160.0), 40.0, "a number of runs has no budget");
    assert_eq!(Pairs::new(2).seconds_left(0, &limits(0.01, 30.0, 0), 1.0), 29.0);
}

#[test]
fn each_of_several_sides_is_compared_with_the_first() {
    let machine = Machine { seconds: vec![0.01, 0.02, 0.005, 0.01], noise: 1e-6, drift: 0.1 };
    let pairs = compare(&machine, 1e-9, 7);
    let values: Vec<f64> = pairs.ratios().into_iter().map(|ratio| ratio.unwrap().value).collect();
    for (value, expected) in values.iter().zip([0.5, 2.0, 1.0]) {
        assert!((value / expected - 1.0).abs() < 0.002, "{values:?}");
    }
    let sentences = pairs.sentences(Unit::Seconds);
    assert!(sentences[0].starts_with("B takes 2") && sentences[1].starts_with("C is 2"), "{sentences:?}");
    assert!(sentences[2].contains('D') && sentences.len() == 3, "{sentences:?}");
}

#[test]
fn a_number_of_runs_is_exact_and_ignores_budget_width_and_disturbance() {
    for runs in [4, 7, 20] {
        let counts = RefCell::new([0; 3]);
        let mut run = |turn: Turn| {
            counts.borrow_mut()[turn.side] += 1;
            Ok(Run { speed: 1.0, is_disturbed: counts.borrow()[0] == 3 })
        };
        let limits = Limits { runs: Some(runs), ..limits(0.5, 1e-9, 2) };
        let pairs = measure_pairs(3, limits, &mut || 1e9, &mut run);
        assert_eq!((counts.into_inner(), pairs.count()), ([runs; 3], runs));
        assert_eq!((pairs.repeated, pairs.is_budget_spent), (0, false));
    }
}

#[test]
fn equal_sides_differ_in_at_most_five_per_cent_of_200_comparisons() {
    for (width, noise) in [(0.01, 0.02), (0.001, 0.1)] {
        let equal = Machine { seconds: vec![0.01; 2], noise, drift: 0.0 };
        let alarms = (0..200).filter(|&seed| ratio(&compare(&equal, width, seed)).is_decided()).count();
        assert!(alarms <= 10, "{alarms} false alarms with noise {noise}");
    }
}

#[test]
fn a_difference_of_two_per_cent_is_found_within_the_budget() {
    let slower = Machine { seconds: vec![0.01, 0.0102], noise: 0.02, drift: 0.0 };
    let decided = (0..100).filter(|&seed| ratio(&compare(&slower, 0.01, seed)).high < 1.0).count();
    assert!(decided >= 90, "{decided} of 100");
}

#[test]
fn a_drift_of_ten_per_cent_moves_the_ratio_by_less_than_one_per_cent() {
    for seed in 0..20 {
        let drifting = Machine { seconds: vec![0.01, 0.0105], noise: 1e-6, drift: 0.1 };
        let ratio = ratio(&compare(&drifting, 1e-9, seed));
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
    measure_pairs(2, limits(0.0, 1.0, 3), &mut || order.borrow().len() as f64 / 40.0, &mut run);
    let blocks: Vec<Vec<usize>> = order.borrow().chunks(4).map(<[usize]>::to_vec).collect();
    assert!(blocks.iter().all(|block| *block == [0, 1, 1, 0] || *block == [1, 0, 0, 1]));
    assert!(blocks.contains(&vec![0, 1, 1, 0]) && blocks.contains(&vec![1, 0, 0, 1]));
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
    let pairs = measure_pairs(2, limits(0.1, 1e9, 1), &mut || 0.0, &mut run);
    assert_eq!((pairs.repeated, pairs.disturbed), (1, 0));
    assert!(pairs.logarithms[0].iter().all(|value| *value == 0.0), "no disturbed run counts");
    let mut never_quiet = |_| Ok(Run { speed: 1.0, is_disturbed: true });
    let pairs = measure_pairs(2, limits(0.1, 1e9, 1), &mut || 0.0, &mut never_quiet);
    assert_eq!((pairs.disturbed, pairs.repeated), (pairs.count() / 2, 0), "each block counts");
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
    assert!(text.contains("null: A against itself: 1.000 (1.000 to 1.000), "), "{text}");
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
    let sides = report["sides"].as_array().unwrap();
    assert_eq!([&sides[0]["median"], &sides[1]["median"]], [100.0, 50.0]);
    assert!((sides[1]["ratio"]["value"].as_f64().unwrap() - 0.5).abs() < 1e-12, "{report}");
    assert!(sides[0]["ratio"].is_null() && sides[1]["name"] == b, "{report}");
}

#[test]
fn the_runs_of_a_pair_are_neighbours_of_both_sides() {
    let turns = RefCell::new(Vec::new());
    let mut run = |turn: Turn| {
        turns.borrow_mut().push(turn);
        // The second block is disturbed, so that it is measured again.
        Ok(Run { speed: 1.0, is_disturbed: (5..=8).contains(&turns.borrow().len()) })
    };
    let pairs = measure_pairs(2, limits(0.1, 1e9, 5), &mut || 0.0, &mut run);
    let turns = turns.into_inner();
    assert_eq!((pairs.next as usize, turns.len()), (pairs.count(), 2 * pairs.count() + 4));
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
            let speed = if turn.side == 0 { 1.0 } else { 2.0 };
            if count.get() > runs_before {
                Err(Error::measurement("it failed", ""))
            } else {
                Ok(Run { speed, is_disturbed: false })
            }
        };
        let (limits, mut pairs) = (limits(0.1, 1e9, runs_before), Pairs::new(2));
        assert!(measure(&mut pairs, &limits, &mut || 0.0, &mut run, &mut |_| ()).is_err());
        assert_eq!(pairs.logarithms, [vec![2f64.ln(); runs_before as usize / 2]], "{runs_before} runs");
        let begun = (runs_before as u32 / 4 + 1) * 2;
        assert_eq!(pairs.next, begun, "the block that failed is not continued");
        let mut run = |turn: Turn| {
            assert!(turn.pair >= begun, "{turn:?}");
            Ok(Run { speed: if turn.side == 0 { 1.0 } else { 2.0 }, is_disturbed: false })
        };
        measure(&mut pairs, &limits, &mut || 0.0, &mut run, &mut |_| ()).unwrap();
        assert!(pairs.count() >= 12 && pairs.logarithms[0].iter().all(|value| *value == 2f64.ln()));
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
    let figure = page.find("Speed relative to A, by pair").unwrap();
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
    assert!(text.lines().last().unwrap().starts_with("A is 1.042 times as fast as B (1.042 to 1.042), "), "{text}");
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
    assert!(last.contains(" times as fast as ") && last.ends_with("pairs"), "{text}");
    let missing = apexmap(&["ab", "--sweep", sweep.to_str().unwrap(), "--worker-b", "no/worker"]);
    assert!(String::from_utf8_lossy(&missing.stderr).contains("no/worker"));
}

#[test]
fn three_commands_are_compared_with_the_first_and_kept_by_side() {
    let scratch = Scratch::new();
    let out = scratch.join("three");
    let out = out.to_str().unwrap();
    let commands = ["100", "80", "125"].map(prints);
    let [a, b, c] = commands.each_ref().map(String::as_str);
    let options = ["--value", "regex:rate: ([0-9.]+)", "--unit", "MB/s", "--runs", "4", "--out", out];
    let compare = |more: &[&str]| apexmap(&[&["ab", a, b, c][..], &options, more].concat());
    let done = compare(&[]);
    let text = String::from_utf8_lossy(&done.stdout);
    let last: Vec<&str> = text.lines().rev().take(2).collect();
    assert!(last[1].starts_with("A is 1.250 times as fast as B (1.250 to 1.250), 4 pairs"), "{text}");
    assert!(last[0].starts_with("C is 1.250 times as fast as A (1.250 to 1.250), 4 pairs"), "{text}");
    let page = std::fs::read_to_string(std::path::Path::new(out).join("report.html")).unwrap().replace('\u{a0}', " ");
    assert!(page.contains("Which is faster than A?") && page.contains(&format!("{}; {}", last[1], last[0])));
    let rows = successful_stdout(&["query", out, "--group-by", "side", "--select", "value_bytes_per_second"]);
    for row in [["A", "100 MB/s"], ["B", "80 MB/s"], ["C", "125 MB/s"]] {
        assert!(rows.lines().any(|line| row.iter().all(|word| line.contains(word))), "{rows}");
    }
    assert_eq!(compare(&["--fail-if", "slower=10%"]).status.code(), Some(5), "B is slower");
    assert_eq!(compare(&["--fail-if", "slower=30%"]).status.code(), Some(0));
}

#[test]
fn wrong_numbers_of_commands_and_runs_are_refused_before_anything_starts() {
    let scratch = Scratch::new();
    let mark = scratch.join("ran");
    let touch = format!("touch {}", mark.display());
    let wrong: [(&[&str], &str); 6] = [
        (&["ab", &touch], "`apexmap run --command` measures a single one"),
        (&["ab", &touch, &touch, "--runs", "3"], "write --runs 4 or more"),
        (&["ab", &touch, &touch, "--runs", "8", "--budget", "1s"], "cannot be used with"),
        (&["ab", &touch, "true | cat"], "write sh -c 'true | cat' as the command, or add --shell sh"),
        (&["ab", &touch, &touch, "--setup", "true; true"], "; needs a shell"),
        (&["ab", "--sweep", "quickstart", "--runs", "8"], "cannot be used with"),
    ];
    for (line, expected) in wrong {
        let refused = apexmap(line);
        let message = String::from_utf8_lossy(&refused.stderr);
        assert!(refused.status.code() == Some(2) && message.contains(expected), "{line:?}: {message}");
    }
    for line in [["./nosuch", &touch, "", ""], [&touch, &touch, "--setup", "nosuch"]] {
        let line: Vec<&str> = line.into_iter().filter(|word| !word.is_empty()).collect();
        let refused = apexmap(&[&["ab"], &line[..]].concat());
        let message = String::from_utf8_lossy(&refused.stderr);
        assert!(refused.status.code() == Some(3) && message.contains("there is no program"), "{line:?}: {message}");
    }
    assert!(!mark.exists(), "nothing ran");
}

#[test]
fn warm_up_set_up_and_clean_up_surround_each_run_of_each_command() {
    let scratch = Scratch::new();
    let log = scratch.join("log");
    let add = |letter: &str| format!("echo {letter} >> {}", log.display());
    let (a, b) = (format!("{}; exit 3", add("a")), add("b"));
    let options = ["--prepare", &add("s"), "--cleanup", &add("c"), "--success", "0,3"];
    let more = ["--shell", "sh", "--warmup", "2", "--runs", "4"];
    successful_stdout(&[&["ab", &a, &b][..], &options, &more].concat());
    let log = std::fs::read_to_string(log).unwrap().replace('\n', "");
    // Two warm-up runs and four others of each command.
    assert_eq!(log.len(), 3 * 2 * 6, "{log}");
    assert!(log.starts_with("sacsbcsacsbc"), "{log}");
    assert_eq!(log.matches("sac").count(), 6, "{log}");
    assert_eq!(log.matches("sbc").count(), 6, "{log}");
}

#[test]
fn a_terminal_shows_the_ratio_with_the_time_left_and_ctrl_c_prints_what_there_is() {
    let (mut master, slave) = terminal_with_size(100, 24);
    let mut command = Command::new(env!("CARGO_BIN_EXE_apexmap"));
    command.args(["ab", "sleep 0.01", "sleep 0.03", "--budget", "10min", "--width", "1e-9"]);
    command.env("TERM", "xterm").env("NO_COLOR", "1").stdin(Stdio::null());
    let mut child = command.stderr(slave.try_clone().unwrap()).stdout(slave).spawn().unwrap();
    drop(command);
    let (mut text, mut part, mut is_interrupted) = (String::new(), [0; 4096], false);
    // Reading from a terminal ends with an error.
    while let Ok(length @ 1..) = master.read(&mut part) {
        text.push_str(&String::from_utf8_lossy(&part[..length]));
        if !is_interrupted && text.contains("B takes ") {
            is_interrupted = true;
            kill(Pid::from_raw(child.id() as i32), Signal::SIGINT).unwrap();
        }
    }
    assert_eq!(child.wait().unwrap().code(), Some(130), "{text}");
    let (progress, rest) = text.split_at(text.find("interrupted after ").unwrap());
    assert!(progress.contains("pairs, about ") && progress.contains(" left"), "{progress}");
    assert!(rest.contains("B takes ") && rest.contains(" times as long as A ("), "{rest}");
}
