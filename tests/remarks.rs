//! Tests of remarks that samples give about themselves: a coarse clock, trends within launches, two modes, refused huge pages. They give
//! remarks, wider intervals and undecided checks.

use crate::common::{Scratch, apexmap, output, successful_stdout};
use apexmap_base::disturbance::{Fact, Facts};
use apexmap_base::point::Value;
use apexmap_base::provenance::{Granularity, PlainNode};
use apexmap_results::disk::parquet;
use apexmap_results::samples::Samples;
use apexmap_results::table::{Table, TableBuilder};
use apexmap_theory::statistics::patterns::{clock_step, trend, two_modes};
use rand::SeedableRng;
use rand_distr::{Distribution, StandardNormal};
use rand_pcg::Pcg64Mcg;
use std::path::Path;
use std::process::Command;

/// Returns ten samples of each of six points in each of four launches. `seconds` returns the time of a sample from its number in the
/// launch and its number among all.
fn table_of(memory_words: u64, ticks: f64, huge_share: f64, seconds: impl Fn(u64, usize) -> f64) -> Table {
    let mut table = TableBuilder::default();
    let places =
        (0..4).flat_map(|launch| (0..10).flat_map(move |round| (0..6).map(move |point| (launch, round, point))));
    for (number, (launch, repetition, point)) in places.enumerate() {
        let seconds = seconds(repetition, number);
        table.begin_row();
        let mut set = |name: &str, value: Value| table.set(name, &value);
        for (name, word) in [("kernel", "apex_map.sequential"), ("pages", "huge"), ("status", "ok"), ("build", "b")] {
            set(name, word.into());
        }
        set("key", format!("k{point}").as_str().into());
        set("launch", format!("{launch:04}").as_str().into());
        set("ranks", Value::Integer(1));
        set("block", Value::Integer(launch));
        set("repetition", Value::Integer(repetition));
        set("block_words", Value::Integer(1 << point));
        set("seconds", Value::Real(seconds));
        set("clock_ticks", Value::Real(ticks));
        set("huge_share", Value::Real(huge_share));
        set("memory_words", Value::Integer(memory_words));
        set("bytes_per_second_per_rank", Value::Real(1e3 / seconds));
    }
    table.finish()
}

fn table(ticks: f64, huge_share: f64, seconds: impl Fn(u64, usize) -> f64) -> Table {
    table_of(1 << 26, ticks, huge_share, seconds)
}

fn remarks(seconds: impl Fn(u64, usize) -> f64) -> Vec<String> {
    Samples::from(table(1e6, 1.0, seconds)).remarks(&PlainNode::default())
}

/// Returns random times with this relative deviation, around 1 ms.
fn noise(seed: u64, deviation: f64) -> Vec<f64> {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let normal = StandardNormal.sample_iter(&mut random);
    normal.take(240).map(|z: f64| 1e-3 * (deviation * z).exp()).collect()
}

fn write(scratch: &Path, name: &str, table: &Table) -> String {
    let path = scratch.join(name);
    parquet::write(&mut std::fs::File::create(&path).expect("a file"), &path, table).expect("written");
    path.to_str().expect("a name").to_owned()
}

/// Compares two results with a limit of 2 %. Returns the exit code and the output.
fn check(base: &Table, new: &Table) -> (i32, String) {
    let scratch = Scratch::new();
    let [base, new] = [("base.parquet", base), ("new.parquet", new)].map(|(name, table)| write(&scratch, name, table));
    let ended = apexmap(&["compare", &base, &new, "--fail-if", "slower=2%", "--no-page"]);
    let text = [ended.stdout, ended.stderr].map(|text| String::from_utf8(text).expect("text")).concat();
    (ended.status.code().expect("a code"), text)
}

#[test]
fn usual_samples_have_no_remark() {
    for seed in 0..100 {
        let times = noise(seed, 0.02);
        assert_eq!(remarks(|_, number| times[number]), [""; 0], "seed {seed}");
    }
    assert_eq!(remarks(|_, _| 1e-3), [""; 0], "equal times");
}

