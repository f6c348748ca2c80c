//! Tests of the verdict of `apexmap locate`: I / T of measured inputs, gains with measured values, costs from samples and cards, and programs.

use crate::common::{self, Scratch, sample, table};
use crate::locate_tracer::compile;
use apexmap::{Point, kernels};
use apexmap_locate::change::{Change, Gain};
use apexmap_locate::costs::{Access, Cost, Costs};
use apexmap_locate::located::{Located, Machine, Pages, Part};
use apexmap_locate::sets::Conflict;
use apexmap_locate::verdict::{Class, Timing, Verdict, explain_short_reach};
use apexmap_locate::walk::Kind;
use apexmap_measure::provenance::host;
use apexmap_results::samples::Samples;
use apexmap_study::verdict::{from_card, from_samples};
use apexmap_theory::machine::Card;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};

const MIB: f64 = (1 << 20) as f64;
const MACHINE: Machine =
    Machine { caches: [("second-level cache", 1 << 20), ("last cache", 32 << 20)], sets: None, tlb_entries: None };

/// A line of a million accesses to 256 MiB, of which this share misses both caches.
fn line(name: &str, kind: Kind, miss_ratio: f64) -> (Part, f64) {
    let pages = Pages { bytes: 0.0, huge_bytes: 0.0, miss_ratio: None };
    let part = Part {
        name: name.into(),
        function: String::new(),
        is_line: true,
        kinds: vec![(kind, 1.0)],
        share: 0.0,
        misses: [0.0; 2],
        stride: 16 << 10,
        step_bytes: 8.0,
        footprint: 256.0 * MIB,
        pages,
        conflict: None,
        reused_after: None,
        place: None,
        accesses: 1_000_000,
        stores: 0,
        words: 1e6,
    };
    (part, miss_ratio)
}

fn make_located(lines: Vec<(Part, f64)>) -> Located {
    let program = Part { accesses: lines.iter().map(|(part, _)| part.accesses).sum(), ..lines[0].0.clone() };
    let misses = |(part, ratio): &(Part, f64)| part.accesses as f64 * ratio;
    let total: f64 = lines.iter().map(misses).sum();
    let miss_ratios = [total / program.accesses as f64; 2];
    let lines = lines.into_iter().map(|line| Part { misses: [misses(&line) / total; 2], ..line.0 }).collect();
    Located { lines, functions: Vec::new(), program, machine: MACHINE, miss_ratios, level: 0 }
}

fn cost(access: Access, stride: f64, bytes: f64, nanoseconds: f64) -> Cost {
    Cost { access, stride, region_bytes: bytes, seconds: 1e-9 * nanoseconds }
}

/// Per word, a sweep takes 1 ns, an independent access 10 ns and a dependent one 100 ns, at all sizes but the smallest.
fn costs() -> Costs {
    let accesses = [(Access::Sweep, 1.0), (Access::Independent, 10.0), (Access::Dependent, 100.0)];
    let mut costs = accesses.map(|(access, time)| cost(access, 1.0, 512.0 * MIB, time)).to_vec();
    // The time is the same between 0.5 and 512 MiB.
    costs.extend([(16.0, 0.2), (0.5 * MIB, 10.0)].map(|(bytes, time)| cost(Access::Independent, 1.0, bytes, time)));
    Costs::new("results/codes".into(), costs)
}

fn judge(lines: Vec<(Part, f64)>, milliseconds: f64) -> Verdict {
    let timing = Timing { seconds: 1e-3 * milliseconds, huge_pages: Some([1.05, 1.03, 1.074]), note: None };
    Verdict::new(&make_located(lines), &costs(), timing, 1.0).expect("a verdict")
}

