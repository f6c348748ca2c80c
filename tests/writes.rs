//! Tests of Apex-Map with writes, with chains and with busy neighbours: what is verified, and which faults are
//! detected.

use super::common::small_point;
use super::faulty_transport::{Fault, Faulty};
use apexmap_base::point::{Point, Value};
use apexmap_measure::comm::arena::{Arena, Pages};
use apexmap_measure::comm::{Comm, Transport, World, threads};
use apexmap_measure::kernels::apex_map::access::{Access, WritePattern};
use apexmap_measure::kernels::apex_map::access_all::{AccessSpec, access_all};
use apexmap_measure::kernels::apex_map::chains::chase_all;
use apexmap_measure::kernels::apex_map::neighbours;
use apexmap_measure::kernels::apex_map::writes::{Loop, run as run_loop};
use apexmap_measure::kernels::{Domain, Outcome, complete, find};
use apexmap_measure::numerics::mix::mix;
use proptest::prelude::*;

const KINDS: [(&str, Access); 4] = [
    ("write", Access::Write),
    ("update", Access::Update),
    ("copy", Access::Copy),
    ("non_temporal", Access::NonTemporal),
];

/// Returns the word that memory must contain, computed from its definition: differences of a mixing function.
fn expected_word(word: u64) -> u64 {
    mix(word + 1).wrapping_sub(mix(word))
}

fn with_settings(point: &Point, settings: &[(&str, Value)]) -> Point {
    let point = settings.iter().fold(point.clone(), |point, (name, value)| point.with_parameter(name, value.clone()));
    complete(point).expect("a valid point")
}

/// Runs a point and returns rank 0's outcome. `prepare` and `look` see the arena of each rank before and after the run.
fn run_on(point: &Point, prepare: impl Fn(&mut Arena, usize) + Sync, look: impl Fn(&mut Arena) + Sync) -> Outcome {
    let kernel = find(&point.kernel).expect("a kernel");
    let outcomes = threads::run(point.ranks, |comm, arena| {
        prepare(arena, comm.rank());
        let outcome = kernel.run(point, 3, &mut World { transport: Transport::Threads(comm), arena }).expect("a run");
        look(arena);
        outcome
    });
    outcomes.into_iter().map(|outcome| outcome.expect("no panic")).next().expect("rank 0")
}

fn run(point: &Point) -> Outcome {
    run_on(point, |_, _| (), |_| ())
}

fn number(outcome: &Outcome, name: &str) -> f64 {
    outcome.outputs[name].as_f64().expect("a number")
}

#[test]
fn every_kind_of_write_verifies_and_preserves_the_memory_contents() {
    for (name, _) in KINDS {
        for (alpha, block, words) in
            [(1.0, 1u64, 4096u64), (0.5, 3, 3000), (0.1, 8, 4096), (1.0, 20, 2000), (0.01, 1024, 4096)]
        {
            for share in if name == "copy" { vec![100u64] } else { vec![0, 1, 25, 50, 99, 100] } {
                let settings = [
                    ("access", Value::from(name)),
                    ("write_share", share.into()),
                    ("alpha", Value::Real(alpha)),
                    ("L", block.into()),
                    ("M", words.into()),
                ];
                let point = with_settings(&small_point("apex_map.sequential", 1), &settings);
                let look = |arena: &mut Arena| {
                    // Requests the same contents, so that the arena is not filled again.
                    let (memory, _) = arena.words(Pages::Huge, words as usize, 0, |_| 0).expect("memory");
                    assert!(
                        memory.iter().zip(0..).all(|(word, place)| *word == expected_word(place)),
                        "{}",
                        point.label()
                    );
                };
                assert_eq!(run_on(&point, |_, _| (), look).verdict, Ok(()), "{}", point.label());
            }
        }
    }
}

/// Returns the verdict about a timed loop that replaces the kernel's.
fn verdict(point: &Point, timed: Loop) -> Result<(), String> {
    let run = |comm: &threads::ThreadComm, arena: &mut Arena| run_loop(comm, (point, 3), arena, timed);
    threads::run(1, run).swap_remove(0).expect("no panic").expect("memory").verdict
}

