//! Tests of what `apexmap locate` counts in words, in sets and in pages, against counts that follow from the addresses, and against
//! cachegrind's caches with sets.

use crate::common::{self, Scratch};
use crate::locate_tracer::{compile, options};
use apexmap_locate::analysis::Analysis;
use apexmap_locate::code;
use apexmap_locate::located::{Located, Machine, Part};
use apexmap_locate::place::LONGEST_RUN;
use apexmap_locate::runs::{Runs, steps};
use apexmap_locate::screen;
use apexmap_locate::sets::Sets;
use apexmap_locate::site::Site;
use apexmap_locate::text_trace::Recorder;
use apexmap_locate::tracer::{TraceOptions, trace};
use apexmap_locate::walk::Kind;
use apexmap_theory::places::{lines_of_words, words_of_line};
use std::collections::BTreeSet;
use std::process::Command;

const CACHES: [(&str, u64); 2] = [("second-level cache", 1 << 20), ("last cache", 32 << 20)];

/// The second-level cache is as small as a first-level one, so that short programs reach its end.
const SMALL: Machine = Machine {
    caches: [("second-level cache", 32 << 10), ("last cache", 32 << 20)],
    sets: Some(Sets { sets: 64, ways: 8 }),
    tlb_entries: Some(1024),
};

/// Accesses of instructions of one source line: the instruction, its bytes and the address.
fn locate(accesses: impl IntoIterator<Item = (u64, u32, u64)>, machine: Machine) -> Located {
    let (mut recorder, mut analysis) = (Recorder::default(), Analysis::default());
    accesses.into_iter().for_each(|(site, size, address)| recorder.access((site, size, false), address, &mut analysis));
    let mut sites: Vec<Site> = recorder.finish().sites;
    for site in &mut sites {
        (site.name.file, site.name.line) = ("a.c".into(), 7);
    }
    Located::new(&sites, analysis, machine)
}

/// Returns L as counted from the words in their order: accesses per run of consecutive words.
fn count_block_words(words: impl Iterator<Item = u64>) -> f64 {
    let words: Vec<u64> = words.collect();
    let breaks = words.windows(2).filter(|pair| pair[1] != pair[0] + 1).count();
    words.len() as f64 / (breaks + 1) as f64
}

/// Returns L of all accesses of one source line, without its limit.
fn block_words(accesses: impl IntoIterator<Item = (u64, u32, u64)>) -> f64 {
    let (mut recorder, mut analysis) = (Recorder::default(), Analysis::default());
    accesses.into_iter().for_each(|(site, size, address)| recorder.access((site, size, false), address, &mut analysis));
    let sites: Vec<Site> = recorder.finish().sites;
    let mut all_runs = Runs::default();
    sites.iter().zip(steps(&sites, |_| Some(()))).for_each(|(site, step)| all_runs.merge(Runs::new(site, step, 0.0)));
    all_runs.words / all_runs.count
}

#[test]
fn sweeps_of_every_stride_have_the_l_of_the_words_that_they_read() {
    const STEPS: u64 = 600;
    for (size, unit) in [(8, 8), (4, 4)] {
        for stride in (8..=4096u64).step_by(unit) {
            let addresses = || (0..STEPS).map(move |step| (1 << 30) + stride * step);
            let expected = count_block_words(addresses().map(|address| address / 8));
            let forwards = block_words(addresses().map(|address| (1, size, address)));
            assert!((forwards / expected - 1.0).abs() < 0.01, "{size} bytes, stride {stride}: {forwards}, {expected}");
            // The first step back does not show whether a walk goes on.
            if stride >= 16 {
                assert_eq!(block_words(addresses().rev().map(|address| (1, size, address))), forwards, "{stride}");
            }
        }
    }
}

/// One instruction for each member, as compilers make them. Members are words of a record.
fn records(bytes: u64, members: &[u64], order: impl Iterator<Item = u64>) -> Vec<(u64, u32, u64)> {
    let record = |record: u64| members.iter().map(move |word| (1 + word, 8, (1 << 30) + bytes * record + 8 * word));
    order.flat_map(record).collect()
}