#[test]
fn the_time_of_all_misses_decides_between_memory_and_computation() {
    let class = |kind: Kind, ratio: f64, milliseconds: f64| {
        let verdict = judge(vec![line("a.c:7", kind, ratio)], milliseconds);
        (verdict.class, (1e3 * verdict.memory_share).round())
    };
    assert_eq!(class(Kind::Random, 1.0, 101.0), (Class::Compute, 99.0));
    assert_eq!(class(Kind::Random, 1.0, 99.9), (Class::Between, 100.0));
    assert_eq!(class(Kind::Random, 1.0, 20.1), (Class::Between, 498.0));
    assert_eq!(class(Kind::Random, 1.0, 19.9), (Class::Memory, 503.0));
    assert_eq!(class(Kind::Local, 0.1, 1.0), (Class::Memory, 1000.0));
    // A miss of a sweep brings eight words.
    assert_eq!(class(Kind::Sweep, 0.125, 9.99), (Class::Between, 100.0));
    // A walk that no map has costs as independent accesses.
    assert_eq!(class(Kind::Strided, 0.5, 10.1), (Class::Between, 495.0));
    assert_eq!(class(Kind::Chain, 1.0, 110.0), (Class::Chain, 909.0));
    assert_eq!(class(Kind::Pointer, 1.0, 110.0), (Class::Chain, 909.0));
    // One by one, these misses would take 100 ms: they overlap.
    assert_eq!(class(Kind::Pointer, 1.0, 12.0), (Class::Memory, 833.0));
    let half = vec![line("a.c:1", Kind::Chain, 0.1), line("a.c:2", Kind::Random, 1.1)];
    assert_eq!(judge(half, 30.0).class, Class::Memory, "10 ms of chains, 11 of others");
}

#[test]
fn time_that_larger_pages_save_is_time_of_memory() {
    let verdict = |low: f64| {
        let timing = Timing { seconds: 0.1, huge_pages: Some([low + 0.1, low, low + 0.2]), note: None };
        let verdict = Verdict::new(&make_located(vec![line("a.c:7", Kind::Random, 0.5)]), &costs(), timing, 1.0);
        verdict.map(|verdict| (verdict.class, verdict.sentences().remove(0))).expect("a verdict")
    };
    assert_eq!(verdict(1.1).0, Class::Compute, "a tenth of 1.1 is saved, less than a tenth of the time");
    let sentence = "Memory takes part of the time (I / T = 0.05; 2 MiB pages save 20 %), 100 % of I at a.c:7 (random).";
    assert_eq!(verdict(1.25), (Class::Between, sentence.to_owned()));
    assert_eq!(verdict(2.1).0, Class::Memory);
}

#[test]
fn lines_that_displace_each_other_wait_for_the_next_cache() {
    let (mut part, ratio) = line("a.c:7", Kind::Strided, 0.5);
    part.conflict = Some(Conflict { lines: 1536, sets: 4, share: 1.0 });
    let mut program = make_located(vec![(part, ratio)]);
    program.miss_ratios[1] = 0.1;
    let timing = Timing { seconds: 0.1, ..Timing::default() };
    let share = |costs: &Costs| Verdict::new(&program, costs, timing.clone(), 1.0).expect("a verdict").memory_share;
    assert!((share(&costs()) - 0.5).abs() < 1e-9, "half a million dependent accesses");
    let (next, memory) =
        (cost(Access::Dependent, 1.0, 4.0 * MIB, 20.0), cost(Access::Strided, 4096.0, 1024.0 * MIB, 60.0));
    let others =
        [Access::Sweep, Access::Independent, Access::Dependent].map(|access| cost(access, 1.0, 512.0 * MIB, 50.0));
    let share_with_walks = share(&Costs::new("card".into(), [&others[..], &[next, memory]].concat()));
    assert!((share_with_walks - (0.4 * 20.0 + 0.1 * 50.0) / 100.0).abs() < 1e-9, "{share_with_walks}");
    let displaced = cost(Access::Displaced, 2048.0, 64.0 * MIB, 5.0);
    let measured = share(&Costs::new("codes".into(), [&others[..], &[next, memory, displaced]].concat()));
    assert!((measured - (0.4 * 5.0 + 0.1 * 50.0) / 100.0).abs() < 1e-9, "{measured}");
}

#[test]
fn written_lines_move_twice_and_hot_data_come_from_the_next_cache() {
    let (mut written, ratio) = line("a.c:7", Kind::Random, 1.0);
    written.stores = 500_000;
    assert!((judge(vec![(written, ratio)], 30.0).memory_share - 0.5).abs() < 1e-9, "1.5 million times 10 ns");
    // Of 100,000 misses, a tenth goes to memory.
    let mut program = make_located(vec![line("a.c:7", Kind::Chain, 0.1)]);
    program.miss_ratios[1] = 0.01;
    let costs = Costs::new(
        "codes".into(),
        vec![
            cost(Access::Dependent, 1.0, 4.0 * MIB, 10.0),
            cost(Access::Dependent, 1.0, 256.0 * MIB, 200.0),
            cost(Access::Independent, 1.0, MIB, 1.0),
        ],
    );
    let timing = Timing { seconds: 4e-3, ..Timing::default() };
    let verdict = Verdict::new(&program, &costs, timing, 1.0).expect("a verdict");
    assert!((verdict.memory_share - (90e3 * 10e-9 + 10e3 * 200e-9) / 4e-3).abs() < 1e-9, "{verdict:?}");
}

