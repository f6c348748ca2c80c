//! Checks messages that one call takes together, on any transport.

use apexmap_measure::comm::{Collectives, Inbox, Mailboxes, Outbox, Tag};

const MESSAGES: u64 = 50;

/// All ranks send numbered messages of 0 to 8 words to rank 0, which takes up to four at once. The messages of a sender
/// must arrive in order, once and complete.
pub fn check_order<C: Mailboxes + Collectives>(comm: &C) {
    let (rank, size) = (comm.rank() as u64, comm.size());
    let (mut inbox, mut outbox) = comm.mailbox(Tag::Data(1), 6, 3, 10);
    let mut next = vec![0; size];
    let mut most = 0;
    if rank > 0 {
        for number in 0..MESSAGES {
            let words: Vec<u64> = [rank, number].into_iter().chain(0..number % 9).collect();
            while !outbox.send(0, &words) {
                comm.relax();
            }
        }
    } else {
        while next[1..].iter().any(|&number| number < MESSAGES) {
            let taken = inbox.take_batch(4, |from, words| {
                assert_eq!(words[..2], [from as u64, next[from]], "the next of its sender");
                assert!(words[2..].iter().copied().eq(0..next[from] % 9), "whole");
                next[from] += 1;
            });
            assert!(taken <= 4);
            most = most.max(taken);
            comm.relax();
        }
        assert!(size == 1 || most > 0);
    }
    comm.barrier();
}
