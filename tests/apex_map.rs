//! Tests of Apex-Map on the embedded transport: measurements, verification, refusals.

use super::common::small_point;
use apexmap_base::point::{Point, Value};
use apexmap_measure::comm::arena::{Arena, Pages};
use apexmap_measure::comm::{Comm, Transport, World, threads};
use apexmap_measure::kernels::keys::{L, M, N};
use apexmap_measure::kernels::shared::accesses::warm_up::WarmUp;
use apexmap_measure::kernels::shared::sums::sum_all;
use apexmap_measure::kernels::shared::sums::{lanes, vectors::Kind};
use apexmap_measure::kernels::{Outcome, complete, find};
use apexmap_measure::numerics::mix::mix;
use apexmap_measure::numerics::power_law::remote_share;
use proptest::prelude::*;

const VARIANTS: [&str; 3] = ["apex_map.sequential", "apex_map.two_sided", "apex_map.one_sided"];
const PARALLEL: [&str; 2] = ["apex_map.two_sided", "apex_map.one_sided"];

/// Runs a point and returns rank 0's outcome. `prepare` fills the arena of each rank first.
fn run_on(point: &Point, stream: u64, prepare: impl Fn(&mut Arena, usize) + Sync) -> Outcome {
    let kernel = find(&point.kernel).expect("a kernel");
    let outcomes = threads::run(point.ranks, |comm, arena| {
        prepare(arena, comm.rank());
        kernel.run(point, stream, &mut World { transport: Transport::Threads(comm), arena }).expect("a run")
    });
    outcomes.into_iter().map(|outcome| outcome.expect("no panic")).next().expect("rank 0")
}

fn run(point: &Point, stream: u64) -> Outcome {
    run_on(point, stream, |_, _| ())
}

fn number(outcome: &Outcome, name: &str) -> f64 {
    outcome.outputs[name].as_f64().expect("a number")
}

/// Returns the point with another value of one parameter, complete and checked.
fn with_parameter(point: &Point, name: &str, value: impl Into<Value>) -> Point {
    complete(point.clone().with_parameter(name, value)).expect("a valid point")
}

fn ranks_of(variant: &str) -> std::ops::RangeInclusive<usize> {
    if variant.ends_with("sequential") { 1..=1 } else { 1..=5 }
}

#[test]
fn every_variant_verifies_on_one_to_five_ranks() {
    for variant in VARIANTS {
        for ranks in ranks_of(variant) {
            for (alpha, block) in [(1.0, 1u64), (0.5, 2), (0.1, 64), (0.01, 1024), (1.0, 4096)] {
                let point = with_parameter(&with_parameter(&small_point(variant, ranks), "alpha", alpha), "L", block);
                let outcome = run(&point, 3);
                assert_eq!(outcome.verdict, Ok(()), "{}", point.label());
                let (first, median, last) = (
                    number(&outcome, "rank_seconds_min"),
                    number(&outcome, "rank_seconds_median"),
                    number(&outcome, "rank_seconds_max"),
                );
                assert!(0.0 < first && first <= median && median <= last, "{}", point.label());
                assert!(last <= outcome.seconds, "{}: the wait for the others counts", point.label());
            }
        }
    }
}

#[test]
fn one_buffer_one_handle_and_one_request_at_a_time_suffice() {
    for ranks in 2..=5 {
        let mut point = small_point("apex_map.two_sided", ranks);
        for name in ["B", "SMSG", "NSER"] {
            point = with_parameter(&point, name, 1u64);
        }
        assert_eq!(run(&point, 0).verdict, Ok(()), "{}", point.label());
        let point = with_parameter(&small_point("apex_map.one_sided", ranks), "B", 1u64);
        assert_eq!(run(&point, 0).verdict, Ok(()), "{}", point.label());
    }
}

#[test]
fn the_polling_interval_changes_only_the_number_of_polls() {
    for ranks in 1..=4 {
        let polls = [1, 2, 7, 1000].map(|every: u64| {
            let point = with_parameter(&small_point("apex_map.two_sided", ranks), "poll_every", every);
            let outcome = run(&point, 0);
            assert_eq!(outcome.verdict, Ok(()), "{}", point.label());
            assert!(number(&outcome, "poll_seconds") > 0.0, "{}", point.label());
            let polls = number(&outcome, "polls");
            // 128 accesses per rank. Ranks that wait for replies or for each other poll, too.
            assert!(polls >= (ranks as u64 * (128 / every)) as f64, "{}: {polls}", point.label());
            polls
        });
        if ranks == 1 {
            assert!(polls[0] < 2.0 * 128.0 && polls[3] < polls[0], "one rank waits for no other: {polls:?}");
        }
    }
}