#[test]
fn gains_are_those_of_the_program_with_a_range() {
    let verdict = judge(vec![line("a.c:7", Kind::Strided, 1.0)], 12.0);
    let [Gain { change, factor, low, high: Some(high), .. }] = verdict.gains[..] else { panic!("{verdict:?}") };
    // Of 12 ms, 10 are misses, and a sweep takes 1. With an error of 1.5, they are 6.67 and 1.5, or all and 0.67.
    assert_eq!(change, Change::UnitStride);
    for (value, expected) in [(factor, 4.0), (low, 12.0 / (12.0 - 10.0 / 1.5 + 1.5)), (high, 18.0)] {
        assert!((value - expected).abs() < 1e-9, "{value} {expected}");
    }
    let [first, second, third] = &verdict.sentences()[..] else { panic!("three sentences") };
    assert_eq!(first, "Memory takes most of the time (I / T = 0.83), 100 % of it at a.c:7 (strided).");
    assert_eq!(second, "With stride 1 at a.c:7, it would be 1.8 to 18 times as fast (predicted).");
    assert_eq!(third, "2 MiB pages: 1.05 times as fast (1.03 to 1.07), measured.");
    let all_misses = judge(vec![line("a.c:7", Kind::Strided, 1.0)], 10.0);
    // The rest of the program is between the time of the sweep, 1 ms, and that with an error of 1.5.
    let Gain { factor, low, high, .. } = all_misses.gains[0];
    assert!((factor - f64::sqrt(10.0 * low)).abs() < 1e-9 && high.is_none(), "{factor} {low}");
    assert!(
        all_misses.sentences()[1].contains("it would be at least 2.1 times as fast"),
        "{:?}",
        all_misses.sentences()
    );
    let changes = |kind: Kind, milliseconds: f64| {
        let verdict = judge(vec![line("a.c:7", kind, 1.0)], milliseconds);
        verdict.gains.iter().map(|gain| gain.change).collect::<Vec<_>>()
    };
    assert_eq!(changes(Kind::Chain, 120.0), [Change::UnitStride, Change::Independent]);
    // All sizes cost the same here, so that a cache gives nothing.
    assert_eq!(changes(Kind::Random, 12.0), [Change::UnitStride]);
    assert_eq!(changes(Kind::Sweep, 12.0), [Change::UnitStride], "it reads 8 bytes of each 16 KiB");
    let (mut words, ratio) = line("a.c:7", Kind::Sweep, 1.0);
    words.stride = 8;
    assert_eq!(judge(vec![(words, ratio)], 12.0).gains, []);
    assert_eq!(changes(Kind::Random, 200.0), [], "a program that computes");
    let four = ["a.c:1", "a.c:2", "a.c:3", "a.c:4"].map(|name| line(name, Kind::Random, 1.0));
    let lines: Vec<String> = judge(four.into(), 42.0).gains.into_iter().map(|gain| gain.line).collect();
    assert_eq!(lines, ["a.c:1", "a.c:2", "a.c:3"]);
}

#[test]
fn short_and_unsteady_programs_and_parts_get_a_reason_instead() {
    let reason =
        |runs: &[f64]| Timing::new(runs, None, None).map(|timing| timing.seconds).map_err(|error| error.message);
    assert_eq!(reason(&[1.0, 1.1, 0.9, 1.19, 0.81]), Ok(1.0));
    assert!(reason(&[0.009, 0.009, 0.009]).unwrap_err().contains("runs for 9 ms"));
    assert_eq!(reason(&[1.0, 1.0, 1.0, 1.9, 1.0]), Ok(1.0), "one may be disturbed");
    assert!(reason(&[1.0, 1.0, 1.6, 1.3, 0.9]).unwrap_err().contains("two runs differ by 30 % from the median"));
    let part = make_located(vec![line("a.c:7", Kind::Random, 1.0)]);
    let verdict = |milliseconds: f64| {
        let timing = Timing { seconds: 1e-3 * milliseconds, ..Timing::default() };
        Verdict::new(&part, &costs(), timing, 0.61)
    };
    assert!(verdict(100.0).unwrap_err().message.contains("the trace has 61 % of the accesses, with I / T = 0.10"));
    assert!(verdict(12.0).expect("memory").sentences()[0].contains("(I / T = 0.83 with 61 % of the accesses)"));
}

