//! Tests of known codes: alpha and L of `models/codes.toml` against traces of the codes, their sites against the demonstration, files of
//! codes, interpolation on maps, and codes in figures, in `apexmap codes` and in comparisons.

mod traces;

use crate::common::{self, Scratch, refusal_message, sample, successful_stdout};
use crate::locate_tracer::options;
use apexmap_base::point::Point;
use apexmap_base::sample::Sample;
use apexmap_locate::analysis::Analysis;
use apexmap_locate::located::Located;
use apexmap_locate::tracer::{TraceOptions, trace};
use apexmap_locate::{code, demo};
use apexmap_measure::kernels;
use apexmap_measure::numerics::power_law::PowerLaw;
use apexmap_results::samples::Samples;
use apexmap_results::samples::code_rates::Rate;
use apexmap_results::samples::code_rates::{CodeRates, RateColumn};
use apexmap_theory::codes::{self, Accesses, Code, weighted_ratio};
use apexmap_theory::models::apex_map::lru::AccessPattern;
use apexmap_theory::places::{CodeSite, Kind, NoRate, interpolate, sizes_around};
use rand::SeedableRng;
use rand_distr::Distribution;
use rand_pcg::Pcg64Mcg;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// The reuse of a code's words. Everything is per access.
#[derive(Clone, Copy, Debug)]
struct Reuse {
    /// Mean of ln(M / d). M is the number of words of the code. The stack distance d of an access is the number of different
    /// words since the last access to its word, that word included; M for a first access.
    mean_log: f64,
    /// Words per jump: an access that is not one word beyond the last one to the same array.
    run: f64,
    /// M.
    words: f64,
}

/// Positions that hold 0 or 1, with quick sums over them (a Fenwick tree).
struct Marks(Vec<i32>);

impl Marks {
    fn add(&mut self, position: usize, value: i32) {
        let mut k = position + 1;
        while k < self.0.len() {
            self.0[k] += value;
            k += k & k.wrapping_neg();
        }
    }

    /// Returns the number of marks before a position.
    fn before(&self, position: usize) -> i32 {
        let (mut k, mut sum) = (position, 0);
        while k > 0 {
            sum += self.0[k];
            k &= k - 1;
        }
        sum
    }
}

/// Measures the reuse of a code exactly, in its second run.
fn measure(words: usize, code: impl Fn(&mut dyn FnMut(usize, usize))) -> Reuse {
    let mut trace = Vec::new();
    (0..2).for_each(|_| code(&mut |array, word| trace.push((array, word))));
    let second = trace.len() / 2;
    let mut marks = Marks(vec![0; trace.len() + 1]);
    let mut last_use: Vec<Option<usize>> = vec![None; words];
    let mut last_of_array: HashMap<usize, usize> = HashMap::new();
    let (mut log, mut jumps) = (0.0, 0.0);
    for (now, &(array, word)) in trace.iter().enumerate() {
        let mut distance = words as f64;
        if let Some(before) = last_use[word].replace(now) {
            distance = f64::from(marks.before(now) - marks.before(before));
            marks.add(before, -1);
        }
        marks.add(now, 1);
        let follows = last_of_array.insert(array, word).is_some_and(|last| last + 1 == word);
        if now >= second {
            log += (words as f64 / distance).ln();
            jumps += f64::from(u8::from(!follows));
        }
    }
    Reuse { mean_log: log / second as f64, run: second as f64 / jumps, words: words as f64 }
}

/// Returns the mean of ln(N / d) under Apex-Map's accesses to N blocks: the integral of the hit ratio over ln(cache).
fn mean_log(alpha: f64, blocks: f64) -> f64 {
    const STEPS: usize = 48;
    let accesses = AccessPattern { alpha, lines: blocks, ranks: 1.0, block: 1.0, once: 0.0, others: 0.0 };
    let step = blocks.ln() / STEPS as f64;
    let hit = |k: usize| accesses.hits((k as f64 * step).exp()).own.lines.min(1.0);
    step * ((hit(0) + hit(STEPS)) / 2.0 + (1..STEPS).map(hit).sum::<f64>())
}

/// Estimates alpha: the one for which Apex-Map has the same mean of ln(M / d). Less reuse than alpha = 1 counts as 1.
fn alpha(reuse: &Reuse) -> f64 {
    let blocks = reuse.words / reuse.run;
    if reuse.mean_log <= mean_log(1.0, blocks) {
        return 1.0;
    }
    let (mut low, mut high) = (1e-3f64.ln(), 0.0f64);
    for _ in 0..18 {
        let middle = f64::midpoint(low, high);
        if mean_log(middle.exp(), blocks) > reuse.mean_log { low = middle } else { high = middle }
    }
    f64::midpoint(low, high).exp()
}

/// Words beyond which a run counts as this long: beyond, L has only minor influence (Apex-Map paper, Section 3.2).
const LONGEST_RUN: f64 = 4096.0;