#[test]
fn loops_with_missing_or_misplaced_writes_are_detected() {
    let faults: [(&str, Loop); 6] = [
        ("nothing", |_, _, _| 0),
        ("a tenth is left out", |memory, offsets, spec| {
            let kept: Vec<u64> =
                offsets.iter().copied().filter(|offset| !(offset / spec.block as u64).is_multiple_of(10)).collect();
            let even = kept.len() / 2 * 2;
            access_all(memory, &kept[..even], spec)
        }),
        ("the last write of a pass", |memory, offsets, spec| access_all(memory, &offsets[..offsets.len() - 2], spec)),
        ("a word of each block", |memory, offsets, spec| {
            access_all(memory, offsets, AccessSpec { block: spec.block - 1, ..spec })
        }),
        ("the next block", |memory, offsets, spec| {
            let next: Vec<u64> =
                offsets.iter().map(|offset| (offset + spec.block as u64) % memory.len() as u64).collect();
            access_all(memory, &next, spec)
        }),
        ("another number", |memory, offsets, spec| match spec.access {
            // A copy writes no number.
            Access::Copy => 0,
            _ => access_all(memory, offsets, AccessSpec { first: spec.first + 1, ..spec }),
        }),
    ];
    for (name, _) in KINDS {
        let point = with_settings(
            &small_point("apex_map.sequential", 1),
            &[("access", name.into()), ("alpha", Value::Real(0.5))],
        );
        assert_eq!(verdict(&point, access_all), Ok(()), "{name}");
        for (fault, timed) in faults {
            let why = verdict(&point, timed).expect_err(&format!("{name}: {fault}"));
            assert!(why.contains("does not hold the words that were written"), "{name}, {fault}: {why}");
        }
    }
}

#[test]
fn missing_reads_between_writes_are_detected() {
    let point = with_settings(
        &small_point("apex_map.sequential", 1),
        &[("access", "update".into()), ("write_share", 50u64.into())],
    );
    let without_sum: Loop = |memory, offsets, spec| {
        access_all(memory, offsets, spec);
        0
    };
    assert_eq!(verdict(&point, without_sum), Err("the sum of the words read is wrong".into()));
}

/// Performs the accesses of the timed loop word by word.
fn access_word_by_word(memory: &mut [u64], offsets: &[u64], spec: AccessSpec) -> u64 {
    let mut sum = 0u64;
    let mut from = 0;
    for (number, &offset) in (spec.first..).zip(offsets) {
        let index = (number - spec.first) as usize;
        let within = index % spec.pattern.group;
        let group = spec.pattern.group.min(offsets.len() - (index - within));
        for word in offset as usize..offset as usize + spec.block {
            match spec.access {
                Access::Copy if index.is_multiple_of(2) => from = offset as usize,
                Access::Copy => memory[word] = memory[from + word - offset as usize],
                _ if within < spec.pattern.reads(group) => sum = sum.wrapping_add(memory[word]),
                Access::Update => memory[word] = memory[word].wrapping_add(number),
                _ => memory[word] = number,
            }
        }
    }
    sum
}

proptest! {
    #[test]
    fn the_timed_loop_equals_the_plain_loop(
        kind in prop::sample::select(KINDS.map(|(_, kind)| kind).to_vec()),
        share in 0u64..=100,
        block in 1usize..40,
        skip in 0usize..5,
        mut memory in prop::collection::vec(any::<u64>(), 200..500),
        places in prop::collection::vec(any::<prop::sample::Index>(), 0..60),
    ) {
        // Blocks start at multiples of their length, in a memory that begins anywhere.
        let blocks = (memory.len() - skip) / block;
        let mut offsets: Vec<u64> = places.iter().map(|place| (place.index(blocks) * block) as u64).collect();
        offsets.truncate(offsets.len() / 2 * 2);
        let pattern = WritePattern::from_per_cent(if kind == Access::Copy { 100 } else { share });
        let spec = AccessSpec { access: kind, pattern, block, first: 7 };
        let mut plain = memory.clone();
        prop_assert_eq!(access_all(&mut memory[skip..], &offsets, spec), access_word_by_word(&mut plain[skip..], &offsets, spec));
        prop_assert_eq!(memory, plain);
    }

    #[test]
    fn the_share_of_writes_is_the_requested_one(share in 0u64..=100, accesses in 1usize..5000) {
        let pattern = WritePattern::from_per_cent(share);
        let reads: usize = (0..accesses).step_by(pattern.group.min(accesses)).map(|start| pattern.reads(pattern.group.min(accesses - start))).sum();
        let writes = (accesses - reads) as f64;
        prop_assert!((writes - accesses as f64 * share as f64 / 100.0).abs() <= 0.5 + 1e-9, "{} of {}", writes, accesses);
    }
}

