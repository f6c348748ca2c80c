//! Tests of the contract of transports on the embedded transport, with fewer and with more ranks than cores.

use super::common::with_time_limit;
use apexmap_measure::comm::arena::Arena;
use apexmap_measure::comm::threads::{self, OTHER_RANK_FAILED, ThreadComm};
use apexmap_measure::comm::{Collectives, Comm, GetWindow, Inbox, Mailboxes, Outbox, Rma, RmaWindow, Tag};
use apexmap_measure::numerics::mix::mix;
use proptest::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Runs `body` on every rank and asserts that no rank fails.
fn run_ranks<R: Send>(ranks: usize, body: impl Fn(&ThreadComm) -> R + Sync) -> Vec<R> {
    let results = threads::run(ranks, |comm, _: &mut Arena| body(comm));
    assert_eq!(results.len(), ranks);
    results.into_iter().map(|result| result.expect("a rank failed")).collect()
}

#[test]
fn collectives_agree_on_one_to_five_ranks() {
    for ranks in 1..=5 {
        let gathered = run_ranks(ranks, |comm| {
            assert_eq!(comm.size(), ranks);
            let me = comm.rank() as u64;
            for round in 0..50 {
                let mut words = [me, round, 7];
                comm.broadcast(&mut words);
                assert_eq!(words, [0, round, 7]);
                assert_eq!(comm.all_reduce_sum(me + round), (0..ranks as u64).sum::<u64>() + round * ranks as u64);
                let gathered_words = comm.gather(&[me, me * round]);
                let expected: Vec<u64> = (0..ranks as u64).flat_map(|rank| [rank, rank * round]).collect();
                assert_eq!(gathered_words, (me == 0).then_some(expected));
            }
            comm.broadcast(&mut []);
            assert_eq!(comm.all_reduce_sum(u64::MAX), (ranks as u64).wrapping_neg(), "the sum wraps");
            comm.rank()
        });
        assert_eq!(gathered, (0..ranks).collect::<Vec<_>>(), "results come in rank order");
    }
}

#[test]
fn no_rank_leaves_a_barrier_before_all_have_arrived() {
    for ranks in 1..=5 {
        let come = AtomicUsize::new(0);
        run_ranks(ranks, |comm| {
            for round in 1..=100 {
                come.fetch_add(1, Ordering::SeqCst);
                comm.barrier();
                let seen = come.load(Ordering::SeqCst);
                assert!(seen >= round * ranks && seen < (round + 1) * ranks, "round {round}: {seen}");
                comm.barrier();
            }
        });
    }
}

#[test]
fn no_ibarrier_completes_before_all_ranks_have_arrived() {
    for ranks in 1..=5 {
        let come = AtomicUsize::new(0);
        run_ranks(ranks, |comm| {
            for round in 1..=100 {
                come.fetch_add(1, Ordering::SeqCst);
                let mut barrier = comm.ibarrier();
                while !comm.test(&mut barrier) {
                    comm.relax();
                }
                assert!(come.load(Ordering::SeqCst) >= round * ranks, "round {round}");
                assert!(comm.test(&mut barrier), "it stays so");
            }
        });
    }
}

#[test]
fn the_clock_never_decreases() {
    run_ranks(2, |comm| {
        let mut last = comm.wall_time();
        for _ in 0..1000 {
            let now = comm.wall_time();
            assert!(now >= last);
            last = now;
        }
    });
}

#[test]
fn a_short_message_is_refused_while_the_receiver_has_a_full_mailbox() {
    run_ranks(2, |comm| {
        let (mut inbox, mut outbox) = comm.mailbox(Tag::Request, 3, 3, 6);
        if comm.rank() == 0 {
            (0..3).for_each(|k| assert!(outbox.send(1, &[k; 6])));
            assert!(!outbox.send(1, &[99]), "three are unread");
        }
        comm.barrier();
        if comm.rank() == 1 {
            assert_eq!(inbox.take(|_, words| words.to_vec()), Some(vec![0; 6]));
        }
        comm.barrier();
        if comm.rank() == 0 {
            assert!(outbox.send(1, &[3]));
        }
        comm.barrier();
        if comm.rank() == 1 {
            let received: Vec<Vec<u64>> = std::iter::from_fn(|| inbox.take(|_, words| words.to_vec())).collect();
            assert_eq!(received, [vec![1; 6], vec![2; 6], vec![3]]);
        }
    });
}