#[test]
fn costs_are_interpolated_and_must_reach_the_data() {
    let sizes = |end: f64| {
        let times = [(1.0, 2.0), (4.0, 8.0), (end, 32.0)];
        let costs_of = |access: Access| times.map(|(size, time)| cost(access, 1.0, size * MIB, time));
        let walks = [(512.0, 64.0, 5.0), (512.0, 1024.0, 6.0), (8.0, 64.0, 3.0)];
        let walks = walks.map(|(stride, size, time)| cost(Access::Strided, stride, size * MIB, time));
        let random = [Access::Sweep, Access::Independent, Access::Dependent].map(costs_of).concat();
        Costs::new("results/small".into(), [random, walks.to_vec()].concat())
    };
    let near = |value: f64, nanoseconds: f64| (1e9 * value / nanoseconds - 1.0).abs() < 1e-9;
    let measured = sizes(16.0);
    assert!(near(measured.seconds(Access::Independent, 1.0, 2.0 * MIB), 4.0));
    assert!(
        near(measured.seconds(Access::Sweep, 1.0, 0.1 * MIB), 2.0)
            && near(measured.seconds(Access::Dependent, 1.0, 99.0 * MIB), 32.0)
    );
    // 1 MiB of lines at a stride of 512 words are in a region of 64 MiB; beyond the largest region, they are independent.
    assert!(
        near(measured.seconds(Access::Strided, 400.0, MIB), 5.0)
            && near(measured.seconds(Access::Strided, 8.0, 64.0 * MIB), 3.0)
    );
    assert!(near(measured.seconds(Access::Strided, 512.0, 32.0 * MIB), 32.0));
    let program = make_located(vec![line("a.c:7", Kind::Random, 1.0)]);
    let reason = explain_short_reach(&program, &measured).unwrap();
    assert_eq!(reason, "results/small has no costs beyond 16 MiB, and the program reaches 256 MiB");
    // Costs of memory itself hold for all larger data.
    assert_eq!(explain_short_reach(&program, &sizes(128.0)), None);
    assert!(explain_short_reach(&program, &Costs::new("results/none".into(), Vec::new())).is_some());
}

#[test]
fn costs_come_from_the_maps_of_one_rank_on_the_pages_of_the_program() {
    let mut samples = Vec::new();
    let mut add = |kernel: &str, parameters: &[(&str, u64)], pages: &str, nanoseconds: f64| {
        let point =
            parameters.iter().fold(Point::new(kernel, 1), |point, (name, value)| point.with_parameter(name, *value));
        let point = kernels::complete(point.with_parameter("pages", pages)).expect("a valid point");
        let bytes = kernels::find(kernel).unwrap().work(&point).bytes;
        samples.push(sample(&point, &format!("{}", samples.len()), 0, 1e-9 * nanoseconds * bytes / 8.0));
    };
    let map = |words: u64, block: u64| [("M", words), ("alpha", 1), ("L", block), ("N", 2), ("I", 64)];
    add("apex_map.sequential", &map(1 << 14, 1), "huge", 1.0);
    add("apex_map.sequential", &map(1 << 20, 1), "huge", 2.0);
    add("apex_map.sequential", &map(1 << 20, 1), "base", 3.0);
    add("apex_map.sequential", &map(1 << 20, 8), "base", 9.0);
    add("apex_map.chains", &[&map(1 << 20, 1)[..], &[("chains", 1)]].concat(), "base", 50.0);
    add("apex_map.chains", &[&map(1 << 20, 1)[..], &[("chains", 4)]].concat(), "base", 9.0);
    for (stride, time) in [(1, 0.5), (72, 7.0), (2048, 8.0)] {
        add("calibrate.stride", &[("bytes", 8 << 20), ("stride", stride)], "huge", time);
    }
    let samples = Samples::from(table(samples));
    let read = |pages: &str| {
        let costs = from_samples(&samples, pages).into_iter();
        let mut costs: Vec<_> = costs
            .map(|cost| (cost.access as u8, cost.stride, cost.region_bytes, (1e9 * cost.seconds * 1e6).round() / 1e6))
            .collect();
        costs.sort_by(|a, b| a.partial_cmp(b).unwrap());
        costs
    };
    let large = 8.0 * MIB;
    let sweep = (Access::Sweep as u8, 1.0, large, 0.5);
    let walks = [(Access::Strided as u8, 72.0, large, 7.0), (Access::Displaced as u8, 2048.0, large, 8.0)];
    let random = |bytes: f64, time: f64| (Access::Independent as u8, 1.0, bytes, time);
    let chain = (Access::Dependent as u8, 1.0, large, 50.0);
    assert_eq!(read("base"), [sweep, random(MIB / 8.0, 1.0), random(large, 3.0), chain]);
    assert_eq!(read("huge"), [sweep, walks[0], walks[1], random(MIB / 8.0, 1.0), random(large, 2.0)]);
}