#[test]
fn a_step_of_the_clock_widens_intervals_and_leaves_the_check_undecided() {
    // Times of 3 or 4 us by a clock that counts microseconds.
    let quantised = |usual: f64, rare: f64| {
        table(1e6, 1.0, move |_, number| if (number / 6 + number % 6) % 10 == 3 { rare } else { usual })
    };
    let (three, four) = (quantised(3e-6, 4e-6), quantised(4e-6, 3e-6));
    let (code, text) = check(&three, &four);
    assert_eq!(code, 4, "{text}");
    assert!(
        text.contains("UNDECIDED: 0 of 6 points") && text.contains("The clock is too coarse for 240 of 240"),
        "{text}"
    );
    // The column alone says the same: equal times of twenty steps.
    let samples = Samples::from(table(20.0, 1.0, |_, _| 1e-3)).with_word("key", &["k0"]);
    let (low, high) = samples.summary("seconds").expect("a summary").interval.expect("an interval");
    assert!((high - low) / 1e-3 >= 1.0 / 20.0 && high - low < 1e-4, "{low} to {high}");
    assert!(
        samples.remarks(&PlainNode::default())[0].starts_with("The clock is too coarse for 40 of 40 samples"),
        "{:?}",
        samples.remarks(&PlainNode::default())
    );
    // A slowdown that is much larger than a step is found.
    let (code, text) = check(&table(1e3, 1.0, |_, _| 1e-3), &table(1e3, 1.0, |_, _| 1.2e-3));
    assert_eq!(code, 5, "{text}");
}

#[test]
fn a_trend_within_launches_widens_intervals_and_leaves_the_check_undecided() {
    let rising = |repetition: u64, _: usize| 1e-3 * (1.0 + 0.05 * repetition as f64);
    let remark = remarks(rising).concat();
    assert!(
        remark.starts_with("At 6 of 6 points, times change by up to +45 % from the first to the last sample"),
        "{remark}"
    );
    let samples = Samples::from(table(1e6, 1.0, rising)).with_word("key", &["k0"]);
    let (low, high) = samples.summary("seconds").expect("a summary").interval.expect("an interval");
    assert!(low < 1.03e-3 && high > 1.44e-3, "{low} to {high}");
    let falling = remarks(|repetition, _| 1e-3 * (1.45 - 0.05 * repetition as f64)).concat();
    assert!(falling.contains("change by up to -31 %"), "{falling}");
    let (code, text) = check(&table(1e6, 1.0, |_, _| 1e-3), &table(1e6, 1.0, rising));
    assert!(code == 4 && text.contains("+45 %"), "{code}: {text}");
    // A trend that no point shows alone.
    let times = noise(7, 0.15);
    let remark = remarks(|repetition, number| times[number] * (1.0 + 0.02 * repetition as f64)).concat();
    assert!(remark.contains("times change by +") || remark.contains("times change by up to +"), "{remark}");
}

#[test]
fn two_modes_are_reported_with_their_times() {
    let times = noise(11, 0.003);
    let remark =
        remarks(|_, number| times[number] * if (number * 7 + number / 13) % 2 == 0 { 1.0 } else { 1.3 }).concat();
    assert!(remark.contains("times have two modes, such as ") && remark.contains("1.3 ms"), "{remark}");
    assert_eq!(two_modes(&[1.0, 1.1].repeat(5)), None, "too few values");
    assert_eq!(two_modes(&[vec![1.0; 11], vec![2.0; 1]].concat()), None, "an outlier");
    assert_eq!(two_modes(&[1.0, 1.01, 1.02, 2.0, 2.01, 2.02].repeat(2)), Some((1.01, 2.01)));
}

#[test]
fn refused_huge_pages_are_reported() {
    let node = PlainNode::default();
    let samples = Samples::from(table(1e6, 0.0, |_, _| 1e-3));
    let remark = samples.remarks(&node).concat();
    assert!(remark.starts_with("Huge pages were requested and not granted in 240 of 240 samples"), "{remark}");
    let small = Samples::from(table_of(1 << 16, 1e6, 0.0, |_, _| 1e-3)).remarks(&node);
    assert_eq!(small, [""; 0], "512 KiB are less than half of a huge page");
    let with_huge_pages = |huge_page_bytes| {
        let granularity = Granularity { huge_page_bytes, ..Granularity::default() };
        samples.remarks(&PlainNode { granularity: Some(granularity), ..node }).len()
    };
    // A rank has 512 MiB.
    assert_eq!([512 << 20, 2 << 30].map(with_huge_pages), [1, 0], "the size of huge pages is that of the node");
}

