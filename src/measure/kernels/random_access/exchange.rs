//! NAME: random_access.exchange. Rounds: generate Q updates, exchange them in d stages through a grid of ranks, apply them.
//!
//! SOURCE: Plimpton et al., Section 2 and Figure 1: the ranks form a list (1d), an array (2d), a grid (3d), up to a
//!   hypercube. In each stage a rank sends one message to every other rank in its line of that dimension. With k^d ranks it
//!   sends L = d (k - 1) messages and V = d Q (k - 1)/k updates per round.
//! DIFFERENCES: if P is not k^d, the grid is as equal as the prime factors of P allow. A buffer holds twice the mean
//!   message plus 16 updates. A longer message is sent in pieces: a piece that fills the buffer is followed by another.
//!   Empty messages are also sent.

use super::grid::NodeGrid;
use super::layout::Owners;
use super::random_stream::Index;
use super::table::Table;
use super::{
    FAMILY, INDEX, N_WORDS, OFFSET, OPERATION, OWNER_BY, PAGES, Problem, Q, Rules, SEED, SMSG, STARTS, STREAM,
    TIME_BOUND, Tally, UPDATES, WITHIN_NODE, bytes, measure, refuse_unusable_shift,
};

use crate::comm::arena::Arena;
use crate::comm::{Computation, Inbox, Mailboxes, Outbox, Posting, Tag};
use crate::kernels::{Domain, Kernel, Key, Outcome, Rings, key, parameters};
use crate::on_transport;
use apexmap_base::error::Result;
use apexmap_base::point::Point;
use apexmap_base::source;

pub const KERNEL: Kernel = Kernel {
    id: "random_access.exchange",
    summary: "RandomAccess in rounds of Q updates, exchanged in d stages through a grid of ranks",
    source: &source::HYPERCUBE_RANDOM_ACCESS,
    place: "Section 2, Figure 1 (1d, 2d, 3d)",
    parameters: parameters![
        N_WORDS,
        UPDATES,
        TIME_BOUND,
        Q,
        STAGES,
        OWNER_BY,
        SMSG,
        WITHIN_NODE,
        STREAM,
        INDEX,
        OPERATION,
        STARTS,
        OFFSET,
        PAGES,
        SEED,
    ],
    stages: |point| match point.ranks {
        ranks if ranks.is_power_of_two() => Some(STAGES.of(point).min(u64::from(ranks.ilog2()))),
        // Such numbers may have fewer factors than the requested dimensions.
        _ => Some(1),
    },
    refuse: refuse_unusable_shift,
    buffer_bytes: |point| {
        let (grid, look_ahead) = (grid(point), Q.of(point));
        let peers: usize = (0..grid.dimensions()).map(|stage| grid.peers(0, stage).len()).sum();
        // Values, their places, sorted values, kept values; messages; the place of each rank in each stage.
        let messages = (peers as u64 + SMSG.of(point)) * piece_words(&grid, look_ahead) as u64;
        bytes(7 * look_ahead + messages + (grid.dimensions() * point.ranks).div_ceil(2) as u64)
    },
    rings: |point| {
        let grid = grid(point);
        let peers: usize = (0..grid.dimensions()).map(|stage| grid.peers(0, stage).len()).sum();
        vec![Rings { places: SMSG.of(point), receivers: peers as u64 }]
    },
    run: |point, _, world| on_transport!(&world.transport, comm => run(*comm, point, world.arena)),
    ..FAMILY
};

const STAGES: Key<u64> = key(
    "d",
    "exchange_dimensions",
    "dimensions of the exchange: 1 is one stage with messages to all other ranks; log2 P or more is a hypercube",
    Domain::Integer { min: 1, max: 24, default: 2 },
);

fn grid(point: &Point) -> NodeGrid {
    NodeGrid::from_ranks(point.ranks, STAGES.of(point) as usize)
}

/// Returns the maximum number of words of a message. It is computed for the shortest line, whose messages are the longest.
fn piece_words(grid: &NodeGrid, look_ahead: u64) -> usize {
    let shortest = (0..grid.dimensions()).map(|stage| grid.peers(0, stage).len() + 1).min().unwrap_or(1);
    2 * (look_ahead as usize).div_ceil(shortest) + 16
}

fn run<C: Mailboxes>(comm: &C, point: &Point, arena: &mut Arena) -> Result<Outcome> {
    let problem = Problem::with_distributed_table(point, comm.rank(), comm.size());
    let grid = grid(point);
    let peers: Vec<Vec<usize>> = (0..grid.dimensions()).map(|stage| grid.peers(comm.rank(), stage)).collect();
    let (piece, handles) = (piece_words(&grid, Q.of(point)), SMSG.of(point) as usize);
    let (lines, outbox) =
        comm.mailbox_per_peer(Tag::Data(0), &peers.concat(), (Posting::Ahead, WITHIN_NODE.of(point)), handles, piece);
    let mut lines = lines.into_iter();
    let stage = |(number, peers): (usize, Vec<usize>)| Stage {
        inboxes: lines.by_ref().take(peers.len()).collect(),
        places: (0..comm.size()).map(|owner| grid.coordinate(owner, number) as u32).collect(),
        own: grid.coordinate(comm.rank(), number),
        unsent: vec![None; peers.len()],
        awaited: vec![false; peers.len()],
        ends: vec![0; peers.len() + 1],
        peers,
    };
    let mut member = Member {
        comm,
        stages: peers.into_iter().enumerate().map(stage).collect(),
        outbox,
        owners: problem.find_owners(point),
        index: problem.index,
        piece,
        held: Vec::with_capacity(2 * problem.look_ahead),
        sorted: Vec::with_capacity(2 * problem.look_ahead),
        slots: Vec::with_capacity(2 * problem.look_ahead),
        tally: Tally { buffer_bytes: (KERNEL.buffer_bytes)(point), ..Tally::default() },
    };
    let outcome = measure(comm, &problem, arena, Rules::STRICT, |table| member.pass(&problem, table));
    drop(member);
    outcome
}