#[test]
fn records_have_the_l_of_the_members_that_are_read() {
    let cases: [(u64, &[u64], f64); 8] = [
        (64, &[0], 1.0),
        (64, &[0, 1], 2.0),
        (64, &[0, 7], 2.0),
        (64, &[0, 4], 1.0),
        (64, &[2, 3, 4], 3.0),
        (128, &[0, 1], 2.0),
        (16, &[1], 1.0),
        (24, &[0, 1], 2.0),
    ];
    for (bytes, members, expected) in cases {
        let estimate = block_words(records(bytes, members, 0..5000));
        assert!((estimate / expected - 1.0).abs() < 0.001, "{bytes}, {members:?}: {estimate}");
    }
    assert!(block_words(records(64, &[0, 1, 2, 3, 4, 5, 6, 7], 0..5000)) > LONGEST_RUN, "a sweep");
    // The sites of a loop that is unrolled 16 times.
    let unrolled = locate((0..80_000).map(|word| (word % 16, 8, (1 << 30) + 8 * word)), CACHES.into());
    let place = unrolled.program.place.unwrap();
    assert_eq!((place.block_words, unrolled.lines[0].stride), (LONGEST_RUN, 8));
    assert!(place.is_near() && place.alpha > 0.99, "{place:?}");
    // The same loop through records has the stride of the records, and one through every second word that of two words.
    let unrolled = |bytes: u64| locate((0..80_000).map(move |k| (k % 8, 8, (1 << 30) + bytes * k)), CACHES.into());
    let walks = [16, 64, 192].map(unrolled).map(|located| (located.lines.len(), located.lines[0].clone()));
    let walks = walks.map(|(count, part)| (count, part.stride, part.kind(), part.place.unwrap().block_words));
    assert_eq!(walks, [(1, 16, Kind::Sweep, 1.0), (1, 64, Kind::Strided, 1.0), (1, 192, Kind::Strided, 1.0)]);
    // Records at random places.
    let scattered = (0..5000u64).map(|k| k.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40);
    let estimate = block_words(records(64, &[2, 3], scattered));
    assert!((estimate - 2.0).abs() < 0.02, "{estimate}");
}

#[test]
fn gathers_of_blocks_have_the_l_of_their_blocks() {
    for block in [1, 2, 4, 16, 64, 512] {
        let blocks = (0..100_000 / block).map(|k: u64| k.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 44);
        let words = blocks.flat_map(|index| (0..block).map(move |word| index * block + word));
        let words: Vec<u64> = words.collect();
        let estimate = block_words(words.iter().map(|word| (1, 8, 8 * word)));
        let expected = count_block_words(words.iter().copied());
        assert!((estimate / expected - 1.0).abs() < 0.01, "{block}: {estimate}, {expected}");
    }
}

#[test]
fn an_update_counts_its_word_once_and_a_sweep_counts_its_stores() {
    let share = |from: &str| {
        let (mut recorder, mut analysis) = (Recorder::default(), Analysis::default());
        for k in 0..20_000u64 {
            let word = if from == "random" { k.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40 } else { k };
            recorder.access((7, 8, false), 8 * word, &mut analysis);
            recorder.access((7, 8, true), 8 * word, &mut analysis);
        }
        let mut sites = recorder.finish().sites;
        sites.iter_mut().for_each(|site| (site.name.file, site.name.line) = ("a.c".into(), 7));
        let located = Located::new(&sites, analysis, CACHES);
        (located.lines.len(), located.lines[0].accesses, located.lines[0].words)
    };
    assert_eq!(share("random"), (1, 40_000, 20_000.0));
    assert_eq!(share("sweep"), (1, 40_000, 40_000.0));
}

#[test]
fn words_become_lines_and_lines_become_words_by_one_rule() {
    assert_eq!([1.0, 2.0, 8.0, 12.0, 4096.0].map(lines_of_words), [1.0, 1.0, 1.0, 1.5, 512.0]);
    assert_eq!([1.0, 2.0, 8.0, 64.0].map(words_of_line), [1.0, 2.0, 8.0, 8.0]);
    // The words that a step leaves out count in the stride of a sweep.
    let stride = |located: &Located| code::site(&located.lines[0], 1.0).stride;
    let sweep = |bytes: u64| locate((0..9000).map(move |k| (1, 8, bytes * k)), CACHES.into());
    assert_eq!([8, 16, 32, 64, 512].map(|bytes| stride(&sweep(bytes))), [1.0, 2.0, 4.0, 8.0, 64.0]);
    let most = records(64, &[0, 1, 2, 3, 4, 5], 0..5000);
    assert!((stride(&locate(most, CACHES.into())) - 8.0 / 6.0).abs() < 0.001);
}

