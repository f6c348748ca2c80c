//! Ranks meet in the order of virtual time. The last one computes when each may continue: after a dissemination (barriers), a
//! binomial tree (broadcast, gather, sum), or an exchange in P - 1 steps over the network (`all_to_all_v`).

use super::SimulatedComm;
use super::engine::Collective;
use super::engine::Member;
use super::machine::Time;
use crate::comm::{Collectives, Comm};
use apexmap_base::units::WORD_BYTES;
use std::any::Any;
use std::rc::Rc;

impl Member {
    /// Arrives at this rank's next operation. `complete` runs for the last rank that arrives: it gets the clock of the last
    /// arrival, and sets the releases. Returns the number of the operation.
    fn arrive(&self, value: Option<Box<dyn Any>>, complete: impl FnOnce(Time, &mut Collective)) -> u64 {
        let now = self.synchronize();
        let size = self.world.size;
        let mut shared = self.world.shared.borrow_mut();
        let begun = shared.begun.entry(self.rank).or_default();
        let number = *begun;
        *begun += 1;
        let meeting = shared.collectives.entry(number).or_default();
        if let Some(value) = value {
            meeting.given.resize_with(size, || None);
            meeting.given[self.rank] = Some(value);
        }
        meeting.arrived += 1;
        meeting.last_arrival = meeting.last_arrival.max(now);
        if meeting.arrived == size {
            complete(meeting.last_arrival, meeting);
            let times: Vec<Time> = (0..size).filter_map(|rank| meeting.release(rank)).collect();
            drop(shared);
            for (rank, time) in times.into_iter().enumerate() {
                self.world.announce(rank, time);
            }
        }
        number
    }

    /// When this rank may continue, if all ranks have arrived.
    fn release(&self, number: u64) -> Option<Time> {
        self.world.shared.borrow().collectives.get(&number)?.release(self.rank)
    }

    fn await_release(&self, number: u64, reason: &'static str) {
        self.wait_until(reason, |now| self.release(number).is_some_and(|time| time <= now));
    }

    /// An operation ends when all ranks have left. Returns its outcome.
    fn leave(&self, number: u64) -> Option<Rc<dyn Any>> {
        let mut shared = self.world.shared.borrow_mut();
        let meeting = shared.collectives.get_mut(&number)?;
        let outcome = meeting.outcome.clone();
        meeting.left += 1;
        if meeting.left == self.world.size {
            shared.collectives.remove(&number);
        }
        outcome
    }

    /// Gives a value, and returns what `combine` makes of the values of all ranks, in rank order. `combine` also gets the clock of
    /// the last arrival, and returns when each rank may continue.
    pub fn share<T: 'static, O: 'static>(
        &self,
        reason: &'static str,
        value: T,
        combine: impl FnOnce(Time, Vec<T>) -> (Vec<Time>, O),
    ) -> Rc<O> {
        let number = self.arrive(Some(Box::new(value)), |last, meeting| {
            let value = |given: Option<Box<dyn Any>>| given.and_then(|value| value.downcast().ok()).map(|value| *value);
            let given = std::mem::take(&mut meeting.given).into_iter().map(|given| value(given).expect(SAME)).collect();
            let (released, outcome) = combine(last, given);
            meeting.released = released;
            meeting.outcome = Some(Rc::new(outcome));
        });
        self.await_release(number, reason);
        self.leave(number).and_then(|outcome| outcome.downcast().ok()).expect(SAME)
    }

    /// Returns the values of all ranks after a barrier.
    pub fn share_all<T: 'static>(&self, value: T) -> Rc<Vec<T>> {
        let cost = self.world.machine.barrier(self.world.size);
        self.share("the other ranks", value, |last, values| (vec![last + cost], values))
    }

    pub fn barrier(&self) {
        let number = self.begin_barrier();
        self.await_release(number, "a barrier");
        self.leave(number);
    }

    fn begin_barrier(&self) -> u64 {
        let cost = self.world.machine.barrier(self.world.size);
        self.arrive(None, |last, meeting| meeting.released = vec![last + cost])
    }
}

const SAME: &str = "all ranks call the same operation";

pub struct BarrierRequest {
    number: u64,
    is_complete: bool,
}

impl Collectives for SimulatedComm {
    type BarrierRequest = BarrierRequest;

    fn barrier(&self) {
        self.member.barrier();
    }

    fn ibarrier(&self) -> BarrierRequest {
        BarrierRequest { number: self.member.begin_barrier(), is_complete: false }
    }

