use super::{BUFFERS, CORES, ROUTERS, SMSG};
use crate::kernels::prelude::*;
use crate::kernels::random_access::grid::NodeGrid;
use crate::kernels::random_access::problem::Nodes;
use crate::kernels::random_access::routed::{bucket_capacity, grid};
use std::ops::Range;

#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Route {
    /// The dimension of this hop. For a hop within the node, the number of dimensions.
    pub along: usize,
    /// The number of the mailbox: the first dimension along which its updates may still have to travel.
    pub channel: usize,
    pub to: usize,
}

pub struct RolePlan {
    pub grid: NodeGrid,
    pub nodes: Nodes,
    /// Most updates in a bucket.
    pub capacity: usize,
}

impl RolePlan {
    pub fn new(point: &Point) -> Self {
        let (cores, routers) = (CORES.of(point) as usize, ROUTERS.of(point) as usize);
        let count = (point.ranks / cores).max(1);
        let mut plan = Self { grid: grid(point, count), nodes: Nodes { count, cores, routers }, capacity: 1 };
        // The look-ahead is divided as in Section 4.3.1: among buckets for other nodes, B receives per dimension, and both ends of
        // buckets within the node.
        let (local, remote): (Vec<Route>, Vec<Route>) =
            (0..routers).flat_map(|core| plan.routes(core)).partition(|route| plan.is_local(route));
        let buckets = remote.len() + plan.grid.dimensions() * BUFFERS.of(point) as usize + 2 * local.len();
        plan.capacity = bucket_capacity(point, buckets, remote.len(), plan.grid.dimensions());
        plan
    }

    fn is_local(&self, route: &Route) -> bool {
        route.along == self.grid.dimensions()
    }

    pub fn max_buckets(&self) -> usize {
        (0..self.nodes.routers).map(|core| self.routes(core).len()).max().unwrap_or(0)
    }

    /// After the last dimension, the first core that updates.
    fn core(&self, dimension: usize) -> usize {
        let dimensions = self.grid.dimensions();
        if dimension == dimensions {
            self.nodes.routers
        } else {
            dimension * self.nodes.routers / dimensions.max(self.nodes.routers)
        }
    }

    pub fn dimensions(&self, core: usize) -> Range<usize> {
        let dimensions = 0..self.grid.dimensions();
        let first = dimensions.clone().find(|&dimension| self.core(dimension) >= core).unwrap_or(dimensions.end);
        first..dimensions.clone().find(|&dimension| self.core(dimension) > core).unwrap_or(dimensions.end)
    }

    fn receivers(&self, node: usize, channel: usize) -> Range<usize> {
        let first = node * self.nodes.cores + self.core(channel);
        first..if channel == self.grid.dimensions() { (node + 1) * self.nodes.cores } else { first + 1 }
    }

    /// For a routing rank, in the order of dimensions. Routes within its node are last.
    pub fn routes(&self, rank: usize) -> Vec<Route> {
        let (node, core) = (rank / self.nodes.cores, rank % self.nodes.cores);
        let (own, dimensions) = (self.dimensions(core), self.grid.dimensions());
        let remote = own.clone().flat_map(|along| {
            let to = self.grid.peers(node, along).into_iter().flat_map(move |peer| self.receivers(peer, along + 1));
            to.map(move |to| Route { along, channel: along + 1, to })
        });
        let local = (own.end..=dimensions)
            .flat_map(|channel| self.receivers(node, channel).map(move |to| Route { along: dimensions, channel, to }));
        remote.chain(local).collect()
    }

    pub fn route(&self, rank: usize, part: usize) -> Route {
        let (node, core) = (rank / self.nodes.cores, rank % self.nodes.cores);
        let (owner, dimensions) = (self.nodes.rank(part), self.grid.dimensions());
        let receiver = |node: usize, channel: usize| {
            if channel == dimensions { owner } else { self.receivers(node, channel).start }
        };
        match self.grid.next_hop(node, owner / self.nodes.cores) {
            None => Route { along: dimensions, channel: dimensions, to: owner },
            Some((along, peer)) if self.core(along) == core => {
                // After the last dimension the peer is the owner's node, and the update goes directly to the owner.
                Route { along, channel: along + 1, to: receiver(peer, along + 1) }
            }
            Some((along, _)) => Route { along: dimensions, channel: along, to: receiver(node, along) },
        }
    }

    /// Returns the number of ranks that send to a rank's mailbox: one of each peer node, and all earlier routers of its node.
    pub fn senders(&self, rank: usize, channel: usize) -> usize {
        let peers = channel.checked_sub(1).map_or(0, |along| self.grid.peers(rank / self.nodes.cores, along).len());
        peers + self.core(channel)
    }
}

pub(super) fn rings(point: &Point) -> Vec<Rings> {
    let sets = RolePlan::new(point).grid.dimensions().max(1);
    let places = BUFFERS.of(point).max(SMSG.of(point));
    vec![Rings::new(places, point.ranks as u64); sets]
}
