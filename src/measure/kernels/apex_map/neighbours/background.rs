//! The activities of the neighbours until rank 0 has finished.

use crate::comm::{Inbox, Outbox};
use crate::kernels::prelude::*;
use crate::kernels::shared::accesses::draw::potential;
use crate::kernels::shared::sums::sum_all;

/// 4 KiB.
pub(super) const MESSAGE_WORDS: usize = 512;
/// Consecutive words that a neighbour reads before it checks whether rank 0 has finished.
const CHUNK_WORDS: usize = (64 << 10) / 8;
/// Random words that a neighbour reads before it checks whether rank 0 has finished.
const RANDOM_WORDS: usize = 1024;

pub(super) struct Neighbour<'a, C> {
    comm: &'a C,
    memory: &'a [u64],
    draw: u64,
    /// Read or received.
    pub(super) bytes: u64,
    /// Sums.
    pub(super) wrong: u64,
    /// Messages of the previous neighbour that were lost, or that it never sent.
    pub(super) lost: u64,
}

impl<'a, C: Collectives> Neighbour<'a, C> {
    pub(super) fn new(comm: &'a C, memory: &'a [u64], stream: u64) -> Self {
        Self { comm, memory, draw: seed(&[stream, comm.rank() as u64]), bytes: 0, wrong: 0, lost: 0 }
    }

    fn record(&mut self, sum: u64, expected: u64, words: usize) {
        self.wrong += u64::from(sum != expected);
        self.bytes += words as u64 * WORD_BYTES;
    }

    /// Calls `work` at least once.
    fn repeat_until_done(&mut self, mut work: impl FnMut(&mut Self)) {
        let mut barrier = self.comm.ibarrier();
        loop {
            work(self);
            if self.comm.test(&mut barrier) {
                return;
            }
        }
    }

    pub(super) fn idle(&mut self) {
        self.repeat_until_done(|neighbour| neighbour.comm.relax());
    }

    pub(super) fn stream(&mut self) {
        let mut offset = 0;
        self.repeat_until_done(|neighbour| {
            let chunk = &neighbour.memory[offset..neighbour.memory.len().min(offset + CHUNK_WORDS)];
            let sum = sum_all(black_box(chunk), &[0], chunk.len());
            neighbour.record(sum, sum_between(offset, offset + chunk.len()), chunk.len());
            offset = if offset + chunk.len() == neighbour.memory.len() { 0 } else { offset + chunk.len() };
        });
    }

    pub(super) fn probe(&mut self) {
        let mut offsets = [0; RANDOM_WORDS];
        self.repeat_until_done(|neighbour| {
            let words = neighbour.memory.len();
            let mut expected = 0u64;
            for offset in &mut offsets {
                neighbour.draw = neighbour.draw.wrapping_add(0x9e37_79b9_7f4a_7c15);
                *offset = ((u128::from(mix(neighbour.draw)) * words as u128) >> u64::BITS) as u64;
                expected = expected.wrapping_add(sum_between(*offset as usize, *offset as usize + 1));
            }
            let sum = sum_all(neighbour.memory, black_box(&offsets), 1);
            neighbour.record(sum, expected, RANDOM_WORDS);
        });
    }

    /// Sends parts of this rank's memory, one after the other, to the next neighbour. All neighbours have the same memory. The last
    /// message has a single word: the number of messages before it.
    pub(super) fn send(&mut self, inbox: &mut impl Inbox, outbox: &mut impl Outbox) {
        let (rank, neighbours) = (self.comm.rank(), self.comm.size() - 1);
        let (next, length) = (rank % neighbours + 1, MESSAGE_WORDS.min(self.memory.len()));
        // Messages have at least two words, because a message of one word marks the end.
        let parts = if length < 2 { 0 } else { self.memory.len() / length };
        let part = |number: u64| number as usize % parts.max(1) * length;
        let (mut sent, mut received, mut announced) = (0u64, 0u64, None);
        let mut take = |neighbour: &mut Self, received: &mut u64| {
            let message = inbox.take(|_, words| {
                (words.len(), words[0], if words.len() > 1 { sum_all(words, &[0], words.len()) } else { 0 })
            });
            match message {
                None => neighbour.comm.relax(),
                Some((1, count, _)) => announced = Some(count),
                Some((words, _, sum)) => {
                    let offset = part(*received);
                    neighbour.record(sum, sum_between(offset, offset + length), words);
                    *received += 1;
                }
            }
            announced
        };
        self.repeat_until_done(|neighbour| {
            if parts > 0 && outbox.send(next, &neighbour.memory[part(sent)..][..length]) {
                sent += 1;
            }
            take(neighbour, &mut received);
        });
        while !outbox.send(next, &[sent]) {
            take(self, &mut received);
        }
        let count = loop {
            if let Some(count) = take(self, &mut received) {
                break count;
            }
        };
        if count != received {
            // The sums after a lost message were compared with those of other parts, so they show nothing.
            (self.lost, self.wrong) = (count.abs_diff(received), 0);
        }
    }
}

/// Returns the sum of the words from offset `from` up to, but not including, offset `to`.
fn sum_between(from: usize, to: usize) -> u64 {
    potential(0, to as u64).wrapping_sub(potential(0, from as u64))
}

pub(super) struct SingleRank<'a, C>(pub(super) &'a C);

impl<C: Comm> Comm for SingleRank<'_, C> {
    fn rank(&self) -> usize {
        0
    }
    fn size(&self) -> usize {
        1
    }
    fn ranks_on_node(&self) -> usize {
        1
    }
    fn first_on_node(&self) -> bool {
        true
    }
    fn is_oversubscribed(&self) -> bool {
        self.0.is_oversubscribed()
    }
    fn wall_time(&self) -> f64 {
        self.0.wall_time()
    }
    fn relax(&self) {
        self.0.relax();
    }
}

impl<C: Comm> Collectives for SingleRank<'_, C> {
    type BarrierRequest = ();

    fn barrier(&self) {}
    fn ibarrier(&self) {}
    fn test(&self, (): &mut ()) -> bool {
        true
    }
    fn broadcast(&self, _: &mut [u64]) {}
    fn gather(&self, words: &[u64]) -> Option<Vec<u64>> {
        Some(words.to_vec())
    }
    fn all_reduce_sum(&self, value: u64) -> u64 {
        value
    }
    fn all_to_all_v(&self, send: &[u64], counts: &[usize], receive: &mut Vec<u64>) {
        receive.clear();
        receive.extend_from_slice(&send[..counts.iter().sum()]);
    }
}
