//! After Plimpton et al., Section 2 and Figure 1: the ranks form a list (1d), an array (2d), a grid (3d), up to a hypercube. In
//! each stage a rank sends one message to every other rank in its line of that dimension. With k^d ranks it sends L = d (k - 1)
//! messages and V = d Q (k - 1)/k updates per round. If P is not k^d, the grid is as equal as the prime factors of P allow. A
//! buffer holds twice the mean message plus 16 updates, or `message_words`. A longer message is sent in pieces: a piece that fills
//! the buffer is followed by another.

use super::grid::NodeGrid;
use super::layout::Owners;
use super::random_stream::Index;
use super::table::{Pending, Placement, SpecialisedTable, Table};
use super::*;

use crate::comm::{Inbox, Outbox, Posting};

pub static KERNEL: Kernel = Kernel {
    id: "random_access.exchange",
    summary: "RandomAccess in rounds of Q updates, exchanged in d stages through a grid of ranks",
    source: &source::HYPERCUBE_RANDOM_ACCESS,
    place: "Section 2, Figure 1 (1d, 2d, 3d)",
    parameters: parameters![
        N_WORDS, UPDATES, TIME_BOUND, Q, STAGES, OWNER_BY, SMSG, ON_NODE, LONGEST, STREAM, INDEX, OPERATION, STARTS,
        OFFSET, PAGES, SEED,
    ],
    stages: |point| match point.ranks {
        ranks if ranks.is_power_of_two() => Some(STAGES.of(point).min(u64::from(ranks.ilog2()))),
        // Such numbers may have fewer factors than the requested dimensions.
        _ => Some(1),
    },
    refuse: refuse_unusable_shift,
    buffer_bytes: |point| {
        let (grid, look_ahead) = (grid(point), Q.of(point));
        let piece = piece_words(point, bucket_words(&grid, look_ahead)) as u64;
        let peers: usize = (0..grid.dimensions()).map(|stage| grid.peers(0, stage).len()).sum();
        // Held values, the rank's own, buckets; messages; the place of each rank in each stage.
        let messages = (peers as u64 + SMSG.of(point)) * piece;
        bytes(7 * look_ahead + messages + (grid.dimensions() * point.ranks).div_ceil(2) as u64)
    },
    rings: |point| {
        let grid = grid(point);
        let peers: usize = (0..grid.dimensions()).map(|stage| grid.peers(0, stage).len()).sum();
        let piece = piece_words(point, bucket_words(&grid, Q.of(point)));
        vec![Rings::lines(SMSG.of(point), peers as u64, piece)]
    },
    run: |point, _, world| on_transport!(world.transport, comm => run(comm, point, world.arena)),
    ..FAMILY
};

const STAGES: Key<u64> = key(
    "d",
    "dimensions of the exchange: 1 is one stage with messages to all other ranks; log2 P or more is a hypercube",
    integers(1..=24, 2),
)
.in_column("exchange_dimensions", Unit::None);

fn grid(point: &Point) -> NodeGrid {
    NodeGrid::from_ranks(point.ranks, STAGES.of(point) as usize)
}

/// Begins with the next rank: the first messages of all ranks then go to different ranks.
fn peers_after(grid: &NodeGrid, rank: usize, stage: usize) -> Vec<usize> {
    let mut peers = grid.peers(rank, stage);
    peers.rotate_left(grid.coordinate(rank, stage));
    peers
}

/// Computed for the shortest line, whose messages are the longest.
fn bucket_words(grid: &NodeGrid, look_ahead: u64) -> usize {
    let shortest = (0..grid.dimensions()).map(|stage| grid.peers(0, stage).len() + 1).min().unwrap_or(1);
    2 * (look_ahead as usize).div_ceil(shortest) + 16
}