#[test]
fn the_estimator_recovers_the_alpha_of_apex_maps_own_addresses() {
    for (expected, block) in [(1.0, 1), (0.5, 4), (0.25, 1), (0.1, 1), (0.05, 4)] {
        let blocks = 2048;
        let counted = measure(blocks * block, |access| {
            let law = PowerLaw::new(blocks as u64, expected);
            // Both runs have the same addresses, so they must be long enough to leave no trace of that.
            let mut random = Pcg64Mcg::seed_from_u64(7);
            for _ in 0..40_000 {
                let start = law.sample(&mut random) as usize * block;
                (start..start + block).for_each(|word| access(0, word));
            }
        });
        let estimate = alpha(&counted);
        assert!(
            (estimate / expected - 1.0).abs() < 0.12,
            "alpha = {expected}, L = {block}: {estimate:.3} ({counted:?})"
        );
        assert!((counted.run / block as f64 - 1.0).abs() < 0.1, "alpha = {expected}, L = {block}: {counted:?}");
    }
}

// The reuse of codes of any size, from their loops: (share of the accesses, stack distance). Accesses at the distance M add
// nothing to the mean.

fn reuse(words: f64, run: f64, accesses: f64, parts: &[(f64, f64)]) -> Reuse {
    let sum: f64 = parts.iter().map(|(count, distance)| count * (words / distance).ln()).sum();
    Reuse { mean_log: sum / accesses, run, words }
}

fn naive_product(n: f64) -> Reuse {
    let cube = n * n * n;
    // A row of A is read again for the next column of B, a column of B for the next row of A.
    let parts = [(cube * (1.0 - 1.0 / n), 2.0 * n + 1.0), (cube * (1.0 - 1.0 / n), n * n + 1.5 * n)];
    reuse(3.0 * n * n, 2.0 * n / (n + 1.0), 2.0 * cube + n * n, &parts)
}

fn tiled_product(n: f64, tile: f64) -> Reuse {
    let cube = n * n * n;
    let (inner, outer) = (1.0 - 1.0 / tile, 1.0 / tile - 1.0 / n);
    let parts = [
        (cube * inner, tile * tile + 2.0 * tile),
        (cube * outer, n * n + 2.0 * n * tile),
        (cube * inner, 2.0 * tile + 1.0),
        (cube * outer, 3.0 * tile * tile),
        (cube / tile * (1.0 - tile / n), 2.0 * n * tile + tile * tile),
    ];
    reuse(3.0 * n * n, tile, 2.0 * cube + cube / tile, &parts)
}

fn five_point(side: f64) -> Reuse {
    let rows = side * side;
    // Five rows read a word of x: one read is the first of the sweep, two follow a row of the grid later, two a point later.
    let parts = [(2.0 * rows, 13.0 * side), (2.0 * rows, 13.0)];
    reuse(13.0 * rows, 17.0 / 3.0, 17.0 * rows, &parts)
}

#[test]
fn the_reuse_of_codes_follows_from_their_loops() {
    let check = |name: &str, counted: Reuse, derived: Reuse| {
        assert!((derived.mean_log / counted.mean_log - 1.0).abs() < 0.025, "{name}: {counted:?} {derived:?}");
        assert!((derived.run / counted.run - 1.0).abs() < 0.05, "{name}: {counted:?} {derived:?}");
        assert_eq!(derived.words, counted.words);
    };
    for n in [16, 24] {
        check("naive", measure(3 * n * n, |access| traces::naive_product(n, access)), naive_product(n as f64));
    }
    for (n, tile) in [(16, 4), (24, 8)] {
        let counted = measure(3 * n * n, |access| traces::tiled_product(n, tile, access));
        check("tiled", counted, tiled_product(n as f64, tile as f64));
    }
    for side in [16, 32] {
        check(
            "five-point",
            measure(13 * side * side, |access| traces::five_point(side, access)),
            five_point(side as f64),
        );
    }
    let triad = measure(3 * 500, |access| traces::triad(500, access));
    assert_eq!((triad.mean_log, triad.run), (0.0, 500.0), "no word is read again before all others");
    // 2 is a generator modulo 1019.
    let walk = measure(2 * 1019, |access| traces::list_walk(1019, 2, access));
    assert!(walk.mean_log < 0.01 && (walk.run - 2.0).abs() < 0.02, "{walk:?}");
}

