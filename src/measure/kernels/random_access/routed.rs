//! After the Blue Gene/P paper, Sections 4.2 and 4.3.1. The division of the work among the cores of a node is in [`super::roles`].
//! A full bucket is sent. Updates received along one dimension go into the buckets of later dimensions. At the end the dimensions
//! are flushed one after another, each after everything has arrived along the previous one. As in Section 4.3.1, the look-ahead is
//! divided among the buckets of a rank: one per rank in each of its dimensions, B receives per dimension, and one for updates of
//! words that it owns. Any number of dimensions is possible.

use super::grid::NodeGrid;
use super::layout::Owners;
use super::random_stream::Index;
use super::table::Table;
use super::*;

use crate::comm::{Inbox, Outbox};

pub static KERNEL: Kernel = Kernel {
    id: "random_access.routed",
    summary: "RandomAccess with updates collected in buckets and routed through a grid of ranks",
    source: &source::BLUE_GENE_P_RANDOM_ACCESS,
    place: "Sections 4.2, 4.3.1 and 6",
    parameters: parameters![
        N_WORDS, UPDATES, TIME_BOUND, Q, FULL, DIMENSIONS, X, Y, Z, OWNER_BY, BUFFERS, SMSG, STREAM, INDEX, OPERATION,
        STARTS, OFFSET, PAGES, SEED,
    ],
    refuse,
    buffer_bytes: |point| {
        let grid = grid(point, point.ranks);
        let messages = buckets(&grid, point) + grid.dimensions() * (1 + SMSG.of(point) as usize);
        bytes((messages * capacity(&grid, point) + point.ranks) as u64)
    },
    rings: |point| {
        let (grid, places) = (grid(point, point.ranks), BUFFERS.of(point).max(SMSG.of(point)));
        let receivers = |dimension| grid.peers(0, dimension).len() as u64;
        (0..grid.dimensions()).map(|dimension| Rings::new(places, receivers(dimension))).collect()
    },
    run: |point, _, world| on_transport!(world.transport, comm => run(comm, point, world.arena)),
    ..FAMILY
};

pub(super) const DIMENSIONS: Key<u64> = key(
    "dimensions",
    "maximum number of dimensions of the grid of ranks, unless X, Y or Z are given",
    integers(1..=24, 3),
);
pub(super) const X: Key<u64> =
    extent("X", "grid_x", "grid X: ranks in the first dimension; 0 derives the grid from `dimensions`");
pub(super) const Y: Key<u64> = extent(
    "Y",
    "grid_y",
    "grid Y: ranks in the second dimension; 0 means no such \
    dimension",
);
pub(super) const Z: Key<u64> = extent(
    "Z",
    "grid_z",
    "grid Z: ranks in the third dimension; 0 means no such \
    dimension",
);
pub(super) const BUFFERS: Key<u64> =
    B.with_meaning("receive buffers: outstanding receives per dimension").with_domain(integers(1..=1 << 16, 4));

pub(super) const FULL: Key<FullBuckets> = choice_key(
    "full_buckets",
    "full buckets for which the look-ahead has room: one (of each dimension, because it is sent at once) or all",
);
choice! { pub(super) enum FullBuckets { One = "one", All = "all" } }

const fn extent(name: &'static str, column: &'static str, meaning: &'static str) -> Key<u64> {
    key(name, meaning, integers(0..=1 << 24, 0)).in_column(column, Unit::None)
}

fn grid_sizes(point: &Point) -> Vec<usize> {
    let sizes = [X, Y, Z].map(|size| size.of(point) as usize);
    sizes.into_iter().filter(|&size| size > 0).collect()
}

pub(super) fn grid(point: &Point, ranks: usize) -> NodeGrid {
    match grid_sizes(point)[..] {
        [] => NodeGrid::from_ranks(ranks, DIMENSIONS.of(point) as usize),
        ref sizes => NodeGrid::new(sizes),
    }
}

fn refuse(point: &Point) -> Result<(), Refusal> {
    refuse_grid(point, point.ranks)?;
    refuse_unusable_shift(point)
}

