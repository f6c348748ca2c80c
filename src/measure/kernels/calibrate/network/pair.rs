//! One-sided costs: each rank of the first half sends windows of messages to its partner in the second half.

use super::*;
use crate::comm::{Messages, UNEXPECTED_MESSAGES};
use crate::kernels::shared::messages::MESSAGE_BYTES;
use crate::kernels::shared::messages::content::{fill, identity, is_intact, stamp};

pub const WINDOW: Key<u64> =
    key("window", "window: number of messages timed together", integers(1..=UNEXPECTED_MESSAGES as u64, 64));
pub const ROUNDS: Key<u64> = key("rounds", "rounds: number of windows in one run", integers(1..=1 << 24, 64))
    .in_column("rounds_asked", Unit::None);

const PAIRS: Kernel = Kernel {
    place: "Section 3.1, Equation (1)",
    parameters: parameters![MESSAGE_BYTES, WINDOW, ROUNDS],
    simulation: Some(Computations::None),
    refuse: |point| require_pairs(point, 4),
    work: |point| {
        let operations = operations(point) * (point.ranks / 2) as f64;
        Work::new(
            operations,
            "message",
            MESSAGE_BYTES.of(point) as f64,
            "content of the messages, each counted once, message_bytes per message",
        )
    },
    buffer_bytes: |point| 2 * WINDOW.of(point) * MESSAGE_BYTES.of(point).next_multiple_of(64),
    rings: |_| vec![Rings::for_messages(1)],
    ..FAMILY
};

pub static SEND: Kernel = Kernel {
    id: "calibrate.send",
    summary: "Processor time to send a message (ts)",
    method: "Pairs of ranks: receives are posted, then one side sends a window of messages, repeatedly. The time is \
        that of the calls that start the sends, without the wait for their completion, on the slowest sender. All \
        messages were compared with those sent.",
    run: |point, _, world| on_transport!(world.transport, comm => send(comm, point)),
    ..PAIRS
};

pub fn send<C: PointToPoint>(comm: &C, point: &Point) -> Result<Outcome> {
    run(comm, point, |pair| {
        if !pair.is_sender {
            pair.irecv();
            pair.comm.barrier();
            pair.wait_all();
            return 0.0;
        }
        // All receives are posted then, so no message is unexpected.
        pair.comm.barrier();
        let start = pair.comm.wall_time();
        pair.isend();
        let seconds = pair.comm.wall_time() - start;
        pair.wait_all();
        seconds
    })
}

/// Messages that a transport sends only on request (MPI's rendezvous for long messages) travel while the clock runs.
pub static RECEIVE: Kernel = Kernel {
    id: "calibrate.receive",
    summary: "Processor time to receive a message that has arrived (tr)",
    method: "Pairs of ranks: one side sends a window of messages, all ranks meet at a barrier, and then the other side \
        receives the messages, repeatedly. The time is that of the slowest receiver, from its first receive until it \
        has all messages. All messages were compared with those sent.",
    run: |point, _, world| on_transport!(world.transport, comm => receive(comm, point)),
    ..PAIRS
};

pub fn receive<C: PointToPoint>(comm: &C, point: &Point) -> Result<Outcome> {
    run(comm, point, |pair| {
        if pair.is_sender {
            pair.isend();
            pair.comm.barrier();
            pair.wait_all();
            return 0.0;
        }
        pair.comm.barrier();
        let start = pair.comm.wall_time();
        pair.irecv();
        pair.wait_all();
        pair.comm.wall_time() - start
    })
}

fn operations(point: &Point) -> f64 {
    WINDOW.of(point) as f64 * ROUNDS.of(point) as f64
}

pub struct PairEnd<'a, C: PointToPoint + 'a> {
    pub comm: &'a C,
    pub is_sender: bool,
    data: C::Messages<'a>,
    partner: usize,
    items: usize,
    stride: usize,
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

/// Runs the rounds, after untimed ones of half their number. `round` returns its seconds. Collective.
fn run<C: PointToPoint>(comm: &C, point: &Point, mut round: impl FnMut(&mut PairEnd<C>) -> f64) -> Result<Outcome> {
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