/// Writes a card of this machine, on which accesses take these nanoseconds.
fn write_card(folder: &Path, sweep: f64, independent: f64, dependent: f64, cpu_model: &str) -> Card {
    let mut card = Card::new("here", "made for a test", "a test");
    card.provenance.insert("cpu_model".into(), cpu_model.into());
    card.set_base("tlb_entries", 3000.2, "a test").unwrap();
    for (size, share) in [("16KiB", 1e-3), ("1MiB", 1.0), ("512MiB", 1.0)] {
        let rate = format!("read_bandwidth_bytes_per_second--{size}");
        card.set_base(&rate, 8e9 / (share * sweep), "a test").unwrap();
        for (order, time) in [("independent", independent), ("dependent", dependent), ("prefetched", 1.0)] {
            for pages in ["base", "huge"] {
                card.set_base(&format!("read_seconds--{size}-{pages}-{order}"), 1e-9 * share * time, "a test").unwrap();
            }
        }
    }
    std::fs::create_dir_all(folder.join("results/calibrate")).unwrap();
    card.write(&folder.join("results/calibrate/card.toml")).unwrap();
    card
}

#[test]
fn costs_come_from_a_card() {
    let scratch = Scratch::new();
    let costs = Costs::new("card".into(), from_card(&write_card(&scratch, 0.5, 4.0, 90.0, "any"), "base"));
    for (access, time) in [(Access::Sweep, 0.5), (Access::Independent, 4.0), (Access::Dependent, 90.0)] {
        assert!((1e9 * costs.seconds(access, 1.0, 64.0 * MIB) / time - 1.0).abs() < 1e-9, "{access:?}");
    }
    assert_eq!(costs.reach(), 512.0 * MIB);
}

/// A gather from 16 MiB, or a polynomial.
const PROGRAM: &str = r#"
#include <stdlib.h>
#define NO_INLINE __attribute__((noinline, noclone))
NO_INLINE long gather(const long *table) {
    unsigned long state = 88172645463325252ul; long sum = 0;
    for (long i = 0; i < 6000000; i++) {
        state ^= state << 13; state ^= state >> 7; state ^= state << 17;
        sum ^= table[state & ((1 << 21) - 1)];
    }
    return sum;
}
NO_INLINE double polynomial(double x) { for (long i = 0; i < 20000000; i++) x = x * 0.999 + 0.001; return x; }
int main(int count, char **arguments) {
    if (count > 1) return polynomial(2.0) == 7.0;
    long *table = malloc(8 << 21);
    for (long i = 0; i < 1 << 21; i++) table[i] = i;
    return gather(table) == 7;
}
"#;

/// Runs `apexmap locate` until it has a verdict: on a busy machine, runs differ. Returns the screen, and the document.
fn locate(folder: &Path, arguments: &[&str]) -> (String, serde_json::Value) {
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache");
    for attempt in 0.. {
        let mut command = Command::new(env!("CARGO_BIN_EXE_apexmap"));
        command.args(["locate", "--json", "app.json"]).args(arguments).env("XDG_CACHE_HOME", &cache);
        let output = common::output(command.current_dir(folder));
        let screen = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{screen}");
        let document = serde_json::from_slice(&std::fs::read(folder.join("app.json")).unwrap()).unwrap();
        if attempt == 9 || !screen.contains("runs differ by") {
            return (screen, document);
        }
    }
    unreachable!()
}