/// The product of X, Y and Z is `ranks`, a number of ranks or nodes.
pub(super) fn refuse_grid(point: &Point, ranks: usize) -> Result<(), Refusal> {
    let sizes = grid_sizes(point);
    let product: u128 = sizes.iter().map(|&size| size as u128).product();
    if sizes.is_empty() || product == ranks as u128 {
        return Ok(());
    }
    let (sizes, text) =
        (sizes.iter().map(usize::to_string).collect::<Vec<_>>().join(" x "), "choose X, Y and Z whose product is");
    Err(if ranks == point.ranks {
        refusal!(
            ["X", "Y", "Z", "ranks"],
            "a grid of {sizes} has {product} ranks, not {ranks}; {text} P, or set them to 0"
        )
    } else {
        refusal!(
            ["X", "Y", "Z", "ranks", "cores_per_node"],
            "a grid of {sizes} has {product} nodes, not {ranks}; {text} the number of nodes, P / \
            cores_per_node, or set them to 0"
        )
    })
}

fn remote_buckets(grid: &NodeGrid) -> usize {
    (0..grid.dimensions()).map(|dimension| grid.peers(0, dimension).len()).sum()
}

fn buckets(grid: &NodeGrid, point: &Point) -> usize {
    remote_buckets(grid) + grid.dimensions() * BUFFERS.of(point) as usize + 1
}

fn capacity(grid: &NodeGrid, point: &Point) -> usize {
    bucket_capacity(point, buckets(grid, point), remote_buckets(grid), grid.dimensions())
}

/// Returns the number of updates that each of `buckets` buckets holds. `remote` of them lead to other nodes. Of these, a dimension
/// has at most one full bucket at any time (Section 4.3.1), and the others hold at least one update less.
pub(super) fn bucket_capacity(point: &Point, buckets: usize, remote: usize, dimensions: usize) -> usize {
    let unfilled = match FULL.of(point) {
        FullBuckets::One => remote.saturating_sub(dimensions),
        FullBuckets::All => 0,
    };
    ((Q.of(point) as usize + unfilled) / buckets).max(1)
}

fn run<C: Mailboxes>(comm: &C, point: &Point, arena: &mut Arena) -> Result<Outcome> {
    let problem = Problem::with_distributed_table(point, comm.rank(), comm.size());
    let mut router = Router::new(comm, &problem, point);
    measure(comm, &problem, arena, Rules::STRICT, |table| router.pass(&problem, table))
}

struct Dimension<C: Mailboxes> {
    inbox: C::Inbox,
    outbox: C::Outbox,
    peers: Vec<usize>,
    /// Peers that have sent their last message.
    ended: usize,
    received: Vec<u64>,
}

struct Router<'a, C: Mailboxes> {
    comm: &'a C,
    owners: Owners,
    index: Index,
    capacity: usize,
    dimensions: Vec<Dimension<C>>,
    /// For each owner. The last bucket is for this rank.
    bucket_for: Vec<u32>,
    buckets: Vec<Vec<u64>>,
    /// The dimension and the destination of each bucket except the last.
    destinations: Vec<(usize, usize)>,
    stored: usize,
    tally: Tally,
}

impl<'a, C: Mailboxes> Router<'a, C> {
    fn new(comm: &'a C, problem: &Problem, point: &Point) -> Self {
        let grid = grid(point, point.ranks);
        let (rank, capacity) = (comm.rank(), capacity(&grid, point));
        let (buffers, handles) = (BUFFERS.of(point) as usize, SMSG.of(point) as usize);
        let dimension = |dimension: usize| {
            let (inbox, outbox) = comm.mailbox(Tag::Data(dimension as u8), buffers, handles, capacity);
            let received = Vec::with_capacity(capacity);
            Dimension { inbox, outbox, peers: grid.peers(rank, dimension), ended: 0, received }
        };
        let dimensions: Vec<_> = (0..grid.dimensions()).map(dimension).collect();
        let destinations: Vec<(usize, usize)> = (0..grid.dimensions())
            .flat_map(|dimension| grid.peers(rank, dimension).into_iter().map(move |peer| (dimension, peer)))
            .collect();
        let bucket_of = |hop| destinations.iter().position(|&lead| lead == hop).unwrap_or(destinations.len());
        let bucket_for = |owner| grid.next_hop(rank, owner).map_or(destinations.len(), bucket_of) as u32;
        Self {
            comm,
            owners: problem.find_owners(point),
            index: problem.index,
            capacity,
            dimensions,
            bucket_for: (0..comm.size()).map(bucket_for).collect(),
            buckets: vec![Vec::with_capacity(capacity); destinations.len() + 1],
            destinations,
            stored: 0,
            tally: Tally { buffer_bytes: (KERNEL.buffer_bytes)(point), ..Tally::default() },
        }
    }

