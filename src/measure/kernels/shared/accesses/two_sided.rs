//! Remote blocks by request and reply (Strohmaier and Shan, Section 2.1 and Table 1, right column). Each remote access is a
//! separate message. Replies are summed in the order of their arrival. Unlike in the paper, SMSG limits requests and replies
//! separately, 2 SMSG sends in total, and a rank looks for replies only while some are outstanding. MPI sends a reply directly from
//! the rank's memory; threads copy it once, like an eager send.

use super::draw::Location;
use super::tally::PassTally;
use super::timing::{Arrays, run_quarters, time};
use super::*;
use crate::comm::{Inbox, MailboxCapacity, MemoryOutbox, Outbox};
use crate::kernels::shared::sums::Accumulator;
use crate::numerics::statistics::median;

pub const POLL_EVERY: Key<u64> = key(
    "poll_every",
    "number of own accesses after which a rank looks for requests and replies; 1 as in the paper's Table 1",
    integers(1..=1 << 32, 1),
);

pub(crate) fn rings(point: &Point) -> Vec<Rings> {
    let places = B.of(point).max(SMSG.of(point));
    vec![Rings::new(places, point.ranks as u64 - 1); 2]
}

pub(crate) fn run<C: Mailboxes>(comm: &C, point: &Point, stream: u64, arena: &mut Arena) -> Result<Outcome> {
    let (memory, granted) = memory(point, comm.rank(), arena)?;
    let count = |key: Key<u64>| key.of(point) as usize;
    let (block, buffers, handles) = (count(L), count(B), count(SMSG));
    let (requests_in, requests_out) = comm.mailbox(Tag::Request, buffers, handles, 1);
    let limits = MailboxCapacity { receives: buffers, sends: handles, words: block };
    Ok(comm.memory_mailbox(Tag::Reply, limits, memory, |replies_in, replies_out| {
        let mut rank = Rank {
            comm,
            memory,
            block,
            requests_in,
            requests_out,
            replies_in,
            replies_out,
            buffers,
            serve_limit: count(NSER),
            poll_every: POLL_EVERY.of(point),
            until_poll: 0,
            outstanding: 0,
            remote: 0,
            served: 0,
            polls: 0,
            sum: Accumulator::new(block),
        };
        let poll_seconds = rank.poll_seconds();
        let (run, memory) = ((point, stream), (memory, granted));
        let mut outcome = time(comm, run, memory, Arrays::AllBefore, |locations| rank.pass(locations));
        let polls = comm.all_reduce_sum(rank.polls);
        outcome.outputs.extend([("polls", Value::Integer(polls)), ("poll_seconds", Value::Real(poll_seconds))]);
        outcome
    }))
}

struct Rank<'a, 'm, C: Mailboxes> {
    comm: &'a C,
    memory: &'a [u64],
    block: usize,
    requests_in: C::Inbox,
    requests_out: C::Outbox,
    replies_in: &'a mut C::UnorderedInbox,
    replies_out: &'a mut C::MemoryOutbox<'m>,
    buffers: usize,
    serve_limit: usize,
    poll_every: u64,
    until_poll: u64,
    /// Requests whose replies have not arrived, at most B, so that every reply has a posted buffer.
    outstanding: usize,
    remote: u64,
    served: u64,
    polls: u64,
    sum: Accumulator,
}

impl<C: Mailboxes> Rank<'_, '_, C> {
    /// The time of a poll that finds no request. Collective.
    fn poll_seconds(&mut self) -> f64 {
        // A reading of the clock takes longer than a poll, so many polls share two readings.
        const POLLS: usize = 100;
        // A simulated poll takes until something changes if many before it found nothing; a few show the time of each.
        let (batches, polls) = if self.comm.simulated_rank().is_some() { (1, 16) } else { (11, POLLS) };
        self.comm.barrier();
        let batch = |_| {
            let start = self.comm.wall_time();
            (0..polls).for_each(|_| _ = self.serve());
            (self.comm.wall_time() - start) / polls as f64
        };
        let times: Vec<f64> = (0..batches).map(batch).collect();
        self.comm.barrier();
        median(&times).unwrap_or(0.0)
    }

    /// The right column of Table 1 for all index arrays, including its "wait for finish".
    fn pass(&mut self, locations: &[Location]) -> PassTally {
        self.sum.clear();
        (self.remote, self.served, self.polls) = (0, 0, 0);
        self.until_poll = self.poll_every;
        let quarters = run_quarters(self.comm, locations, |part| self.access(part));
        while self.outstanding > 0 {
            self.make_progress();
        }
        let own_end = self.comm.wall_time();
        // Wait for finish: other ranks may still request this rank's data.
        let mut barrier = self.comm.ibarrier();
        while !self.comm.test(&mut barrier) {
            self.make_progress();
        }
        let (sum, remote, served) = (self.sum.total(), self.remote, self.served);
        PassTally { sum, remote, served, quarters, own_end, end: self.comm.wall_time() }
    }

    fn access(&mut self, locations: &[Location]) {
        for &location in locations {
            if location.is_own() {
                self.sum.add(&self.memory[location.offset()..][..self.block]);
                self.comm.charge(Computation::Read, 1);
            } else {
                let (owner, request) = (location.owner(self.comm), [location.offset() as u64]);
                while self.outstanding == self.buffers || !self.requests_out.send(owner, &request) {
                    self.make_progress();
                }
                self.outstanding += 1;
                self.remote += 1;
            }
            self.until_poll -= 1;
            if self.until_poll == 0 {
                self.until_poll = self.poll_every;
                self.serve();
                self.process_replies();
            }
        }
    }

    #[inline]
    fn make_progress(&mut self) {
        let served = self.serve();
        if !self.process_replies() && !served {
            self.comm.relax();
        }
    }

    /// Answers at most NSER requests, while send handles are free. Returns whether it answered any.
    #[inline]
    fn serve(&mut self) -> bool {
        self.polls += 1;
        for served in 0..self.serve_limit {
            if !self.replies_out.ready() {
                return served > 0;
            }
            let Some((from, offset)) = self.requests_in.take(|from, words| (from, words[0] as usize)) else {
                return served > 0;
            };
            self.comm.charge(Computation::Read, 1);
            // A rank has at most B outstanding requests, and its mailbox has room for B replies.
            assert!(self.replies_out.send(from, offset, self.block), "the requester's mailbox has no room for a reply");
            self.served += 1;
        }
        true
    }

    /// Returns whether any had arrived.
    #[inline]
    fn process_replies(&mut self) -> bool {
        let (before, sum) = (self.outstanding, &mut self.sum);
        while self.outstanding > 0 && self.replies_in.take(|_, words| sum.add(words)).is_some() {
            self.outstanding -= 1;
        }
        self.outstanding < before
    }
}