#[test]
fn a_short_message_occupies_its_handle_until_it_is_received() {
    run_ranks(3, |comm| {
        let (mut inbox, mut outbox) = comm.mailbox(Tag::Request, 8, 2, 1);
        if comm.rank() == 0 {
            assert!(outbox.send(1, &[1]) && outbox.ready() && outbox.send(2, &[2]));
            assert!(!outbox.ready() && !outbox.send(1, &[3]), "two handles");
        }
        comm.barrier();
        if comm.rank() == 2 {
            assert_eq!(inbox.take(|from, words| (from, words.to_vec())), Some((0, vec![2])));
        }
        comm.barrier();
        if comm.rank() == 0 {
            assert!(outbox.ready() && outbox.send(2, &[4]) && !outbox.ready());
        }
        comm.barrier();
        let left = std::iter::from_fn(|| inbox.take(|_, words| words[0])).collect::<Vec<_>>();
        assert_eq!(left, [vec![], vec![1], vec![4]][comm.rank()]);
    });
}

#[test]
fn gets_stay_outstanding_until_all_slots_are_busy_or_a_rank_waits() {
    run_ranks(2, |comm| {
        let memory: Vec<u64> = (0..100).map(|word| word + 100 * comm.rank() as u64).collect();
        let other = 1 - comm.rank();
        comm.get_window(&memory, 3, 1, |mut window| {
            let first = 100 * other as u64;
            for offset in 0..2 {
                assert!(window.get(other, offset, 1));
                assert_eq!(window.take_arrived(|words| words[0]), None, "a slot is free");
            }
            assert!(window.get(other, 2, 1) && !window.get(other, 3, 1), "three slots");
            assert_eq!(window.take_arrived(|words| words[0]), Some(first));
            assert_eq!(window.take_arrived(|words| words[0]), None);
            assert_eq!([(); 3].map(|()| window.take(|words| words[0])), [Some(first + 1), Some(first + 2), None]);
        });
    });
}

#[test]
fn a_send_is_refused_while_all_handles_are_busy() {
    for sends in 1..=4 {
        run_ranks(2, |comm| {
            let (mut inbox, mut outbox) = comm.mailbox(Tag::Request, 1, sends, 9);
            if comm.rank() == 0 {
                (0..sends).for_each(|k| assert!(outbox.ready() && outbox.send(1, &[k as u64; 8])));
                assert!(!outbox.ready());
                assert!(!outbox.send(1, &[99; 8]));
            }
            comm.barrier();
            if comm.rank() == 1 {
                assert_eq!(inbox.take(|from, words| (from, words.to_vec())), Some((0, vec![0; 8])));
            }
            comm.barrier();
            if comm.rank() == 0 {
                assert!(outbox.ready() && outbox.send(1, &[sends as u64; 9]) && !outbox.ready());
            }
            comm.barrier();
            if comm.rank() == 1 {
                (1..sends).for_each(|k| assert_eq!(inbox.take(|_, words| words.to_vec()), Some(vec![k as u64; 8])));
                assert_eq!(inbox.take(|_, words| words.to_vec()), Some(vec![sends as u64; 9]));
            }
            assert_eq!(inbox.take(|_, _| ()), None);
        });
    }
}

/// For each rank, the targets and lengths of its messages.
type Traffic = Vec<Vec<(usize, usize)>>;