#[test]
fn a_block_beyond_memory_panics_before_it_is_written() {
    for (_, access) in KINDS {
        for block in [1, 3, 4, 8, 17] {
            let spec = AccessSpec { access, pattern: WritePattern::from_per_cent(100), block, first: 1 };
            let result = std::panic::catch_unwind(|| access_all(&mut [1; 32], &[0, 33 - block as u64], spec));
            assert!(result.is_err(), "{block}");
        }
    }
}

#[test]
fn a_misaligned_non_temporal_block_panics_without_a_fault() {
    #[repr(align(64))]
    struct Aligned([u64; 64]);
    for block in [4, 8, 16, 32] {
        for share in [50, 100] {
            let pattern = WritePattern::from_per_cent(share);
            let spec = AccessSpec { access: Access::NonTemporal, pattern, block, first: 1 };
            let run = |offset| std::panic::catch_unwind(|| access_all(&mut Aligned([1; 64]).0, &[0, offset], spec));
            assert!(run(block as u64).is_ok(), "{block}");
            assert!((1..4).all(|offset| run(offset).is_err()), "{block}");
        }
    }
}

#[test]
fn an_unknown_choice_is_never_treated_as_another() {
    let sequential = small_point("apex_map.sequential", 1);
    let small_table =
        |kernel: &str, ranks| complete(Point::new(kernel, ranks).with_parameter("N_words", 256u64)).expect("a point");
    assert_eq!(Access::of(&Point::new("apex_map.sequential", 1)), Access::Read, "a point of an earlier version");
    let choices: [(&str, Point, usize); 4] = [
        ("access", sequential, 5),
        ("by", small_point("calibrate.request", 2), 2),
        ("updates_by", small_table("random_access.shared", 1), 4),
        ("owner_by", small_table("random_access.base", 2), 4),
    ];
    for (name, point, words) in choices {
        let kernel = find(&point.kernel).expect("a kernel");
        let parameter = kernel.parameters.iter().find(|parameter| parameter.name == name).expect("a parameter");
        let Domain::Choice(known) = parameter.domain else { panic!("{name} is no choice") };
        assert_eq!(known.len(), words, "{name}");
        let run = |word: &str| {
            let point = point.clone().with_parameter(name, word);
            let run = |comm: &threads::ThreadComm, arena: &mut Arena| {
                kernel.run(&point, 0, &mut World { transport: Transport::Threads(comm), arena })
            };
            threads::run(point.ranks, run).into_iter().all(|rank| rank.is_ok_and(|outcome| outcome.is_ok()))
        };
        assert!(known.iter().all(|word| run(word)), "{name}");
        assert!(!run("another"), "{name}");
    }
}