#[test]
fn the_known_codes_have_the_alpha_and_l_of_their_loops() {
    // Arrays of about 400 MB, as on the map of the quickstart.
    let expected = [
        ("STREAM triad", 1.0, LONGEST_RUN),
        ("matrix product, tiled", alpha(&tiled_product(4096.0, 64.0)), 64.0),
        ("matrix product, naive", alpha(&naive_product(4096.0)), naive_product(4096.0).run),
        ("SpMV, five-point", alpha(&five_point(2048.0)), five_point(2048.0).run),
        ("list walk", 1.0, 2.0),
        ("GUPS", 1.0, 1.0),
    ];
    let listed = codes::list_known();
    assert_eq!(listed.len(), expected.len());
    for (code, (name, alpha, run)) in listed.iter().zip(expected) {
        assert_eq!(code.name, name);
        assert!((code.alpha / alpha - 1.0).abs() < 0.05, "{name}: alpha = {alpha:.4}");
        assert!((code.block_words / run - 1.0).abs() < 0.02, "{name}: L = {run:.3}");
        assert!(!code.how.is_empty() && !code.source.is_empty(), "{name} has no origin");
    }
    // The largest size of the products: three matrices of 9500 by 9500.
    let most = |name: &str| listed.iter().find(|code| code.name == name).and_then(|code| code.max_bytes).unwrap();
    for (name, large) in
        [("matrix product, tiled", tiled_product(9500.0, 64.0)), ("matrix product, naive", naive_product(9500.0))]
    {
        let listed = listed.iter().find(|code| code.name == name).unwrap().alpha;
        assert!((most(name) / (8.0 * large.words) - 1.0).abs() < 0.05, "{name}: {}", large.words);
        assert!((alpha(&large) / listed - 1.0).abs() < 0.21, "{name}: {} at 9500, {listed}", alpha(&large));
    }
}

/// Returns the codes of the demonstration, with the sites that `apexmap locate` finds.
fn demonstration_codes() -> Vec<Code> {
    codes::parse(include_str!("codes/demo.toml"), Path::new("demo.toml")).unwrap()
}

#[test]
fn the_sites_of_the_demonstration_have_the_shares_of_their_loops() {
    // Loads and stores per innermost trip, as compilers leave them: sums stay in a register, the tile's factor does not.
    let expected = [
        ("STREAM triad", vec![(Kind::Sweep, 1.0)]),
        ("matrix product, tiled", vec![(Kind::Sweep, 0.75), (Kind::Local, 0.25)]),
        ("matrix product, naive", vec![(Kind::Sweep, 0.5), (Kind::Strided, 0.5)]),
        ("SpMV, five-point", vec![(Kind::Sweep, 11.0 / 16.0), (Kind::Random, 5.0 / 16.0)]),
        ("list walk", vec![(Kind::Chain, 0.5), (Kind::Pointer, 0.5)]),
        ("GUPS", vec![(Kind::Random, 1.0)]),
    ];
    let listed_codes = demonstration_codes();
    let with_sites: Vec<Code> = codes::list_known().into_iter().filter(|code| !code.sites.is_empty()).collect();
    assert_eq!(with_sites.len(), 1, "a code has one place, or sites");
    for (name, kinds) in expected {
        for code in listed_codes.iter().chain(&with_sites).filter(|code| code.name == name) {
            for (kind, share) in &kinds {
                let listed: f64 = code.sites.iter().filter(|site| site.kind == *kind).map(|site| site.share).sum();
                assert!((listed - share).abs() < 0.01, "{name}: {kind} {listed}");
            }
        }
    }
}

#[test]
fn the_listed_sites_are_those_of_the_demonstration() {
    needs!(Valgrind);
    let scratch = Scratch::new();
    let program = demo::build(&scratch).unwrap();
    let (listed_codes, known_codes) = (demonstration_codes(), codes::list_known());
    let find = |codes: &[Code], name: &str| codes.iter().find(|code| code.name == name).expect(name).sites.clone();
    let small = demo::CODES.map(|(name, function)| (find(&listed_codes, name), vec![function]));
    let large = (find(&known_codes, "SpMV, five-point"), vec!["spmv", "2048"]);
    for (listed, arguments) in small.into_iter().chain([large]) {
        // Two passes of the large one.
        let options = TraceOptions { from: Some(arguments[0].into()), accesses: Some(134_200_000), ..options() };
        let mut analysis = Analysis::default();
        let command: Vec<_> = std::iter::once(program.clone().into()).chain(arguments.iter().map(Into::into)).collect();
        let traced = trace(&command, &options, &mut analysis).unwrap();
        let located =
            Located::new(&traced.sites, analysis, [("second-level cache", 1 << 20), ("last cache", 32 << 20)]);
        let sites = code::sites(&located);
        assert_eq!(sites.len(), listed.len(), "{arguments:?}: {sites:?}");
        for listed in listed {
            let is_same = |site: &&CodeSite| (&site.line, site.kind) == (&listed.line, listed.kind);
            let site = sites.iter().find(is_same).unwrap_or_else(|| panic!("{arguments:?}: {listed:?} {sites:?}"));
            let near = |a: f64, b: f64| (a / b - 1.0).abs() < 0.1;
            let numbers = |site: &CodeSite| {
                // Most visits to a column are soon, some much later: no place.
                let alpha = site.alpha.unwrap_or(f64::INFINITY);
                [site.share, alpha.recip() + 1.0, site.block_words, site.stride, site.bytes]
            };
            let is_near = numbers(site).into_iter().zip(numbers(&listed)).all(|(a, b)| near(a, b));
            assert!(is_near, "{arguments:?}: {site:?}, listed {listed:?}");
        }
    }
}

