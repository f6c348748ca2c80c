use super::*;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// With several pairs it corresponds to OSU's multiple-pair message rate.
pub static STREAMING: Kernel = Kernel {
    id: "message_rate.streaming",
    summary: "Message rate in one direction: windows of messages between pairs of ranks",
    place: "Section 5.1, Figure 7",
    run: |point, _, world| on_transport!(world.transport, comm => stream(comm, point, world.arena)),
    ..family(ONE_WAY)
};

pub fn stream<C: PointToPoint + Rma>(comm: &C, point: &Point, arena: &mut Arena) -> Result<Outcome> {
    let half = comm.size() / 2;
    let stream = Stream { window: Shape::new(point).window, partner: comm.rank() + half };
    run_route(comm, point, arena, (comm.rank() < half).then_some(&stream), true)
}

/// As in OSU's bidirectional bandwidth, rounds are not acknowledged: each side waits for the other's messages instead.
pub static BIDIRECTIONAL: Kernel = Kernel {
    id: "message_rate.bidirectional",
    summary: "Message rate in both directions simultaneously between pairs of ranks",
    place: "Section 5.1, Figure 6",
    run: |point, _, world| on_transport!(world.transport, comm => run_both_directions(comm, point, world.arena)),
    ..family(BOTH_WAYS)
};

pub static CYCLIC: Kernel = Kernel {
    id: "message_rate.cyclic",
    summary: "Message rate from one node to all other nodes in turn",
    place: "Section 5.1, Figures 3 (a) and 8",
    parameters: parameters![MESSAGE_BYTES, WINDOW, MESSAGES, SENDERS, OPERATION, BUFFERS, CACHES, CACHE_BYTES],
    refuse: refuse_uneven_nodes,
    traffic: Traffic::AllOthers,
    run: |point, _, world| on_transport!(world.transport, comm => send_cyclically(comm, point, world.arena)),
    ..family(ONE_TO_MANY)
};

/// Figure 3 (a): an outer loop over the window and an inner loop over the remote nodes.
pub struct Cyclic {
    pub window: usize,
    /// Remote nodes.
    pub nodes: usize,
    /// Ranks per node.
    pub cores: usize,
    /// The sender's number in its node. Its counterparts have the same number in their nodes.
    pub core: usize,
}

impl Route for Cyclic {
    #[inline]
    fn for_each_destination(&self, mut to: impl FnMut(usize)) {
        for _ in 0..self.window {
            for node in 1..=self.nodes {
                to(node * self.cores + self.core);
            }
        }
    }
}

pub fn send_cyclically<C: PointToPoint + Rma>(comm: &C, point: &Point, arena: &mut Arena) -> Result<Outcome> {
    let (cores, nodes) = (SENDERS.of(point) as usize, remote_nodes(point) as usize);
    let route = Cyclic { window: Shape::new(point).window, nodes, cores, core: comm.rank() };
    run_route(comm, point, arena, (comm.rank() < cores).then_some(&route), true)
}

/// The loop of Figure 4 ends one message early (`loopSize` is one `size` short); here all messages are sent. It computes the node
/// by shift and mask, which needs powers of two; here other numbers use a division.
pub static BLOCK_CYCLIC: Kernel = Kernel {
    id: "message_rate.block_cyclic",
    summary: "Message rate from one node to all other nodes in turn, in blocks",
    place: "Section 5.1, Figures 4 and 9",
    parameters: parameters![MESSAGE_BYTES, WINDOW, MESSAGES, BLOCK, SENDERS, OPERATION, BUFFERS, CACHES, CACHE_BYTES],
    refuse: |point| {
        let (window, block) = (WINDOW.of(point), BLOCK.of(point));
        if window % block != 0 {
            return Err(refusal!(
                ["window", "block"],
                "window = {window} is not a multiple of block = {block}; use a divisor of the window"
            ));
        }
        refuse_uneven_nodes(point)
    },
    run: |point, _, world| on_transport!(world.transport, comm => send_block_cyclically(comm, point, world.arena)),
    ..family(ONE_TO_MANY)
};

const BLOCK: Key<u64> =
    key("block", "block: consecutive messages per node, a divisor of the window", integers(1..=1 << 20, 8))
        .in_column("block_messages", Unit::None);

/// Figure 4: one loop over all data, with the node computed from the loop variable.
pub struct BlockCyclic {
    pub window: usize,
    pub block: usize,
    pub nodes: usize,
    pub cores: usize,
    pub core: usize,
}

impl Route for BlockCyclic {
    #[inline]
    fn for_each_destination(&self, mut to: impl FnMut(usize)) {
        let messages = self.window * self.nodes;
        if self.block.is_power_of_two() && self.nodes.is_power_of_two() {
            let (shift, mask) = (self.block.trailing_zeros(), self.nodes - 1);
            for message in 0..messages {
                to((1 + ((message >> shift) & mask)) * self.cores + self.core);
            }
        } else {
            for message in 0..messages as u32 {
                let node = 1 + message / self.block as u32 % self.nodes as u32;
                to(node as usize * self.cores + self.core);
            }
        }
    }
}

