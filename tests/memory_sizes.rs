//! Tests of the answer of the sweep memory-sizes: steps of synthetic staircases, and what a machine reports about their causes.

use super::common::host;
use super::screens::samples_of;
use apexmap_base::point::Point;
use apexmap_base::provenance::{Cache, Host};
use apexmap_results::samples::Samples;
use apexmap_study::answers::memory_sizes::{self, MemorySizes};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

const KIB: f64 = 1024.0;
const MIB: f64 = 1024.0 * KIB;

/// Returns a host that reports these caches, and no entries of the TLB.
fn host_with(caches: &[(u32, f64)]) -> Host {
    let cache = |&(level, bytes): &(u32, f64)| Cache { level, bytes: bytes as u64, shared_by: 1 };
    Host { caches: caches.iter().map(cache).collect(), tlb_entries_4k: None, tlb_entries_2m: None, ..host() }
}

/// Returns the points of [`points_with`]. Levels of these bytes take these nanoseconds per access; the last one takes the rest.
fn points(levels: &[(f64, f64)]) -> Vec<(Point, f64)> {
    points_with(|size| {
        let (mut left, mut total) = (size, 0.0);
        for (bytes, time) in levels {
            let part = f64::min(left, *bytes);
            (left, total) = (left - part, total + part * time);
        }
        total / size
    })
}

/// Returns the points of single words at uniform addresses in 16 KiB to 128 MiB, with their seconds, for a mean time per access in
/// nanoseconds. Base pages take twice as long beyond 1 MiB.
fn points_with(nanoseconds: impl Fn(f64) -> f64) -> Vec<(Point, f64)> {
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
fn a_slope_between_two_caches_is_named_by_both() {
    let reported = host_with(&[(1, 32.0 * KIB), (2, 512.0 * KIB), (3, 8.0 * MIB)]);
    // Time as a power of the size from the second cache to the third, where it is 10 or 4 times as long.
    let power =
        |factor: f64| points_with(move |size| 0.3 * factor.powf((size / 512.0 / KIB).log2().clamp(0.0, 4.0) / 4.0));
    // A third cache that keeps less and less of what this core reads.
    let shared = points(&[
        (512.0 * KIB, 0.3),
        (512.0 * KIB, 0.8),
        (MIB, 1.6),
        (2.0 * MIB, 2.4),
        (4.0 * MIB, 3.2),
        (f64::INFINITY, 4.0),
    ]);
    for points in [power(10.0), power(4.0), shared] {
        let answer = answer(&samples_of(&points), &reported);
        assert_eq!(answer.steps.len(), 1, "{answer:?}");
        let text = answer.text();
        assert!(text.contains("falls from 512 KiB (L2) to 8 MiB (L3): 26.7 GB/s below, "), "{text}");
        assert!(text.contains("L1 = 32 KiB is not visible") && !text.contains("a step at"), "{text}");
        assert_eq!(answer.steps[0].label(), "fall: 512 KiB to 8 MiB");
    }
    // Noise of 5 % changes neither the slope nor the steps.
    let noisy = |points: Vec<(Point, f64)>, seed: u64| -> Vec<(Point, f64)> {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        points.into_iter().map(|(point, seconds)| (point, seconds * random.random_range(0.95..1.05))).collect()
    };
    for seed in 0..20 {
        let text = answer(&samples_of(&noisy(power(10.0), seed)), &reported).text();
        assert!(text.contains("falls from 512 KiB (L2) to ") && !text.contains("L3 = 8 MiB is not"), "{seed}: {text}");
        let sharp = points(&[(512.0 * KIB, 0.3), (7.5 * MIB, 1.2), (f64::INFINITY, 6.0)]);
        let text = answer(&samples_of(&noisy(sharp, seed)), &reported).text();
        assert!(
            text.contains("probably L2") && text.contains("probably L3") && !text.contains("falls"),
            "{seed}: {text}"
        );
    }
    // Without reported sizes, the ends are measured sizes.
    let text = answer(&samples_of(&power(10.0)), &host_with(&[])).text();
    assert!(text.contains("falls from 512 KiB to 8 MiB: "), "{text}");
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
        line("not visible").contains("L1 = 48 KiB is not visible to independent reads: see apexmap calibrate"),
        "{text}"
    );
    assert!(line("not reported").trim() == "the TLB reach: not reported by this system", "{text}");
    assert!(
        !text.contains("level ") && !text.contains("L3 = 480 MiB is"),
        "480 MiB are beyond the measured sizes: {text}"
    );

    // Two steps near one size: the nearer one has it.
    let text = answer(&samples, &host_with(&[(2, 3.5 * MIB)])).text();
    assert_eq!(text.matches("probably L2 = 3.5 MiB").count(), 1, "{text}");

    let bare = answer(&samples, &host_with(&[])).text();
    assert!(bare.contains("L1, L2, L3, the TLB reach: not reported by this system"), "{bare}");
    assert!(bare.contains("no reported size to compare with") && !bare.contains("probably"), "{bare}");
    let entries = Host { tlb_entries_2m: Some(4), ..host_with(&[]) };
    assert_eq!(entries.tlb_reach(2.0 * MIB), Some(8.0 * MIB));
}