    fn test(&self, request: &mut BarrierRequest) -> bool {
        if !request.is_complete {
            let now = self.member.synchronize();
            request.is_complete = self.member.release(request.number).is_some_and(|time| time <= now);
            if request.is_complete {
                self.member.progress();
                self.member.leave(request.number);
            } else {
                self.member.fail(now, "a barrier");
            }
        }
        request.is_complete
    }

    fn broadcast(&self, words: &mut [u64]) {
        let own = if self.rank() == 0 { words.to_vec() } else { Vec::new() };
        let cost = self.tree(words.len());
        let root = self.member.share("a broadcast", own, |last, mut given| (vec![last + cost], given.swap_remove(0)));
        words.copy_from_slice(&root);
    }

    fn gather(&self, words: &[u64]) -> Option<Vec<u64>> {
        let cost = self.tree(words.len());
        let gathered = self.member.share("a gather", words.to_vec(), |last, given| (vec![last + cost], given.concat()));
        (self.rank() == 0).then(|| gathered.to_vec())
    }

    fn all_reduce_sum(&self, value: u64) -> u64 {
        // The values travel up the tree, and their sum down.
        let cost = 2 * self.tree(1);
        let add = |given: Vec<u64>| given.into_iter().fold(0, u64::wrapping_add);
        *self.member.share("a sum", value, |last, given| (vec![last + cost], add(given)))
    }

    fn all_to_all_v(&self, send: &[u64], counts: &[usize], receive: &mut Vec<u64>) {
        assert_eq!(counts.len(), self.size(), "a count for every rank");
        let start = self.member.synchronize();
        self.member.world.begin_exchange(start);
        let own: Exchanged = (start, counts.to_vec(), send[..counts.iter().sum()].to_vec());
        let combine = |_, given: Vec<Exchanged>| (self.exchange_times(&given), given);
        let exchanged = self.member.share("an exchange with all", own, combine);
        receive.clear();
        for (_, counts, words) in exchanged.iter() {
            let start: usize = counts[..self.rank()].iter().sum();
            receive.extend_from_slice(&words[start..][..counts[self.rank()]]);
        }
    }
}

impl SimulatedComm {
    /// Hands each value to the rank that `owner` returns, without the network and in no time. `receive` gets the values for this
    /// rank, in the order of their senders. It serves verifications of many ranks: no rank needs memory for each of the others.
    /// Collective.
    pub fn hand_over<R>(&self, values: Vec<u64>, owner: impl Fn(u64) -> usize, receive: impl FnOnce(&[u64]) -> R) -> R {
        let sort = |last, given: Vec<Vec<u64>>| {
            let mut ends = vec![0; self.size() + 1];
            given.iter().flatten().for_each(|&value| ends[owner(value) + 1] += 1);
            (0..self.size()).for_each(|rank| ends[rank + 1] += ends[rank]);
            let starts = ends.clone();
            let mut sorted = vec![0; starts[self.size()]];
            for value in given.into_iter().flatten() {
                let end = &mut ends[owner(value)];
                sorted[*end] = value;
                *end += 1;
            }
            (vec![last], (sorted, starts))
        };
        let handed = self.member.share("values of the other ranks", values, sort);
        let (sorted, starts) = &*handed;
        receive(&sorted[starts[self.rank()]..starts[self.rank() + 1]])
    }
}

/// Clock, counts and words of a rank.
type Exchanged = (Time, Vec<usize>, Vec<u64>);

impl SimulatedComm {
    fn tree(&self, words: usize) -> Time {
        self.member.world.machine.tree(self.size(), words * WORD_BYTES as usize)
    }

    /// When each rank has exchanged its words. In step s, rank r sends to rank r + s and receives from rank r - s.
    fn exchange_times(&self, given: &[Exchanged]) -> Vec<Time> {
        let (world, size) = (&self.member.world, given.len());
        let mut clocks: Vec<Time> = given.iter().map(|(clock, ..)| *clock).collect();
        for step in 1..size {
            let mut arrivals = vec![0; size];
            for rank in 0..size {
                let to = (rank + step) % size;
                let bytes = given[rank].1[to] * WORD_BYTES as usize;
                let costs = &world.machine.costs(rank, to).message;
                clocks[rank] += costs.send + costs.copying(bytes);
                arrivals[to] =
                    world.send(costs, clocks[rank], (rank, to), bytes).arrived + costs.receive + costs.copying(bytes);
            }
            for (clock, arrival) in clocks.iter_mut().zip(arrivals) {
                *clock = (*clock).max(arrival);
            }
        }
        world.end_exchange();
        clocks
    }
}