#[test]
fn the_remote_share_matches_the_power_law() {
    for variant in PARALLEL {
        for ranks in [1, 2, 3, 5] {
            for alpha in [1.0, 0.1, 0.01] {
                let point = with_parameter(&with_parameter(&small_point(variant, ranks), "alpha", alpha), "I", 4000u64);
                let accesses = (ranks * 4000 * 2) as f64;
                let (seen, expected) = (number(&run(&point, 1), "remote_share"), remote_share(ranks, alpha));
                let deviation = (expected * (1.0 - expected) / accesses).sqrt();
                assert!((seen - expected).abs() <= 4.5 * deviation, "{}: {seen}, not {expected}", point.label());
            }
        }
    }
}

#[test]
fn messages_serve_a_request_for_every_remote_access() {
    for ranks in 1..=5 {
        let point = with_parameter(&small_point("apex_map.two_sided", ranks), "I", 500u64);
        let outcome = run(&point, 2);
        let remote = number(&outcome, "remote_share") * (ranks * 1000) as f64;
        let (served, busiest) = (number(&outcome, "requests_served"), number(&outcome, "requests_served_max"));
        assert!((served - remote).abs() < 1e-6, "{ranks} ranks: {served} served, {remote} asked");
        assert!(busiest <= served && busiest * ranks as f64 >= served);
        let outcome = run(&small_point("apex_map.one_sided", ranks), 2);
        assert_eq!(outcome.outputs["requests_served"], Value::Integer(0));
    }
}

/// Returns the word that memory must contain, computed from its definition: differences of a mixing function.
fn expected_word(rank: u64, word: u64) -> u64 {
    let potential = |word: u64| mix(rank << 40 ^ word);
    potential(word + 1).wrapping_sub(potential(word))
}

/// Runs a point on memory that already holds `contents`, as if they were the right ones.
fn run_with_contents(point: &Point, contents: impl Fn(u64, u64) -> u64 + Sync) -> Outcome {
    let words = M.of(point) as usize / point.ranks;
    run_on(point, 5, |arena, rank| {
        arena.words(Pages::Huge, words, rank as u64, |i| contents(rank as u64, i as u64)).expect("memory");
    })
}

#[test]
fn memory_contains_the_described_values() {
    for variant in VARIANTS {
        let point = small_point(variant, *ranks_of(variant).end());
        assert_eq!(run_with_contents(&point, expected_word).verdict, Ok(()), "{variant}");
    }
}

#[test]
fn wrong_words_are_detected() {
    for variant in VARIANTS {
        for ranks in ranks_of(variant) {
            let point = small_point(variant, ranks);
            let wrong = |contents: &(dyn Fn(u64, u64) -> u64 + Sync)| {
                let verdict = run_with_contents(&point, contents).verdict;
                let message = verdict.expect_err(&point.label());
                assert!(message.contains("the sum of the words read is wrong on"), "{message}");
            };
            // Contents as seen by a kernel that reads nothing, a neighbouring word, or another rank's memory.
            wrong(&|_, _| 0);
            wrong(&|rank, word| expected_word(rank, word + 1));
            wrong(&|rank, word| expected_word(rank + 1, word));
        }
    }
}

/// All ranks read one wrong word of one rank. The verification includes every access, so this word cannot go unnoticed.
#[test]
fn a_single_wrong_word_is_detected() {
    for variant in VARIANTS {
        let ranks = *ranks_of(variant).end();
        let point = with_parameter(&with_parameter(&small_point(variant, ranks), "I", 3000u64), "alpha", 0.5);
        for bad in [0, 7] {
            let outcome =
                run_with_contents(&point, |rank, word| expected_word(rank, word) + u64::from(rank == 0 && word == bad));
            assert!(outcome.verdict.is_err(), "{variant}, word {bad}");
        }
    }
}

#[test]
fn equal_streams_read_the_same_addresses_and_others_do_not() {
    let point = with_parameter(&small_point("apex_map.two_sided", 3), "alpha", 0.3);
    let share = |stream| number(&run(&point, stream), "remote_share");
    assert_eq!(share(1), share(1));
    let shares = [share(1), share(2), share(3), share(4)];
    assert!(shares.iter().any(|&other| other != shares[0]), "{shares:?}");
}

