//! After Plimpton et al., Figure 2. For numbers of ranks that are not powers of two, the recursive halving of Section 2
//! ([`recursive_halving`]). The optimisations of Section 4: `receives = "ahead"` (Mod1), `own_updates = "deferred"` (Mod2), `waits
//! = "late"` (Mod3), SMSG = 2 (Mod7). The original is "on_demand", "at_once", "early" and SMSG = 1. Here the dimensions are
//! processed from the highest, so that powers of two are a special case. A comparison with the first word of the upper half
//! replaces the mask. We interpret Mod2 as follows: updates that a rank generates for itself are applied after the exchange, with
//! the received ones. A buffer holds 2 Q + 16 updates, or `message_words`. A longer message is sent in pieces: a piece that fills
//! the buffer is followed by another. With "deferred" and "late", the updates that a rank generates for itself are applied while it
//! waits for the last message, as in the authors' code in HPCC. The last of them, an eighth of Q and at most 128, are prefetched
//! and wait for that message. In a round a rank may receive more than Q updates by chance, which footnote 1 allows.

use super::random_stream::Index;
use super::table::{Pending, Placement, SpecialisedTable, Table};
use super::*;
use crate::kernels::shared::updates::division::divide;
use crate::kernels::shared::updates::recursive_halving::{self, Stage};

use crate::comm::{Inbox, Outbox, Posting};

pub static KERNEL: Kernel = Kernel {
    id: "random_access.hypercube",
    summary: "RandomAccess in rounds of Q updates, exchanged along the dimensions of a hypercube",
    source: &source::HYPERCUBE_RANDOM_ACCESS,
    place: "Figure 2, Section 4",
    parameters: parameters![
        N_WORDS, UPDATES, TIME_BOUND, Q, RECEIVES, OWN, WAITS, SMSG, ON_NODE, LONGEST, STREAM, INDEX, OPERATION,
        STARTS, OFFSET, PAGES, SEED,
    ],
    simulation: Some(Computations::Updates { divided: Divided::BetweenPartners, by_roles: false }),
    // In the original. Other numbers of ranks than powers of two have two partners in some stages.
    waits_for_each_message: |point| {
        let original = (RECEIVES.of(point), WAITS.of(point)) == (Receives::OnDemand, Waits::Early);
        original && SMSG.of(point) == 1 && point.ranks.is_power_of_two()
    },
    stages: |point| Some(u64::from(point.ranks.ilog2())),
    buffer_bytes: |point| {
        let stages = 2 * u64::from(point.ranks.ilog2() + 1);
        bytes(11 * Q.of(point) + (stages + SMSG.of(point)) * piece_words(point, buffer_words(point)) as u64)
    },
    rings: |point| {
        let piece = piece_words(point, buffer_words(point));
        vec![Rings::lines(SMSG.of(point), u64::from(point.ranks.ilog2()) + 1, piece)]
    },
    run: |point, _, world| on_transport!(world.transport, comm => run(comm, point, world.arena)),
    ..FAMILY
};

const RECEIVES: Key<Receives> = choice_key(
    "receives",
    "receives: ahead (posted for every dimension in advance) or on_demand (each posted when the rank waits for its message)",
);
choice! { enum Receives { Ahead = "ahead", OnDemand = "on_demand" } }
const OWN: Key<OwnUpdates> = choice_key(
    "own_updates",
    "updates of a rank's own words: deferred (applied after the last message of the round is sent) or at_once (applied immediately)",
);
choice! { enum OwnUpdates { Deferred = "deferred", AtOnce = "at_once" } }
const WAITS: Key<Waits> = choice_key(
    "waits",
    "wait for a message: late (after the rank has divided its own list for the next dimension or, in the last dimension, applied \
     its own updates) or early (before that)",
);
choice! { enum Waits { Late = "late", Early = "early" } }

fn buffer_words(point: &Point) -> usize {
    2 * Q.of(point) as usize + 16
}

