//! Tests of the contract of transports, here of threads. tests/mpi.rs runs the same checks on MPI.

#[path = "mpi_checks/message_order.rs"]
mod message_order;

use apexmap_measure::comm::threads::window::ThreadRmaWindow;
use apexmap_measure::comm::threads::{ThreadComm, run};
use apexmap_measure::comm::{
    Collectives, Comm, GetWindow, Inbox, Mailboxes, Messages, Outbox, Path, PointToPoint, Posting, Rma, RmaWindow, Tag,
};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs a function on 1 to 5 ranks.
fn on_1_to_5_ranks(body: impl Fn(&ThreadComm) + Sync) {
    for ranks in 1..=5 {
        run(ranks, |comm, _| body(comm)).into_iter().for_each(|result| result.unwrap());
    }
}

#[test]
fn all_to_all_delivers_every_word_in_rank_order() {
    on_1_to_5_ranks(|comm| {
        let (rank, size) = (comm.rank() as u64, comm.size() as u64);
        let mut received = vec![1, 2, 3];
        for round in 0..20 {
            // Rank a sends (a + b + round) modulo 4 words of value 100 a + b to rank b.
            let counts: Vec<usize> = (0..size).map(|to| ((rank + to + round) % 4) as usize).collect();
            let words = |from: u64, to: u64| vec![100 * from + to; ((from + to + round) % 4) as usize];
            let send: Vec<u64> = (0..size).flat_map(|to| words(rank, to)).collect();
            comm.all_to_all_v(&send, &counts, &mut received);
            assert_eq!(received, (0..size).flat_map(|from| words(from, rank)).collect::<Vec<_>>());
        }
    });
}

#[test]
fn messages_taken_together_arrive_in_order() {
    on_1_to_5_ranks(message_order::check_order);
}

#[test]
fn a_mailbox_per_peer_delivers_only_its_messages_in_order() {
    for posted in [Posting::Ahead, Posting::OnDemand] {
        on_1_to_5_ranks(|comm| {
            let peers: Vec<usize> = (0..comm.size()).filter(|&peer| peer != comm.rank()).rev().collect();
            let (mut lines, mut outbox) = comm.mailbox_per_peer(Tag::Data(1), &peers, (posted, Path::Memory), 2, 3);
            let mut waiting = vec![10u64; peers.len()];
            let mut unsent: Vec<(usize, u64)> =
                (1..=10).rev().flat_map(|i| peers.iter().map(move |&peer| (peer, i))).collect();
            while !unsent.is_empty() || waiting.iter().any(|&left| left > 0) {
                if let Some(&(to, number)) = unsent.last() {
                    let words = [comm.rank() as u64, number, 0];
                    if outbox.send(to, &words[..if number == 5 { 2 } else { 3 }]) {
                        unsent.pop();
                    }
                }
                for ((line, left), &peer) in lines.iter_mut().zip(&mut waiting).zip(&peers) {
                    if *left == 0 {
                        continue;
                    }
                    let message = line.take(|from, words| (from, words.to_vec()));
                    if let Some((from, words)) = message {
                        let number = 11 - *left;
                        assert_eq!((from, words[0], words[1]), (peer, peer as u64, number));
                        assert_eq!(words.len(), if number == 5 { 2 } else { 3 });
                        *left -= 1;
                    }
                }
                comm.relax();
            }
            comm.barrier();
        });
    }
}

#[test]
fn values_and_xors_arrive_before_a_fence_returns() {
    on_1_to_5_ranks(|comm| {
        let (rank, size) = (comm.rank(), comm.size());
        let mut memory = vec![0; 2 * size + 1];
        comm.rma_window(&mut [], &mut memory, |mut window| {
            for round in 1..=10u64 {
                for to in 0..size {
                    window.put_value(to, 2 * rank, round);
                    window.put_value(to, 2 * rank + 1, rank as u64);
                    window.xor(to, 2 * size, 1 << (rank as u64 + 6 * (round % 2)));
                }
                window.fence(|memory| {
                    for from in 0..size {
                        assert_eq!(memory[2 * from..][..2], [round, from as u64]);
                    }
                    let all_bits = (1u64 << size) - 1;
                    assert_eq!(memory[2 * size], all_bits << (6 * (round % 2)));
                    memory[2 * size] = 0;
                });
            }
        });
    });
}

/// Returns the item at `place` of the message that `from` sends to `to` in a round.
fn item(from: usize, to: usize, round: usize, place: usize) -> u32 {
    (((from * 10 + to) * 100 + round) * 1000 + place) as u32
}

