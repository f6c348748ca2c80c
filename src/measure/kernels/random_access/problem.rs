use super::layout::{Layout, Owners};
use super::operation::Operation;
use super::random_stream::{COMMON_OFFSET, Generator, Index, StreamKind};
use super::*;
use std::ops::Range;

choice! {
    pub enum Starts {
        /// Equally along the cycle.
        Spaced = "spaced",
        /// Consecutive, as in the reference implementation.
        Reference = "reference",
    }
}

choice! { pub enum Offset { Common = "common", None = "none" } }

choice! {
    pub enum OwnerBy {
        Cheapest = "cheapest",
        Shift = "shift",
        Division = "division",
        Prediction = "prediction",
    }
}

/// The maximum number of updates that the definition allows a process to look ahead and to store.
pub const LOOK_AHEAD_LIMIT: usize = 1024;

/// Nodes of `cores` ranks each. In each the first rank generates updates, and the last `cores - routers` ranks own parts of the
/// table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nodes {
    pub count: usize,
    pub cores: usize,
    pub routers: usize,
}

impl Nodes {
    fn from_ranks(ranks: usize) -> Self {
        Self { count: ranks, cores: 1, routers: 0 }
    }

    pub fn ranks(&self) -> usize {
        self.count * self.cores
    }

    pub fn owners(&self) -> usize {
        self.count * (self.cores - self.routers)
    }

    pub fn rank(&self, part: usize) -> usize {
        let owners = self.cores - self.routers;
        part / owners * self.cores + self.routers + part % owners
    }
}

/// One rank's view of the problem.
#[derive(Clone, Debug)]
pub struct Problem {
    pub owners: Layout,
    pub nodes: Nodes,
    /// The number of this rank's part in `owners`. It has no meaning if `own_words` is 0.
    pub part: usize,
    pub own_words: usize,
    /// The number of updates of stream s is proportional to the words of part s.
    pub streams: Layout,
    pub own_streams: Range<usize>,
    pub index: Index,
    /// Q in the papers.
    pub look_ahead: usize,
    pub updates: u64,
    pub kind: StreamKind,
    pub operation: Operation,
    pub pages: Pages,
    starts: Starts,
    offset: u64,
}

impl Problem {
    pub fn with_distributed_table(point: &Point, rank: usize, ranks: usize) -> Self {
        Self::with_nodes(point, rank, Nodes::from_ranks(ranks))
    }

    pub fn with_nodes(point: &Point, rank: usize, nodes: Nodes) -> Self {
        let (node, core, owners) = (rank / nodes.cores, rank % nodes.cores, nodes.cores - nodes.routers);
        let whole = Self::with_parts(point, nodes.owners(), nodes.count);
        let part = core.checked_sub(nodes.routers).map(|core| node * owners + core);
        Self {
            nodes,
            part: part.unwrap_or(0),
            own_words: part.map_or(0, |part| whole.owners.count(part) as usize),
            own_streams: node..node + usize::from(core == 0),
            ..whole
        }
    }

    pub fn with_streams(point: &Point, rank: usize, ranks: usize, streams: usize) -> Self {
        let distributed = Self::with_distributed_table(point, rank, ranks);
        let whole = Self::with_parts(point, ranks, ranks * streams);
        Self { own_streams: rank * streams..(rank + 1) * streams, streams: whole.streams, ..distributed }
    }

    /// The problem of a table that one rank owns and `streams` streams update.
    pub fn with_local_table(point: &Point, streams: usize) -> Self {
        Self::with_parts(point, 1, streams)
    }

    fn with_parts(point: &Point, parts: usize, streams: usize) -> Self {
        let words = N_WORDS.of(point);
        let bits = words.trailing_zeros();
        let kind = STREAM.of(point);
        let seed_offset = u128::from(SEED.of(point).wrapping_sub(1)) * 0x9e37_79b9_7f4a_7c15;
        let common = (u128::from(COMMON_OFFSET) + seed_offset) % u128::from(kind.period());
        Self {
            owners: Layout::new(bits, parts),
            nodes: Nodes::from_ranks(parts),
            part: 0,
            own_words: words as usize,
            streams: Layout::new(bits, streams),
            own_streams: 0..streams,
            index: Index::with_bits(INDEX.of(point), kind, bits),
            look_ahead: Q.get(point).unwrap_or(1) as usize,
            updates: updates(point),
            kind,
            operation: Operation::of(point),
            pages: PAGES.of(point),
            starts: STARTS.of(point),
            offset: match OFFSET.of(point) {
                Offset::Common => common as u64,
                Offset::None => 0,
            },
        }
    }

    fn updates_before(&self, stream: usize) -> u64 {
        let product = u128::from(self.updates) * u128::from(self.streams.first(stream));
        (product >> self.streams.words().trailing_zeros()) as u64
    }

    pub fn stream_updates(&self, stream: usize) -> u64 {
        self.updates_before(stream + 1) - self.updates_before(stream)
    }

    pub fn own_updates(&self) -> u64 {
        self.updates_before(self.own_streams.end) - self.updates_before(self.own_streams.start)
    }

    pub fn rounds(&self, size: usize) -> u64 {
        let longest = u128::from(self.updates) * u128::from(self.streams.count(0));
        (longest.div_ceil(u128::from(self.streams.words())) as u64).div_ceil(size as u64)
    }

    pub fn streams_per_rank(&self) -> usize {
        self.streams.parts().div_ceil(self.nodes.count)
    }

    /// With `spaced`, starts are at equal distances along the cycle, as the text of the definition requires. With `reference`, the
    /// start is the number of updates of all earlier streams, 4 x the first word, as in the reference implementation.
    pub fn generator(&self, stream: usize) -> Generator {
        self.generator_after(stream, 0)
    }

    pub fn generator_after(&self, stream: usize, updates: u64) -> Generator {
        let period = u128::from(self.kind.period());
        let start = if self.starts == Starts::Spaced {
            period / self.streams.parts() as u128 * stream as u128
        } else {
            u128::from(self.updates_before(stream))
        };
        Generator::starting_after(self.kind, ((start + u128::from(self.offset) + u128::from(updates)) % period) as u64)
    }

    pub fn own_generator(&self) -> Generator {
        debug_assert_eq!(self.own_streams.len(), 1);
        self.generator(self.own_streams.start)
    }

    pub fn find_owners(&self, point: &Point) -> Owners {
        match OWNER_BY.of(point) {
            OwnerBy::Shift | OwnerBy::Cheapest => Owners::cheapest(self.owners),
            OwnerBy::Division => Owners::Division(self.owners),
            OwnerBy::Prediction => Owners::Prediction(self.owners),
        }
    }

    pub fn rules_broken(&self) -> Vec<&'static str> {
        let kept = [
            (self.kind == StreamKind::Lfsr, "stream"),
            (self.look_ahead <= LOOK_AHEAD_LIMIT, "look-ahead"),
            (self.updates == 4 * self.owners.words(), "updates"),
        ];
        kept.into_iter().filter(|(kept, _)| !kept).map(|(_, rule)| rule).collect()
    }
}

pub fn updates(point: &Point) -> u64 {
    (UPDATES.of(point) * N_WORDS.of(point) as f64).round() as u64
}