#[test]
fn lines_that_exceed_the_ways_of_their_sets_displace_each_other() {
    let sets = Sets { sets: 1024, ways: 8 };
    // 512 rows of 16 KiB reach 4 sets; with 64 bytes more, each line has its own.
    let power = sets.conflict(16 << 10, 512);
    assert_eq!((power.lines, power.sets, power.share), (512, 4, 1.0));
    assert_eq!(sets.conflict((16 << 10) + 64, 512).share, 0.0);
    assert_eq!(sets.conflict(16 << 10, 32).share, 0.0, "8 in each of 4 sets");
    assert_eq!(sets.conflict(16 << 10, 33).share, 9.0 / 33.0, "one set has 9");
    assert_eq!(sets.conflict(8, 64).lines, 8);
}

/// Walks of 256 rows at powers of two and their neighbours, in one function each.
fn walks(strides: &[u64]) -> String {
    let function = |stride: &u64| {
        format!(
            "NO_INLINE long walk_{stride}(const char *base) {{ long sum = 0; for (int pass = 0; pass < 24; pass++)\n\
             for (int row = 0; row < 256; row++) sum += *(const long *)(base + row * {stride}L + pass % 8 * 8);\nreturn sum; }}\n"
        )
    };
    let calls: Vec<String> = strides.iter().map(|stride| format!("walk_{stride}(base) + flush(base)")).collect();
    format!(
        "#include <stdlib.h>\n#define NO_INLINE __attribute__((noinline, noclone))\n\
         NO_INLINE long flush(const char *base) {{ long sum = 0; for (int line = 0; line < 4096; line++)\n\
         sum += base[(24 << 20) + 64 * line]; __asm__ volatile(\"\"); return sum; }}\n{}int main(void) {{ char *base = aligned_alloc(65536, \
         32 << 20); return ({}) == 1; }}\n",
        strides.iter().map(function).collect::<String>(),
        calls.join(" + ")
    )
}

/// Returns the read misses of a first-level cache that cachegrind counts in a function.
fn count_in_cachegrind(output: &str, function: &str) -> f64 {
    let mut sum = 0.0;
    let mut is_in = false;
    for line in output.lines() {
        if let Some(name) = line.strip_prefix("fn=") {
            is_in = name == function;
        } else if is_in && line.starts_with(|first: char| first.is_ascii_digit()) {
            // Line, Ir, I1mr, ILmr, Dr, D1mr, DLmr, Dw, D1mw, DLmw.
            sum += line.split(' ').nth(5).map_or(0.0, |misses| misses.parse().unwrap());
        }
    }
    sum
}