fn run<C: Mailboxes>(comm: &C, point: &Point, arena: &mut Arena) -> Result<Outcome> {
    let problem = Problem::with_distributed_table(point, comm.rank(), comm.size());
    let grid = grid(point);
    let peers: Vec<Vec<usize>> = (0..grid.dimensions()).map(|stage| peers_after(&grid, comm.rank(), stage)).collect();
    let bucket = bucket_words(&grid, Q.of(point));
    let (piece, handles) = (eager_piece_words(comm, point, bucket), SMSG.of(point) as usize);
    let (lines, outbox) =
        comm.mailbox_per_peer(Tag::Data(0), &peers.concat(), (Posting::Ahead, ON_NODE.of(point)), handles, piece);
    let mut lines = lines.into_iter();
    let stage = |(number, peers): (usize, Vec<usize>)| Stage {
        inboxes: lines.by_ref().take(peers.len()).collect(),
        places: (0..comm.size()).map(|owner| grid.coordinate(owner, number) as u32).collect(),
        own: grid.coordinate(comm.rank(), number),
        unsent: vec![None; peers.len()],
        awaited: vec![false; peers.len()],
        peers,
    };
    let mut member = Member {
        comm,
        stages: peers.into_iter().enumerate().map(stage).collect(),
        outbox,
        owners: problem.find_owners(point),
        index: problem.index,
        bucket,
        piece,
        held: Vec::with_capacity(2 * problem.look_ahead),
        buckets: Buckets::default(),
        own: Pending::new(problem.look_ahead, 2 * problem.look_ahead),
        tally: Tally { buffer_bytes: (KERNEL.buffer_bytes)(point), ..Tally::default() },
    };
    let mut outcome = measure(comm, &problem, arena, Rules::STRICT, |table| match table.specialise(problem.pages) {
        SpecialisedTable::LowBits(mut table) => member.pass(&problem, &mut table),
        SpecialisedTable::HighBits(mut table) => member.pass(&problem, &mut table),
        SpecialisedTable::AnyPart(mut table) => member.pass(&problem, &mut table),
    })?;
    drop(member);
    outcome.outputs.insert("longest_message_words", Value::Integer(piece as u64));
    Ok(outcome)
}

struct Stage<I> {
    /// In the order of their places in the line, beginning after this rank's.
    peers: Vec<usize>,
    inboxes: Vec<I>,
    places: Vec<u32>,
    own: usize,
    /// For each peer, the range of its updates in the buckets that are not sent yet. `Some` of an empty range is an empty message.
    unsent: Vec<Option<(usize, usize)>>,
    /// For each peer, whether another piece of its message is expected.
    awaited: Vec<bool>,
}

#[derive(Default)]
struct Buckets {
    words: Vec<u64>,
    ranges: Vec<(usize, usize)>,
    counts: Vec<usize>,
}

impl Buckets {
    /// Puts each update into the bucket of its place, of `capacity` updates. If this is too small for one of them, or would be
    /// mostly empty, sorts the updates instead.
    fn fill(&mut self, values: &[u64], capacity: usize, place: impl Fn(u64) -> usize) {
        let places = self.counts.len();
        if values.len() < 4 * places || !self.scatter(values, capacity, &place) {
            self.words.clear();
            self.words.extend_from_slice(values);
            self.words.sort_unstable_by_key(|&value| place(value));
            let first = |number: usize| self.words.partition_point(|&value| place(value) < number);
            self.ranges.clear();
            self.ranges.extend((0..places).map(|number| (first(number), first(number + 1) - first(number))));
        }
    }

    /// Returns `false` if a bucket is too small.
    fn scatter(&mut self, values: &[u64], capacity: usize, place: impl Fn(u64) -> usize) -> bool {
        self.words.resize(self.words.len().max(self.counts.len() * capacity), 0);
        self.counts.fill(0);
        // The compiler keeps the pointers of local slices in registers.
        let (words, counts) = (&mut self.words[..], &mut self.counts[..]);
        for &value in values {
            let place = place(value);
            let count = counts[place];
            if count == capacity {
                return false;
            }
            words[place * capacity + count] = value;
            counts[place] = count + 1;
        }
        self.ranges.clear();
        self.ranges.extend(self.counts.iter().enumerate().map(|(place, &count)| (place * capacity, count)));
        true
    }
}

