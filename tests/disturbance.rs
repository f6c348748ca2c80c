//! Tests of disturbance: facts over ranks, verdicts with their limits, and counters of the operating
//! system.

use crate::common::{Scratch, host, launch, sample, small_point};
use crate::mock::noisy_facts;
use apexmap_base::disturbance::{Fact, Facts};
use apexmap_base::sample::{Launch, Sample};
use apexmap_draw::figure;
use apexmap_draw::plot::{self, FigureKind, Request};
use apexmap_measure::hardware::{FilesBelow, Throttling};
use apexmap_measure::observer::counters::Counters;
use apexmap_measure::observer::energy::Energy;
use apexmap_measure::observer::host::{HostTimes, HostWatch};
use apexmap_results::disk::journal::Record;
use apexmap_results::disk::tabulate::tabulate;
use apexmap_results::samples::Samples;
use apexmap_results::samples::distance;
use apexmap_results::samples::health::Health;
use apexmap_results::table::quietness::{
    Cause, Quietness, Reference, causes, judge, overall_verdict, preflight_causes,
};
use apexmap_run::drive::watch::Watch;
use apexmap_study::calibrate;
use apexmap_theory::machine::{Card, Number};
use perf_event::events::{Event, Software};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};
use rand_pcg::Pcg64Mcg;
use std::time::{Duration, Instant};

/// Returns the facts of a run of 10 ms without disturbance.
fn quiet() -> Facts {
    let zero = [Fact::OffCoreShare, Fact::RunDelayShare, Fact::StealShare, Fact::OtherCores, Fact::ThrottledSeconds];
    let facts = zero.into_iter().fold(Facts::default(), |facts, fact| facts.with_fact(fact, 0.0));
    let facts =
        facts.with_fact(Fact::WatchedSeconds, 0.01).with_fact(Fact::MinorFaults, 0.0).with_fact(Fact::MajorFaults, 0.0);
    let facts = facts.with_fact(Fact::HertzBefore, 3e9).with_fact(Fact::HertzAfter, 3e9);
    facts.with_fact(Fact::CacheCanary, 20e-6).with_fact(Fact::MemoryCanary, 15e-6).with_fact(Fact::BarrierCanary, 60e-9)
}

fn reference() -> Reference {
    Reference::from_facts(&vec![quiet(); 4])
}

#[test]
fn each_fact_defines_how_the_values_of_ranks_are_combined() {
    let first = Facts::default().with_fact(Fact::RunDelayShare, 0.1).with_fact(Fact::InvoluntarySwitches, 2.0);
    let first = first.with_fact(Fact::HertzBefore, 3e9);
    let second = Facts::default().with_fact(Fact::RunDelayShare, 0.4).with_fact(Fact::InvoluntarySwitches, 5.0);
    let second = second.with_fact(Fact::HertzBefore, 2e9).with_fact(Fact::StealShare, 0.2);
    let combined = Facts::combine_ranks(&[first.to_words(), second.to_words()].concat());
    assert_eq!(combined.get(Fact::RunDelayShare), Some(0.4), "the largest");
    assert_eq!(combined.get(Fact::InvoluntarySwitches), Some(7.0), "the sum");
    assert_eq!(combined.get(Fact::HertzBefore), Some(2e9), "the smallest");
    assert_eq!(combined.get(Fact::StealShare), Some(0.2), "the value of the rank that has one");
    assert_eq!(combined.get(Fact::EnergyJoules), None);
}

proptest! {
    #[test]
    fn facts_survive_conversion_to_json(values in prop::collection::vec(prop::option::of(-1e12..1e12f64), Fact::COUNT)) {
        let mut facts = Facts::default();
        Fact::ALL.iter().zip(values).for_each(|(&fact, value)| facts.set(fact, value));
        let text = serde_json::to_string(&facts).expect("JSON");
        let back: Facts = serde_json::from_str(&text).expect("facts");
        prop_assert!(Fact::ALL.iter().all(|&fact| back.get(fact) == facts.get(fact)));
    }
}