fn run<C: Mailboxes>(comm: &C, point: &Point, arena: &mut Arena) -> Result<Outcome> {
    let problem = Problem::with_distributed_table(point, comm.rank(), comm.size());
    let stages = recursive_halving::stages(&problem.owners, comm.rank());
    let peers: Vec<usize> = stages.iter().flat_map(|stage| stage.peers.clone()).collect();
    let posted = match RECEIVES.of(point) {
        Receives::Ahead => Posting::Ahead,
        Receives::OnDemand => Posting::OnDemand,
    };
    let piece = eager_piece_words(comm, point, buffer_words(point));
    let (lines, outbox) =
        comm.mailbox_per_peer(Tag::Data(0), &peers, (posted, ON_NODE.of(point)), SMSG.of(point) as usize, piece);
    let mut lines = lines.into_iter();
    // Simulated ranks allocate a list when they fill it.
    let list = || {
        let mut list = Vec::with_capacity(2 * problem.look_ahead);
        comm.free(&mut list);
        list
    };
    let inboxes = stages.iter().map(|stage| lines.by_ref().take(stage.peers.len()).collect()).collect();
    let mut cube = Cube {
        comm,
        stages,
        inboxes,
        outbox,
        index: problem.index,
        look_ahead: problem.look_ahead,
        piece,
        late: WAITS.of(point) == Waits::Late,
        at_once: OWN.of(point) == OwnUpdates::AtOnce,
        lists: [0, 1].map(|_| SplitLists { keep: list(), send: list() }),
        own: Pending::new(problem.look_ahead, 2 * problem.look_ahead),
        tally: Tally::default(),
    };
    comm.free(cube.own.list_mut());
    let mut outcome = measure(comm, &problem, arena, Rules::STRICT, |table| match table.specialise(problem.pages) {
        SpecialisedTable::LowBits(mut table) => cube.pass(&problem, &mut table),
        SpecialisedTable::HighBits(mut table) => cube.pass(&problem, &mut table),
        SpecialisedTable::AnyPart(mut table) => cube.pass(&problem, &mut table),
    })?;
    drop(cube);
    outcome.outputs.insert("longest_message_words", Value::Integer(piece as u64));
    Ok(outcome)
}

struct SplitLists {
    keep: Vec<u64>,
    send: Vec<u64>,
}

struct Cube<'a, C: Mailboxes> {
    comm: &'a C,
    stages: Vec<Stage>,
    inboxes: Vec<Vec<C::PeerInbox>>,
    outbox: C::PeerOutbox,
    index: Index,
    look_ahead: usize,
    piece: usize,
    late: bool,
    at_once: bool,
    /// The divided updates of a stage. Stage s uses element s modulo 2.
    lists: [SplitLists; 2],
    /// The updates that the rank keeps in the last stage.
    own: Pending,
    tally: Tally,
}

