//! Tests of `apexmap locate` without its tracer: stack distances, kinds, places, text traces and the first screen.

use crate::common::{self, Scratch, refusal_message, successful_stdout};
use apexmap_locate::analysis::{Analysis, Reuse};
use apexmap_locate::located::Located;
use apexmap_locate::place::LONGEST_RUN;
use apexmap_locate::reuse::{Found, Histogram, Tree, Youngest};
use apexmap_locate::runs::{Step, steps};
use apexmap_locate::screen::percent;
use apexmap_locate::site::{Counters, Site};
use apexmap_locate::text_trace::{self, Recorder};
use apexmap_locate::walk::{Kind, kind_of};
use apexmap_measure::numerics::power_law::PowerLaw;
use proptest::prelude::*;
use rand::SeedableRng;
use rand_distr::Distribution;
use rand_pcg::Pcg64Mcg;
use std::process::Command;

const CACHES: [(&str, u64); 2] = [("second-level cache", 1 << 20), ("last cache", 32 << 20)];

/// The youngest lines before the tree, as the tool and the reader of text traces have them.
#[derive(Default)]
struct Stack {
    youngest: Youngest,
    tree: Tree,
}

impl Stack {
    fn access(&mut self, line: u64) -> Option<u64> {
        match self.youngest.access(line) {
            Found::Young(place) => Some(place as u64),
            Found::Old(displaced) => self.tree.access(line, displaced),
        }
    }
}

/// A list of lines, the last accessed one first.
#[derive(Default)]
struct NaiveStack(Vec<u64>);

