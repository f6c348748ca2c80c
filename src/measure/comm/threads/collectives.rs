use super::{Shared, ThreadComm};
use crate::comm::{Collectives, Comm};
use std::sync::{PoisonError, RwLockReadGuard};

struct Board<'a>(&'a Shared);

impl Board<'_> {
    fn words_of(&self, rank: usize) -> RwLockReadGuard<'_, Vec<u64>> {
        self.0.words[rank].read().unwrap_or_else(PoisonError::into_inner)
    }

    fn iter(&self) -> impl Iterator<Item = RwLockReadGuard<'_, Vec<u64>>> {
        (0..self.0.size).map(|rank| self.words_of(rank))
    }
}

impl ThreadComm {
    /// Publishes this rank's words, passes the words of all ranks to `read`, and keeps them until all ranks have read them.
    fn share<R>(&self, words: &[u64], read: impl FnOnce(&Board) -> R) -> R {
        {
            let mut own_words = self.shared.words[self.rank].write().unwrap_or_else(PoisonError::into_inner);
            own_words.clear();
            own_words.extend_from_slice(words);
        }
        self.barrier();
        let result = read(&Board(&self.shared));
        self.barrier();
        result
    }
}

impl Collectives for ThreadComm {
    /// The number of arrivals that completes the barrier.
    type BarrierRequest = u64;

    fn barrier(&self) {
        self.wait(&self.shared.barrier);
    }

    fn ibarrier(&self) -> u64 {
        // A rank arrives again only after all have arrived before, so one counter is enough.
        let target = self.arrived.get() + self.shared.size as u64;
        self.arrived.set(target);
        self.shared.arrivals.arrive();
        target
    }

    fn test(&self, target: &mut u64) -> bool {
        self.shared.arrivals.have_reached(*target)
    }

    fn broadcast(&self, words: &mut [u64]) {
        let root = if self.rank == 0 { words.to_vec() } else { Vec::new() };
        self.share(&root, |board| words.copy_from_slice(&board.words_of(0)));
    }

    fn gather(&self, words: &[u64]) -> Option<Vec<u64>> {
        let concatenate = |board: &Board| board.iter().flat_map(|rank_words| rank_words.clone()).collect();
        self.share(words, |board| (self.rank == 0).then(|| concatenate(board)))
    }

    fn all_reduce_sum(&self, value: u64) -> u64 {
        self.share(&[value], |board| board.iter().fold(0, |sum: u64, rank_words| sum.wrapping_add(rank_words[0])))
    }

    fn all_to_all_v(&self, send: &[u64], counts: &[usize], receive: &mut Vec<u64>) {
        assert_eq!(counts.len(), self.size(), "a count for every rank");
        let mut message = self.scratch.take();
        message.clear();
        message.extend(counts.iter().map(|&count| count as u64));
        message.extend_from_slice(&send[..counts.iter().sum()]);
        receive.clear();
        self.share(&message, |board| {
            for rank_words in board.iter() {
                let (counts, words) = rank_words.split_at(self.size());
                let start: u64 = counts[..self.rank].iter().sum();
                receive.extend_from_slice(&words[start as usize..][..counts[self.rank] as usize]);
            }
        });
        self.scratch.replace(message);
    }
}
