//! Rounds of puts. Each round is complete at its targets before the next one begins.

use super::content::{fill, identity, is_intact, stamp};
use super::measure::{Exchange, measure};
use super::route::{Peers, Route, exchange_words, identities};
use super::*;
use crate::comm::{Buffer, RmaWindow};

struct Rounds<'a, W, R> {
    window: W,
    route: Option<&'a R>,
    peers: Peers,
    rank: usize,
    shape: Shape,
    outgoing: Vec<u64>,
    /// For each target rank, the item in its memory where this rank's first message of a run goes.
    first_offsets: Vec<usize>,
    next_offsets: Vec<usize>,
}

fn messages_stored(shape: Shape, count: usize) -> usize {
    if shape.one_buffer { 1 } else { count * shape.rounds }
}

/// Every message of a run has its own target location, because messages are checked only after the run. Collective.
pub fn run<C: Rma, R: Route>(comm: &C, point: &Point, arena: &mut Arena, route: Option<&R>) -> Result<Outcome> {
    let (shape, peers) = (Shape::new(point), Peers::from_route(comm, route));
    let mut outgoing = route.map_or(Vec::new(), |route| identities(comm.rank(), comm.size(), route));
    let messages = outgoing.len() as f64;
    if shape.one_buffer {
        outgoing = route.map(|_| identity(comm.rank(), 0, 0)).into_iter().collect();
    }
    let (mut first_offsets, mut end) = (vec![0; comm.size()], 0);
    for &(from, count) in &peers.sources {
        first_offsets[from] = end as u64;
        end += messages_stored(shape, count) * shape.stride;
    }
    let first: Vec<usize> = exchange_words(comm, &first_offsets).into_iter().map(|place| place as usize).collect();
    let (mut origin, mut memory) = (Buffer::new(outgoing.len() * shape.stride)?, Buffer::new(end)?);
    for (buffer, &identity) in origin.items_mut().chunks_exact_mut(shape.stride).zip(&outgoing) {
        fill(&mut buffer[..shape.items], identity);
    }
    let (rank, next) = (comm.rank(), first.clone());
    comm.rma_window(origin.items_mut(), memory.items_mut(), |window| {
        let rounds = Rounds { window, route, peers, rank, shape, outgoing, first_offsets: first, next_offsets: next };
        measure(comm, point, arena, rounds, messages)
    })
}

impl<W: RmaWindow<u32>, R: Route> Rounds<'_, W, R> {
    #[inline]
    fn stamp_all(&mut self, round: u32) {
        let Shape { items, stride, .. } = self.shape;
        for (buffer, &identity) in self.window.origin().chunks_exact_mut(stride).zip(&self.outgoing) {
            buffer[items - 1] = stamp(identity, round);
        }
    }
}

impl<W: RmaWindow<u32>, R: Route> Exchange for Rounds<'_, W, R> {
    fn clear(&mut self) {
        self.window.fence(|memory| memory.fill(0));
    }

    fn run_round(&mut self, round: u32) {
        let Some(route) = self.route else { return };
        let Shape { items, stride, one_buffer, .. } = self.shape;
        self.stamp_all(round);
        if round == 0 {
            self.next_offsets.copy_from_slice(&self.first_offsets);
        }
        let step = if one_buffer { 0 } else { stride };
        let (window, next, mut offset) = (&mut self.window, &mut self.next_offsets, 0);
        route.for_each_destination(|to| {
            // SAFETY: `first_offsets` gives each rank its own items at each other rank. They are read only in fences.
            unsafe { window.put(offset, items, to, next[to]) };
            offset += step;
            next[to] += step;
        });
        window.flush();
    }

    /// Received messages are checked after the run.
    fn run_bookkeeping(&mut self, round: u32) -> u64 {
        self.stamp_all(round);
        black_box(self.window.origin()).len() as u64
    }

    fn count_wrong(&mut self, rounds: u32) -> u64 {
        let (shape, rank, from) = (self.shape, self.rank, &self.peers.sources);
        self.window.fence(|memory| {
            let mut messages = memory.chunks_exact(shape.stride).map(|buffer| &buffer[..shape.items]);
            let mut wrong = 0;
            for &(from, count) in from {
                if shape.one_buffer {
                    let last = messages.next().is_some_and(|last| is_intact(last, identity(from, 0, 0), rounds - 1));
                    wrong += u64::from(!last);
                    continue;
                }
                for round in 0..rounds {
                    let expected = (0..count).map(|number| identity(from, rank, number));
                    wrong += expected
                        .zip(&mut messages)
                        .filter(|&(identity, message)| !is_intact(message, identity, round))
                        .count() as u64;
                }
            }
            wrong
        })
    }
}
