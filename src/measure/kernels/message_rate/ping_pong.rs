//! Also PingPong of the Pallas MPI benchmarks, with which the Apex-Map paper compares (Section 3.2), and OSU's latency. One-sided,
//! as in the paper: the partner polls the location of the message's last item and answers with a put when the item has arrived.

use super::content::{fill, identity, is_intact, stamp};
use super::measure::{Exchange, measure};
use super::*;
use crate::comm::{Buffer, Messages, RmaWindow};

pub static KERNEL: Kernel = Kernel {
    id: "message_rate.ping_pong",
    summary: "Latency and bandwidth of a message and its answer between pairs of ranks",
    place: "Section 5.1, Figure 5",
    parameters: parameters![MESSAGE_BYTES, ROUND_TRIP_WINDOW, ROUND_TRIPS, OPERATION, BUFFERS, CACHES, CACHE_BYTES],
    method: METHOD,
    waits_for_each_message: |_| true,
    run: |point, _, world| on_transport!(world.transport, comm => run(comm, point, world.arena)),
    ..family(PING_PONG)
};

const ROUND_TRIP_WINDOW: Key<u64> = WINDOW
    .with_meaning("window: round trips between two clock readings; with 1, single round trips are timed")
    .with_domain(integers(1..=1 << 20, 16));
const ROUND_TRIPS: Key<u64> = MESSAGES.with_meaning("round trips per pair in one run, a multiple of the window");

const METHOD: &str = "Each rank of the first half sends a message to its partner in the second half. The partner answers \
    with a message of the same length as soon as it has received it. The time per message is half that of a round \
    trip. A sample is one run of all round trips; its time is that of the slowest rank. Percentiles are over \
    groups of round trips (`window`). Before the clock starts, round trips are run until no rank runs a quarter of \
    a run 5 % faster than its fastest before. Every message carries its sender, number and round. Its last 4 bytes \
    are checked on arrival, its whole content after each run. The stamps and checks of both sides are \
    measured separately and subtracted. Bytes are those of the messages' content; each \
    message is counted once, so the bandwidth of a pair is the message's length divided by half the round-trip time.";

pub fn run<C: PointToPoint + Rma>(comm: &C, point: &Point, arena: &mut Arena) -> Result<Outcome> {
    let (shape, me, half) = (Shape::new(point), comm.rank(), comm.size() / 2);
    let side = Side { partner: (me + half) % comm.size(), first: me < half, shape };
    let buffers = if shape.one_buffer { 1 } else { shape.window };
    let [outgoing, incoming] = [(me, side.partner), (side.partner, me)]
        .map(|(from, to)| (0..buffers).map(|number| identity(from, to, number)).collect::<Vec<_>>());
    let fill_all = |memory: &mut [u32]| {
        for (buffer, &identity) in memory.chunks_exact_mut(shape.stride).zip(&outgoing) {
            fill(&mut buffer[..shape.items], identity);
        }
    };
    let (items, messages) = (buffers * shape.stride, 2.0 * shape.window as f64);
    if is_put(point) {
        let (mut origin, mut memory) = (Buffer::new(items)?, Buffer::new(items)?);
        fill_all(origin.items_mut());
        return comm.rma_window(origin.items_mut(), memory.items_mut(), |window| {
            let exchange = OneSided { window, comm, side, outgoing, incoming, lost: false };
            measure(comm, point, arena, exchange, messages)
        });
    }
    let mut data = comm.messages(Tag::Data(0), items, items)?;
    fill_all(data.outgoing());
    measure(comm, point, arena, TwoSided { data, side, outgoing, incoming, wrong: 0 }, messages)
}

struct Side {
    partner: usize,
    first: bool,
    shape: Shape,
}

impl Side {
    fn buffer(&self, number: usize) -> (usize, usize) {
        let buffer = if self.shape.one_buffer { 0 } else { number };
        (buffer, buffer * self.shape.stride)
    }

    /// With one buffer for all messages, consecutive stamps must differ.
    fn stamp(&self, identity: u64, round: u32, number: usize) -> u32 {
        let turn = if self.shape.one_buffer { round * self.shape.window as u32 + number as u32 } else { round };
        stamp(identity, turn)
    }

    fn last_turn(&self, rounds: u32) -> u32 {
        if self.shape.one_buffer { rounds * self.shape.window as u32 - 1 } else { rounds - 1 }
    }

    fn count_garbled(&self, memory: &[u32], incoming: &[u64], rounds: u32) -> u64 {
        let Shape { items, stride, .. } = self.shape;
        let intact =
            |(buffer, &identity): (&[u32], &u64)| is_intact(&buffer[..items], identity, self.last_turn(rounds));
        memory.chunks_exact(stride).zip(incoming).filter(|&message| !intact(message)).count() as u64
    }
}

struct TwoSided<M> {
    data: M,
    side: Side,
    outgoing: Vec<u64>,
    incoming: Vec<u64>,
    wrong: u64,
}

impl<M: Messages> TwoSided<M> {
    #[inline]
    fn stamp(&mut self, round: u32, number: usize) {
        let ((buffer, offset), items) = (self.side.buffer(number), self.side.shape.items);
        self.data.outgoing()[offset + items - 1] = self.side.stamp(self.outgoing[buffer], round, number);
    }