#[test]
fn work_and_memory_match_the_definitions_of_the_paper() {
    let point = small_point("apex_map.two_sided", 3);
    let kernel = find(&point.kernel).expect("a kernel");
    let work = kernel.work(&point);
    // P x I x N accesses of 8 L bytes.
    assert_eq!((work.operations, work.bytes), (384.0, 384.0 * 64.0));
    // M/P words, N + 1 index arrays of I, B + SMSG buffers of L words.
    assert_eq!(kernel.memory(&point), 8 * (4096 + 3 * 64 + 7 * 8));
}

proptest! {
    #[test]
    fn the_timed_sum_is_the_plain_sum(
        block in 1usize..70,
        memory in prop::collection::vec(any::<u64>(), 70..400),
        places in prop::collection::vec(any::<prop::sample::Index>(), 0..50),
    ) {
        let offsets: Vec<u64> = places.iter().map(|place| place.index(memory.len() - block + 1) as u64).collect();
        let mut plain = 0u64;
        for &offset in &offsets {
            for k in 0..block {
                plain = plain.wrapping_add(memory[offset as usize + k]);
            }
        }
        prop_assert_eq!(sum_all(&memory, &offsets, block), plain);
        for kind in Kind::detect() {
            prop_assert_eq!(lanes::sum_all(kind, &memory, &offsets, block), plain, "{:?}", kind);
        }
    }
}

#[test]
fn a_block_beyond_memory_panics_instead_of_reading_it() {
    for block in [1, 2, 3, 4, 8, 16, 17] {
        let beyond = 33 - block as u64;
        // The loop checks offsets in groups of four and one by one.
        for offsets in [vec![beyond], vec![0, 0, beyond, 0], vec![u64::MAX; 4], vec![0, 0, 0, 0, beyond]] {
            let result = std::panic::catch_unwind(|| sum_all(&[1; 32], &offsets, block));
            assert!(result.is_err(), "{block} {offsets:?}");
            for kind in Kind::detect() {
                let result = std::panic::catch_unwind(|| lanes::sum_all(kind, &[1; 32], &offsets, block));
                assert!(result.is_err(), "{kind:?} {block} {offsets:?}");
            }
        }
    }
}

#[test]
fn points_that_cannot_run_are_refused_with_the_reason() {
    let base = || Point::new("apex_map.two_sided", 3).with_parameter("M", 3072u64);
    let refusals: [(Point, &[&str]); 14] = [
        (base().with_parameter("L", 1025u64), &["L = 1025 words", "M/P = 8 KiB (1024 words)", "at most M/P"]),
        (base().with_parameter("L", 24u64), &["M/P = 8 KiB (1024 words)", "not a multiple of L = 24", "straddle"]),
        (
            base().with_parameter("M", 3073u64),
            &["M = 24584 B (3073 words) cannot be divided evenly among 3 ranks", "multiple of 3"],
        ),
        (base().with_parameter("alpha", 0.0), &["alpha must be greater than 0 and at most 1", "found 0"]),
        (base().with_parameter("alpha", -0.5), &["alpha must be greater than 0", "found -0.5"]),
        (base().with_parameter("alpha", 1.5), &["at most 1", "found 1.5"]),
        (base().with_parameter("alpha", f64::NAN), &["alpha must be greater than 0", "found NaN"]),
        (base().with_parameter("alpha", "small"), &["alpha must be a number", "\"small\""]),
        (base().with_parameter("L", 1.5), &["L must be a whole number", "1.5"]),
        (base().with_parameter("B", 0u64), &["B must lie between 1 and 65536", "found 0"]),
        (base().with_parameter("pages", "giant"), &["pages must be one of huge, base", "giant"]),
        (base().with_parameter("beta", 1u64), &["apex_map.two_sided has no parameter beta", "M, alpha, L"]),
        (base().with_parameter("I", 1u64 << 30).with_parameter("N", 1u64 << 10), &["I x N is more than 2^36"]),
        (base().with_parameter("M", 3u64 << 41), &["M/P = 16 TiB on 3 ranks", "the maximum is 8 TiB per rank"]),
    ];
    for (point, parts) in refusals {
        let message = complete(point.clone()).expect_err(&point.label()).message;
        parts.iter().for_each(|part| assert!(message.contains(part), "\"{message}\" should say \"{part}\""));
    }
    let message = complete(Point::new("apex_map.sequential", 2)).expect_err("two ranks").message;
    assert!(message.contains("runs on one rank, not on 2"), "{message}");
    let message = complete(Point::new("apex_map.one_sided", 0)).expect_err("no ranks").message;
    assert!(message.contains("at least one rank"), "{message}");
    assert!(
        complete(Point::new("apex_map.one_sided", 2).with_parameter("SMSG", 1u64)).is_err(),
        "gets have no send handles"
    );
    assert!(complete(Point::new("apex_map", 2)).expect_err("no such kernel").message.contains("there is no kernel"));
}