impl NaiveStack {
    fn access(&mut self, line: u64) -> Option<u64> {
        let place = self.0.iter().position(|other| *other == line);
        place.map(|place| self.0.remove(place));
        self.0.insert(0, line);
        place.map(|place| place as u64)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn distances_equal_those_of_a_list(
        lines in prop::collection::vec((0u32..13, any::<u32>()), 0..20_000), forget in 0usize..20_000,
    ) {
        let (mut stack, mut naive) = (Stack::default(), NaiveStack::default());
        for (index, (bits, value)) in lines.into_iter().enumerate() {
            if index == forget {
                stack.youngest.retain(|line| line % 3 == 0);
                stack.tree.retain(|line| line % 3 == 0);
                naive.0.retain(|line| line % 3 == 0);
            }
            let line = u64::from(value % (1 << bits));
            prop_assert_eq!(stack.access(line), naive.access(line));
            prop_assert_eq!(stack.tree.len(), naive.0.len());
        }
    }

    #[test]
    fn misses_of_caches_of_powers_of_two_are_exact(distances in prop::collection::vec(0u64..100_000, 1..500)) {
        let mut histogram = Histogram::default();
        distances.iter().for_each(|distance| histogram.add(Some(*distance), 1));
        histogram.add(None, 7);
        for size in (0..18).map(|power| 1u64 << power).chain([5 << 9, 6 << 9, 7 << 9]) {
            let misses = distances.iter().filter(|distance| **distance >= size).count() as f64 + 7.0;
            prop_assert!((histogram.misses(size as f64) - misses).abs() < 1e-9, "{} lines", size);
        }
    }

    #[test]
    fn rounded_shares_add_to_a_hundred(parts in prop::collection::vec(0.0..1.0f64, 1..9)) {
        let sum: f64 = parts.iter().sum::<f64>().max(1e-9);
        let shares: Vec<f64> = parts.iter().map(|part| part.max(1e-9) / sum).collect();
        prop_assert_eq!(percent(&shares).iter().sum::<u64>(), (100.0 * shares.iter().sum::<f64>()).round() as u64);
    }
}

/// Accesses to an address by an instruction of 8 bytes.
fn record(addresses: impl IntoIterator<Item = (u64, u64)>) -> (Vec<Site>, Analysis) {
    let (mut recorder, mut analysis) = (Recorder::default(), Analysis::default());
    addresses.into_iter().for_each(|(site, address)| recorder.access((site, 8, false), address, &mut analysis));
    (recorder.finish().sites, analysis)
}

fn kind(addresses: impl IntoIterator<Item = u64>) -> Kind {
    let (sites, _) = record(addresses.into_iter().map(|address| (1, address)));
    kind_alone(&sites[0])
}

/// Returns the kind of a site without others of its line.
fn kind_alone(site: &Site) -> Kind {
    kind_of(site, steps(std::slice::from_ref(site), |_| None::<u8>)[0])
}

#[test]
fn kinds_of_simple_walks_are_recognized() {
    let n = 10_000u64;
    // A full period modulo 2^20.
    let scattered = |k: u64| k.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 44;
    assert_eq!(kind((0..n).map(|k| 8 * k)), Kind::Sweep);
    assert_eq!(kind((0..n).rev().map(|k| 8 * k)), Kind::Sweep, "backwards");
    assert_eq!(kind((0..n).map(|k| 4096 * k)), Kind::Strided);
    assert_eq!(kind((0..n).map(|k| 64 + 8 * (k % 3))), Kind::Local);
    assert_eq!(kind((0..n).map(|_| 64)), Kind::Local, "one word");
    assert_eq!(kind((0..n).map(|k| 8 * scattered(k * k))), Kind::Random);
    let chased = Counters { accesses: 1000, chained: 900, pointed: 900, runs: 1000, ..Counters::default() };
    let site = |counters: Counters| Site { size: 8, counters, ..Site::default() };
    assert_eq!(kind_alone(&site(chased)), Kind::Chain);
    assert_eq!(kind_alone(&site(Counters { chained: 0, ..chased })), Kind::Pointer);
    let strided = Counters { accesses: 1000, same_stride: 998, stride: 128, runs: 1000, ..Counters::default() };
    assert_eq!(kind_alone(&site(strided)), Kind::Strided);
    let unrolled = Step { bytes: 128.0, stride: 128 };
    assert_eq!(kind_of(&site(strided), unrolled), Kind::Sweep, "other sites of the line read the other words");
    let still = |k: u64| if k % 15 < 12 { 64 } else { 8 * scattered(k * k) };
    assert_ne!(kind((0..n).map(still)), Kind::Sweep, "a word that is often read again");
}

/// Feeds Apex-Map's addresses: `blocks` blocks of `block` words from `words` words.
fn apex_map(alpha: f64, words: u64, block: u64, blocks: usize, mut access: impl FnMut(u64)) {
    let law = PowerLaw::new(words / block, alpha);
    let mut random = Pcg64Mcg::seed_from_u64(11);
    for _ in 0..blocks {
        let start = law.sample(&mut random) * block;
        (start..start + block).for_each(|word| access((1 << 30) | (8 * word)));
    }
}

/// Draws per cell must show alpha: with alpha = 0.001 only one of 100 blocks is another one. Cells with longer blocks would need 10^9
/// accesses there.
#[test]
fn places_of_apex_maps_own_addresses_are_found_again() {
    let alphas = (0..7).map(|k| 10f64.powf(-3.0 + f64::from(k) / 2.0));
    let cells = alphas.flat_map(|alpha| [1, 4, 16, 64, 256, 1024, 4096, 16384].map(|block| (alpha, block)));
    let (mut count, mut wrong) = (0, Vec::new());
    for (alpha, block) in
        cells.filter(|(alpha, block)| *block <= 64 || *block <= 1024 && *alpha > 0.02 || *alpha > 0.09)
    {
        let blocks = (3_000_000 / block).clamp(1500, 400_000) as usize;
        let (mut recorder, mut analysis) = (Recorder::default(), Analysis::default());
        apex_map(alpha, 1 << 20, block, blocks, |address| recorder.access((1, 8, false), address, &mut analysis));
        let located = Located::new(&recorder.finish().sites, analysis, CACHES);
        let place = located.program.place.expect("a place");
        count += 1;
        let is_right = (place.alpha / alpha - 1.0).abs() < 0.1
            && (place.block_words / (block as f64).min(LONGEST_RUN)).ln().abs() < 4f64.ln()
            && place.is_near();
        if !is_right {
            wrong.push((alpha, block, place));
        }
    }
    assert!(wrong.len() * 20 <= count, "{} of {count}: {wrong:#?}", wrong.len());
}

#[test]
fn sampled_miss_ratios_are_within_a_point_of_exact_ones_from_256_kib_and_two_points_below() {
    let (words, blocks) = (1 << 23, 1_500_000);
    for (alpha, block) in [(1.0, 1), (0.3, 1), (0.1, 1), (0.03, 1), (0.003, 1), (0.3, 16)] {
        let blocks = blocks / block as usize;
        let (mut sampled, mut exact) = (Analysis::default(), Analysis::default());
        let mut recorders = [Recorder::default(), Recorder::with_limit(usize::MAX)];
        apex_map(alpha, words, block, blocks, |address| {
            recorders[0].access((1, 8, false), address, &mut sampled);
            recorders[1].access((1, 8, false), address, &mut exact);
        });
        assert!(sampled.level() > 0 || alpha < 0.2, "nothing was left out");
        let [sampled, exact] = [sampled, exact].map(|analysis| analysis.into_reuse(&[]));
        let accesses = (blocks as u64 * block) as f64;
        for lines in (9..19).map(|power| f64::from(power).exp2()) {
            let ratio = |reuse: &[Reuse]| reuse[0].lines.misses(lines) / accesses;
            let (estimate, expected) = (ratio(&sampled), ratio(&exact));
            assert!(
                (estimate - expected).abs() < if lines < 4096.0 { 0.02 } else { 0.01 },
                "{alpha}, {block}, {lines}: {estimate:.4}, exact {expected:.4}"
            );
        }
    }
}

/// Runs a small program under lackey and under cachegrind with a fully associative cache of 32 KiB.
#[test]
fn misses_equal_those_of_cachegrind() {
    if Command::new("valgrind").arg("--version").output().is_err() {
        eprintln!("skipped: no valgrind");
        return;
    }
    let valgrind = |arguments: &[&str]| {
        let output = Command::new("valgrind").args(arguments).args(["/bin/sort", "/proc/version"]).output().unwrap();
        String::from_utf8(output.stderr).unwrap()
    };
    let text = valgrind(&["--tool=lackey", "--trace-mem=yes", "--basic-counts=no"]);
    let mut analysis = Analysis::default();
    let trace = text_trace::read(&mut text.as_bytes(), "lackey", None, &mut analysis).unwrap();
    let misses: f64 = analysis.into_reuse(&trace.sites).iter().map(|site| site.lines.misses(512.0)).sum();
    let options = ["--tool=cachegrind", "--cache-sim=yes", "--cachegrind-out-file=/dev/null", "--D1=32768,512,64"];
    let counted = valgrind(&options);
    let field = |name: &str| -> f64 {
        let is_named = |line: &&str| line.split_whitespace().collect::<Vec<_>>().join(" ").contains(name);
        let line = counted.lines().find(is_named).unwrap_or_else(|| panic!("{counted}"));
        line.split(':').nth(1).unwrap().split_whitespace().next().unwrap().replace(',', "").parse().unwrap()
    };
    // Cachegrind counts a modification as one access; its store always hits.
    assert!(trace.accesses as f64 >= field("D refs"), "{} {}", trace.accesses, field("D refs"));
    let expected = field("D1 misses");
    // An access across two lines counts for one of them.
    assert!((misses / expected - 1.0).abs() < 0.01, "{misses}, cachegrind {expected}");
}

fn read(text: &[u8]) -> apexmap::Result<text_trace::TextTrace> {
    text_trace::read(&mut &text[..], "t.txt", None, &mut Analysis::default())
}

#[test]
fn text_traces_are_read_and_errors_name_the_line() {
    let trace = read(b"==1== lackey\nI  04000800,3\n L 1ffe8,8\n M 1fff0,4\n S 1ffe8,8\n").unwrap();
    assert_eq!((trace.sites.len(), trace.accesses), (4, 4), "a modification is a load and a store");
    assert!(trace.sites.iter().all(|site| site.address == 0x0400_0800));
    let plain = read(b"# mine\nR 0x10\nW ff 4\n\nr 18\n").unwrap();
    assert_eq!((plain.sites.len(), plain.accesses), (2, 3));
    assert!(plain.notes.iter().any(|note| note.contains("chains and pointers")), "{:?}", plain.notes);
    let cut = read(b"R 10\nR 20\nR").unwrap();
    assert!(cut.accesses == 2 && cut.notes[0].contains("Line 3"), "{:?}", cut.notes);
    for (text, words) in [
        (&b""[..], "has no accesses"),
        (b"==1== nothing\n", "has no accesses"),
        (b"R 10\nR zz\n", "line 2 of t.txt"),
        (b"R 10 0\n", "line 1"),
        (b"R 10 8 9\n", "line 1"),
        (b"\x7fELF\x02\x01\x00\x00", "line 1"),
        (b"X 10\n", "line 1"),
    ] {
        let error = read(text).err().unwrap_or_else(|| panic!("{text:?}"));
        assert!(error.message.contains(words) && !error.help.is_empty(), "{error}");
    }
    let marked = read(b"\xef\xbb\xbfR 10\r\nR 20\r\n").unwrap();
    assert_eq!(marked.accesses, 2, "after a byte order mark");
    let error = read(b"\x1f\x8b\x08\x00\x00").err().expect("compressed");
    assert!(
        error.message.ends_with("is compressed") && error.help.contains("gzip -dc t.txt | apexmap locate -"),
        "{error}"
    );
    let long = [b"R 10\nR ".to_vec(), vec![b'1'; 100_000]].concat();
    assert!(read(&long).err().expect("too long").message.contains("line 2"));
}

#[test]
fn accesses_below_address_64_have_a_line() {
    let (sites, analysis) = record((0..100).map(|k| (1, 8 * (k % 8))));
    assert_eq!(Located::new(&sites, analysis, CACHES).program.footprint, 64.0);
}

#[test]
fn the_first_screen_has_a_sentence_and_rows_that_add_up() {
    let scratch = Scratch::new();
    let (file, code) = (scratch.join("app.txt"), scratch.join("app.toml"));
    // A sweep of words, and single words spread over 128 MiB.
    let lines = (0..40_000u64).map(|k| {
        let far = k.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40 << 3;
        format!("I 400000,3\n L {:x},4\nI 400010,3\n S {:x},8\n", 0x10_0000 + 4 * k, 0x1000_0000 + far)
    });
    std::fs::write(&file, lines.collect::<String>()).unwrap();
    let arguments = ["locate", file.to_str().unwrap()];
    let screen = successful_stdout(&[&arguments[..], &["--codes", code.to_str().unwrap()]].concat());
    assert!(screen.lines().count() <= 24 && screen.lines().all(|line| line.chars().count() <= 80), "{screen}");
    let sentence = screen.split("\n\n").next().unwrap().replace("\n ", "");
    assert!(sentence.contains("instruction 0x400010, random accesses to"), "{screen}");
    assert!(
        sentence.contains("of the misses of the ") && screen.contains("misses: second-level/last cache"),
        "{screen}"
    );
    let row = |words: &str| screen.lines().find(|line| line.contains(words)).unwrap_or_else(|| panic!("{screen}"));
    assert!(row("sweep 4 B").trim_start().starts_with("50 %") && row("  random  ").trim_start().starts_with("50 %"));
    let document: serde_json::Value =
        serde_json::from_str(&successful_stdout(&[&arguments[..], &["--json", "-"]].concat())).expect("JSON");
    assert_eq!((document["accesses"].as_u64(), document["lines"].as_array().unwrap().len()), (Some(80_000), 2));
    let listed = successful_stdout(&["codes", "--codes", code.to_str().unwrap()]);
    assert!(listed.lines().any(|line| line.starts_with("app ")), "{listed}");
    let limited = successful_stdout(&[&arguments[..], &["--accesses", "10", "--json", "-"]].concat());
    assert!(limited.contains("\"accesses\": 10"), "{limited}");
}

#[test]
fn wrong_inputs_of_locate_name_the_next_step() {
    assert!(refusal_message(&["locate"]).contains("apexmap locate -- ./app"));
    assert!(refusal_message(&["locate", "--json", "-", "--", "true"]).contains("--json app.json -- ./app"));
    let scratch = Scratch::new();
    let missing = scratch.join("none.txt");
    let unread = common::output(Command::new(env!("CARGO_BIN_EXE_apexmap")).arg("locate").arg(&missing));
    let text = String::from_utf8_lossy(&unread.stderr).into_owned();
    assert!(unread.status.code() == Some(3) && text.contains("none.txt"), "{text}");
    assert!(refusal_message(&["locate", "/bin/ls"]).contains("apexmap locate -- ./app"));
    let piped = common::output(
        Command::new("sh").arg("-c").arg(format!("echo 'W 40 8' | {} locate -", env!("CARGO_BIN_EXE_apexmap"))),
    );
    assert!(piped.status.success(), "{}", String::from_utf8_lossy(&piped.stderr));
}