#[test]
fn samples_with_unknown_facts_or_without_facts_are_read() {
    let facts: Facts = serde_json::from_str(r#"{"run_delay_share":0.5,"phase_of_the_moon":1.0}"#).expect("facts");
    assert_eq!(facts.get(Fact::RunDelayShare), Some(0.5));
    let old = sample(&small_point("apex_map.sequential", 1), "k", 0, 1.0);
    let text = serde_json::to_string(&old).expect("JSON");
    assert!(!text.contains("disturbance"), "{text}");
    assert!(serde_json::from_str::<Sample>(&text).expect("a sample").disturbance.is_empty());
}

#[test]
fn each_cause_is_detected_just_above_its_limit_and_not_below() {
    assert_eq!(judge(causes(&quiet(), &reference(), false).as_deref()), Quietness::Quiet);
    let cases = [
        (Cause::RunDelay, Fact::RunDelayShare, 0.009, 0.011),
        (Cause::OffCore, Fact::OffCoreShare, 0.019, 0.021),
        (Cause::Steal, Fact::StealShare, 0.009, 0.011),
        (Cause::OtherPrograms, Fact::OtherCores, 0.24, 0.26),
        (Cause::Throttling, Fact::ThrottledSeconds, 0.0, 1e-6),
        // A page fault costs at least half a microsecond: 200 are 1 % of 10 ms.
        (Cause::PageFaults, Fact::MinorFaults, 199.0, 201.0),
        (Cause::PageFaults, Fact::MajorFaults, 0.0, 1.0),
        (Cause::CoreClock, Fact::HertzBefore, 2.86e9, 2.84e9),
        (Cause::CoreClock, Fact::HertzAfter, 2.86e9, 2.84e9),
        (Cause::CacheCanary, Fact::CacheCanary, 22.9e-6, 23.1e-6),
        (Cause::MemoryCanary, Fact::MemoryCanary, 22.4e-6, 22.6e-6),
        // A barrier may also be faster than in most runs, if ranks are closer to each other.
        (Cause::BarrierCanary, Fact::BarrierCanary, 119e-9, 121e-9),
        (Cause::BarrierCanary, Fact::BarrierCanary, 31e-9, 29e-9),
    ];
    for (cause, fact, below, above) in cases {
        let causes_of = |value| causes(&quiet().with_fact(fact, value), &reference(), false).expect("known");
        assert!(causes_of(below).is_empty(), "{cause} at {below}");
        assert_eq!(causes_of(above).iter().map(|(cause, _)| *cause).collect::<Vec<_>>(), [cause], "at {above}");
    }
}

#[test]
fn missing_facts_and_oversubscribed_runs_have_unknown_quietness() {
    assert_eq!(causes(&Facts::default(), &reference(), false), None);
    let silent = Facts::default().with_fact(Fact::WatchedSeconds, 0.01).with_fact(Fact::CacheCanary, 20e-6);
    assert_eq!(causes(&silent, &reference(), false), None, "the number of waiting ranks is unknown");
    assert_eq!(causes(&noisy_facts(), &reference(), true), None, "ranks wait for each other");
    assert_eq!(judge::<Cause>(None), Quietness::Unknown);
}

#[test]
fn the_reference_uses_quartiles_or_medians_of_four_or_more_runs() {
    let with = |seconds: f64| {
        let facts = quiet().with_fact(Fact::CacheCanary, seconds).with_fact(Fact::HertzBefore, 1e9 * seconds);
        facts.with_fact(Fact::BarrierCanary, seconds)
    };
    let runs = [1.0, 2.0, 3.0, 4.0, 9.0].map(with);
    let reference = Reference::from_facts(&runs);
    let quartiles = [Fact::CacheCanary, Fact::HertzBefore].map(|fact| reference.get(fact));
    assert_eq!(quartiles, [Some(2.0), Some(4e9)], "quartiles of five");
    assert_eq!(reference.get(Fact::BarrierCanary), Some(3.0), "the median");
    assert_eq!(Reference::from_facts(&runs[..3]), Reference::default());
}

#[test]
fn a_result_is_disturbed_above_a_quarter_of_disturbed_samples() {
    use Quietness::{Disturbed, Quiet, Unknown};
    assert_eq!(overall_verdict(&[Quiet, Quiet, Quiet, Disturbed]), Quiet);
    assert_eq!(overall_verdict(&[Quiet, Quiet, Disturbed, Disturbed]), Disturbed);
    assert_eq!(overall_verdict(&[Quiet, Unknown, Unknown]), Unknown);
    assert_eq!(overall_verdict(&[]), Unknown);
}

#[test]
fn one_interruption_per_second_before_a_run_is_not_a_disturbance() {
    let mut canaries = vec![quiet(); 100];
    canaries[40] = noisy_facts().with_fact(Fact::CacheCanary, 40e-6);
    assert_eq!(preflight_causes(&canaries, false), Some(Vec::new()));
    assert_eq!(preflight_causes(&vec![noisy_facts(); 100], false).expect("known")[0], (Cause::RunDelay, 0.5));
    // A thread on the same core takes turns that are longer than a canary, so most canaries do not see it.
    let turns: Vec<Facts> = (0..100).map(|canary| if canary % 4 == 0 { noisy_facts() } else { quiet() }).collect();
    let (cause, amount) = preflight_causes(&turns, false).expect("known")[0];
    assert!(cause == Cause::RunDelay && (amount - 0.125).abs() < 1e-12, "{cause} {amount}");
}

/// Returns samples of two ranks; the first `noisy` of twenty are disturbed.
fn journal(noisy: usize, oversubscribed: bool) -> Vec<Record> {
    let point = small_point("apex_map.two_sided", 2);
    let simulate_sample = |number: u32| {
        let disturbed = (number as usize) < noisy;
        let disturbance = if disturbed { noisy_facts().with_fact(Fact::CacheCanary, 20e-6) } else { quiet() };
        Sample { disturbance, ..sample(&point, "k", number, if disturbed { 2.0 } else { 1.0 }) }
    };
    let launch = Launch { oversubscribed, ..launch("0001", 2, "b1") };
    vec![Record { launch: Some(launch), samples: (0..20).map(simulate_sample).collect(), ..Record::default() }]
}

/// Returns the same samples without disturbance, with barriers of this number of seconds.
fn with_barriers(seconds: f64) -> Samples {
    let mut records = journal(0, false);
    for sample in &mut records[0].samples {
        sample.disturbance.set(Fact::BarrierCanary, Some(seconds));
    }
    tabulate(&records, |_| true).into()
}

#[test]
fn a_changed_distance_between_ranks_is_reported() {
    let (near, far) = (with_barriers(50e-9), with_barriers(200e-9));
    let mut card = Card::new("here", "a machine", "measured");
    card.set("barrier_seconds", Number::new(60e-9, "s", "measured")).expect("a number");
    assert_eq!(distance::card_warning(&far, &card), None, "the transport of the card is unknown");
    card.provenance.insert("transport".into(), near.first_word("transport").into());
    assert_eq!(distance::card_warning(&near, &card), None);
    let message = distance::card_warning(&far, &card).expect("they are farther");
    assert!(
        message.starts_with("A barrier of two ranks took 60 ns when the card was measured, and 200 ns in this"),
        "{message}"
    );

    assert_eq!(distance::comparison_warning(("a", &near), ("b", &near)), None);
    let message = distance::comparison_warning(("a", &far), ("b", &near)).expect("they are nearer");
    assert_eq!(message, "a barrier of 2 ranks took 200 ns on a, 50 ns on b, though both were measured on one host");
}

fn tabulate_samples(noisy: usize, oversubscribed: bool) -> Samples {
    tabulate(&journal(noisy, oversubscribed), |_| true).into()
}

#[test]
fn stores_contain_facts_and_verdict_of_each_sample() {
    let samples = tabulate_samples(6, false);
    let table = samples.table();
    assert_eq!((table.word("quietness", 0), table.word("disturbed_by", 0)), ("disturbed", "run delay, off core"));
    assert_eq!((table.word("quietness", 19), table.word("disturbed_by", 19)), ("quiet", ""));
    assert_eq!(table.number("run_delay_share", 0), 0.5);
    assert_eq!(samples.words("quietness").len(), 2);
    let old = tabulate(
        &[Record { samples: vec![sample(&small_point("apex_map.sequential", 1), "k", 0, 1.0)], ..Record::default() }],
        |_| true,
    );
    assert!(old.column("quietness").is_none(), "samples without facts have no verdict");
}

#[test]
fn a_disturbed_result_has_a_banner_and_gives_no_card() {
    let sentence = |samples: &Samples| Health::from_samples(samples).sentence();
    assert_eq!(sentence(&tabulate_samples(0, false)), "quiet: none of 20 samples disturbed");
    assert_eq!(sentence(&tabulate_samples(5, false)), "quiet: 5 of 20 samples disturbed (off core 5, run delay 5)");
    assert_eq!(Health::from_samples(&tabulate_samples(5, false)).banner(), None);
    calibrate::require_quiet(&tabulate_samples(5, false)).expect("quiet enough");
    let noisy = tabulate_samples(6, false);
    assert_eq!(Health::from_samples(&noisy).verdict(), Quietness::Disturbed);
    let banner = Health::from_samples(&noisy).banner().expect("a banner").to_string();
    assert_eq!(
        banner,
        "DISTURBED: 6 of 20 samples; they were 100 % slower (100 to 100). Cause: other programs were using the cores. Details: off \
         core 6, run delay 6."
    );
    let mut health = Health::default();
    for causes in [&["run delay", "off core"][..], &["steal"], &["run delay"], &["a cause of a later version"]] {
        health.add(Quietness::Disturbed, causes.iter().copied());
    }
    let banner = health.banner().expect("a banner").to_string();
    assert!(
        banner.starts_with(
            "DISTURBED: 4 of 4 samples; how much slower they were is unknown, because too few samples of their points are quiet. Most \
             frequent cause: other programs were using the cores (2). Details: run delay 2"
        ),
        "one sample of two causes with the same words counts once: {banner}"
    );
    let error = calibrate::require_quiet(&noisy).expect_err("refused");
    assert!(error.message.starts_with("no card was written"), "{}", error.message);
    let card = calibrate::card(&[], &noisy, "m", &host()).expect("a card, if requested");
    assert!(calibrate::card_text(&card, None).starts_with("DISTURBED"));
    assert!(card.to_toml().contains("DISTURBED"));
    assert_eq!(
        Health::from_samples(&tabulate_samples(20, true)).verdict(),
        Quietness::Unknown,
        "ranks shared hardware threads"
    );
}

#[test]
fn every_figure_of_a_disturbed_result_has_a_short_warning() {
    let stamped = |samples: &Samples| samples.stamp_subtitle("n = 20".into());
    assert_eq!(stamped(&tabulate_samples(5, false)), "n = 20", "quiet enough");
    let noisy = tabulate_samples(6, false);
    assert_eq!(stamped(&noisy), "n = 20\nDISTURBED (6 of 20 samples)");
    let quiet_part = noisy.with_rows((6..20).collect());
    assert_eq!(stamped(&quiet_part), stamped(&noisy), "the label also covers its quiet samples");
    assert_eq!(noisy.stamp_subtitle("x\nUNEQUAL".into()), "x\nUNEQUAL. DISTURBED (6 of 20 samples)");
    let (kind, title) = (FigureKind::Curves, "t".to_owned());
    let request = Request { kind, title, x: "block_words".into(), by: Vec::new(), z: "seconds".into() };
    let drawn = figure::svg(&plot::figure(&quiet_part, &request).expect("a figure")).expect("a drawing");
    assert!(drawn.contains("DISTURBED (6 of 20 samples)") && !drawn.contains("run delay"), "{drawn}");
}

/// Values of alpha of the points below, and blocks: the points wait for memory from the third value of alpha on.
const ALPHAS: [f64; 4] = [0.001, 0.01, 0.1, 1.0];
const BLOCKS: [u64; 4] = [1, 8, 64, 512];

/// Returns twelve samples each of sixteen points, with 3 % of noise. `run` returns the facts and the relative time of a sample from its
/// alpha, its number within all samples, and a random number from 0 to 1.
fn simulate_result(seed: u64, run: impl Fn(f64, u32, f64) -> (Facts, f64)) -> Samples {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let mut samples = Vec::new();
    for (round, alpha, block) in rounds_of_points(12) {
        let number = samples.len() as u32;
        let (facts, time) = run(alpha, number, random.random());
        let noise: f64 = StandardNormal.sample(&mut random);
        let point = small_point("apex_map.sequential", 1).with_parameter("alpha", alpha).with_parameter("L", block);
        let seconds = time * (1e-6 * block as f64 + 1e-4 * alpha) * (0.03 * noise).exp();
        let key = format!("{alpha} {block}");
        samples.push(Sample { disturbance: facts, ..sample(&point, &key, round, seconds) });
    }
    let record = Record { launch: Some(launch("0001", 1, "b1")), samples, ..Record::default() };
    tabulate(&[record], |_| true).into()
}

/// Returns all points in each of these rounds.
fn rounds_of_points(rounds: u32) -> impl Iterator<Item = (u32, f64, u64)> {
    (0..rounds).flat_map(|round| {
        ALPHAS.into_iter().flat_map(move |alpha| BLOCKS.into_iter().map(move |block| (round, alpha, block)))
    })
}

/// Returns the facts of a core whose turbo clock stepped down, or not.
fn clock_facts(is_low: bool) -> Facts {
    let hertz = if is_low { 3.58e9 } else { 4.08e9 };
    quiet().with_fact(Fact::HertzBefore, hertz).with_fact(Fact::HertzAfter, hertz)
}

/// Returns the facts of a core that shares its time with another thread for half of the time.
fn shared_core() -> Facts {
    quiet().with_fact(Fact::RunDelayShare, 0.5).with_fact(Fact::OffCoreShare, 0.5).with_fact(Fact::OtherCores, 1.0)
}

#[test]
fn causes_that_cost_no_time_are_conditions_and_give_no_banner() {
    for seed in 0..100 {
        let quiet_machine = simulate_result(seed, |_, number, chance| {
            let others = if number % 3 == 0 { 0.4 } else { 0.0 };
            (clock_facts(chance < 0.6).with_fact(Fact::OtherCores, others), if chance < 0.6 { 1.01 } else { 1.0 })
        });
        let health = Health::from_samples(&quiet_machine);
        assert_eq!((health.verdict(), health.banner()), (Quietness::Quiet, None), "seed {seed}: {}", health.sentence());
        let with_cause = quiet_machine.words("conditions");
        assert!(with_cause.contains(&"core clock"), "seed {seed}: {with_cause:?}");
        assert!(health.sentence().contains("without cost of time: core clock"), "{}", health.sentence());
        calibrate::require_quiet(&quiet_machine).expect("conditions refuse no card");
    }
}

#[test]
fn causes_that_cost_time_are_disturbances_and_the_banner_says_how_much() {
    let slowed = simulate_result(1, |_, _, chance| (clock_facts(chance < 0.6), if chance < 0.6 { 1.1 } else { 1.0 }));
    let health = Health::from_samples(&slowed);
    let banner = health.banner().expect("a banner").to_string();
    let cost = format!("DISTURBED: {} of 192 samples; they were 1", health.disturbed_count());
    assert!(
        banner.starts_with(&cost) && banner.contains(" % slower (") && banner.contains("Cause: the clock"),
        "{banner}"
    );
    let share = health.disturbed_count() as f64 / 192.0;
    assert!((0.5..0.7).contains(&share), "all samples at the lower clock: {share}");
}

#[test]
fn a_cause_disturbs_only_points_that_feel_it() {
    let samples = simulate_result(2, |alpha, _, chance| {
        let is_low = chance < 0.5;
        (clock_facts(is_low), if is_low && alpha < 0.05 { 1.12 } else { 1.0 })
    });
    let table = samples.table();
    for row in 0..table.rows {
        let is_low = table.number("core_hertz_before", row) < 4e9;
        let expected = if is_low { ["disturbed_by", "conditions"] } else { [""; 2] };
        let feels = table.number("alpha", row) < 0.05;
        let column = if feels { expected[0] } else { expected[1] };
        assert!(column.is_empty() || table.word(column, row) == "core clock", "row {row}: {column}");
        assert_eq!(table.word("quietness", row), if is_low && feels { "disturbed" } else { "quiet" }, "row {row}");
    }
}

#[test]
fn small_amounts_without_cost_do_not_excuse_large_ones() {
    let samples = simulate_result(3, |_, number, _| {
        // Two of three samples at 6 % below the clock cost nothing; every sixth is at half of the clock.
        let (clock, time) = if number % 6 == 5 {
            (0.5, 2.0)
        } else if number % 3 == 2 {
            (1.0, 1.0)
        } else {
            (0.94, 1.0)
        };
        (quiet().with_fact(Fact::HertzBefore, clock * 3e9).with_fact(Fact::HertzAfter, clock * 3e9), time)
    });
    let table = samples.table();
    let disturbed: Vec<usize> = (0..table.rows).filter(|&row| table.word("quietness", row) == "disturbed").collect();
    assert_eq!(disturbed, (0..table.rows).filter(|row| row % 6 == 5).collect::<Vec<_>>());
}

#[test]
fn without_samples_to_compare_the_limit_decides() {
    let always = simulate_result(4, |_, _, _| (quiet().with_fact(Fact::OtherCores, 1.0), 1.0));
    assert_eq!(Health::from_samples(&always).disturbed_count(), 192, "no sample is without the cause");
    // Samples just below the limit are not certainly without it.
    let near = simulate_result(5, |_, number, _| {
        (quiet().with_fact(Fact::OtherCores, if number % 4 == 0 { 0.2 } else { 0.3 }), 1.0)
    });
    assert_eq!(Health::from_samples(&near).disturbed_count(), 144);
    let banner = Health::from_samples(&always).banner().expect("a banner").to_string();
    assert!(banner.contains("how much slower they were is unknown"), "{banner}");
}

/// Returns the facts of a run with one of five causes, at one of four sizes: too few samples have the same to judge each.
fn rare_cause(number: u32) -> Facts {
    let (fact, limit) = [
        (Fact::RunDelayShare, 0.01),
        (Fact::OffCoreShare, 0.02),
        (Fact::StealShare, 0.01),
        (Fact::OtherCores, 0.25),
        (Fact::ThrottledSeconds, 1e-3),
    ][(number / 3 % 5) as usize];
    quiet().with_fact(fact, 1.5 * limit * f64::from(1 << (number / 15 % 4)))
}

#[test]
fn disturbed_samples_that_together_were_not_slower_give_no_banner() {
    for seed in 0..100 {
        let result = |slow: f64| {
            Health::from_samples(&simulate_result(seed, |_, number, chance| match number % 3 {
                0 => (rare_cause(number), if chance < 0.15 { slow } else { 1.0 }),
                _ => (quiet(), 1.0),
            }))
        };
        let (harmless, tail) = (result(1.0), result(3.0));
        assert_eq!((harmless.verdict(), harmless.banner()), (Quietness::Quiet, None), "{}", harmless.sentence());
        assert_eq!(harmless.disturbed_count(), 0, "{}", harmless.sentence());
        assert!(harmless.sentence().contains("without cost of time: "), "{}", harmless.sentence());
        assert_eq!(tail.verdict(), Quietness::Disturbed, "one of seven was three times as slow: {}", tail.sentence());
    }
}

#[test]
fn conditions_before_the_first_sample_are_told_but_end_no_run() {
    let mut watch = Watch::default();
    watch.begin_launch(&launch("0001", 1, "b1"));
    let (verdict, text) = watch.add_preflight(&vec![quiet().with_fact(Fact::OtherCores, 1.0); 8]);
    assert_eq!(verdict, Quietness::Quiet);
    assert!(text.contains("other programs") && text.ends_with("; no rank waited"), "{text}");
    let (verdict, _) = watch.add_preflight(&vec![shared_core(); 8]);
    assert_eq!(verdict, Quietness::Disturbed);
}

#[test]
fn injected_load_is_found_in_each_of_a_hundred_results() {
    for seed in 0..100 {
        // The load runs all the time, for the last two thirds, or on and off. The clock steps as well, and costs nothing.
        let is_on = |number: u32| match seed % 3 {
            0 => true,
            1 => number >= 64,
            _ => (number / 16).is_multiple_of(2),
        };
        let on_the_core = simulate_result(seed, |_, number, chance| {
            let clock = clock_facts(chance < 0.5);
            if !is_on(number) {
                return (clock, 1.0);
            }
            let shared = [Fact::RunDelayShare, Fact::OffCoreShare, Fact::OtherCores];
            let facts = shared.into_iter().fold(clock, |facts, fact| {
                facts.with_fact(fact, shared_core().get(fact).expect("a share") * (0.6 + 0.4 * chance))
            });
            (facts, 1.6 + 0.4 * chance)
        });
        // Load on the other hardware thread of each core takes no time from a rank, but makes it slower.
        let on_all_cores = simulate_result(1000 + seed, |_, number, chance| match is_on(number) {
            true => (
                clock_facts(chance < 0.5).with_fact(Fact::OtherCores, 2.0 - chance).with_fact(Fact::CacheCanary, 26e-6),
                1.3,
            ),
            false => (clock_facts(chance < 0.5), 1.0),
        });
        for (load, samples) in [("on the core", on_the_core), ("on all cores", on_all_cores)] {
            let health = Health::from_samples(&samples);
            assert_eq!(health.verdict(), Quietness::Disturbed, "{load}, seed {seed}: {}", health.sentence());
        }
    }
}

fn write_files(files: &[(&str, &str)]) -> Scratch {
    let scratch = Scratch::new();
    for (path, text) in files {
        let path = scratch.join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        std::fs::write(path, text).expect("written");
    }
    scratch
}

const STAT: &str = "cpu  3678911 10239 440960 725082 16523 0 3947 21655 0 0\ncpu0 1791029 4582 205586 431815 4169 0 721 10741 0 0\n\
    intr 1 2 3\nctxt 99\n";

#[test]
fn host_times_are_read_and_averaged_over_a_second() {
    let stat = write_files(&[("proc/stat", STAT)]);
    let first = HostTimes::read(&FilesBelow(&stat)).expect("times");
    assert_eq!(first, HostTimes { busy: 3678911 + 10239 + 440960 + 3947, idle: 725082 + 16523, stolen: 21655 });
    assert_eq!(HostTimes::read(&FilesBelow(&write_files(&[("proc/stat", "cpu  1 2\n")]))), None);
    // Four hardware threads, one rank. In one second, each thread has 100 ticks; 20 of the 400 are stolen, 230 busy.
    let (mut watch, start) = (HostWatch::new(1, 4), Instant::now());
    watch.record(start, first);
    assert_eq!((watch.steal_share(), watch.other_cores()), (None, None), "nothing has passed");
    let later = HostTimes { busy: first.busy + 230, idle: first.idle + 150, stolen: first.stolen + 20 };
    watch.record(start + Duration::from_secs(1), later);
    assert_eq!(watch.steal_share(), Some(0.05));
    assert_eq!(watch.other_cores().map(|cores| (cores * 1e6).round()), Some(1.3e6), "2.3 busy, 1 of them ours");
    // Old values no longer count.
    let idle = HostTimes { idle: later.idle + 400, ..later };
    watch.record(start + Duration::from_secs(2), idle);
    assert_eq!((watch.steal_share(), watch.other_cores()), (Some(0.0), Some(0.0)));
}

#[test]
fn throttling_is_read_from_both_versions_of_control_groups() {
    let second = write_files(&[
        ("proc/self/cgroup", "0::/job\n"),
        ("proc/self/mountinfo", "30 20 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
        ("sys/fs/cgroup/job/cpu.stat", "usage_usec 500\nnr_throttled 3\nthrottled_usec 2500000\n"),
    ]);
    let first = write_files(&[
        ("proc/self/cgroup", "4:cpu,cpuacct:/job\n"),
        ("proc/self/mountinfo", "30 20 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"),
        ("sys/fs/cgroup/cpu/job/cpu.stat", "nr_periods 9\nnr_throttled 3\nthrottled_time 1500000000\n"),
    ]);
    for (files, seconds) in [(&second, 2.5), (&first, 1.5)] {
        let system = FilesBelow(files);
        assert_eq!(Throttling::find(&system).and_then(|file| file.seconds(&system)), Some(seconds));
    }
    assert_eq!(Throttling::find(&FilesBelow(&write_files(&[("proc/self/cgroup", "0::/\n")]))), None);
}

#[test]
fn energy_is_the_total_of_all_packages_and_survives_counter_overflow() {
    let zone = |number: u32, name: &str, energy: &str| {
        let folder = format!("sys/class/powercap/intel-rapl:{number}");
        [("name", name), ("energy_uj", energy), ("max_energy_range_uj", "1000000")]
            .map(|(file, text)| (format!("{folder}/{file}"), text.to_owned()))
    };
    let files: Vec<(String, String)> =
        [zone(0, "package-0", "900000"), zone(1, "package-1", "100000"), zone(2, "dram", "5")].concat();
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let folder = write_files(&files);
    let mut energy = Energy::open(&folder).expect("two packages");
    assert_eq!(energy.joules(), Some(0.0));
    std::fs::write(folder.join("sys/class/powercap/intel-rapl:0/energy_uj"), "50000").expect("written");
    std::fs::write(folder.join("sys/class/powercap/intel-rapl:1/energy_uj"), "150000").expect("written");
    assert_eq!(energy.joules(), Some(0.2), "0.15 J over the end of the range, and 0.05 J");
    assert!(Energy::open(&write_files(&[])).is_none());
}

/// Uses software counters, which every system has, instead of hardware counters, which a virtual machine may hide.
#[test]
fn counters_count_only_between_start_and_stop() {
    let events = [(Fact::CacheMisses, Event::Software(Software::PAGE_FAULTS))];
    let Some(mut counters) = Counters::open_events(events) else {
        eprintln!("skipped: this system does not let a program count its own page faults (perf_event_paranoid)");
        return;
    };
    let touch = || {
        std::hint::black_box(memmap2::MmapMut::map_anon(64 * 4096).expect("memory"))
            .chunks_mut(4096)
            .for_each(|page| page[0] = 1);
    };
    touch();
    counters.start();
    let none = counters.stop();
    counters.start();
    touch();
    let some = counters.stop();
    assert!(none.iter().all(|(_, count)| *count < 8.0), "{none:?}");
    assert!(some.iter().all(|(fact, count)| *fact == Fact::CacheMisses && *count >= 1.0), "{some:?}");
    assert!(some.first().map(|count| count.1) > none.first().map(|count| count.1), "{some:?} {none:?}");
}