struct Member<'a, C: Mailboxes> {
    comm: &'a C,
    stages: Vec<Stage<C::PeerInbox>>,
    outbox: C::PeerOutbox,
    owners: Owners,
    index: Index,
    /// Most updates for a place of a line before they are sorted instead.
    bucket: usize,
    piece: usize,
    held: Vec<u64>,
    buckets: Buckets,
    own: Pending,
    tally: Tally,
}

impl<C: Mailboxes> Member<'_, C> {
    fn pass(&mut self, problem: &Problem, table: &mut Table<impl Placement>) -> Tally {
        let (mut generator, mut left) = (problem.own_generator(), problem.own_updates());
        for _ in 0..problem.rounds(problem.look_ahead) {
            let size = left.min(problem.look_ahead as u64) as usize;
            left -= size as u64;
            self.held.resize(size, 0);
            generator.fill(&mut self.held);
            self.comm.charge(Computation::Generate, size);
            self.tally.store(size);
            for stage in 0..self.stages.len() {
                self.divide(stage);
                self.exchange(stage);
                self.tally.store(self.held.len() + self.own.count());
            }
            // Without other ranks, all are left.
            self.own.list_mut().append(&mut self.held);
            let applied = self.own.apply_all(table);
            self.comm.charge(Computation::Update, applied as usize);
            self.tally.applied += applied;
            self.tally.end_round(applied as usize, problem.look_ahead);
        }
        self.tally
    }

    /// Divides the held updates by their places in the line of this stage, and keeps those for this rank's place.
    fn divide(&mut self, stage: usize) {
        let Self { stages, owners, index, bucket, held, buckets, own: pending, comm, .. } = self;
        let is_last = stage + 1 == stages.len();
        let Stage { peers, places, own, unsent, awaited, .. } = &mut stages[stage];
        buckets.counts.resize(peers.len() + 1, 0);
        match *owners {
            // A line of all ranks.
            Owners::Shift(bits) if peers.len() + 1 == places.len() => {
                buckets.fill(held, *bucket, |value| (index.word(value) >> bits) as usize);
            }
            _ => buckets.fill(held, *bucket, |value| places[owners.owner(index.word(value))] as usize),
        }
        comm.charge(Computation::Divide, held.len());
        for (peer, unsent) in unsent.iter_mut().enumerate() {
            let (start, count) = buckets.ranges[(*own + 1 + peer) % (peers.len() + 1)];
            *unsent = Some((start, start + count));
        }
        awaited.fill(true);
        held.clear();
        let (start, count) = buckets.ranges[*own];
        let kept = if is_last { pending.list_mut() } else { held };
        kept.extend_from_slice(&buckets.words[start..start + count]);
    }

    fn exchange(&mut self, stage: usize) {
        let Self { stages, outbox, buckets, held, own, tally, comm, piece, .. } = self;
        let received = if stage + 1 == stages.len() { own.list_mut() } else { held };
        let Stage { peers, inboxes, unsent, awaited, .. } = &mut stages[stage];
        // One for each message to send, and one for each to receive.
        let mut incomplete = 2 * peers.len();
        while incomplete > 0 {
            let before = (incomplete, tally.messages, received.len());
            for (unsent, &peer) in unsent.iter_mut().zip(peers.iter()) {
                while let Some((start, end)) = *unsent {
                    let stop = end.min(start + *piece);
                    if !outbox.send(peer, &buckets.words[start..stop]) {
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
                        received.extend_from_slice(words);
                        words.len()
                    };
                    let Some(words) = inbox.take(take) else { break };
                    *awaited = words == *piece;
                    incomplete -= usize::from(!*awaited);
                }
            }
            if before == (incomplete, tally.messages, received.len()) {
                comm.relax();
            }
        }
    }
}
