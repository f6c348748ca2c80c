//! NAME: message_rate.indirect. The ranks of one node send to the nodes listed in an indirection vector.
//!
//! SOURCE: Underwood, Levenhagen and Brightwell, Section 5.1, Figures 3 (b) and 10.
//! DIFFERENCES: the paper does not specify the content of its vector. Here each of its `window` parts is a random
//!   permutation of the other nodes, so each node receives the same number of messages as in Figure 3 (a).

use super::{
    BUFFERS, CACHE_BYTES, CACHES, MESSAGE_BYTES, MESSAGES, ONE_TO_MANY, OPERATION, Route, SEED, SENDERS, Shape, WINDOW,
    family, refuse_uneven_nodes, remote_nodes, run_route,
};
use crate::comm::arena::Arena;
use crate::comm::{PointToPoint, Rma};
use crate::kernels::{Kernel, Outcome, Traffic, parameters};
use crate::numerics::mix::seed;
use crate::on_transport;
use apexmap_base::error::Result;
use apexmap_base::point::Point;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;

pub static KERNEL: Kernel = Kernel {
    id: "message_rate.indirect",
    summary: "Message rate from one node to all other nodes in the order of an indirection vector",
    place: "Section 5.1, Figures 3 (b) and 10",
    parameters: parameters![MESSAGE_BYTES, WINDOW, MESSAGES, SENDERS, OPERATION, BUFFERS, CACHES, CACHE_BYTES, SEED],
    refuse: refuse_uneven_nodes,
    traffic: Traffic::RandomOthers,
    run: |point, stream, world| on_transport!(&world.transport, comm => run(*comm, point, stream, world.arena)),
    ..family(ONE_TO_MANY)
};

/// The route of Figure 3 (b).
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

/// Runs the kernel at a point. Collective.
pub fn run<C: PointToPoint + Rma>(comm: &C, point: &Point, stream: u64, arena: &mut Arena) -> Result<Outcome> {
    let (cores, nodes) = (SENDERS.of(point) as usize, remote_nodes(point) as usize);
    let random = seed(&[SEED.of(point), comm.rank() as u64, stream]);
    let route =
        (comm.rank() < cores).then(|| Indirect::new(Shape::new(point).window, nodes, cores, comm.rank(), random));
    run_route(comm, point, arena, route.as_ref(), true)
}
