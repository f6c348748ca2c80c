//! What transports promise; here the threads. The same checks run on MPI in tests/mpi.rs.

use apexmap::comm::threads::{ThreadComm, run};
use apexmap::comm::{Comm, Inbox, Opened, Outbox, Posted, Tag};

/// On 1 to 5 ranks.
fn on_all(body: impl Fn(&ThreadComm) + Sync) {
    for ranks in 1..=5 {
        run(ranks, |comm, _| body(comm)).into_iter().for_each(|result| result.unwrap());
    }
}

#[test]
fn all_to_all_brings_every_word_to_its_rank_in_the_order_of_ranks() {
    on_all(|comm| {
        let (rank, size) = (comm.rank() as u64, comm.size() as u64);
        let mut received = vec![1, 2, 3];
        for round in 0..20 {
            // From a to b: a + b + round words of 100 a + b.
            let counts: Vec<usize> = (0..size).map(|to| ((rank + to + round) % 4) as usize).collect();
            let words = |from: u64, to: u64| vec![100 * from + to; ((from + to + round) % 4) as usize];
            let send: Vec<u64> = (0..size).flat_map(|to| words(rank, to)).collect();
            comm.all_to_all(&send, &counts, &mut received);
            assert_eq!(received, (0..size).flat_map(|from| words(from, rank)).collect::<Vec<_>>());
        }
    });
}

#[test]
fn a_line_brings_only_its_peers_messages_in_their_order() {
    for posted in [Posted::Ahead, Posted::OnDemand] {
        on_all(|comm| {
            let peers: Vec<usize> = (0..comm.size()).filter(|&peer| peer != comm.rank()).rev().collect();
            let (mut lines, mut outbox) = comm.lines(Tag::Data(1), &peers, posted, 2, 3);
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
                comm.idle();
            }
            comm.barrier();
        });
    }
}

#[test]
fn puts_and_xors_have_arrived_when_they_are_settled() {
    on_all(|comm| {
        let (rank, size) = (comm.rank(), comm.size());
        let mut memory = vec![0; 2 * size + 1];
        let mut opened = comm.open(&mut memory);
        for round in 1..=10u64 {
            for to in 0..size {
                opened.put(to, 2 * rank, &[round, rank as u64]);
                opened.xor(to, 2 * size, 1 << (rank as u64 + 6 * (round % 2)));
            }
            opened.settle(|memory| {
                for from in 0..size {
                    assert_eq!(memory[2 * from..][..2], [round, from as u64]);
                }
                let all = (1u64 << size) - 1;
                assert_eq!(memory[2 * size], all << (6 * (round % 2)));
                memory[2 * size] = 0;
            });
        }
    });
}