/// Runs a warm-up with these times per array and returns the numbers of arrays in its groups.
fn groups(seconds: impl Fn(usize) -> f64, spent: impl Fn(usize) -> f64) -> Vec<u64> {
    let (mut warm_up, mut groups) = (WarmUp::default(), Vec::new());
    while let Some(arrays) = warm_up.next_group() {
        warm_up.record(arrays as f64 * seconds(groups.len()), spent(groups.len()), false);
        groups.push(arrays);
    }
    groups
}

#[test]
fn a_checked_warm_up_ends_when_it_is_steady_and_wrote_enough() {
    let mut warm_up = WarmUp::default();
    warm_up.record(1e-4, 1e-4, true);
    assert_eq!(warm_up.next_group(), Some(2), "one group shows no change");
    warm_up.record(2.5e-4, 2.5e-4, true);
    assert_eq!(warm_up.next_group(), Some(4), "it was slower than the one before");
    warm_up.record(5e-4, 5e-4, true);
    assert_eq!(warm_up.next_group(), None);
}

#[test]
fn the_warm_up_doubles_until_the_time_per_array_is_steady() {
    let quick = |group| if group == 0 { WarmUp::MIN_SECONDS } else { 1e-6 };
    // Steady at once; steady after four speed-ups by 6 %; steady after slowing down, as prefetched data leave the
    // caches.
    assert_eq!(groups(|_| 1e-4, quick), [1, 2]);
    assert_eq!(groups(|group| 1e-4 * 0.94_f64.powi(group.min(4) as i32), quick), [1, 2, 4, 8, 16, 32]);
    assert_eq!(groups(|group| 1e-4 * 1.5_f64.powi(group.min(2) as i32), quick), [1, 2, 4, 8]);
    // Steady at once, but not for long enough.
    assert_eq!(groups(|_| 1e-4, |_| WarmUp::MIN_SECONDS / 2.5), [1, 2, 4]);
    // Never steady: the total time of the groups is bounded.
    assert_eq!(groups(|group| 1e-4 * 0.9_f64.powi(group as i32), |_| WarmUp::MAX_SECONDS / 2.5), [1, 2, 4]);
    assert_eq!(groups(|_| 1.0, |_| 1.0), [1]);
}

#[test]
fn a_warm_up_after_the_same_point_ends_within_a_millisecond() {
    let mut warm_up = WarmUp::after_same_point();
    warm_up.record(1e-4, WarmUp::MAX_SECONDS_AFTER_SAME / 2.0, false);
    assert_eq!(warm_up.next_group(), Some(2), "one group shows no change");
    warm_up.record(4e-4, WarmUp::MAX_SECONDS_AFTER_SAME / 2.0, false);
    assert_eq!(warm_up.next_group(), None, "not steady, but its time is over");
}

#[test]
fn every_run_reports_the_state_and_length_of_its_warm_up() {
    for variant in VARIANTS {
        let point = small_point(variant, *ranks_of(variant).end());
        let outcome = run(&point, 4);
        // At least one array of I accesses, and only complete arrays.
        let warm_up = number(&outcome, "warm_up_accesses");
        assert!(warm_up >= 64.0 && warm_up % 64.0 == 0.0, "{variant}: {warm_up}");
        let (drift, steady) = (number(&outcome, "drift"), number(&outcome, "steady"));
        assert!(drift > -1.0 && steady == f64::from(u8::from(drift.abs() <= 0.1)), "{variant}: {drift}, {steady}");
        assert!(number(&outcome, "clock_ticks") >= 1.0, "{variant}");
        let mean = number(&outcome, "rank_seconds_mean");
        assert!(number(&outcome, "rank_seconds_min") <= mean && mean <= number(&outcome, "rank_seconds_max"));
        // Fewer accesses than quarters: there is no first and no last quarter.
        let outcome = run(&with_parameter(&with_parameter(&point, "I", 3u64), "N", 1u64), 4);
        assert_eq!((outcome.verdict, outcome.outputs.get("drift")), (Ok(()), None), "{variant}");
    }
}