fn traffic() -> impl Strategy<Value = (Traffic, usize, usize)> {
    (1usize..=5, 1usize..=4, 1usize..=9).prop_flat_map(|(ranks, sends, words)| {
        let message = (1..ranks.max(2), 1..=words);
        let list = prop::collection::vec(message, if ranks == 1 { 0..=0 } else { 0..=150 });
        let lists = prop::collection::vec(list, ranks).prop_map(move |lists| {
            let absolute = |(rank, list): (usize, Vec<(usize, usize)>)| {
                list.into_iter().map(|(shift, length)| ((rank + shift) % ranks, length)).collect()
            };
            lists.into_iter().enumerate().map(absolute).collect()
        });
        (lists, Just(sends), Just(words))
    })
}

fn message(from: usize, serial: usize, length: usize) -> Vec<u64> {
    (0..length).map(|k| if k == 0 { serial as u64 } else { mix((from << 40 | serial << 8 | k) as u64) }).collect()
}

/// Sends the messages of `plan` and returns the received serial numbers, by sender.
fn exchange(comm: &ThreadComm, plan: &Traffic, sends: usize, words: usize) -> Vec<Vec<usize>> {
    let (mut inbox, mut outbox) = comm.mailbox(Tag::Reply, 2, sends, words);
    let messages = &plan[comm.rank()];
    let due = plan.iter().flatten().filter(|(to, _)| *to == comm.rank()).count();
    let (mut sent, mut received, mut serials_by_sender) = (0, 0, vec![Vec::new(); comm.size()]);
    while sent < messages.len() || received < due {
        if let Some(&(to, length)) = messages.get(sent)
            && outbox.send(to, &message(comm.rank(), sent, length))
        {
            sent += 1;
        }
        let taken = inbox.take(|from, words| {
            let serial = words[0] as usize;
            let (to, length) = plan[from][serial];
            assert_eq!(to, comm.rank(), "it went to the wrong rank");
            assert_eq!(words, message(from, serial, length), "the message was changed in transit");
            serials_by_sender[from].push(serial);
        });
        match taken {
            Some(()) => received += 1,
            None => comm.relax(),
        }
    }
    comm.barrier();
    assert_eq!(inbox.take(|_, _| ()), None, "more came than was sent");
    serials_by_sender
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn every_message_arrives_once_and_complete((plan, sends, words) in traffic()) {
        let serials_by_rank = run_ranks(plan.len(), |comm| exchange(comm, &plan, sends, words));
        for (to, serials_by_sender) in serials_by_rank.iter().enumerate() {
            for (from, serials) in serials_by_sender.iter().enumerate() {
                let sent = plan[from].iter().enumerate().filter(|(_, message)| message.0 == to);
                // The oldest message comes first, so those of one sender arrive in order.
                prop_assert_eq!(serials, &sent.map(|(serial, _)| serial).collect::<Vec<_>>());
            }
        }
    }
}

#[test]
fn mailboxes_can_be_reopened_and_used_concurrently() {
    for ranks in 2..=5 {
        run_ranks(ranks, |comm| {
            for round in 0..20 {
                let (mut requests, mut ask) = comm.mailbox(Tag::Request, 1, 1, 1);
                let (mut replies, mut answer) = comm.mailbox(Tag::Reply, 1, 1, 1);
                assert!(ask.send((comm.rank() + 1) % ranks, &[round]));
                let mut answered = false;
                let mut reply = None;
                while reply.is_none() || !answered {
                    if let Some((from, word)) = requests.take(|from, words| (from, words[0])) {
                        assert_eq!(from, (comm.rank() + ranks - 1) % ranks);
                        answered = answer.send(from, &[word * 10]);
                    }
                    reply = reply.or_else(|| replies.take(|_, words| words[0]));
                    comm.relax();
                }
                assert_eq!(reply, Some(round * 10));
            }
        });
    }
}

