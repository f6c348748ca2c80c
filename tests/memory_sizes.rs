//! Tests of the answer of the sweep memory-sizes: steps of synthetic staircases, and what a machine reports about their causes.

use super::common::host;
use super::screens::samples_of;
use apexmap_base::point::Point;
use apexmap_base::provenance::{Cache, Host};
use apexmap_results::samples::Samples;
use apexmap_study::answers::memory_sizes::{self, MemorySizes};

const KIB: f64 = 1024.0;
const MIB: f64 = 1024.0 * KIB;

/// Returns a host that reports these caches, and no entries of the TLB.
fn host_with(caches: &[(u32, f64)]) -> Host {
    let cache = |&(level, bytes): &(u32, f64)| Cache { level, bytes: bytes as u64, shared_by: 1 };
    Host { caches: caches.iter().map(cache).collect(), tlb_entries_4k: None, tlb_entries_2m: None, ..host() }
}

/// Returns the points of single words at uniform addresses in 16 KiB to 128 MiB, with their seconds. Levels of these bytes take
/// these nanoseconds per access; the last one takes the rest. Base pages take twice as long beyond 1 MiB.
fn points(levels: &[(f64, f64)]) -> Vec<(Point, f64)> {
    let nanoseconds = |size: f64| {
        let (mut left, mut total) = (size, 0.0);
        for (bytes, time) in levels {
            let part = f64::min(left, *bytes);
            (left, total) = (left - part, total + part * time);
        }
        total / size
    };
    let sizes = (14..=27).flat_map(|power| ["huge", "base"].map(|pages| (f64::from(1u32 << power), pages)));
    let point = |(size, pages): (f64, &str)| {
        let point = Point::new("apex_map.sequential", 1)
            .with_parameter("M", (size / 8.0) as u64)
            .with_parameter("alpha", 1.0)
            .with_parameter("L", 1u64)
            .with_parameter("I", 1024u64)
            .with_parameter("N", 1u64)
            .with_parameter("pages", pages);
        let slower = if pages == "base" && size > MIB { 2.0 } else { 1.0 };
        (point, slower * nanoseconds(size) * 1024.0 * 1e-9)
    };
    sizes.map(point).collect()
}

fn answer(samples: &Samples, host: &Host) -> MemorySizes {
    memory_sizes::answer(samples, host).expect("columns").expect("an answer")
}

#[test]
fn steps_have_their_sizes_their_rates_and_the_gain_of_huge_pages() {
    // Levels of 32 KiB and 4 MiB; accesses take 1, 4 and 20 ns.
    let points = points(&[(32.0 * KIB, 1.0), (4.0 * MIB - 32.0 * KIB, 4.0), (f64::INFINITY, 20.0)]);
    let reported = host_with(&[(1, 32.0 * KIB), (2, 4.0 * MIB)]);
    let answer = answer(&samples_of(&points), &reported);
    let sizes: Vec<f64> = answer.steps.iter().map(|step| step.size).collect();
    assert!(sizes.len() == 2 && (sizes[0] / KIB / 32.0 - 1.0).abs() < 0.1, "{sizes:?}");
    assert!((sizes[1] / MIB / 4.0 - 1.0).abs() < 0.1, "{sizes:?}");
    let first = answer.steps[0];
    assert!((first.below / 8e9 - 1.0).abs() < 0.05 && first.above < 2.5e9, "{first:?}");
    let text = answer.text();
    assert!(text.contains("a step at about 32 KiB: 8 GB/s below, ") && text.contains("probably L1 = 32 KiB"), "{text}");
    assert!(text.contains("probably L2 = 4 MiB") && !text.contains("level"), "{text}");
    assert!(text.contains("huge pages: 2 x at ") && text.contains("relative to base pages"), "{text}");
    let few = memory_sizes::answer(&samples_of(&points[..8]), &reported).expect("columns");
    assert_eq!(few, None, "four sizes show no step");
}

#[test]
fn a_step_is_no_level_and_invisible_and_unreported_sizes_are_named() {
    // The first level is hidden by overlap, the second one shows half of its size, and the third one gives this core a part.
    let points = points(&[(MIB, 0.4), (7.0 * MIB, 1.2), (24.0 * MIB, 3.0), (f64::INFINITY, 9.0)]);
    let samples = samples_of(&points);
    let text = answer(&samples, &host_with(&[(1, 48.0 * KIB), (2, 2.0 * MIB), (3, 480.0 * MIB)])).text();
    let line = |size: &str| text.lines().find(|line| line.contains(size)).unwrap_or_else(|| panic!("{size}: {text}"));
    assert!(line("a step at about 1 MiB: ").ends_with("probably L2 = 2 MiB, the nearest reported size"), "{text}");
    assert!(
        line("a step at about 8 MiB: ").contains("nearest reported size: L2 = 2 MiB, 4 x smaller, so perhaps"),
        "{text}"
    );
    assert!(
        line("not visible").contains("L1 = 48 KiB is not visible to independent reads: see `apexmap calibrate`"),
        "{text}"
    );
    assert!(line("not reported").trim() == "the TLB reach: not reported by this system", "{text}");
    assert!(
        !text.contains("level ") && !text.contains("L3 = 480 MiB is"),
        "480 MiB are beyond the measured sizes: {text}"
    );

    let bare = answer(&samples, &host_with(&[])).text();
    assert!(bare.contains("L1, L2, L3, the TLB reach: not reported by this system"), "{bare}");
    assert!(bare.contains("no reported size to compare with") && !bare.contains("probably"), "{bare}");
    let entries = Host { tlb_entries_2m: Some(4), ..host_with(&[]) };
    assert_eq!(entries.tlb_reach(2.0 * MIB), Some(8.0 * MIB));
}