impl<C: Mailboxes> Cube<'_, C> {
    fn pass(&mut self, problem: &Problem, table: &mut Table<impl Placement>) -> Tally {
        let (mut generator, mut left) = (problem.own_generator(), problem.own_updates());
        let mut values = Vec::new();
        for _ in 0..problem.rounds(problem.look_ahead) {
            values.resize(problem.look_ahead, 0);
            let mut size = left.min(values.len() as u64) as usize;
            left -= size as u64;
            generator.fill(&mut values[..size]);
            self.comm.charge(Computation::Generate, size);
            self.tally.store(size);
            let before = self.tally.applied;
            if self.at_once {
                size = self.apply_own_updates(&mut values[..size], table);
            }
            self.divide(&values[..size], 0);
            self.comm.free(&mut values);
            for stage in 0..self.stages.len() {
                self.exchange(stage, table);
                let next = &self.lists[(stage + 1) % 2];
                self.tally.store(next.keep.len() + next.send.len() + self.own.count());
            }
            let applied = self.own.apply_all(table);
            self.comm.charge(Computation::Update, applied as usize);
            self.tally.applied += applied;
            self.comm.free(self.own.list_mut());
            self.tally.end_round((self.tally.applied - before) as usize, problem.look_ahead);
        }
        let words = problem.look_ahead + self.own.capacity();
        let lists: usize = self.lists.iter().map(|lists| lists.keep.capacity() + lists.send.capacity()).sum();
        let receives: usize = self.inboxes.iter().map(|inboxes| inboxes.len() * self.piece).sum();
        Tally { buffer_bytes: bytes((words + lists + receives) as u64), ..self.tally }
    }

    /// After the last stage, all updates are for the rank's own words.
    fn divide(&mut self, values: &[u64], stage: usize) {
        let SplitLists { keep, send } = &mut self.lists[stage % 2];
        let keep = if stage + 1 >= self.stages.len() { self.own.list_mut() } else { keep };
        match self.stages.get(stage) {
            Some(stage) => {
                // About half of the updates of a round go each way.
                let words = self.look_ahead + self.look_ahead / 8 + 16;
                self.comm.reserve(keep, words);
                self.comm.reserve(send, words);
                divide(values, self.index, stage, keep, send);
                self.comm.charge(Computation::Divide, values.len());
            }
            None => keep.extend_from_slice(values),
        }
    }

    /// Moves the other updates to the front and returns their number.
    fn apply_own_updates(&mut self, values: &mut [u64], table: &mut Table<impl Placement>) -> usize {
        let mut others = 0;
        for i in 0..values.len() {
            let value = values[i];
            if self.stages.iter().all(|stage| stage.keeps(self.index.word(value))) {
                table.update(value);
                self.tally.applied += 1;
            } else {
                values[others] = value;
                others += 1;
            }
        }
        self.comm.charge(Computation::Update, values.len() - others);
        others
    }

    /// Sends the updates of the other half, receives those of the own half, and divides all that the rank then holds for the next
    /// stage.
    fn exchange(&mut self, stage: usize, table: &mut Table<impl Placement>) {
        let mut swap = Swap::new(&self.stages[stage], self.lists[stage % 2].send.len());
        if stage + 1 == self.stages.len() {
            self.own.prefetch_early(table);
        }
        self.send(&mut swap, stage);
        if swap.unsent == [None, None] {
            self.comm.free(&mut self.lists[stage % 2].send);
        }
        if self.late {
            self.process_kept(stage, table);
        }
        while !swap.is_complete() {
            let sent = self.send(&mut swap, stage);
            if !self.receive(&mut swap, stage) && !sent {
                self.comm.relax();
            }
        }
        if !self.late {
            self.process_kept(stage, table);
        }
        empty(self.comm, &mut self.lists[stage % 2].send);
    }

    /// Divides them for the next stage, or applies them in the last one.
    fn process_kept(&mut self, stage: usize, table: &mut Table<impl Placement>) {
        if stage + 1 == self.stages.len() {
            let applied = self.own.apply(table);
            self.comm.charge(Computation::Update, applied as usize);
            self.tally.applied += applied;
            return;
        }
        let kept = std::mem::take(&mut self.lists[stage % 2].keep);
        self.divide(&kept, stage + 1);
        self.lists[stage % 2].keep = kept;
        empty(self.comm, &mut self.lists[stage % 2].keep);
    }

    /// Sends while send handles are free. Returns whether it sent any.
    fn send(&mut self, swap: &mut Swap, stage: usize) -> bool {
        let mut progress = false;
        for (unsent, &peer) in swap.unsent.iter_mut().zip(&self.stages[stage].peers) {
            while let Some((start, end)) = *unsent {
                let stop = end.min(start + self.piece);
                if !self.outbox.send(peer, &self.lists[stage % 2].send[start..stop]) {
                    return progress;
                }
                self.tally.count_message(stop - start, self.outbox.path(peer));
                *unsent = (stop - start == self.piece).then_some((stop, end));
                progress = true;
            }
        }
        progress
    }

    /// Returns whether any message had arrived.
    fn receive(&mut self, swap: &mut Swap, stage: usize) -> bool {
        let mut progress = false;
        let next = stage + 1;
        for (inbox, awaited) in self.inboxes[stage].iter_mut().zip(&mut swap.awaited) {
            while *awaited {
                let take = |_, words: &[u64]| {
                    match self.stages.get(next) {
                        None => self.own.list_mut().extend_from_slice(words),
                        Some(_) if !self.late => self.lists[stage % 2].keep.extend_from_slice(words),
                        Some(after) => {
                            let SplitLists { keep, send } = &mut self.lists[next % 2];
                            let keep = if next + 1 == self.stages.len() { self.own.list_mut() } else { keep };
                            divide(words, self.index, after, keep, send);
                            self.comm.charge(Computation::Divide, words.len());
                        }
                    }
                    words.len()
                };
                let Some(words) = inbox.take(take) else { break };
                *awaited = words == self.piece;
                progress = true;
            }
        }
        progress
    }
}

#[inline(always)]
fn empty(comm: &impl Comm, list: &mut Vec<u64>) {
    list.clear();
    comm.free(list);
}

/// The messages of a stage that are not complete yet, to and from one or two peers.
struct Swap {
    /// As in `exchange`: for each peer, the range of the send list that is not sent yet. `Some` of an empty range is an empty
    /// message.
    unsent: [Option<(usize, usize)>; 2],
    /// For each peer, whether another piece of its message is expected.
    awaited: [bool; 2],
}

impl Swap {
    fn new(stage: &Stage, count: usize) -> Self {
        let (cut, has_two_peers) = (stage.first_peer_updates(count), stage.peers.len() == 2);
        Self { unsent: [Some((0, cut)), has_two_peers.then_some((cut, count))], awaited: [true, has_two_peers] }
    }

    fn is_complete(&self) -> bool {
        self.unsent == [None, None] && self.awaited == [false, false]
    }
}
