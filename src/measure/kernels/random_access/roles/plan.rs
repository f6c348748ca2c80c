//! The role of each core of a node, and its destinations.

use crate::kernels::Rings;
use crate::kernels::random_access::grid::NodeGrid;
use crate::kernels::random_access::problem::Nodes;
use crate::kernels::random_access::routed::grid;
use apexmap_base::point::Point;
use std::ops::Range;

/// The destination of a bucket: a rank, and what is still to be done there.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Route {
    /// The dimension along which it leads; on the same node, the number of dimensions.
    pub along: usize,
    /// The first dimension that its updates may still have to travel along, which names the mailbox.
    pub channel: usize,
    pub to: usize,
}

/// The division of the work.
pub struct RolePlan {
    pub grid: NodeGrid,
    pub nodes: Nodes,
    /// Updates in a bucket.
    pub capacity: usize,
}

impl RolePlan {
    pub fn new(point: &Point) -> Self {
        let (cores, routers) = (point.integer("cores_per_node") as usize, point.integer("routers") as usize);
        let count = (point.ranks / cores).max(1);
        let mut plan = Self { grid: grid(point, count), nodes: Nodes { count, cores, routers }, capacity: 1 };
        // Section 4.3.1: buckets to other nodes, B received along each dimension, and both ends of local ones.
        let (local, remote): (Vec<Route>, Vec<Route>) =
            (0..routers).flat_map(|core| plan.routes(core)).partition(|route| plan.is_local(route));
        let all = remote.len() + plan.grid.dimensions() * point.integer("B") as usize + 2 * local.len();
        plan.capacity = ((point.integer("Q") as f64 / all as f64).round() as usize).max(1);
        plan
    }

    fn is_local(&self, route: &Route) -> bool {
        route.along == self.grid.dimensions()
    }

    pub fn most_buckets(&self) -> usize {
        (0..self.nodes.routers).map(|core| self.routes(core).len()).max().unwrap_or(0)
    }

    /// The core that routes along a dimension; beyond the last, the first that updates.
    fn core(&self, dimension: usize) -> usize {
        let dimensions = self.grid.dimensions();
        if dimension == dimensions {
            self.nodes.routers
        } else {
            dimension * self.nodes.routers / dimensions.max(self.nodes.routers)
        }
    }

    /// The dimensions of a core.
    pub fn dimensions(&self, core: usize) -> Range<usize> {
        let all = 0..self.grid.dimensions();
        let first = all.clone().find(|&dimension| self.core(dimension) >= core).unwrap_or(all.end);
        first..all.clone().find(|&dimension| self.core(dimension) > core).unwrap_or(all.end)
    }

    /// Ranks of a node that receive what may still have to travel along `channel` and later dimensions.
    fn receivers(&self, node: usize, channel: usize) -> Range<usize> {
        let first = node * self.nodes.cores + self.core(channel);
        first..if channel == self.grid.dimensions() { (node + 1) * self.nodes.cores } else { first + 1 }
    }

    /// Everywhere that a routing rank sends to, by dimension, its own node last.
    pub fn routes(&self, rank: usize) -> Vec<Route> {
        let (node, core) = (rank / self.nodes.cores, rank % self.nodes.cores);
        let (own, all) = (self.dimensions(core), self.grid.dimensions());
        let remote = own.clone().flat_map(|along| {
            let to = self.grid.peers(node, along).into_iter().flat_map(move |peer| self.receivers(peer, along + 1));
            to.map(move |to| Route { along, channel: along + 1, to })
        });
        let local = (own.end..=all)
            .flat_map(|channel| self.receivers(node, channel).map(move |to| Route { along: all, channel, to }));
        remote.chain(local).collect()
    }

    /// The route that takes an update of a part of the table on from a rank.
    pub fn route(&self, rank: usize, part: usize) -> Route {
        let (node, core) = (rank / self.nodes.cores, rank % self.nodes.cores);
        let (owner, all) = (self.nodes.rank(part), self.grid.dimensions());
        let at = |node: usize, channel: usize| if channel == all { owner } else { self.receivers(node, channel).start };
        match self.grid.next(node, owner / self.nodes.cores) {
            None => Route { along: all, channel: all, to: owner },
            Some((along, peer)) if self.core(along) == core => {
                // A core of the peer that updates is the owner's counterpart, if the peer is the owner's node.
                Route { along, channel: along + 1, to: at(peer, along + 1) }
            }
            Some((along, _)) => Route { along: all, channel: along, to: at(node, along) },
        }
    }

    /// Ranks that send to a rank's mailbox: one of each peer, and the routers before it on its own node.
    pub fn senders(&self, rank: usize, channel: usize) -> usize {
        let peers = channel.checked_sub(1).map_or(0, |along| self.grid.peers(rank / self.nodes.cores, along).len());
        peers + self.core(channel)
    }
}

/// One set for each dimension.
pub(super) fn rings(point: &Point) -> Vec<Rings> {
    let sets = RolePlan::new(point).grid.dimensions().max(1);
    let places = point.integer("B").max(point.integer("SMSG"));
    vec![Rings { places, receivers: point.ranks as u64 }; sets]
}
