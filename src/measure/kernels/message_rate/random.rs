//! NAME: message_rate.random. Every rank sends to other ranks that are drawn at random.
//!
//! SOURCE: Underwood, Levenhagen and Brightwell, Section 7: the traffic of RandomAccess, "small messages to PEs that
//!   are randomly distributed over the machine", without its updates. The destinations are drawn once per run, and all
//!   rounds use them.

use super::{
    BUFFERS, CACHE_BYTES, CACHES, MESSAGE_BYTES, MESSAGES, OPERATION, RANDOM, Route, SEED, Shape, WINDOW, family,
    run_route,
};
use crate::comm::arena::Arena;
use crate::comm::{PointToPoint, Rma};
use crate::kernels::{Kernel, Outcome, Traffic, parameters};
use crate::numerics::mix::seed;
use crate::on_transport;
use crate::refusal;
use apexmap_base::error::Result;
use apexmap_base::point::Point;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

pub static KERNEL: Kernel = Kernel {
    id: "message_rate.random",
    summary: "Message rate from all ranks to random other ranks",
    place: "Section 7",
    parameters: parameters![MESSAGE_BYTES, WINDOW, MESSAGES, OPERATION, BUFFERS, CACHES, CACHE_BYTES, SEED],
    refuse: |point| match point.ranks {
        1 => Err(refusal!(["ranks"], "needs at least two ranks")),
        _ => Ok(()),
    },
    traffic: Traffic::RandomOthers,
    run: |point, stream, world| on_transport!(&world.transport, comm => run(*comm, point, stream, world.arena)),
    ..family(RANDOM)
};

/// A route to random ranks.
pub struct Random {
    /// The destinations in order.
    pub list: Vec<u32>,
}

impl Random {
    /// Draws `window` destinations from all `ranks` ranks except `own`, each with the same probability.
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

/// Runs the kernel at a point. Collective.
pub fn run<C: PointToPoint + Rma>(comm: &C, point: &Point, stream: u64, arena: &mut Arena) -> Result<Outcome> {
    let random = seed(&[SEED.of(point), comm.rank() as u64, stream]);
    let route = Random::new(Shape::new(point).window, comm.size(), comm.rank(), random);
    run_route(comm, point, arena, Some(&route), true)
}