    #[inline]
    fn wrong_stamps(&mut self, round: u32, number: usize) -> u64 {
        let ((buffer, offset), items) = (self.side.buffer(number), self.side.shape.items);
        let last = self.data.incoming()[offset + items - 1];
        u64::from(last != self.side.stamp(self.incoming[buffer], round, number))
    }

    #[inline]
    fn send(&mut self, round: u32, number: usize) {
        self.stamp(round, number);
        self.data.isend(self.side.buffer(number).1, self.side.shape.items, self.side.partner);
    }

    #[inline]
    fn receive(&mut self, round: u32, number: usize) {
        self.data.irecv(self.side.buffer(number).1, self.side.shape.items, self.side.partner);
        self.wrong += self.wrong_stamps(round, number);
    }
}

impl<M: Messages> Exchange for TwoSided<M> {
    fn clear(&mut self) {
        self.data.incoming().fill(0);
        self.wrong = 0;
    }

    fn run_round(&mut self, round: u32) {
        for number in 0..self.side.shape.window {
            if self.side.first {
                self.send(round, number);
                self.receive(round, number);
            } else {
                self.receive(round, number);
                self.send(round, number);
            }
        }
        self.data.wait_all();
    }

    fn run_bookkeeping(&mut self, round: u32) -> u64 {
        let mut wrong = 0;
        for number in 0..self.side.shape.window {
            self.stamp(round, number);
            black_box(self.data.outgoing());
            wrong += self.wrong_stamps(round, number);
        }
        wrong
    }

    /// The stamps and checks of the two sides never overlap.
    fn serial_ranks(&self) -> f64 {
        2.0
    }

    fn count_wrong(&mut self, rounds: u32) -> u64 {
        let garbled = self.side.count_garbled(self.data.incoming(), &self.incoming, rounds);
        self.wrong.max(garbled)
    }
}

struct OneSided<'a, C, W> {
    window: W,
    comm: &'a C,
    side: Side,
    outgoing: Vec<u64>,
    incoming: Vec<u64>,
    /// A put did not arrive within [`PUT_TIMEOUT_SECONDS`]. This rank then stops waiting for puts, and the run counts as wrong.
    lost: bool,
}

/// Puts take far less.
const PUT_TIMEOUT_SECONDS: f64 = 10.0;
const TURNS_PER_CLOCK_READING: u32 = 1 << 12;

impl<C: Comm, W: RmaWindow<u32>> OneSided<'_, C, W> {
    #[inline]
    fn stamp(&mut self, round: u32, number: usize) {
        let ((buffer, offset), items) = (self.side.buffer(number), self.side.shape.items);
        self.window.origin()[offset + items - 1] = self.side.stamp(self.outgoing[buffer], round, number);
    }

    #[inline]
    fn put(&mut self, round: u32, number: usize) {
        self.stamp(round, number);
        let (offset, items) = (self.side.buffer(number).1, self.side.shape.items);
        // SAFETY: only the partner puts to a rank's memory. The owner peeks only at the stamps, each the last item of a put, and
        // reads all other items in fences.
        unsafe { self.window.put(offset, items, self.side.partner, offset) };
        self.window.flush();
    }

    #[inline]
    fn wait(&mut self, round: u32, number: usize) {
        let (buffer, offset) = self.side.buffer(number);
        let stamp = self.side.stamp(self.incoming[buffer], round, number);
        let (mut turns, mut waiting_since) = (0u32, None);
        // SAFETY: since the last fence only the partner has put to this location, each time a message whose last item is the stamp.
        while !self.lost && unsafe { self.window.peek(offset + self.side.shape.items - 1) } != stamp {
            self.comm.relax();
            turns = turns.wrapping_add(1);
            if turns.is_multiple_of(TURNS_PER_CLOCK_READING) {
                let now = self.comm.wall_time();
                self.lost = now - *waiting_since.get_or_insert(now) > PUT_TIMEOUT_SECONDS;
            }
        }
    }
}

impl<C: Comm, W: RmaWindow<u32>> Exchange for OneSided<'_, C, W> {
    fn clear(&mut self) {
        self.window.fence(|memory| memory.fill(0));
        self.lost = false;
    }

    fn run_round(&mut self, round: u32) {
        for number in 0..self.side.shape.window {
            if self.side.first {
                self.put(round, number);
                self.wait(round, number);
            } else {
                self.wait(round, number);
                self.put(round, number);
            }
        }
    }

    /// Waiting for a stamp detects the message's arrival and is not a check.
    fn run_bookkeeping(&mut self, round: u32) -> u64 {
        for number in 0..self.side.shape.window {
            self.stamp(round, number);
            black_box(self.window.origin());
        }
        0
    }

    /// As in [`TwoSided`].
    fn serial_ranks(&self) -> f64 {
        2.0
    }

    fn count_wrong(&mut self, rounds: u32) -> u64 {
        let (side, incoming) = (&self.side, &self.incoming);
        let garbled = self.window.fence(|memory| side.count_garbled(memory, incoming, rounds));
        garbled.max(u64::from(self.lost))
    }
}
