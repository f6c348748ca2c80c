//! `cargo bench --bench random_access [-- PAIRS [alone|together|optimised]]`: compares RandomAccess with HPCC in two
//! builds, and the kernel interface with a plain loop.
//!
//! hpcc and apexmap alternate, bound to cores by the same launcher, on tables and pages of the same size. apexmap makes
//! hpcc's updates: its stream, its starts, 4 updates per word, and 128 streams for one process. The output is the ratio
//! of medians (above 1: apexmap is faster), the least and greatest ratio of a pair, and the goal. The ratio compares
//! whole programs, including their algorithms. Other work on the machine changes rates by factors, and ratios less.

mod hpcc;
mod instructions;
#[expect(dead_code, reason = "tests use the rest")]
#[path = "../../tests/mpi_worker.rs"]
mod mpi_worker;

use apexmap_base::point::{Point, Value};
use apexmap_base::sample::{Event, Status};
use apexmap_measure::kernels;
use apexmap_measure::numerics::statistics::median;
use hpcc::{Hpcc, Pages, Section};
use mpi_worker::{OPEN_MPI, job};
use std::path::Path;

const PAIRS: usize = 5;
/// The look-ahead that the definition allows.
const LOOK_AHEAD: u64 = 1024;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    if let [word, subject, method] = &arguments[..]
        && word == instructions::ARGUMENT
    {
        return instructions::run(subject, method);
    }
    let pairs = arguments.first().map_or(PAIRS, |count| count.parse().expect("a number of pairs"));
    let folder = std::env::temp_dir().join(format!("apexmap-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    print_instructions(&folder);
    OPEN_MPI.worker();
    println!("\n{pairs} pairs; GUPS are medians");
    let wanted = |part| arguments.get(1).is_none_or(|only| only == part);
    let debian = Hpcc::debian();
    for (bits, target) in [(24, 3.0), (26, 2.0)].into_iter().filter(|_| wanted("alone")) {
        let title = format!("one process, 2^{bits} words, against SingleRandomAccess");
        compare(&folder, pairs, &title, &debian, Section::Single, 1 << bits, &one_process(1 << bits, target));
    }
    if wanted("together") {
        let title = "two ranks, 2^25 words in all, Q = 1024, against MPIRandomAccess";
        compare(&folder, pairs, title, &debian, Section::Mpi, 1 << 25, &two_ranks(1 << 25));
    }
    for bits in [24, 26].into_iter().filter(|_| wanted("optimised")) {
        let title = format!("two ranks, 2^{bits} words in all, Q = 1024, against MPIRandomAccess");
        compare(&folder, pairs, &title, &Hpcc::build_optimised(), Section::Mpi, 1 << bits, &hypercube(1 << bits, 1.4));
    }
    let _ = std::fs::remove_dir_all(&folder);
}

fn print_instructions(folder: &Path) {
    let Some(counts) = instructions::compare(folder) else {
        return println!("instructions: not counted, valgrind is not installed (`make bench` installs it)");
    };
    println!("instructions of the timed region, kernel over plain loop; aim: at most 1.02");
    for (method, kernel, plain) in counts {
        println!("  {method:<12} {kernel:>10} {plain:>10}  {:.4}", kernel as f64 / plain as f64);
    }
}

/// A point to compare, with the goal for its ratio.
struct Contender {
    label: String,
    point: Point,
    pages: Pages,
    target: Option<f64>,
}

fn contender(
    kernel: &str,
    ranks: usize,
    words: u64,
    settings: &[(&str, &str)],
    pages: Pages,
    target: Option<f64>,
) -> Contender {
    let point = Point::new(kernel, ranks).with_parameter("N_words", words).with_parameter("Q", LOOK_AHEAD);
    let point = point.with_parameter("starts", "reference").with_parameter("offset", "none");
    let point = point.with_parameter("pages", if pages == Pages::Huge { "huge" } else { "base" });
    let point = settings.iter().fold(point, |point, &(name, value)| match value.parse::<u64>() {
        Ok(number) => point.with_parameter(name, number),
        Err(_) => point.with_parameter(name, value),
    });
    let words = settings.iter().map(|(_, value)| *value);
    let label = std::iter::once(kernel.trim_start_matches("random_access.")).chain(words);
    Contender {
        label: label.collect::<Vec<_>>().join(" "),
        point: kernels::complete(point).expect("a valid point"),
        pages,
        target,
    }
}

/// Returns the points of one process.
fn one_process(words: u64, target: f64) -> Vec<Contender> {
    let with_method = |method, pages, target| {
        let settings = [("method", method), ("streams", "128")];
        contender("random_access.sequential", 1, words, &settings, pages, target)
    };
    vec![
        with_method("look_ahead", Pages::Base, Some(1.2)),
        with_method("look_ahead", Pages::Huge, Some(target)),
        with_method("immediate", Pages::Base, None),
        with_method("immediate", Pages::Huge, None),
    ]
}

/// Returns the points of two ranks.
fn two_ranks(words: u64) -> Vec<Contender> {
    let with_settings = |kernel: &str, settings: &[(&str, &str)], target| {
        let kernel = format!("random_access.{kernel}");
        [Pages::Base, Pages::Huge].map(|pages| contender(&kernel, 2, words, settings, pages, target))
    };
    let mut contenders = hypercube(words, 6.0);
    contenders.extend(with_settings("alltoallv", &[], None));
    contenders.extend(with_settings("routed", &[], None));
    contenders.extend(with_settings("base", &[("sending", "bucketed")], Some(1.0)));
    contenders.extend(with_settings("base", &[("sending", "immediate")], None));
    contenders.extend(with_settings("one_sided", &[], None));
    contenders
}

fn hypercube(words: u64, target: f64) -> Vec<Contender> {
    let with = |way, pages| {
        contender("random_access.hypercube", 2, words, &[("SMSG", "2"), ("within_node", way)], pages, Some(target))
    };
    ["messages", "memory"]
        .into_iter()
        .flat_map(|way| [Pages::Base, Pages::Huge].map(|pages| with(way, pages)))
        .collect()
}

const PAGES: [(Pages, &str); 2] = [(Pages::Base, "4 KiB"), (Pages::Huge, "2 MiB")];

fn compare(
    folder: &Path,
    pairs: usize,
    title: &str,
    peer: &Hpcc,
    section: Section,
    words: u64,
    contenders: &[Contender],
) {
    let ranks = contenders[0].point.ranks;
    let (mut peers, mut ours) = ([Vec::new(), Vec::new()], vec![Vec::new(); contenders.len()]);
    for pair in 0..pairs {
        let mut run_peer = || {
            for (runs, (pages, _)) in peers.iter_mut().zip(PAGES) {
                runs.push(peer.run(folder, ranks, words, section, pages));
            }
        };
        // The order alternates from pair to pair.
        if pair % 2 == 0 {
            run_peer();
        }
        for (rates, contender) in ours.iter_mut().zip(contenders) {
            rates.push(rate(contender));
        }
        if pair % 2 == 1 {
            run_peer();
        }
    }
    println!("\n{title}\n  peer: {}", peer.description);
    println!("  {:<34} {:>8} {:>7} {:>17}  aim", "", "GUPS", "ratio", "pairs");
    for (runs, (pages, name)) in peers.iter().zip(PAGES) {
        let reference: Vec<f64> = runs.iter().map(|run| run.gups).collect();
        let huge = runs.iter().map(|run| run.huge_share);
        let (least, most) = (huge.clone().fold(1.0, f64::min), huge.fold(0.0, f64::max));
        let errors = runs.iter().map(|run| run.errors).fold(0.0, f64::max);
        println!(
            "  {:<34} {:>8.4}  {:.0} to {:.0} % of its table on huge pages, {:.4} % of words wrong",
            format!("hpcc, {name} asked for"),
            middle(&reference),
            100.0 * least,
            100.0 * most,
            100.0 * errors
        );
        let same = |contender: &Contender| contender.pages == pages;
        for (rates, contender) in ours.iter().zip(contenders).filter(|(_, contender)| same(contender)) {
            print_ratio(rates, &reference, contender, name);
        }
    }
}

fn middle(rates: &[f64]) -> f64 {
    median(rates).unwrap_or(f64::NAN)
}

fn print_ratio(rates: &[f64], reference: &[f64], Contender { label, target, .. }: &Contender, pages: &str) {
    let mut ratios: Vec<f64> = rates.iter().zip(reference).map(|(a, b)| a / b).collect();
    ratios.sort_by(f64::total_cmp);
    let (least, greatest) = (ratios[0], ratios[ratios.len() - 1]);
    let ratio = middle(rates) / middle(reference);
    let aim =
        target.map_or_else(String::new, |aim| format!("{aim:.1} {}", if ratio >= aim { "reached" } else { "missed" }));
    let label = format!("{label}, {pages}");
    println!("  {label:<34} {:>8.4} {ratio:>7.2} {least:>8.2} {greatest:>8.2}  {aim}", middle(rates));
}

/// Returns the GUPS of one run in a separate launch.
fn rate(contender: &Contender) -> f64 {
    let point = &contender.point;
    let mut seconds = None;
    let ending = OPEN_MPI.run(&job("bench", point.ranks, 1, vec![point.clone()]), &mut |event| {
        if let Event::Sample(sample) = event {
            assert_eq!(sample.status, Status::Ok, "{}: {}", contender.label, sample.message);
            // The table has the peer's size, which may break the rules.
            let broken = sample.outputs["rules_broken"].to_string();
            assert!(matches!(broken.as_str(), "none" | "table size"), "{} breaks rules: {broken}", contender.label);
            let granted = sample.outputs.get("huge_share").and_then(Value::as_f64);
            let whole = if contender.pages == Pages::Huge { 1.0 } else { 0.0 };
            assert!(granted.is_none_or(|share| (share - whole).abs() < 0.05), "{granted:?} on huge pages");
            seconds = sample.seconds;
        }
    });
    assert_eq!(ending.status, Status::Ok, "{}", ending.message);
    let kernel = kernels::find(&point.kernel).expect("a kernel");
    kernel.work(point).operations / seconds.expect("a sample") / 1e9
}