#[test]
fn a_map_is_interpolated_in_logarithms_and_never_extrapolated() {
    // A power law is a plane in logarithms: 3 x^0.5 y^2 at (4, 8) is 3 * 2 * 64.
    let (xs, ys) = ([1.0, 16.0, 64.0], [1.0, 10.0, 100.0]);
    let value = |i: usize, j: usize| 3.0 * f64::sqrt(xs[i]) * ys[j] * ys[j];
    let read = |x: f64, y: f64| interpolate([&xs, &ys], value, [x, y]);
    let value = read(4.0, 8.0).expect("inside");
    assert!((value / 384.0 - 1.0).abs() < 1e-12, "{value}");
    // In the middle of four values 1, 1, 1 and 16 the geometric mean is 2.
    let corner = |i: usize, j: usize| if i + j == 2 { 16.0 } else { 1.0 };
    let middle = interpolate([&[1.0, 4.0], &[1.0, 100.0]], corner, [2.0, 10.0]).expect("inside");
    assert!((middle - 2.0).abs() < 1e-12, "{middle}");
    for (x, y) in [(1.0, 1.0), (64.0, 100.0), (16.0, 10.0), (64.0, 1.0)] {
        let corner = read(x, y).expect("a measured point");
        assert!((corner / (3.0 * x.sqrt() * y * y) - 1.0).abs() < 1e-12, "{x} {y} {corner}");
    }
    for (x, y) in [(0.5, 1.0), (65.0, 1.0), (1.0, 0.9), (1.0, 101.0), (f64::NAN, 1.0)] {
        assert_eq!(read(x, y), Err(NoRate::Outside), "{x} {y}");
    }
    let gap = |i: usize, j: usize| if (i, j) == (1, 1) { f64::NAN } else { 1.0 };
    assert_eq!(interpolate([&xs, &ys], gap, [4.0, 5.0]), Err(NoRate::Gap));
    assert_eq!(
        interpolate([&xs, &ys], gap, [4.0, 1.0]),
        Ok(1.0),
        "on a line of the map, the next line does not matter"
    );
}

#[test]
fn a_size_is_read_between_near_sizes_or_at_the_next_one() {
    let around = |sizes: &[f64], size: f64| sizes_around(sizes, size);
    assert_eq!(around(&[1.0, 4.0, 64.0], 4.0), Some(vec![(1, 1.0)]));
    assert_eq!(around(&[1.0, 4.0, 64.0], 2.0), Some(vec![(0, 0.5), (1, 0.5)]), "in the middle of two logarithms");
    // 4 and 64 are too far apart, and 16 is near neither.
    assert_eq!(around(&[1.0, 4.0, 64.0], 16.0), None);
    assert_eq!(around(&[1.0, 4.0, 64.0], 46.0), Some(vec![(2, 1.0)]), "half a doubling");
    assert_eq!(around(&[1.0, 4.0, 64.0], 90.0), Some(vec![(2, 1.0)]));
    assert_eq!(around(&[1.0, 4.0, 64.0], 91.0), None);
    assert_eq!(around(&[], 1.0), None);
}

#[test]
fn a_mix_of_codes_is_as_fast_as_the_sum_of_its_times() {
    // 3 hours at twice the speed and 1 hour at half the speed take 1.5 + 2 hours.
    assert_eq!(weighted_ratio(&[(3.0, 2.0), (1.0, 0.5)]), Some(4.0 / 3.5));
    assert_eq!(weighted_ratio(&[]), None);
}

const OWN: &str = "[[code]]\nname = \"my solver\"\nalpha = 0.1\nL = 16\nweight = 3\n";

#[test]
fn users_add_codes_in_a_file_and_replace_known_ones() {
    let own =
        codes::parse(&format!("{OWN}[[code]]\nname = \"GUPS\"\nalpha = 0.9\nL = 1\n"), Path::new("mine.toml")).unwrap();
    let merged = codes::add_to_known(own);
    assert_eq!(merged.len(), codes::list_known().len() + 1);
    let find = |name: &str| merged.iter().find(|code| code.name == name).unwrap();
    let expected = Code {
        name: "my solver".into(),
        alpha: 0.1,
        block_words: 16.0,
        bytes: None,
        max_bytes: None,
        accesses: Accesses::Independent,
        weight: Some(3.0),
        how: String::new(),
        source: String::new(),
        sites: Vec::new(),
    };
    assert_eq!(find("my solver"), &expected);
    assert_eq!(find("GUPS").alpha, 0.9);
}