#[test]
fn misses_of_strided_walks_equal_those_of_cachegrinds_cache_with_sets() {
    needs!(Valgrind);
    let scratch = Scratch::new();
    let powers = (6..17).map(|power| 1u64 << power);
    let strides: BTreeSet<u64> = powers.flat_map(|stride| [stride, stride + 64]).collect();
    let strides = Vec::from_iter(strides);
    let program = compile(&scratch, "walks", &walks(&strides), &["-O1"]);
    let out = scratch.join("cachegrind.out");
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=cachegrind", "--cache-sim=yes", "--D1=32768,8,64"]);
    let output = common::output(valgrind.arg(format!("--cachegrind-out-file={}", out.display())).arg(&program));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let counted = std::fs::read_to_string(out).unwrap();
    let mut analysis = Analysis::default();
    let traced = trace(&[program.into_os_string()], &options(), &mut analysis).unwrap();
    let located = Located::new(&traced.sites, analysis, SMALL);
    let mut conflicts = Vec::new();
    for stride in strides {
        let name = format!("walk_{stride}");
        let parts: Vec<&Part> = located.lines.iter().filter(|part| part.function == name).collect();
        let misses: f64 = parts.iter().map(|part| part.misses[0]).sum::<f64>()
            * located.miss_ratios[0]
            * located.program.accesses as f64;
        let expected = count_in_cachegrind(&counted, &name);
        assert!(
            (misses - expected).abs() <= 0.03 * expected + 16.0,
            "stride {stride}: {misses:.0}, cachegrind {expected}"
        );
        conflicts.extend(parts.iter().filter(|part| part.conflict.is_some()).map(|_| stride));
    }
    // 256 lines fill all ways at strides of 64 and 128 bytes, and exceed them from 256 on; a line more between rows spreads them.
    let expected: BTreeSet<u64> = (8..17).map(|power| 1 << power).collect();
    assert_eq!(conflicts.into_iter().collect::<BTreeSet<_>>(), expected);
    let notes = screen::notes(&located).join("\n");
    assert!(notes.contains("sets of the second-level cache, of 8 ways"), "{notes}");
}

#[test]
fn pages_are_counted_by_their_own_reuse() {
    // A word of each of 64 pages, ten times.
    let addresses = || (0..640u64).map(|k| (1, 8, (1 << 30) + 4096 * (k % 64)));
    let misses = |entries: u32| {
        let located = locate(addresses(), Machine { tlb_entries: Some(entries), ..SMALL });
        (located.program.pages.miss_ratio.unwrap() * 640.0).round()
    };
    assert_eq!([32, 48, 64].map(misses), [640.0, 640.0, 64.0]);
    let located = locate(addresses(), SMALL);
    assert_eq!((located.program.pages.bytes, located.program.footprint), (64.0 * 4096.0, 64.0 * 64.0));
    assert_eq!(located.program.pages.huge_bytes, f64::from(2 << 20));
    assert_eq!(locate(addresses(), CACHES.into()).program.pages.miss_ratio, None, "without a known TLB");
}

#[test]
fn updates_of_a_large_table_reach_all_its_pages_and_miss_the_tlb() {
    needs!(Valgrind);
    let scratch = Scratch::new();
    let source = r#"
        #include <stdlib.h>
        __attribute__((noinline)) void update(long *table, long mask) {
            unsigned long state = 88172645463325252ul;
            for (long i = 0; i < 400000; i++) {
                state ^= state << 13; state ^= state >> 7; state ^= state << 17;
                table[state & mask] ^= state;
            }
        }
        __attribute__((noinline)) long sweep(const long *table) {
            long sum = 0;
            for (int pass = 0; pass < 4; pass++) for (long i = 0; i < 100000; i++) sum += table[i];
            return sum;
        }
        int main(void) { long *table = malloc(256 << 20); update(table, (32 << 20) - 1); return sweep(table) == 1; }"#;
    let program = [compile(&scratch, "updates", source, &["-O1"]).into_os_string()];
    let locate = |from: &str| {
        let mut analysis = Analysis::default();
        let options = TraceOptions { from: Some(from.into()), ..options() };
        let traced = trace(&program, &options, &mut analysis).unwrap();
        Located::new(&traced.sites, analysis, SMALL)
    };
    let located = locate("update");
    let pages = located.lines[0].pages;
    // Of 65,536 pages, 1.6 % are in a TLB of 1024 entries; 0.2 % are never touched.
    assert!((pages.bytes / f64::from(256 << 20) - 1.0).abs() < 0.15, "{pages:?}");
    assert!((pages.huge_bytes / f64::from(256 << 20) - 1.0).abs() < 0.02, "{pages:?}");
    // A load and a store of the same word, by one line.
    assert!((2.0 * pages.miss_ratio.unwrap() - 0.984).abs() < 0.03, "{pages:?}");
    let notes = screen::notes(&located).join("\n");
    assert!(notes.contains("miss the TLB, which reaches 4 MiB") && notes.contains("their pages"), "{notes}");
    let swept = locate("sweep");
    let notes = screen::notes(&swept).join("\n");
    assert!(!notes.contains("TLB") && !notes.contains("pages"), "800 KB: {notes}");
}