#[test]
fn transferred_bytes_are_whole_lines_and_count_twice_for_stores() {
    let traffic = |access: &str, share: u64, block: u64, words: u64| {
        let settings =
            [("access", access.into()), ("write_share", share.into()), ("L", block.into()), ("M", words.into())];
        let point = with_settings(&small_point("apex_map.sequential", 1), &settings);
        let outcome = run(&point);
        assert_eq!(outcome.verdict, Ok(()));
        let rate = number(&outcome, "traffic_bytes_per_second") * outcome.seconds;
        let bytes = number(&outcome, "traffic_bytes");
        assert!((rate / bytes - 1.0).abs() < 1e-9);
        // Per access; the run has 128 of them.
        let work = find(&point.kernel).expect("a kernel").work(&point);
        (bytes / 128.0, work.bytes / 128.0)
    };
    assert_eq!(traffic("read", 100, 1, 4096), (64.0, 8.0));
    assert_eq!(traffic("read", 100, 64, 4096), (512.0, 512.0));
    assert_eq!(traffic("write", 100, 64, 4096), (1024.0, 512.0));
    assert_eq!(traffic("write", 25, 64, 4096), (640.0, 512.0));
    assert_eq!(traffic("update", 100, 64, 4096), (1024.0, 1024.0));
    assert_eq!(traffic("update", 50, 64, 4096), (768.0, 768.0));
    assert_eq!(traffic("copy", 100, 64, 4096), (768.0, 512.0));
    assert_eq!(traffic("non_temporal", 100, 64, 4096), (512.0, 512.0));
    // Blocks of three words start at any word of a line, and 2 of 8 starts reach into a second line. Blocks of twelve
    // start at word 0 or 4 of a line.
    assert_eq!(traffic("read", 100, 3, 3000), (80.0, 24.0));
    assert_eq!(traffic("read", 100, 12, 3000), (128.0, 96.0));
}

#[test]
fn shares_without_an_effect_are_refused() {
    let refusal = |settings: &[(&str, Value)]| {
        let base = Point::new("apex_map.sequential", 1).with_parameter("M", 4096u64);
        complete(settings.iter().fold(base, |point, (name, value)| point.with_parameter(name, value.clone())))
            .expect_err("refused")
            .message
    };
    assert!(refusal(&[("write_share", 50u64.into())]).contains("has no effect with access = \"read\""));
    assert!(refusal(&[("access", "copy".into()), ("write_share", 50u64.into())]).contains("leave it out"));
    assert!(refusal(&[("access", "copy".into()), ("I", 63u64.into())]).contains("multiple of 8"));
    assert!(refusal(&[("access", "erase".into())]).contains("one of read, write, update, copy, non_temporal"));
}

#[test]
fn a_point_of_an_earlier_version_is_readable() {
    let mut old = small_point("apex_map.sequential", 1);
    let kernel = find(&old.kernel).expect("a kernel");
    let new = kernel.work(&old);
    old.params.retain(|name, _| !["access", "write_share"].contains(&name.as_str()));
    assert_eq!(kernel.work(&old), new);
    assert_eq!(complete(old).expect("a point").params["access"], Value::from("read"));
}

#[test]
fn chains_verify_and_detect_wrong_words() {
    for chains in [1u64, 2, 4, 8, 16, 32] {
        for block in [1u64, 3, 8, 64] {
            let words = if block == 3 { 3000u64 } else { 4096 };
            let settings =
                [("chains", chains.into()), ("L", block.into()), ("M", words.into()), ("alpha", Value::Real(0.5))];
            let point = with_settings(&small_point("apex_map.chains", 1), &settings);
            let outcome = run(&point);
            assert_eq!(outcome.verdict, Ok(()), "{}", point.label());
            let steps = 128.0 / chains as f64;
            assert!((number(&outcome, "chain_seconds") * steps / outcome.seconds - 1.0).abs() < 1e-9);
            // Damages the hottest block, which all chains visit.
            let spoil = |arena: &mut Arena, _| {
                let contents = |place: usize| expected_word(place as u64) + u64::from(place as u64 == block - 1);
                arena.words(Pages::Huge, words as usize, 0, contents).expect("memory");
            };
            assert!(run_on(&point, spoil, |_| ()).verdict.is_err(), "{}", point.label());
        }
    }
    let odd = Point::new("apex_map.chains", 1).with_parameter("M", 4096u64).with_parameter("chains", 3u64);
    assert!(complete(odd).expect_err("three").message.contains("use 4"));
}