#[test]
fn errors_of_a_file_of_codes_name_the_line_and_the_nearest_key() {
    let scratch = Scratch::new();
    let file = scratch.join("mine.toml");
    for (text, line, words) in [
        ("[[code]]\nname = \"a\"\nalhpa = 0.1\nL = 1\n", 3, ["alhpa", "did you mean \"alpha\"?"]),
        ("[[code]]\nname = \"a\"\nalpha = 0.1\n", 1, ["the key \"L\" is missing", "add L = ..."]),
        ("[[code]]\nname = \"a\"\nalpha = 2\nL = 1\n", 3, ["alpha = 2 is not above 0", "1 is no reuse"]),
        ("[[code]]\nname = \"a\"\nalpha = 1\nL = 0.5\n", 4, ["L = 0.5 is not 1 or more", "of 8 bytes each"]),
        ("[[code]]\nname = \"\"\nalpha = 1\nL = 1\n", 2, ["the name of a code", "shorten it"]),
        (
            "[[code]]\nname = \"a\"\nalpha = 1\nL = 1\nweight = 0\n",
            5,
            ["weight = 0 is not above 0", "a weight is a time"],
        ),
        (
            "[[code]]\nname = \"a\"\nalpha = 1\nL = 1\nbytes = 0\n",
            5,
            ["bytes = 0 is not 1 or more", "memory of the code per rank"],
        ),
        ("[[codes]]\nname = \"a\"\n", 1, ["codes", "did you mean \"code\"?"]),
        (&format!("{OWN}{OWN}"), 7, ["there are two codes \"my solver\"", "its own name"]),
    ] {
        std::fs::write(&file, text).unwrap();
        let error = codes::read_with_known(&file).unwrap_err();
        let place = error.location.as_ref().expect("a place");
        let found_line = place.text[..place.span.start].matches('\n').count() + 1;
        assert_eq!((place.file.as_path(), found_line), (file.as_path(), line), "{text}: {error:?}");
        let shown = format!("{} {}", error.message, error.help);
        assert!(words.iter().all(|word| shown.contains(word)), "{text}: {shown}");
    }
}

/// Words of 512 MiB.
const LARGE: u64 = 1 << 26;

/// Writes samples of a map of 512 MiB whose rate is `speed` L^0.5 alpha^-0.25 bytes per second: a plane in logarithms.
fn map(scratch: &Scratch, speed: f64) -> PathBuf {
    common::file(scratch, plane("apex_map.sequential", &[0.01, 0.1, 1.0], speed))
}

fn plane(kernel: &str, alphas: &[f64], speed: f64) -> Vec<Sample> {
    plane_of(kernel, alphas, speed, (LARGE, "huge"))
}

fn plane_of(kernel: &str, alphas: &[f64], speed: f64, (words, pages): (u64, &str)) -> Vec<Sample> {
    let mut samples = Vec::new();
    for (alpha, block) in alphas.iter().flat_map(|&alpha| [1u64, 16, 256].map(|block| (alpha, block))) {
        let point = Point::new(kernel, 1)
            .with_parameter("M", words)
            .with_parameter("pages", pages)
            .with_parameter("I", 64u64)
            .with_parameter("N", 2u64)
            .with_parameter("L", block)
            .with_parameter("alpha", alpha);
        let point = kernels::complete(point).expect("a valid point");
        let bytes = kernels::find(kernel).unwrap().work(&point).bytes;
        let rate = speed * (block as f64).sqrt() * f64::powf(alpha, -0.25);
        samples.push(sample(&point, &format!("{kernel} {alpha} {block} {words} {pages}"), 0, bytes / rate));
    }
    samples
}

#[test]
fn the_command_lists_codes_and_reads_their_rates_from_a_map() {
    let scratch = Scratch::new();
    let (result, own) = (map(&scratch, 1e6), scratch.join("mine.toml"));
    let listed = successful_stdout(&["codes"]);
    assert!(codes::list_known().iter().all(|code| listed.contains(&code.name)), "{listed}");
    std::fs::write(&own, OWN).unwrap();
    let more = ["--codes", own.to_str().unwrap()];
    // 1e6 16^0.5 0.1^-0.25.
    assert!(row_of(&result, &more, "my solver").ends_with(" 7.11 MB/s"));
    let read = successful_stdout(&["codes", result.to_str().unwrap(), more[0], more[1]]);
    assert!(row_of(&result, &more, "STREAM triad").ends_with(" \u{2013}"), "{read}");
    for words in ["STREAM triad (outside the map)", "list walk (no map has chain accesses)", "512 MiB: my solver."] {
        assert!(read.contains(words), "{words}: {read}");
    }
    assert!(read.contains("apexmap run codes"), "{read}");
}

/// Returns the row of a code on the map of a result.
fn row_of(result: &Path, more: &[&str], name: &str) -> String {
    let read = successful_stdout(&[&["codes", result.to_str().unwrap()], more].concat());
    read.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{read}")).trim_end().to_owned()
}