proptest! {
    /// A run is long enough for the clock, has enough remote accesses, is within bounds, and is at most twice as long
    /// as needed.
    #[test]
    fn the_number_of_index_arrays_follows_from_the_point(
        variant in prop::sample::select(VARIANTS.to_vec()),
        alpha in 1e-3..=1.0,
        log_block in 0u32..17,
        log_ranks in 0u32..10,
        indices in prop::sample::select(vec![16u64, 1000, 1024, 1 << 20]),
    ) {
        let ranks = if variant == "apex_map.sequential" { 1 } else { 1usize << log_ranks };
        let block = 1u64 << log_block;
        let point = Point::new(variant, ranks).with_parameter("M", (1u64 << 20) * ranks as u64).with_parameter("alpha", alpha);
        let point = complete(point.with_parameter("L", block).with_parameter("I", indices)).expect("a valid point");
        let accesses = (N.of(&point) * indices) as f64;
        let share = remote_share(ranks, alpha);
        let wanted = |accesses: f64| {
            // 0.5 ns, plus 0.025 ns per word, plus 100 ns if remote; at least 1 ms in total.
            let seconds = accesses * (0.5e-9 + 0.025e-9 * block as f64 + 100e-9 * share);
            let bounded = accesses >= f64::from(1 << 22) || accesses * block as f64 >= f64::from(1 << 27);
            bounded || (seconds >= 1e-3 && (ranks == 1 || accesses * share >= 400.0))
        };
        prop_assert!(wanted(accesses * (1.0 + 1e-9)), "{}", point.label());
        prop_assert!(N.of(&point) == 1 || !wanted(accesses / 2.0 * (1.0 - 1e-9)), "{}", point.label());
        // A given number stays, and so does the chosen one.
        prop_assert_eq!(complete(point.clone()), Ok(point.clone()));
        prop_assert_eq!(N.of(&complete(point.with_parameter("N", 3u64)).expect("a valid point")), 3);
    }
}

#[test]
fn completion_adds_defaults_and_is_idempotent() {
    for variant in VARIANTS {
        let kernel = find(variant).expect("a kernel");
        let point = complete(Point::new(variant, 1).with_parameter("L", 16.0)).expect("a valid point");
        assert_eq!(point.params.len(), kernel.parameters.len());
        assert_eq!(L.of(&point), 16, "a whole real is a whole number");
        assert_eq!(complete(point.clone()), Ok(point));
    }
}

#[test]
fn requests_with_a_given_remote_share_read_words_of_other_ranks() {
    let asked = |by: &str, share: f64| {
        let point = Point::new("calibrate.request", 3)
            .with_parameter("M", 3072u64)
            .with_parameter("by", by)
            .with_parameter("given_remote_share", share);
        complete(point.with_parameter("L", 16u64).with_parameter("I", 4000u64).with_parameter("N", 1u64))
            .expect("a point")
    };
    for by in ["messages", "gets"] {
        for share in [1e-9, 0.25, 1.0] {
            let outcome = run(&asked(by, share), 0);
            assert_eq!(outcome.verdict, Ok(()), "{by} {share}");
            // 12000 draws: four standard deviations are 0.016.
            assert!((number(&outcome, "remote_share") - share).abs() < 0.02, "{by} {share}: {outcome:?}");
            let served = if by == "messages" { number(&outcome, "remote_share") * 12000.0 } else { 0.0 };
            assert_eq!(number(&outcome, "requests_served").round(), served.round(), "{by} {share}");
        }
        // Wrong words in another rank's memory.
        let wrong = run_with_contents(&asked(by, 1.0), |rank, word| expected_word(rank, word) + u64::from(rank == 1));
        assert!(wrong.verdict.expect_err("wrong words").contains("sum of the words read is wrong"), "{by}");
    }
    let alone = complete(Point::new("calibrate.request", 1)).expect_err("no other rank");
    assert!(alone.message.contains("use 2 ranks"), "{alone}");
}
