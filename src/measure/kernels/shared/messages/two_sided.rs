//! Rounds of sends. Messages are received in place and each round is acknowledged.

use super::content::{fill, identity, is_intact, stamp};
use super::measure::{Exchange, measure};
use super::route::{Peers, Route, identities};
use super::*;
use crate::comm::Messages;

struct Rounds<'a, C: PointToPoint + 'a, R> {
    data: C::Messages<'a>,
    /// `None` if both sides send: then a received message replaces the acknowledgement.
    acknowledgements: Option<C::Messages<'a>>,
    route: Option<&'a R>,
    peers: Peers,
    shape: Shape,
    /// Identity of the message in each buffer.
    outgoing: Vec<u64>,
    incoming: Vec<u64>,
    wrong: u64,
}

pub fn run<C: PointToPoint, R: Route>(
    comm: &C,
    point: &Point,
    arena: &mut Arena,
    route: Option<&R>,
    acknowledged: bool,
) -> Result<Outcome> {
    let (shape, peers) = (Shape::new(point), Peers::from_route(comm, route));
    let (me, mut outgoing) =
        (comm.rank(), route.map_or(Vec::new(), |route| identities(comm.rank(), comm.size(), route)));
    let from = |&(from, count): &(usize, usize)| (0..count).map(move |number| identity(from, me, number));
    let mut incoming: Vec<u64> = peers.sources.iter().flat_map(from).collect();
    if shape.one_buffer {
        outgoing = route.map(|_| identity(me, 0, 0)).into_iter().collect();
        incoming = peers.sources.iter().map(|&(from, _)| identity(from, 0, 0)).collect();
    }
    let sent = outgoing.len() as f64;
    let mut data = comm.messages(Tag::Data(0), outgoing.len() * shape.stride, incoming.len() * shape.stride)?;
    for (buffer, &identity) in data.outgoing().chunks_exact_mut(shape.stride).zip(&outgoing) {
        fill(&mut buffer[..shape.items], identity);
    }
    let acknowledgements = if acknowledged {
        Some(comm.messages(Tag::Reply, LINE_ITEMS, peers.destinations.len() * LINE_ITEMS)?)
    } else {
        None
    };
    let messages = if shape.one_buffer {
        (peers.destinations.iter().map(|&(_, count)| count).sum::<usize>()) as f64
    } else {
        sent
    };
    let rounds: Rounds<C, R> = Rounds { data, acknowledgements, route, peers, shape, outgoing, incoming, wrong: 0 };
    measure(comm, point, arena, rounds, messages)
}

impl<'a, C: PointToPoint + 'a, R: Route> Rounds<'a, C, R> {
    #[inline]
    fn stamp_all(&mut self, round: u32) {
        let Shape { items, stride, .. } = self.shape;
        for (buffer, &identity) in self.data.outgoing().chunks_exact_mut(stride).zip(&self.outgoing) {
            buffer[items - 1] = stamp(identity, round);
        }
    }

    #[inline]
    fn wrong_stamps(&mut self, round: u32) -> u64 {
        let Shape { items, stride, .. } = self.shape;
        let received = self.data.incoming().chunks_exact(stride).zip(&self.incoming);
        received.filter(|(buffer, identity)| buffer[items - 1] != stamp(**identity, round)).count() as u64
    }
}

impl<C: PointToPoint, R: Route> Exchange for Rounds<'_, C, R> {
    fn clear(&mut self) {
        self.data.incoming().fill(0);
        self.wrong = 0;
    }

    fn run_round(&mut self, round: u32) {
        let Shape { items, stride, one_buffer, .. } = self.shape;
        let (step, next_source) = if one_buffer { (0, stride) } else { (stride, 0) };
        self.stamp_all(round);
        // Receives are posted before any message is sent.
        if let Some(acknowledgements) = &mut self.acknowledgements {
            for (i, &(to, _)) in self.peers.destinations.iter().enumerate() {
                acknowledgements.irecv(i * LINE_ITEMS, 1, to);
            }
        }
        let mut offset = 0;
        for &(from, count) in &self.peers.sources {
            for _ in 0..count {
                self.data.irecv(offset, items, from);
                offset += step;
            }
            offset += next_source;
        }
        if let Some(route) = self.route {
            let (data, mut offset) = (&mut self.data, 0);
            route.for_each_destination(|to| {
                data.isend(offset, items, to);
                offset += step;
            });
        }
        self.data.wait_all();
        if let Some(acknowledgements) = &mut self.acknowledgements {
            self.peers.sources.iter().for_each(|&(from, _)| acknowledgements.isend(0, 1, from));
            acknowledgements.wait_all();
        }
        self.wrong += self.wrong_stamps(round);
    }

    fn run_bookkeeping(&mut self, round: u32) -> u64 {
        self.stamp_all(round);
        black_box(self.data.outgoing());
        self.wrong_stamps(round)
    }

    fn count_wrong(&mut self, rounds: u32) -> u64 {
        let items = self.shape.items;
        let received = self.data.incoming().chunks_exact(self.shape.stride).zip(&self.incoming);
        let garbled = received.filter(|(buffer, identity)| {
            buffer[items - 1] == stamp(**identity, rounds - 1) && !is_intact(&buffer[..items], **identity, rounds - 1)
        });
        self.wrong + garbled.count() as u64
    }
}