#[test]
fn the_table_says_what_a_map_cannot_say() {
    let (scratch, other) = (Scratch::new(), Scratch::new());
    let own = scratch.join("mine.toml");
    let code = |name: &str, accesses: &str| {
        format!("[[code]]\nname = \"{name}\"\nalpha = 1\nL = 2\naccesses = \"{accesses}\"\nbytes = 5e8\n")
    };
    let small = "[[code]]\nname = \"small\"\nalpha = 1\nL = 2\nbytes = 16384\n";
    std::fs::write(&own, [&code("mixed", "mixed"), &code("waits", "dependent"), small].concat()).unwrap();
    let more = ["--codes", own.to_str().unwrap()];
    let independent = map(&scratch, 1e6);
    for name in ["mixed", "waits", "small"] {
        assert!(row_of(&independent, &more, name).ends_with(" \u{2013}"), "{name}");
    }
    let read = successful_stdout(&["codes", independent.to_str().unwrap(), more[0], more[1]]);
    let read = read.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        "mixed (streams and jumps mix)",
        "waits (no map has",
        "small (no measured size is near 16 KiB)",
        "does not write: GUPS",
    ] {
        assert!(read.contains(words), "{words}: {read}");
    }
    // A dependent map at alpha = 1 alone, a tenth as fast: the walk is read from it, and the others are not.
    let samples = [plane("apex_map.sequential", &[0.01, 0.1, 1.0], 1e6), plane("apex_map.chains", &[1.0], 1e5)];
    let both = common::file(&other, samples.concat());
    assert!(row_of(&both, &more, "waits").ends_with(" 141 kB/s"), "1e5 2^0.5");
    assert!(row_of(&both, &[], "GUPS").ends_with("B/s"), "a code of 512 MiB");
}

#[test]
fn times_of_sites_add_up_and_without_a_map_the_rate_is_a_bound() {
    let (scratch, other) = (Scratch::new(), Scratch::new());
    let own = scratch.join("mine.toml");
    let site = |kind: &str, place: &str| {
        format!("[[code.site]]\nline = \"a.c:1\"\nkind = \"{kind}\"\nshare = 0.5\nbytes = 5e8\n{place}\n")
    };
    let sites = [site("random", "alpha = 0.1\nL = 16"), site("chain", "alpha = 1\nL = 1")].concat();
    std::fs::write(&own, format!("{OWN}{sites}")).unwrap();
    let more = ["--codes", own.to_str().unwrap()];
    let result = map(&scratch, 1e6);
    let read = successful_stdout(&["codes", result.to_str().unwrap(), more[0], more[1]]);
    assert!(read.contains("50 % of my solver, chain (no map has chain accesses)"), "{read}");
    // Half of the words at 1e6 16^0.5 0.1^-0.25 bytes per second.
    assert!(row_of(&result, &more, "my solver").ends_with(" < 14.2 MB/s"), "{read}");
    std::fs::write(&own, format!("{OWN}{}", site("sweep", "alpha = 1\nL = 256"))).unwrap();
    assert!(row_of(&result, &more, "my solver").ends_with(" 16 MB/s"), "long blocks are sweeps");
    std::fs::write(&own, format!("{OWN}{sites}")).unwrap();
    let samples = [plane("apex_map.sequential", &[0.01, 0.1, 1.0], 1e6), plane("apex_map.chains", &[1.0], 1e5)];
    // Half of the words at 1e6 16^0.5 0.1^-0.25 bytes per second, half at 1e5.
    let row = row_of(&common::file(&other, samples.concat()), &more, "my solver");
    assert!(row.ends_with(" 197 kB/s"), "{row}");
    std::fs::write(&own, format!("{OWN}{}", site("chain", "alpha = 1\nL = 0"))).unwrap();
    assert!(refusal_message(&["codes", "--codes", own.to_str().unwrap()]).contains("out of range"));
}

/// Returns samples of `calibrate.stride`; `rate` is that of a stride in words and a region in bytes.
fn strides(places: &[(u64, u64)], pages: &str, rate: impl Fn(u64, u64) -> f64) -> Vec<Sample> {
    let sample_at = |&(stride, bytes): &(u64, u64)| {
        let point = Point::new("calibrate.stride", 1).with_parameter("bytes", bytes).with_parameter("stride", stride);
        let point = kernels::complete(point.with_parameter("pages", pages)).expect("a valid point");
        let moved = kernels::find("calibrate.stride").unwrap().work(&point).bytes;
        sample(&point, &format!("stride {stride} {bytes} {pages}"), 0, moved / rate(stride, bytes))
    };
    places.iter().map(sample_at).collect()
}

fn rates(samples: &[Sample]) -> CodeRates {
    CodeRates::new(&Samples::from(common::table(samples.to_vec()))).expect("rates")
}

fn site_of(kind: Kind, alpha: f64, bytes: f64) -> CodeSite {
    let line = "a.c:1".to_owned();
    CodeSite { line, kind, share: 1.0, alpha: Some(alpha), block_words: 1.0, stride: 1.0, bytes, reused: None }
}

/// Returns the rate of a site on the column with these pages.
fn read(rates: &CodeRates, pages: &str, site: &CodeSite) -> Result<Rate, NoRate> {
    let has_pages = |column: &RateColumn| column.group().samples.first_word("pages") == pages;
    let columns = rates.columns();
    rates.site(*columns.iter().find(|column| has_pages(column)).expect(pages), site)
}