    fn pass(&mut self, problem: &Problem, table: &mut Table) -> Tally {
        let mut generator = problem.own_generator();
        self.charge_batch(problem.own_updates());
        for number in 1..=problem.own_updates() {
            self.count_stored(1);
            self.route(generator.next_u64(), table);
            // Peers wait until their messages are taken.
            if number % self.capacity as u64 == 0 {
                self.serve(0, table);
                self.charge_batch(problem.own_updates() - number);
            }
        }
        for dimension in 0..self.dimensions.len() {
            self.finish(dimension, table);
        }
        self.flush(self.destinations.len(), table);
        self.tally
    }

    /// Before any of these updates is sent. `left` updates are left.
    #[inline(always)]
    fn charge_batch(&self, left: u64) {
        let batch = left.min(self.capacity as u64) as usize;
        self.comm.charge(Computation::Generate, batch);
        self.comm.charge(Computation::Divide, batch);
    }

    fn count_stored(&mut self, updates: usize) {
        self.stored += updates;
        self.tally.store(self.stored);
    }

    #[inline]
    fn route(&mut self, value: u64, table: &mut Table) {
        let bucket = self.bucket_for[self.owners.owner(self.index.word(value))] as usize;
        self.buckets[bucket].push(value);
        if self.buckets[bucket].len() == self.capacity {
            self.flush(bucket, table);
        }
    }

    /// Applies the updates of the last bucket.
    fn flush(&mut self, bucket: usize, table: &mut Table) {
        // Taken out, because sending may fill other buckets.
        let mut values = std::mem::take(&mut self.buckets[bucket]);
        match self.destinations.get(bucket) {
            Some(&(dimension, peer)) => {
                self.send(dimension, peer, &values, table);
                self.tally.hops += values.len() as u64;
            }
            None => {
                table.apply(&values);
                self.comm.charge(Computation::Update, values.len());
                self.tally.applied += values.len() as u64;
            }
        }
        self.stored -= values.len();
        values.clear();
        self.buckets[bucket] = values;
    }

    /// While this must wait, the rank distributes only updates that arrive along this and later dimensions. They go only into
    /// buckets of later dimensions. The last dimension is therefore always emptied, and ranks never wait for each other in a
    /// circle.
    fn send(&mut self, dimension: usize, peer: usize, values: &[u64], table: &mut Table) {
        while !self.dimensions[dimension].outbox.send(peer, values) {
            if !self.serve(dimension, table) {
                self.comm.relax();
            }
        }
        self.tally.messages += 1;
    }

    /// Distributes the updates that have arrived along dimension `first` and later ones. Returns whether any message had arrived.
    fn serve(&mut self, first: usize, table: &mut Table) -> bool {
        let mut received_any = false;
        for dimension in first..self.dimensions.len() {
            let mut received = std::mem::take(&mut self.dimensions[dimension].received);
            let inbox = |router: &mut Self, received: &mut Vec<u64>| {
                router.dimensions[dimension].inbox.take(|_, words| received.extend_from_slice(words))
            };
            while inbox(self, &mut received).is_some() {
                // An empty message is the last one of its sender.
                self.dimensions[dimension].ended += usize::from(received.is_empty());
                self.count_stored(received.len());
                self.comm.charge(Computation::Divide, received.len());
                received.drain(..).for_each(|value| self.route(value, table));
                received_any = true;
            }
            self.dimensions[dimension].received = received;
        }
        received_any
    }

    /// Sends all remaining updates along a dimension, and waits until all peers have done the same.
    fn finish(&mut self, dimension: usize, table: &mut Table) {
        for bucket in 0..self.destinations.len() {
            if self.destinations[bucket].0 == dimension && !self.buckets[bucket].is_empty() {
                self.flush(bucket, table);
            }
        }
        for peer in self.dimensions[dimension].peers.clone() {
            self.send(dimension, peer, &[], table);
        }
        while self.dimensions[dimension].ended < self.dimensions[dimension].peers.len() {
            if !self.serve(dimension, table) {
                self.comm.relax();
            }
        }
    }
}