#[test]
fn gets_return_the_requested_words() {
    const WORDS: usize = 500;
    for ranks in 1..=5 {
        run_ranks(ranks, |comm| {
            let memory: Vec<u64> = (0..WORDS).map(|i| (comm.rank() << 32 | i) as u64).collect();
            for slots in 1..=3 {
                comm.get_window(&memory, slots, 16, |mut window| {
                    let mut wanted = std::collections::HashSet::new();
                    for step in 0..300u64 {
                        let random = mix(step << 8 | comm.rank() as u64) as usize;
                        let (from, offset, words) = (random % ranks, random / 8 % (WORDS - 16), 1 + random / 4096 % 16);
                        while !window.get(from, offset, words) {
                            assert!(wanted.len() >= slots, "a slot is free, but the get was refused");
                            take(&mut window, &mut wanted);
                        }
                        assert!(wanted.len() < slots, "more gets than slots");
                        wanted.insert(((from << 32 | offset) as u64, words, step));
                    }
                    while !wanted.is_empty() {
                        take(&mut window, &mut wanted);
                        comm.relax();
                    }
                    assert!(window.take(|_| ()).is_none());
                });
            }
        });
    }
}

/// Takes one block, if one has arrived, and removes it from the wanted blocks.
fn take(window: &mut impl GetWindow, wanted: &mut std::collections::HashSet<(u64, usize, u64)>) {
    window.take(|words| {
        assert!(words.iter().enumerate().all(|(k, &word)| word == words[0] + k as u64), "the block has a hole");
        let matching = wanted.iter().find(|entry| entry.0 == words[0] && entry.1 == words.len()).copied();
        assert!(wanted.remove(&matching.expect("a block that was asked for")));
    });
}

fn failures(ranks: usize, body: impl Fn(&ThreadComm) + Sync + Send + 'static) -> Vec<String> {
    let results = with_time_limit(move || threads::run(ranks, |comm, _: &mut Arena| body(comm)));
    results.into_iter().map(|result| result.err().unwrap_or_default()).collect()
}

#[test]
fn a_panic_of_one_rank_ends_the_waiting_ranks() {
    type Wait = fn(&ThreadComm);
    let waits: [Wait; 4] = [
        |comm| comm.barrier(),
        |comm| {
            comm.gather(&[1]);
        },
        |comm| {
            let mut barrier = comm.ibarrier();
            while !comm.test(&mut barrier) {
                comm.relax();
            }
        },
        |comm| {
            let memory = [1, 2, 3];
            comm.get_window(&memory, 1, 1, |_| ());
        },
    ];
    for (ranks, failing) in [(1, 0), (2, 1), (3, 0), (5, 2)] {
        for wait in waits {
            let messages = failures(ranks, move |comm| {
                if comm.rank() == failing {
                    panic!("rank {failing} has had enough");
                }
                wait(comm);
            });
            for (rank, message) in messages.iter().enumerate() {
                let expected = format!("rank {failing} has had enough");
                assert_eq!(message, if rank == failing { &expected } else { OTHER_RANK_FAILED });
            }
        }
    }
}

#[test]
fn a_panic_with_messages_in_flight_ends_all_ranks() {
    let messages = failures(3, |comm| {
        let (mut inbox, mut outbox) = comm.mailbox(Tag::Request, 1, 2, 1);
        assert!(outbox.send((comm.rank() + 1) % 3, &[1]));
        comm.barrier();
        assert!(comm.rank() != 1, "not taken");
        while inbox.take(|_, _| ()).is_some() {}
        comm.barrier();
    });
    assert_eq!(messages, [OTHER_RANK_FAILED, "not taken", OTHER_RANK_FAILED]);
}

#[test]
fn a_rank_that_declares_failure_ends_the_others() {
    let messages = failures(4, |comm| if comm.rank() == 3 { comm.declare_failure() } else { comm.barrier() });
    assert_eq!(messages, [OTHER_RANK_FAILED, OTHER_RANK_FAILED, OTHER_RANK_FAILED, ""]);
}

#[test]
fn misuse_is_detected_before_memory_is_accessed() {
    let too_long = failures(2, |comm| {
        let (_inbox, mut outbox) = comm.mailbox(Tag::Request, 1, 1, 1);
        outbox.send(1 - comm.rank(), &[1, 2]);
    });
    assert!(too_long.iter().any(|message| message.contains("longer than its mailbox")), "{too_long:?}");
    let outside = failures(2, |comm| {
        let memory = [0; 10];
        comm.get_window(&memory, 1, 4, |mut window| window.get(1 - comm.rank(), 8, 3));
    });
    assert!(outside.iter().any(|message| message.contains("outside of a memory of 10")), "{outside:?}");
}