#[test]
fn a_site_is_read_at_its_own_size_and_pages_or_not_at_all() {
    const KIB: f64 = 1024.0;
    let alphas = [0.01, 1.0];
    let kernel = "apex_map.sequential";
    // 2, 8, 32 and 128 KiB are measured with 800, 400, 200 and 100 MB/s, 4 and 512 MiB on both pages.
    let mut samples = Vec::new();
    for (words, speed) in [(256, 8e8), (1024, 4e8), (4096, 2e8), (16384, 1e8), (1 << 19, 5e7), (LARGE, 1e6)] {
        samples.extend(plane_of(kernel, &alphas, speed, (words, "huge")));
    }
    samples.extend(plane_of(kernel, &alphas, 4e7, (1 << 19, "base")));
    samples.extend(plane_of(kernel, &alphas, 5e5, (LARGE, "base")));
    let rates = rates(&samples);
    let value = |pages: &str, size: f64| read(&rates, pages, &site_of(Kind::Random, 1.0, size)).map(|rate| rate.value);
    let near = |rate: Result<f64, NoRate>, expected: f64| (rate.clone().unwrap() / expected - 1.0).abs() < 1e-9;
    assert!(near(value("huge", 8.0 * KIB), 4e8), "its own size");
    assert!(near(value("huge", 16.0 * KIB), 2e8 * f64::sqrt(2.0)), "in the middle of two sizes");
    assert!(near(value("base", 16.0 * KIB), 2e8 * f64::sqrt(2.0)), "pages hardly matter in 16 KiB");
    assert!(near(value("huge", 4096.0 * KIB), 5e7) && near(value("base", 4096.0 * KIB), 4e7), "and do in 4 MiB");
    assert!(near(value("huge", 4e8), 1e6) && near(value("base", 4e8), 5e5), "512 MiB stand for 400 MB");
    let refused = value("huge", 64.0 * KIB * KIB).unwrap_err();
    assert_eq!(refused.to_string(), "no measured size is near 64 MiB", "4 and 512 MiB are too far apart");
    assert_eq!(value("huge", KIB), Err(NoRate::Size(KIB)), "caches end somewhere below the smallest size");
    assert_eq!(value("huge", 1e10), Err(NoRate::Size(1e10)), "nothing is extrapolated");
    assert_eq!(read(&rates, "huge", &site_of(Kind::Chain, 1.0, 8.0 * KIB)), Err(NoRate::NoMap(Kind::Chain)));
    // Its lines come back after 8 KiB, as in uniform accesses to 8 KiB.
    let cycle = CodeSite { alpha: None, reused: Some([8000.0, 8192.0]), ..site_of(Kind::Random, 1.0, 1e9) };
    assert!(near(read(&rates, "huge", &cycle).map(|rate| rate.value), 4e8));
    let spread = CodeSite { reused: Some([64.0, 8192.0]), ..cycle };
    assert_eq!(read(&rates, "huge", &spread), Err(NoRate::NoPlace));
}

#[test]
fn walks_at_a_stride_are_read_at_their_number_of_lines() {
    // The rate of a read depends on the lines of a pass alone: 1e9 up to 256 lines, 1e8 beyond.
    let rate = |stride: u64, bytes: u64| {
        let lines = bytes / (64 * stride.div_ceil(8));
        if lines <= 256 { 1e9 } else { 1e8 }
    };
    let places: Vec<(u64, u64)> =
        [1, 8, 64].iter().flat_map(|&stride| (14..28).map(move |power| (stride, 1 << power))).collect();
    let mut samples = plane("apex_map.sequential", &[0.01, 1.0], 1e6);
    samples.extend(strides(&places, "huge", rate));
    let rates = rates(&samples);
    let site = |kind: Kind, stride: f64, reused: [f64; 2]| CodeSite {
        stride,
        reused: Some(reused),
        ..site_of(kind, 1.0, 1e8)
    };
    let value = |site: &CodeSite| read(&rates, "huge", site);
    for stride in [8.0, 16.0, 64.0] {
        // 256 lines are 16 KiB, wherever they are.
        let [few, many] = [16384.0, 65536.0].map(|bytes| value(&site(Kind::Strided, stride, [bytes; 2])).unwrap());
        assert!((few.value / 1e9 - 1.0).abs() < 1e-9 && (many.value / 1e8 - 1.0).abs() < 1e-9, "{stride}: {few:?}");
        assert!(!few.is_bound);
    }
    let sweep = value(&site(Kind::Sweep, 1.0, [16384.0; 2])).unwrap();
    assert!(sweep.is_bound, "a sweep through a cache is as fast as its instructions");
    assert!(!value(&site(Kind::Sweep, 1.0, [1e7; 2])).unwrap().is_bound, "in memory, memory decides");
    // Seven of eight visits come back soon, the others not.
    let reuse = [16384.0, 1e6];
    assert_eq!(value(&site(Kind::Strided, 64.0, reuse)), Err(NoRate::Reuse(reuse)));
    assert_eq!(value(&site(Kind::Strided, 65.0, [16384.0; 2])), Err(NoRate::Outside));
    // Pages of a long stride matter.
    let on_base = CodeSite { stride: 64.0, ..site_of(Kind::Strided, 1.0, 1e6) };
    let base = plane_of("apex_map.sequential", &[0.01, 1.0], 1e6, (LARGE, "base"));
    let both = [samples, base].concat();
    assert_eq!(read(&self::rates(&both), "base", &on_base), Err(NoRate::Size(1e6)));
}