#[test]
fn the_screen_begins_with_the_verdict_on_a_program() {
    needs!(Valgrind);
    let scratch = Scratch::new();
    compile(&scratch, "program", PROGRAM, &["-O1"]);
    write_card(&scratch, 1.0, 300.0, 900.0, &host().cpu_model);
    let (screen, document) = locate(&scratch, &["--", "./program"]);
    let (begin, rest) =
        screen.split_once("Memory takes most of the time (I / T = ").unwrap_or_else(|| panic!("{screen}"));
    assert!(begin.starts_with("runs the program 10 times") && begin.lines().count() == 1, "{screen}");
    let rest = rest.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(rest.contains("at program.c:8 (random)") && rest.contains("it would be"), "{screen}");
    assert!(screen.lines().all(|line| line.chars().count() <= 80), "{screen}");
    assert!(screen.contains("Costs of memory are those of results/calibrate/card.toml."), "{screen}");
    assert_eq!(document["tlb_entries"], 3000, "as on the card");
    let verdict = &document["verdict"];
    assert_eq!((verdict["class"].as_str(), verdict["kind"].as_str()), (Some("memory"), Some("random")));
    assert!(verdict["memory_share"].as_f64().unwrap() > 0.5 && verdict["seconds"].as_f64().unwrap() > 0.01);
    let is_compared = host().huge_pages.as_deref() == Some("madvise");
    assert_eq!(verdict["huge_pages"].is_array() && screen.contains("2 MiB pages: "), is_compared, "{screen}");
    assert_eq!(document["sentences"].as_array().map(Vec::len), Some(2 + usize::from(is_compared)));
    let (screen, document) = locate(&scratch, &["--", "./program", "polynomial"]);
    assert!(screen.contains("Computation takes the time, and misses take little (I / T = 0.0"), "{screen}");
    assert_eq!(document["verdict"]["gains"].as_array().map(Vec::len), Some(0));
    // Without the set-up, the trace has three quarters of the accesses.
    let (screen, document) = locate(&scratch, &["--from", "gather", "--", "./program"]);
    let share = document["verdict"]["traced_share"].as_f64().unwrap_or_else(|| panic!("{screen}"));
    assert!((share - 0.74).abs() < 0.02 && screen.contains(" % of the accesses)"), "{share}: {screen}");
}

#[test]
fn ctrl_c_in_the_timed_runs_leaves_the_screen_without_a_verdict() {
    needs!(Valgrind);
    let scratch = Scratch::new();
    compile(&scratch, "program", "int main(void) { for (volatile int i = 0; i < 30000000; i++) {} return 0; }", &[]);
    write_card(&scratch, 1.0, 300.0, 900.0, &host().cpu_model);
    let mut command = Command::new(env!("CARGO_BIN_EXE_apexmap"));
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache");
    command.args(["locate", "--", "./program"]).env("XDG_CACHE_HOME", cache).current_dir(&*scratch);
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let (mut stderr, mut begin, mut rest) =
        (BufReader::new(child.stderr.take().unwrap()), String::new(), String::new());
    stderr.read_line(&mut begin).unwrap();
    kill(Pid::from_raw(child.id() as i32), Signal::SIGINT).unwrap();
    stderr.read_to_string(&mut rest).unwrap();
    assert!(
        begin.starts_with("runs the program 10 times") && rest.contains("No verdict: interrupted."),
        "{begin}{rest}"
    );
    assert!(rest.contains("source line") && child.wait().unwrap().code() == Some(130), "{rest}");
}

#[test]
fn without_costs_or_runs_the_screen_has_the_misses_and_the_reason() {
    needs!(Valgrind);
    let scratch = Scratch::new();
    compile(&scratch, "program", PROGRAM, &["-O1"]);
    let missing = |arguments: &[&str]| {
        let (screen, document) = locate(&scratch, arguments);
        assert!(document["verdict"].is_null() && !screen.contains("I / T"), "{screen}");
        assert!(
            ["of the accesses", "of the misses", "No line dominates"].iter().any(|words| screen.contains(words)),
            "{screen}"
        );
        screen.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let program = ["--", "./program", "polynomial"];
    let screen = missing(&program);
    assert!(screen.contains("No verdict: there are no costs of this machine's memory."), "{screen}");
    assert!(screen.contains("apexmap run codes --budget 30s") && !screen.contains("runs the program"), "{screen}");
    write_card(&scratch, 1.0, 1.0, 1.0, "another processor");
    assert!(missing(&program).contains("card.toml was measured on another machine (another processor)"));
    write_card(&scratch, 1.0, 1.0, 1.0, &host().cpu_model);
    let without_time = missing(&["--no-time", "--", "./program", "polynomial"]);
    assert!(!without_time.contains("verdict") && !without_time.contains("runs the program"), "{without_time}");
    let limited = missing(&["--accesses", "1000", "--", "./program", "polynomial"]);
    assert!(limited.contains("No verdict: the trace ended before the program."), "{limited}");
    assert!(missing(&["--", "true"]).contains("No verdict: the program runs for"), "true");
}