/// One dimension of the exchange.
struct Stage<I> {
    /// The other ranks of this rank's line, in the order of their places in it.
    peers: Vec<usize>,
    inboxes: Vec<I>,
    /// For each owner, its place in the line.
    places: Vec<u32>,
    own: usize,
    /// For each peer, the range of sorted updates that are not sent yet. `Some` of an empty range is an empty message.
    unsent: Vec<Option<(usize, usize)>>,
    /// For each peer, whether another piece of its message is expected.
    awaited: Vec<bool>,
    /// For each place, the end of its updates in the sorted ones.
    ends: Vec<usize>,
}

struct Member<'a, C: Mailboxes> {
    comm: &'a C,
    stages: Vec<Stage<C::Inbox>>,
    outbox: C::Outbox,
    owners: Owners,
    index: Index,
    piece: usize,
    held: Vec<u64>,
    sorted: Vec<u64>,
    slots: Vec<u32>,
    tally: Tally,
}

impl<C: Mailboxes> Member<'_, C> {
    fn pass(&mut self, problem: &Problem, table: &mut Table) -> Tally {
        let (mut generator, mut left) = (problem.own_generator(), problem.own_updates());
        for _ in 0..problem.rounds(problem.look_ahead) {
            let size = left.min(problem.look_ahead as u64) as usize;
            left -= size as u64;
            self.held.resize(size, 0);
            generator.fill(&mut self.held);
            self.comm.charge(Computation::Generate, size);
            self.tally.store(size);
            for stage in 0..self.stages.len() {
                self.sort(stage);
                self.exchange(stage);
                self.tally.store(self.held.len());
            }
            table.apply(&self.held);
            self.comm.charge(Computation::Update, self.held.len());
            self.tally.applied += self.held.len() as u64;
            self.tally.end_round(self.held.len(), problem.look_ahead);
        }
        self.tally
    }

    /// Sorts the held updates by their places in the line of this stage.
    fn sort(&mut self, stage: usize) {
        let Stage { places, ends, .. } = &mut self.stages[stage];
        ends.fill(0);
        self.slots.clear();
        for &value in &self.held {
            let place = places[self.owners.owner(self.index.word(value))];
            self.slots.push(place);
            ends[place as usize] += 1;
        }
        let mut start = 0;
        for end in ends.iter_mut() {
            (start, *end) = (start + *end, start);
        }
        self.sorted.resize(self.held.len(), 0);
        for (&value, &place) in self.held.iter().zip(&self.slots) {
            let end = &mut ends[place as usize];
            self.sorted[*end] = value;
            *end += 1;
        }
        self.comm.charge(Computation::Divide, self.held.len());
    }

    /// Sends each peer of the line the updates for its place. Afterwards the rank holds the updates for its own place and the received
    /// ones.
    fn exchange(&mut self, stage: usize) {
        let Self { stages, outbox, sorted, held, tally, comm, piece, .. } = self;
        let Stage { peers, inboxes, own, unsent, awaited, ends, .. } = &mut stages[stage];
        let range = |place: usize| (if place == 0 { 0 } else { ends[place - 1] }, ends[place]);
        for (peer, unsent) in unsent.iter_mut().enumerate() {
            *unsent = Some(range(if peer < *own { peer } else { peer + 1 }));
        }
        awaited.fill(true);
        held.clear();
        let (start, end) = range(*own);
        held.extend_from_slice(&sorted[start..end]);
        // One for each message to send, and one for each to receive.
        let mut incomplete = 2 * peers.len();
        while incomplete > 0 {
            let before = (incomplete, tally.messages, held.len());
            for (unsent, &peer) in unsent.iter_mut().zip(peers.iter()) {
                while let Some((start, end)) = *unsent {
                    let stop = end.min(start + *piece);
                    if !outbox.send(peer, &sorted[start..stop]) {
                        break;
                    }
                    tally.count_message(stop - start, outbox.path(peer));
                    *unsent = (stop - start == *piece).then_some((stop, end));
                    incomplete -= usize::from(unsent.is_none());
                }
            }
            for (inbox, awaited) in inboxes.iter_mut().zip(awaited.iter_mut()) {
                while *awaited {
                    let take = |_, words: &[u64]| {
                        held.extend_from_slice(words);
                        words.len()
                    };
                    let Some(words) = inbox.take(take) else { break };
                    *awaited = words == *piece;
                    incomplete -= usize::from(!*awaited);
                }
            }
            if before == (incomplete, tally.messages, held.len()) {
                comm.relax();
            }
        }
    }
}