#[test]
fn a_chain_follows_its_data() {
    // Word 2 leads from step 5 to place 7, word 7 from step 1 to place 8; the other chain reads 0 and 1.
    let memory: Vec<u64> = (0..10).collect();
    assert_eq!(chase_all(&memory, &[2, 5, 1], 1, 1), 2 + 7 + 8);
    assert_eq!(chase_all(&memory, &[2, 0, 5, 1, 1], 1, 2), (2 + 7 + 8) + 1);
    // An address outside of memory ends the chain without a panic, and the rest of the sum is missing.
    assert_eq!(chase_all(&memory, &[2, 5, u64::MAX - 5], 1, 1), 2 + 7 + 1);
    assert_eq!(chase_all(&memory, &[2, 50, 1], 1, 1), 2);
    assert_eq!(chase_all(&memory, &[9], 2, 1), 0);
    let refused = std::panic::catch_unwind(|| chase_all(&[0; 8], &[1], 1, 3));
    assert!(refused.is_err(), "there is no loop of three chains");
}

#[test]
fn rank_0_verifies_with_every_kind_of_neighbour() {
    for ranks in [2, 3] {
        for neighbours in ["stream", "probe", "send", "idle"] {
            if (ranks, neighbours) == (2, "send") {
                continue;
            }
            for alpha in [1.0, 0.01] {
                let settings = [("neighbours", neighbours.into()), ("alpha", Value::Real(alpha))];
                let point = with_settings(&small_point("apex_map.neighbours", ranks), &settings);
                let outcome = run(&point);
                assert_eq!(outcome.verdict, Ok(()), "{}", point.label());
                let busy = number(&outcome, "background_bytes_per_second") > 0.0;
                assert_eq!(busy, neighbours != "idle", "{}", point.label());
                let work = find(&point.kernel).expect("a kernel").work(&point);
                assert_eq!((work.operations, work.bytes), (128.0, 128.0 * 64.0), "of rank 0 alone");
            }
        }
    }
    let alone = Point::new("apex_map.neighbours", 1).with_parameter("M", 4096u64);
    assert!(complete(alone).expect_err("one rank").message.contains("at least two ranks"));
    let one_sender =
        Point::new("apex_map.neighbours", 2).with_parameter("M", 4096u64).with_parameter("neighbours", "send");
    assert!(complete(one_sender).expect_err("one neighbour").message.contains("at least three ranks"));
}

#[test]
fn wrong_words_of_rank_0_and_its_neighbours_are_detected() {
    for (bad, neighbours) in [(0, "idle"), (1, "stream"), (1, "probe"), (1, "send")] {
        let ranks = if neighbours == "send" { 3 } else { 2 };
        let point = with_settings(&small_point("apex_map.neighbours", ranks), &[("neighbours", neighbours.into())]);
        let spoil = |arena: &mut Arena, rank: usize| {
            let wrong = u64::from(rank == bad);
            arena.words(Pages::Huge, 4096, 0, |place| expected_word(place as u64) + wrong).expect("memory");
        };
        let why = run_on(&point, spoil, |_| ()).verdict.expect_err(neighbours);
        assert_eq!(why.contains("neighbours"), bad == 1, "{neighbours}: {why}");
    }
}

#[test]
fn lost_and_wrong_messages_of_neighbours_are_counted_separately() {
    let point = with_settings(&small_point("apex_map.neighbours", 3), &[("neighbours", "send".into())]);
    let verdict = |fault| {
        let run = |comm: &threads::ThreadComm, arena: &mut Arena| {
            neighbours::run(&Faulty::new(comm, fault), &point, 3, arena).expect("a run")
        };
        threads::run(3, run).into_iter().map(|outcome| outcome.expect("no panic")).next().expect("rank 0").verdict
    };
    assert_eq!(verdict(Fault::None), Ok(()));
    let lost = verdict(Fault::Lost { every: 1 }).expect_err("lost messages");
    assert!(lost.ends_with("messages between neighbours were lost or never sent"), "{lost}");
    let wrong = verdict(Fault::Corrupted { every: 1, item: 0 }).expect_err("wrong messages");
    assert!(wrong.ends_with("sums of words that the neighbours read or received are wrong"), "{wrong}");
    assert!(!wrong.contains("lost"), "{wrong}");
}