#[test]
fn status_and_compare_show_remarks() {
    let scratch = Scratch::new();
    let rising = table(1e6, 1.0, |repetition, _| 1e-3 * (1.0 + 0.05 * repetition as f64));
    let path = write(&scratch, "samples.parquet", &rising);
    let status = successful_stdout(&["status", scratch.to_str().expect("a name")]);
    assert!(status.contains("remark: At 6 of 6 points, times change"), "{status}");
    let slower = table(1e6, 1.0, |repetition, _| 1.01e-3 * (1.0 + 0.05 * repetition as f64));
    let other = write(&scratch, "other.parquet", &slower);
    let compared = apexmap(&["compare", &path, &other, "--fail-if", "slower=90%", "--no-page"]);
    let text = [compared.stdout, compared.stderr].map(|text| String::from_utf8(text).expect("text")).concat();
    assert!(text.contains("times change by up to +45 %"), "{text}");
}

#[test]
fn the_step_of_a_clock_shows_in_times_that_are_often_equal() {
    assert!((clock_step(&[3e-6, 4e-6, 4e-6, 3e-6, 4e-6, 3e-6]) - 1e-6).abs() < 1e-15);
    assert!((clock_step(&[3e-6, 4e-6, 6e-6].repeat(8)) - 1e-6).abs() < 1e-15);
    assert_eq!(clock_step(&[1.0; 9]), 0.0, "one value shows no step");
    assert_eq!(clock_step(&[1.0, 1.1, 1.2, 1.2, 1.3, 1.4]), 0.0, "most values differ");
}

/// Computed by scipy 1.17.1: stats.spearmanr, and the ends of the line of stats.linregress.
#[test]
fn the_deviate_of_a_trend_is_that_of_spearmans_coefficient() {
    let times = vec![2.1, 1.9, 2.6, 2.4, 3.0, 2.2, 2.9, 3.3];
    let line = trend(std::slice::from_ref(&times)).expect("a trend");
    assert!((line.deviate - 0.7619047619047621 * 7f64.sqrt()).abs() < 1e-12, "{line:?}");
    assert!((line.change - 1.5289256198347105).abs() < 1e-12, "{line:?}");
    assert_eq!(trend(&[vec![1.0]]), None);
}

/// A clock that advances once per millisecond for every program that loads it.
const COARSE_CLOCK: &str = r"
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t id, struct timespec *t) {
    long r = syscall(SYS_clock_gettime, id, t);
    t->tv_nsec -= t->tv_nsec % 1000000;
    return r;
}";

#[test]
fn a_clock_that_does_not_advance_fails_the_sample_with_its_own_reason() {
    let infinite =
        Facts::default().with_fact(Fact::HertzBefore, f64::INFINITY).with_fact(Fact::RunDelayShare, f64::NAN);
    assert!(infinite.is_empty(), "JSON has no form for these numbers");
    let scratch = Scratch::new();
    let [source, library, sweep] = ["clock.c", "clock.so", "short.toml"].map(|name| scratch.join(name));
    std::fs::write(&source, COARSE_CLOCK).expect("written");
    let mut cc = Command::new("cc");
    let built = cc.args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source).status();
    assert!(built.is_ok_and(|status| status.success()), "a C compiler named cc is needed");
    let text = "[fixed]\nM = \"4 kwords\"\nL = 8\nI = 8\nN = 2\nalpha = 1\n[[include]]\nkernel = \"apex_map.sequential\"\nranks = 1\n\
                [[include]]\nkernel = \"apex_map.two_sided\"\nranks = 2\n[repeat]\nmin = 2\n[launch]\ntransport = \"threads\"\npreflight = 0\n";
    std::fs::write(&sweep, text).expect("written");
    let mut program = Command::new(env!("CARGO_BIN_EXE_apexmap"));
    program.args(["run", "--no-report", "--out"]).arg(scratch.join("result")).arg(&sweep).env("LD_PRELOAD", &library);
    let ended = output(&mut program);
    let text = [ended.stdout, ended.stderr].map(|text| String::from_utf8(text).expect("text")).concat();
    assert!(!text.contains("inconsistent"), "{text}");
    let result = scratch.join("result");
    let status = successful_stdout(&["status", result.to_str().expect("a name")]);
    let reason = "the clock is too coarse for this run: it did not advance (resolution 1 ms)";
    assert!(status.contains(reason), "{text}\n{status}");
}