pub fn send_block_cyclically<C: PointToPoint + Rma>(comm: &C, point: &Point, arena: &mut Arena) -> Result<Outcome> {
    let (cores, nodes) = (SENDERS.of(point) as usize, remote_nodes(point) as usize);
    let (window, block) = (Shape::new(point).window, BLOCK.of(point) as usize);
    let route = BlockCyclic { window, block, nodes, cores, core: comm.rank() };
    run_route(comm, point, arena, (comm.rank() < cores).then_some(&route), true)
}

/// The paper does not specify the content of its vector. Here each of its `window` parts is a random permutation of the other
/// nodes, so each node receives the same number of messages as in Figure 3 (a).
pub static INDIRECT: Kernel = Kernel {
    id: "message_rate.indirect",
    summary: "Message rate from one node to all other nodes in the order of an indirection vector",
    place: "Section 5.1, Figures 3 (b) and 10",
    parameters: parameters![MESSAGE_BYTES, WINDOW, MESSAGES, SENDERS, OPERATION, BUFFERS, CACHES, CACHE_BYTES, SEED],
    refuse: refuse_uneven_nodes,
    traffic: Traffic::RandomOthers,
    run: |point, stream, world| on_transport!(world.transport, comm => send_indirectly(comm, point, stream, world.arena)),
    ..family(ONE_TO_MANY)
};

/// Figure 3 (b).
pub struct Indirect {
    /// The paper's `destList`: for each message of the window, all remote nodes in random order.
    pub list: Vec<u32>,
    pub cores: usize,
    pub core: usize,
}

impl Indirect {
    pub fn new(window: usize, nodes: usize, cores: usize, core: usize, random: u64) -> Self {
        let mut random = Pcg64Mcg::seed_from_u64(random);
        let mut part: Vec<u32> = (1..=nodes as u32).collect();
        let mut list = Vec::with_capacity(window * nodes);
        for _ in 0..window {
            part.shuffle(&mut random);
            list.extend_from_slice(&part);
        }
        Self { list, cores, core }
    }
}

impl Route for Indirect {
    #[inline]
    fn for_each_destination(&self, mut to: impl FnMut(usize)) {
        for &node in &self.list {
            to(node as usize * self.cores + self.core);
        }
    }
}

pub fn send_indirectly<C: PointToPoint + Rma>(
    comm: &C,
    point: &Point,
    stream: u64,
    arena: &mut Arena,
) -> Result<Outcome> {
    let (cores, nodes) = (SENDERS.of(point) as usize, remote_nodes(point) as usize);
    let random = seed(&[SEED.of(point), comm.rank() as u64, stream]);
    let route =
        (comm.rank() < cores).then(|| Indirect::new(Shape::new(point).window, nodes, cores, comm.rank(), random));
    run_route(comm, point, arena, route.as_ref(), true)
}

/// The traffic of RandomAccess, "small messages to PEs that are randomly distributed over the machine", without its updates. The
/// destinations are drawn once per run, and all rounds use them.
pub static RANDOM: Kernel = Kernel {
    id: "message_rate.random",
    summary: "Message rate from all ranks to random other ranks",
    place: "Section 7",
    parameters: parameters![MESSAGE_BYTES, WINDOW, MESSAGES, OPERATION, BUFFERS, CACHES, CACHE_BYTES, SEED],
    refuse: require_two_ranks,
    traffic: Traffic::RandomOthers,
    run: |point, stream, world| on_transport!(world.transport, comm => send_randomly(comm, point, stream, world.arena)),
    ..family(super::RANDOM)
};

pub struct Random {
    pub list: Vec<u32>,
}

impl Random {
    /// `window` destinations from all `ranks` ranks except `own`, each with the same probability.
    pub fn new(window: usize, ranks: usize, own: usize, random: u64) -> Self {
        let mut random = Pcg64Mcg::seed_from_u64(random);
        let mut other = || {
            let drawn = random.random_range(0..ranks as u32 - 1);
            drawn + u32::from(drawn >= own as u32)
        };
        Self { list: (0..window).map(|_| other()).collect() }
    }
}

impl Route for Random {
    #[inline]
    fn for_each_destination(&self, mut to: impl FnMut(usize)) {
        for &rank in &self.list {
            to(rank as usize);
        }
    }
}

pub fn send_randomly<C: PointToPoint + Rma>(
    comm: &C,
    point: &Point,
    stream: u64,
    arena: &mut Arena,
) -> Result<Outcome> {
    let random = seed(&[SEED.of(point), comm.rank() as u64, stream]);
    let route = Random::new(Shape::new(point).window, comm.size(), comm.rank(), random);
    run_route(comm, point, arena, Some(&route), true)
}