#[test]
fn a_diamond_is_drawn_only_on_a_map_of_the_size_of_its_code() {
    let scratch = Scratch::new();
    let small = plane_of("apex_map.sequential", &[0.01, 0.1, 1.0], 1e6, (1 << 11, "huge"));
    let result = common::file(&scratch, small);
    let out = scratch.join("map.svg");
    let arguments = ["plot", result.to_str().unwrap(), "contour", "--codes", "--out", out.to_str().unwrap()];
    successful_stdout(&arguments);
    let drawn = std::fs::read_to_string(&out).unwrap();
    assert!(!drawn.lines().any(|line| line.trim() == "GUPS"), "a table of 256 MiB or more is not on a map of 16 KiB");
    assert!(drawn.contains("no measured size is near"), "{drawn}");
}

#[test]
fn codes_are_marked_on_contours_and_heat_maps_and_named_if_outside() {
    let scratch = Scratch::new();
    let result = map(&scratch, 1e6);
    let result = result.to_str().unwrap();
    for kind in ["contour", "heat"] {
        let out = scratch.join("map.svg");
        let draw = |extra: &[&str]| {
            successful_stdout(&[&["plot", result, kind, "--out", out.to_str().unwrap()], extra].concat());
            std::fs::read_to_string(&out).unwrap()
        };
        let (marked, plain) = (draw(&["--codes"]), draw(&[]));
        let labels = |name: &str, svg: &str| svg.lines().filter(|line| line.trim() == name).count();
        // A subtitle has several lines.
        let words = |svg: &str| svg.lines().filter(|line| !line.starts_with('<')).collect::<Vec<_>>().join(" ");
        for name in ["GUPS", "matrix product, tiled", "matrix product, naive"] {
            assert_eq!((labels(name, &marked), labels(name, &plain)), (1, 0), "{kind}: {name}");
        }
        assert_eq!(labels("STREAM triad", &marked), 0, "{kind}: drawn outside the axes");
        let (text, plain) = (words(&marked), words(&plain));
        assert!(text.contains("outside the map: STREAM triad") && !plain.contains("outside"), "{kind}: {text}");
        assert!(text.contains("a sum of sites"), "{kind}: one place has no rate for streams and jumps");
        assert_eq!(labels("SpMV, five-point", &marked), 0, "{kind}");
        assert!(text.contains("not on this map: list walk"), "{kind}: a walk waits");
        assert_eq!((labels("estimate", &marked), labels("estimate", &plain)), (1, 0), "{kind}: the key");
    }
    let refused = refusal_message(&["plot", result, "surface", "--codes"]);
    assert!(refused.contains("codes have no place on a figure of the kind surface"), "{refused}");
}

#[test]
fn a_comparison_shows_the_ratio_at_each_code_and_of_their_mix() {
    let (first, second, scratch) = (Scratch::new(), Scratch::new(), Scratch::new());
    let results = [map(&first, 1e6), map(&second, 2e6)];
    let own = scratch.join("mine.toml");
    std::fs::write(&own, OWN).unwrap();
    let out = scratch.join("page");
    let [a, b] = results.each_ref().map(|path| path.to_str().unwrap());
    let (out_name, own) = (out.to_str().unwrap(), own.to_str().unwrap());
    let printed = successful_stdout(&["compare", a, b, "--names", "a,b", "--codes", own, "--out", out_name]);
    assert!(printed.starts_with("Mix of codes, 1 core: b / a = 2.00 in these two launches;"), "{printed}");
    assert!(printed.contains("Weighted mix of codes, 1 core: b / a = 2.00 (no interval is known"), "{printed}");
    let page = std::fs::read_to_string(out.join("compare.html")).unwrap();
    let row = |name: &str| {
        let cells = page.split_once(&format!("<tr><td>{name}</td>")).unwrap_or_else(|| panic!("{name}")).1;
        cells.split("</tr>").next().unwrap().to_owned()
    };
    assert!(row("GUPS").ends_with("<td class=\"number\">2.00</td>"), "{}", row("GUPS"));
    assert!(row("my solver").ends_with("<td class=\"number\">2.00</td>"), "{}", row("my solver"));
    assert!(row("list walk").contains("not on this map"), "{}", row("list walk"));
    assert!(row("STREAM triad").contains("outside the map"), "{}", row("STREAM triad"));
}
