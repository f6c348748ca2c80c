//! NAME: apex_map.two_sided. Remote data by request and reply; every rank serves the others between its own accesses.
//!
//! SOURCE: Strohmaier and Shan, Section 2.1 and Table 1 (right column).
//! No aggregation: each remote access is its own message. Several requests may be outstanding (B); replies are summed
//! in the order of their arrival.

use super::draw::Location;
use super::timing::{Arrays, Tally, in_quarters, time};
use super::{ALPHA, B, HEADLINE, I, L, M, METHOD, N, NSER, OUTPUTS, PAGES, SEED, SMSG, Sum, Variant, adder, memory};
use crate::error::Result;
use crate::measure::comm::arena::Arena;
use crate::measure::comm::{Inbox, Mailboxes, Outbox, Tag};
use crate::measure::kernels::{About, Outcome, Ranks};
use crate::on_transport;
use crate::point::Point;
use crate::source;

const ABOUT: About = About {
    id: "apex_map.two_sided",
    summary: "Apex-Map by messages: a request and a reply per remote block",
    source: &source::APEX_MAP,
    place: "Section 2.1, Table 1",
    parameters: &[M, ALPHA, L, I, N, B, SMSG, NSER, PAGES, SEED],
    outputs: OUTPUTS,
    ranks: Ranks::Any,
    headline: HEADLINE,
    method: METHOD,
};

pub const TWO_SIDED: Variant = Variant {
    about: &ABOUT,
    arrays: Arrays::AllBefore,
    buffers: |point| point.integer("B") + point.integer("SMSG"),
    run: |point, stream, world| on_transport!(&world.transport, comm => run(*comm, point, stream, world.arena)),
};

fn run<C: Mailboxes>(comm: &C, point: &Point, stream: u64, arena: &mut Arena) -> Result<Outcome> {
    let (memory, granted) = memory(point, comm.rank(), arena)?;
    let count = |name| point.integer(name) as usize;
    let (block, buffers, handles) = (count("L"), count("B"), count("SMSG"));
    let (requests_in, requests_out) = comm.mailbox(Tag::Request, buffers, handles, 1);
    let (replies_in, replies_out) = comm.mailbox(Tag::Reply, buffers, handles, block);
    let mut rank = Rank {
        comm,
        memory,
        block,
        requests_in,
        requests_out,
        replies_in,
        replies_out,
        buffers,
        serve_limit: count("NSER"),
        outstanding: 0,
        remote: 0,
        served: 0,
        sum: Sum::new(block),
        add: adder(),
    };
    let (run, memory) = ((point, stream), (memory, granted));
    Ok(time(comm, run, memory, Arrays::AllBefore, |locations| rank.pass(locations)))
}

/// One rank's side of the protocol.
struct Rank<'a, C: Mailboxes> {
    comm: &'a C,
    memory: &'a [u64],
    block: usize,
    requests_in: C::Inbox,
    requests_out: C::Outbox,
    replies_in: C::Inbox,
    replies_out: C::Outbox,
    buffers: usize,
    serve_limit: usize,
    /// Requests without a reply so far, at most B: every reply has a posted buffer.
    outstanding: usize,
    remote: u64,
    served: u64,
    sum: Sum,
    add: fn(&mut Sum, &[u64]),
}

impl<C: Mailboxes> Rank<'_, C> {
    /// Table 1, right column, for all index arrays, with its "wait for finish".
    fn pass(&mut self, locations: &[Location]) -> Tally {
        (self.sum, self.remote, self.served) = (Sum::new(self.block), 0, 0);
        let quarters = in_quarters(self.comm, locations, |part| self.access(part));
        while self.outstanding > 0 {
            self.make_progress();
        }
        let own_end = self.comm.now();
        // Wait for finish: others may still need this rank's data.
        let mut barrier = self.comm.ibarrier();
        while !self.comm.test(&mut barrier) {
            self.make_progress();
        }
        let (sum, remote, served) = (self.sum.total(), self.remote, self.served);
        Tally { sum, remote, served, quarters, own_end, end: self.comm.now() }
    }

    fn access(&mut self, locations: &[Location]) {
        for &location in locations {
            if location.owner() == self.comm.rank() {
                (self.add)(&mut self.sum, &self.memory[location.offset()..][..self.block]);
            } else {
                let request = [location.offset() as u64];
                while self.outstanding == self.buffers || !self.requests_out.send(location.owner(), &request) {
                    self.make_progress();
                }
                self.outstanding += 1;
                self.remote += 1;
            }
            self.serve();
            self.process_replies();
        }
    }

    /// One turn of a waiting loop.
    #[inline]
    fn make_progress(&mut self) {
        let served = self.serve();
        if !self.process_replies() && !served {
            self.comm.relax();
        }
    }

    /// Answers at most NSER requests, as long as send handles are free.
    #[inline]
    fn serve(&mut self) -> bool {
        for served in 0..self.serve_limit {
            if !self.replies_out.ready() {
                return served > 0;
            }
            let Some((from, offset)) = self.requests_in.take(|from, words| (from, words[0] as usize)) else {
                return served > 0;
            };
            // A rank waits for at most B replies, for which its mailbox has room.
            assert!(self.replies_out.send(from, &self.memory[offset..][..self.block]), "a reply found no room");
            self.served += 1;
        }
        true
    }

    /// Sums what has come.
    #[inline]
    fn process_replies(&mut self) -> bool {
        let before = self.outstanding;
        let (add, sum) = (self.add, &mut self.sum);
        while self.replies_in.take(|_, words| add(sum, words)).is_some() {
            self.outstanding -= 1;
        }
        self.outstanding < before
    }
}