/// Returns memory for a rank's stack frame. It is so large that dropping it unmaps it, and a later access crashes.
fn mapped_words() -> Vec<u32> {
    vec![0; 1 << 20]
}

#[test]
fn a_panic_in_a_window_ends_all_ranks_with_valid_memory() {
    for (ranks, failing) in [(2, 0), (2, 1), (4, 2)] {
        for turns in [0, 1, 1000, 100_000] {
            let reading = failures(ranks, move |comm| {
                let memory = vec![comm.rank() as u64; 1 << 20];
                comm.get_window(&memory, 1, 512, |mut window| {
                    for turn in 0.. {
                        assert!(comm.rank() != failing || turn < turns, "enough");
                        window.get((comm.rank() + turn) % ranks, turn % 100 * 512, 512);
                        let owner = window.take(|words| words[turn % 512]);
                        assert_eq!(owner, Some(((comm.rank() + turn) % ranks) as u64));
                        comm.relax();
                    }
                });
            });
            let writing = failures(ranks, move |comm| {
                let mut memory = mapped_words();
                comm.rma_window(&mut [], &mut memory, |mut window| {
                    for turn in 0.. {
                        assert!(comm.rank() != failing || turn < turns, "enough");
                        window.xor((comm.rank() + turn) % ranks, turn % (1 << 16), 1);
                        comm.relax();
                    }
                });
            });
            for messages in [reading, writing] {
                for (rank, message) in messages.iter().enumerate() {
                    assert_eq!(message, if rank == failing { "enough" } else { OTHER_RANK_FAILED });
                }
            }
        }
    }
}

#[test]
fn a_panic_while_a_window_opens_ends_all_ranks() {
    for failing in 0..3 {
        let messages = failures(3, move |comm| {
            let mut memory = mapped_words();
            comm.barrier();
            assert!(comm.rank() != failing, "enough");
            comm.rma_window(&mut [], &mut memory, |mut window| {
                (0..1 << 10).for_each(|place| window.put_value((comm.rank() + 1) % 3, place, 1));
            });
        });
        for (rank, message) in messages.iter().enumerate() {
            assert_eq!(message, if rank == failing { "enough" } else { OTHER_RANK_FAILED });
        }
    }
}

#[test]
fn a_forgotten_window_ends_normally() {
    run_ranks(3, |comm| {
        for round in 1..=20 {
            let mut memory = vec![0u64; 100];
            comm.rma_window(&mut [], &mut memory, |mut window| {
                (0..100).for_each(|place| window.put_value((comm.rank() + 1) % 3, place, round));
                std::mem::forget(window);
            });
            assert!(memory.iter().all(|&word| word == round));
            comm.get_window(&memory, 1, 100, |mut window| {
                assert!(window.get((comm.rank() + 1) % 3, 0, 100));
                std::mem::forget(window);
            });
            memory.fill(0);
        }
    });
}

#[test]
fn a_window_with_a_failed_fence_is_unusable() {
    let messages = failures(3, |comm| {
        let mut memory = vec![0u64; 4];
        comm.rma_window(&mut [], &mut memory, |mut window| {
            assert!(comm.rank() != 2, "enough");
            assert!(catch_unwind(AssertUnwindSafe(|| window.fence(|_| ()))).is_err());
            window.xor(0, 0, 1);
        });
    });
    assert_eq!(messages[2], "enough");
    assert!(messages[..2].iter().all(|message| message.contains("out of bounds")), "{messages:?}");
}

#[test]
fn nested_windows_are_refused() {
    let messages = failures(2, |comm| {
        comm.get_window(&[], 1, 1, |_| comm.get_window(&[], 1, 1, |_| ()));
    });
    assert!(messages.iter().any(|message| message.contains("do not nest")), "{messages:?}");
}

#[test]
fn zero_ranks_give_no_results() {
    assert!(threads::run(0, |_, _: &mut Arena| ()).is_empty());
}