#[test]
fn messages_of_any_size_arrive_at_the_intended_place() {
    // Longer and shorter messages than a ring transfers, and more of them than a ring holds.
    for (items, messages) in [(1, 300), (2, 3), (12, 5), (13, 300), (999, 4)] {
        on_1_to_5_ranks(|comm| {
            let (me, size) = (comm.rank(), comm.size());
            let others: Vec<usize> = (0..size).filter(|&other| other != me).collect();
            let items_in_total = others.len() * messages * items;
            let mut line = comm.messages(Tag::Data(0), items_in_total, items_in_total).unwrap();
            for round in 0..3 {
                let mut filled = line.outgoing().iter_mut();
                for (&to, message) in others.iter().flat_map(|to| (0..messages).map(move |message| (to, message))) {
                    (0..items)
                        .for_each(|i| *filled.next().unwrap() = item(me, to, round, (message * items + i) % 1000));
                }
                for (i, &peer) in others.iter().enumerate() {
                    for message in 0..messages {
                        line.irecv((i * messages + message) * items, items, peer);
                    }
                }
                for (i, &peer) in others.iter().enumerate() {
                    for message in 0..messages {
                        line.isend((i * messages + message) * items, items, peer);
                    }
                }
                line.wait_all();
                let mut received = line.incoming().iter();
                for &from in &others {
                    for place in 0..messages * items {
                        assert_eq!(*received.next().unwrap(), item(from, me, round, place % 1000));
                    }
                }
            }
        });
    }
}

#[test]
fn puts_of_any_size_arrive_at_the_intended_place() {
    for items in [1, 2, 3, 16, 999] {
        on_1_to_5_ranks(|comm| {
            let (me, size) = (comm.rank(), comm.size());
            let (mut origin, mut memory) = (vec![0; size * items], vec![0; size * (items + 1)]);
            comm.rma_window(&mut origin, &mut memory, |mut window| {
                for round in 0..5 {
                    for (i, word) in window.origin().iter_mut().enumerate() {
                        *word = item(me, i / items, round, i % items);
                    }
                    for to in (0..size).filter(|&to| to != me) {
                        // SAFETY: each rank has its own place, which is read in fences only.
                        unsafe { window.put(to * items, items, to, me * (items + 1)) };
                    }
                    window.flush();
                    window.fence(|memory| {
                        for (from, message) in
                            memory.chunks_exact(items + 1).enumerate().filter(|&(from, _)| from != me)
                        {
                            (0..items).for_each(|i| assert_eq!(message[i], item(from, me, round, i)));
                            assert_eq!(message[items], 0, "nothing is written beyond");
                        }
                    });
                }
            });
        });
    }
}

#[test]
fn a_put_is_complete_when_its_last_item_arrives() {
    run(2, |comm, _| {
        let (items, other) = (501, 1 - comm.rank());
        let (mut origin, mut memory) = (vec![0; items], vec![0; items]);
        comm.rma_window(&mut origin, &mut memory, |mut window| {
            for round in 1..=200u32 {
                window.origin().fill(round);
                // SAFETY: the other rank is waiting for this put, and puts nothing before it arrives.
                let put = |window: &mut ThreadRmaWindow<u32>| unsafe { window.put(0, items, other, 0) };
                if comm.rank() == 0 {
                    put(&mut window);
                }
                // SAFETY: first the last item of the put, then all others, which no longer change.
                while unsafe { window.peek(items - 1) } != round {
                    comm.relax();
                }
                // SAFETY: as above.
                assert!((0..items).all(|place| unsafe { window.peek(place) } == round));
                if comm.rank() == 1 {
                    put(&mut window);
                }
            }
        });
    })
    .into_iter()
    .for_each(|result| result.unwrap());
}

#[test]
fn accesses_outside_a_window_are_refused_even_near_integer_overflow() {
    fn assert_refused(work: impl FnOnce()) {
        let panic = catch_unwind(AssertUnwindSafe(work)).expect_err("an access outside of memory");
        let message = panic.downcast_ref::<String>().expect("a message");
        assert!(message.contains("outside of a memory of"), "{message}");
    }
    on_1_to_5_ranks(|comm| {
        let (me, other) = (comm.rank(), (comm.rank() + 1) % comm.size());
        let (mut origin, mut memory, mut line) =
            (vec![0u32; 8], vec![0u32; 8], comm.messages(Tag::Data(0), 8, 8).unwrap());
        for (place, items) in [(usize::MAX, 1), (usize::MAX - 1, 3), (usize::MAX, usize::MAX), (7, 2), (9, 0)] {
            let words = vec![0u64; 8];
            comm.get_window(&words, 2, 4, |mut window| {
                assert_refused(|| _ = window.get(other, place, items));
                assert_refused(|| _ = window.get(other, 0, 5));
            });
            comm.rma_window(&mut origin, &mut memory, |mut window| {
                assert_refused(|| window.put_value(other, place.max(8), 1));
                assert_refused(|| window.xor(other, place.max(8), 1));
                // SAFETY: the call is refused before it accesses memory.
                assert_refused(|| _ = unsafe { window.peek(place.max(8)) });
                if other != me {
                    for (offset, place) in [(0, place), (place, 0)] {
                        // SAFETY: as above.
                        assert_refused(|| unsafe { window.put(offset, items, other, place) });
                    }
                }
                window.fence(|memory| assert_eq!(memory, [0; 8]));
            });
            if other != me {
                assert_refused(|| line.isend(place, items, other));
                assert_refused(|| line.irecv(place, items, other));
            }
        }
    });
}
