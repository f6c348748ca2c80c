//! Remote blocks by gets from a window. No rank serves another (Strohmaier and Shan, Section 4, which announces one-sided models,
//! and Table 1, left column). Up to B gets are outstanding. Blocks are summed in the order of their arrival. A rank looks for
//! arrived blocks after each get, and after at most 64 own accesses.

use super::draw::Location;
use super::tally::PassTally;
use super::timing::{Arrays, run_quarters, time};
use super::*;
use crate::comm::GetWindow;
use crate::kernels::shared::sums::Accumulator;

pub(crate) fn run<C: Rma>(comm: &C, point: &Point, stream: u64, arena: &mut Arena) -> Result<Outcome> {
    let (memory, granted) = memory(point, comm.rank(), arena)?;
    let block = L.of(point) as usize;
    Ok(comm.get_window(memory, B.of(point) as usize, block, |window| {
        let mut rank = Rank { comm, memory, block, window, outstanding: 0, remote: 0, sum: Accumulator::new(block) };
        time(comm, (point, stream), (memory, granted), Arrays::AllBefore, |locations| rank.pass(locations))
    }))
}

const MAX_OWN_RUN: usize = 64;

struct Rank<'a, C, W> {
    comm: &'a C,
    memory: &'a [u64],
    block: usize,
    window: W,
    /// Gets whose blocks are not summed yet, at most B.
    outstanding: usize,
    remote: u64,
    sum: Accumulator,
}

impl<C: Rma, W: GetWindow> Rank<'_, C, W> {
    /// The left column of Table 1 for all index arrays.
    fn pass(&mut self, locations: &[Location]) -> PassTally {
        self.sum.clear();
        self.remote = 0;
        let quarters = run_quarters(self.comm, locations, |part| self.access(part));
        while self.outstanding > 0 {
            self.wait();
        }
        let own_end = self.comm.wall_time();
        // Other ranks may still read this memory.
        self.comm.barrier();
        let (sum, remote) = (self.sum.total(), self.remote);
        PassTally { sum, remote, served: 0, quarters, own_end, end: self.comm.wall_time() }
    }

    fn access(&mut self, mut locations: &[Location]) {
        while !locations.is_empty() {
            let own = locations.iter().take(MAX_OWN_RUN).take_while(|location| location.is_own()).count();
            let (own, others) = locations.split_at(own);
            if !own.is_empty() {
                self.sum.add_all(self.memory, Location::offsets(own));
                self.comm.charge(Computation::Read, own.len());
            }
            locations = others;
            if let Some((&remote, after)) = others.split_first().filter(|(location, _)| !location.is_own()) {
                self.get(remote);
                locations = after;
            }
            let sum = &mut self.sum;
            while self.window.take_arrived(|words| sum.add(words)).is_some() {
                self.outstanding -= 1;
            }
        }
    }

    #[inline]
    fn get(&mut self, remote: Location) {
        let (owner, offset) = (remote.owner(self.comm), remote.offset());
        while !self.window.get(owner, offset, self.block) {
            self.wait();
        }
        self.outstanding += 1;
        self.remote += 1;
    }

    fn wait(&mut self) {
        let sum = &mut self.sum;
        match self.window.take(|words| sum.add(words)) {
            Some(()) => self.outstanding -= 1,
            None => self.comm.relax(),
        }
    }
}
