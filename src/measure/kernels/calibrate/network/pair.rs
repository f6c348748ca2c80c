//! Pairs of ranks for one-sided costs: each rank of the first half sends windows of messages to its partner in the second half.

use super::require_pairs;
use crate::comm::{Messages, PointToPoint, Tag, UNEXPECTED_MESSAGES};
use crate::kernels::calibrate::gather_outcome;
use crate::kernels::shared::messages::content::{fill, identity, is_intact, stamp};
use crate::kernels::{Domain, Key, Outcome, Refusal, Rings, Work, key};
use apexmap_base::error::Result;
use apexmap_base::point::Point;

pub const MESSAGE_BYTES: Key<u64> = crate::kernels::shared::messages::MESSAGE_BYTES;
pub const WINDOW: Key<u64> = key(
    "window",
    "window",
    "window: number of messages timed together",
    Domain::Integer { min: 1, max: UNEXPECTED_MESSAGES as u64, default: 64 },
);
pub const ROUNDS: Key<u64> = key(
    "rounds",
    "rounds_asked",
    "rounds: number of windows in one run",
    Domain::Integer { min: 1, max: 1 << 24, default: 64 },
);

pub fn check_point(point: &Point) -> std::result::Result<(), Refusal> {
    require_pairs(point, 4)
}

pub fn work(point: &Point) -> Work {
    let operations = operations(point) * (point.ranks / 2) as f64;
    Work {
        operations,
        operation: "message",
        bytes: operations * MESSAGE_BYTES.of(point) as f64,
        byte_definition: "content of the messages, each counted once, message_bytes per message",
    }
}

pub fn operations(point: &Point) -> f64 {
    WINDOW.of(point) as f64 * ROUNDS.of(point) as f64
}

pub fn memory(point: &Point) -> u64 {
    2 * WINDOW.of(point) * MESSAGE_BYTES.of(point).next_multiple_of(64)
}

pub fn rings(_: &Point) -> Vec<Rings> {
    vec![Rings::for_messages(1)]
}

/// One end of a pair.
pub struct PairEnd<'a, C: PointToPoint + 'a> {
    pub comm: &'a C,
    pub is_sender: bool,
    data: C::Messages<'a>,
    partner: usize,
    items: usize,
    stride: usize,
    /// The identities of the messages of a round.
    identities: Vec<u64>,
    pub wrong: u64,
}

impl<'a, C: PointToPoint> PairEnd<'a, C> {
    /// Opens the buffers and fills the messages. Collective.
    pub fn new(comm: &'a C, point: &Point) -> Result<Self> {
        let (me, half, window) = (comm.rank(), comm.size() / 2, WINDOW.of(point) as usize);
        let (is_sender, partner) = (me < half, (me + half) % comm.size());
        let items = MESSAGE_BYTES.of(point) as usize / 4;
        let stride = items.next_multiple_of(16);
        let (sender, receiver) = if is_sender { (me, partner) } else { (partner, me) };
        let identities: Vec<u64> = (0..window).map(|number| identity(sender, receiver, number)).collect();
        let mut data = comm.messages(Tag::Data(0), window * stride, window * stride)?;
        for (message, &identity) in data.outgoing().chunks_exact_mut(stride).zip(&identities) {
            fill(&mut message[..items], identity);
        }
        Ok(Self { comm, is_sender, data, partner, items, stride, identities, wrong: 0 })
    }

    /// Prepares the messages of a round, or clears the buffer for them.
    pub fn prepare(&mut self, round: u32) {
        if !self.is_sender {
            return self.data.incoming().fill(0);
        }
        for (message, &identity) in self.data.outgoing().chunks_exact_mut(self.stride).zip(&self.identities) {
            message[self.items - 1] = stamp(identity, round);
        }
    }

    #[inline]
    pub fn isend(&mut self) {
        for number in 0..self.identities.len() {
            self.data.isend(number * self.stride, self.items, self.partner);
        }
    }

    #[inline]
    pub fn irecv(&mut self) {
        for number in 0..self.identities.len() {
            self.data.irecv(number * self.stride, self.items, self.partner);
        }
    }

    #[inline]
    pub fn wait_all(&mut self) {
        self.data.wait_all();
    }

    /// Checks all messages received in a round.
    pub fn verify(&mut self, round: u32) {
        if self.is_sender {
            return;
        }
        let items = self.items;
        let messages = self.data.incoming().chunks_exact(self.stride).zip(&self.identities);
        let wrong = messages.filter(|(message, identity)| !is_intact(&message[..items], **identity, round));
        self.wrong += wrong.count() as u64;
    }
}

/// Runs the rounds, after untimed ones of half their number. `round` returns the seconds of one round, which are summed.
/// Collective.
pub fn run<C: PointToPoint>(comm: &C, point: &Point, mut round: impl FnMut(&mut PairEnd<C>) -> f64) -> Result<Outcome> {
    let mut pair_end = PairEnd::new(comm, point)?;
    let rounds = ROUNDS.of(point) as u32;
    let mut seconds = 0.0;
    for number in 0..rounds + rounds.div_ceil(2) {
        if number == rounds.div_ceil(2) {
            seconds = 0.0;
        }
        pair_end.prepare(number);
        seconds += round(&mut pair_end);
        pair_end.verify(number);
    }
    Ok(gather_outcome(comm, seconds, operations(point), pair_end.wrong, "messages did not arrive as sent"))
}
