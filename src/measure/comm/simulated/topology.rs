use serde::{Deserialize, Serialize};

/// Every link between nodes has two directions, which are independent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", tag = "kind")]
pub enum Topology {
    /// Every pair of nodes has its own connection.
    Crossbar,
    /// A grid of nodes in any number of dimensions, with a ring along each line.
    Torus { sides: Vec<usize> },
    /// A grid of nodes without the links that close rings.
    Mesh { sides: Vec<usize> },
    /// A grid of nodes with rings along some dimensions.
    Grid { sides: Vec<usize>, rings: Vec<bool> },
    /// Groups of `leaf` nodes at one switch; each of these has a link to each of the `spines` upper switches.
    FatTree { leaf: usize, spines: usize },
    /// Routers with `nodes` nodes each; `routers` routers form a group with all links between them; each pair of groups has one
    /// link.
    Dragonfly { nodes: usize, routers: usize },
}

/// For a switch, router or group. The numbers of links then do not overflow.
pub const MAX_SIZE: usize = 1 << 20;

/// For a torus or mesh.
pub const MAX_PLACES: usize = 1 << 40;

/// A link in one direction.
pub type Link = usize;

impl Topology {
    pub fn check(&self, nodes: usize) -> Result<(), String> {
        let positive = |numbers: &[usize]| numbers.iter().all(|number| (1..=MAX_SIZE).contains(number));
        match self {
            Self::Crossbar => Ok(()),
            Self::Grid { sides, rings } if sides.len() != rings.len() => {
                Err("each side of the grid is a ring or not".into())
            }
            Self::Torus { sides } | Self::Mesh { sides } | Self::Grid { sides, .. } => {
                let product = sides.iter().try_fold(1usize, |product, &side| {
                    product.checked_mul(side).filter(|product| *product <= MAX_PLACES)
                });
                match product {
                    Some(places) if positive(sides) && places >= nodes => Ok(()),
                    _ => Err(format!("sides {sides:?} have no place for {nodes} nodes")),
                }
            }
            Self::FatTree { leaf, spines } if positive(&[*leaf, *spines]) => Ok(()),
            Self::Dragonfly { nodes, routers } if positive(&[*nodes, *routers]) => Ok(()),
            Self::FatTree { .. } | Self::Dragonfly { .. } => {
                Err(format!("a size of the topology is not between 1 and {MAX_SIZE}"))
            }
        }
    }

    pub fn links(&self, from: usize, to: usize) -> usize {
        let mut links = 0;
        self.route(from, to, |_| links += 1);
        links
    }

    pub fn max_links(&self, nodes: usize) -> u64 {
        let (links, per_route) = match self {
            Self::Crossbar => (0, 0),
            Self::Torus { sides } | Self::Mesh { sides } | Self::Grid { sides, .. } => {
                (2 * sides.len() * sides.iter().product::<usize>(), sides.iter().sum())
            }
            // A node is reached through one spine.
            Self::FatTree { leaf, spines } => (2 * nodes.div_ceil(*leaf) * (*spines).min(nodes), 2),
            Self::Dragonfly { nodes: on_router, routers } => {
                let groups = nodes.div_ceil(on_router * routers);
                (groups * (groups - 1) + groups.saturating_mul(routers * (routers - 1)), 3)
            }
        };
        let on_routes = (nodes as u64).saturating_pow(2).saturating_mul(per_route as u64);
        (links as u64).min(on_routes)
    }

    /// Calls `visit` with the links of the route, in order. Routes are minimal: along the dimensions in order, through the upper
    /// switch of the receiver, or through the link of the two groups.
    pub fn route(&self, from: usize, to: usize, mut visit: impl FnMut(Link)) {
        if from == to {
            return;
        }
        match self {
            Self::Crossbar => {}
            Self::Torus { sides } => grid_route(sides, |_| true, from, to, visit),
            Self::Mesh { sides } => grid_route(sides, |_| false, from, to, visit),
            Self::Grid { sides, rings } => grid_route(sides, |dimension| rings[dimension], from, to, visit),
            Self::FatTree { leaf, spines } => {
                let (switch, other) = (from / leaf, to / leaf);
                if switch != other {
                    let spine = to % spines;
                    visit(2 * (switch * spines + spine));
                    visit(2 * (other * spines + spine) + 1);
                }
            }
            Self::Dragonfly { nodes, routers } => dragonfly_route(*nodes, *routers, from, to, visit),
        }
    }
}

/// Numbers of links: node times dimensions times two, plus two times the dimension, plus one for the way down.
fn grid_route(sides: &[usize], is_ring: impl Fn(usize) -> bool, from: usize, to: usize, mut visit: impl FnMut(Link)) {
    let mut node = from;
    let mut stride = 1;
    for (dimension, &side) in sides.iter().enumerate() {
        let (mut place, target) = (from / stride % side, to / stride % side);
        let up = (target + side - place) % side;
        let goes_up = if is_ring(dimension) { 2 * up <= side } else { target > place };
        while place != target {
            visit(2 * (node * sides.len() + dimension) + usize::from(!goes_up));
            let next = if goes_up { (place + 1) % side } else { (place + side - 1) % side };
            node = node + next * stride - place * stride;
            place = next;
        }
        stride *= side;
    }
}

/// Numbers of links: within a group, one per pair of routers; then one per pair of groups.
fn dragonfly_route(nodes: usize, routers: usize, from: usize, to: usize, mut visit: impl FnMut(Link)) {
    let place = |node: usize| (node / (nodes * routers), node / nodes % routers);
    let ((group, router), (other_group, other_router)) = (place(from), place(to));
    let local = |group: usize, from: usize, to: usize| 2 * ((group * routers + from) * routers + to);
    if group == other_group {
        if router != other_router {
            visit(local(group, router, other_router));
        }
        return;
    }
    // The router of a group that has the link to another group.
    let gateway = |group: usize, other: usize| (if other > group { other - 1 } else { other }) % routers;
    let (exit, entry) = (gateway(group, other_group), gateway(other_group, group));
    if router != exit {
        visit(local(group, router, exit));
    }
    // Pairs of groups in the order of their larger number (Rosenberg and Strong), which needs no number of groups.
    let pair = if group < other_group { other_group * other_group + group } else { group * (group + 1) + other_group };
    visit(2 * pair + 1);
    if entry != other_router {
        visit(local(other_group, entry, other_router));
    }
}
