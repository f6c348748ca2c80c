//! The `[network]` table of a card: how the nodes are connected. Simulations use it.

use apexmap_base::error::{Error, Result};
use apexmap_measure::comm::simulated::{MAX_PLACES, MAX_SIZE};
use serde::{Deserialize, Serialize};
use std::fmt;

apexmap_base::words! {
    /// How nodes are connected, by the names on cards.
    #[derive(Default)]
    pub enum TopologyKind {
        /// Every pair of nodes has its own connection.
        #[default]
        Crossbar = "crossbar",
        /// A grid whose lines are rings.
        Torus = "torus",
        /// A grid; the lines along some dimensions can be rings.
        Mesh = "mesh",
        /// Leaf switches with nodes, each connected to all upper switches.
        FatTree = "fat-tree",
        /// Groups of routers, each pair of groups with one link.
        Dragonfly = "dragonfly",
    }
}

/// The connections between nodes, and the places of ranks on them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct NetworkShape {
    /// Kind of the connections.
    pub topology: TopologyKind,
    /// Dimensions of a torus or mesh whose sides fit the nodes of each launch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dimensions: Option<usize>,
    /// Sides of a torus or mesh. Nodes are numbered along the first side first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sides: Option<Vec<usize>>,
    /// Whether the lines along each dimension of a mesh are rings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rings: Option<Vec<bool>>,
    /// Nodes at each leaf switch of a fat tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes_per_leaf: Option<usize>,
    /// Upper switches of a fat tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spines: Option<usize>,
    /// Nodes at each router of a dragonfly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes_per_router: Option<usize>,
    /// Routers in each group of a dragonfly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub routers_per_group: Option<usize>,
    /// Whether a message waits until a link is free. Without it: yes if the card has the bandwidth of a link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contention: Option<bool>,
    /// Ranks on each node of a simulation, if the sweep does not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranks_per_node: Option<usize>,
}

const MAX_DIMENSIONS: usize = 8;

impl NetworkShape {
    pub(super) fn check(&self) -> Result<()> {
        use TopologyKind::{Dragonfly, FatTree, Mesh, Torus};
        let kind = self.topology;
        let is_grid = matches!(kind, Torus | Mesh);
        for (key, is_given, belongs) in [
            ("dimensions", self.dimensions.is_some(), is_grid),
            ("sides", self.sides.is_some(), is_grid),
            ("rings", self.rings.is_some(), kind == Mesh),
            ("nodes_per_leaf", self.nodes_per_leaf.is_some(), kind == FatTree),
            ("spines", self.spines.is_some(), kind == FatTree),
            ("nodes_per_router", self.nodes_per_router.is_some(), kind == Dragonfly),
            ("routers_per_group", self.routers_per_group.is_some(), kind == Dragonfly),
        ] {
            if is_given && !belongs {
                let message = format!("a network with topology = \"{}\" has no {key}", self.topology.name());
                return Err(Error::input(message, format!("remove {key}, or correct topology")));
            }
        }
        let sizes = [self.nodes_per_leaf, self.spines, self.nodes_per_router, self.routers_per_group];
        let sizes = sizes.into_iter().chain([self.dimensions, self.ranks_per_node]).flatten();
        let mut sizes = sizes.chain(self.sides.iter().flatten().copied());
        if let Some(size) = sizes.find(|size| !(1..=MAX_SIZE).contains(size)) {
            return Err(Error::input(format!("a size of [network] is {size}"), format!("write 1 to {MAX_SIZE}")));
        }
        match kind {
            Torus | Mesh => self.check_grid(),
            FatTree if self.nodes_per_leaf.is_none() || self.spines.is_none() => {
                Err(Error::input("a fat tree needs the sizes of its switches", "add nodes_per_leaf and spines"))
            }
            Dragonfly if self.nodes_per_router.is_none() || self.routers_per_group.is_none() => Err(Error::input(
                "a dragonfly needs the sizes of its groups",
                "add nodes_per_router and routers_per_group",
            )),
            _ => Ok(()),
        }
    }

    fn check_grid(&self) -> Result<()> {
        let count = match (&self.sides, self.dimensions) {
            (Some(_), Some(_)) => {
                return Err(Error::input(
                    "[network] has sides and dimensions",
                    "write one of them: sides are those of the machine, \
                     dimensions gives sides that fit each launch",
                ));
            }
            (Some(sides), None) => sides.len(),
            (None, dimensions) => dimensions.unwrap_or(super::DEFAULT_DIMENSIONS),
        };
        if count == 0 || count > MAX_DIMENSIONS {
            let message = format!("a {} of {count} dimensions is not possible", self.topology.name());
            return Err(Error::input(message, format!("write 1 to {MAX_DIMENSIONS} dimensions")));
        }
        let product = |product: usize, &side: &usize| product.checked_mul(side).filter(|places| *places <= MAX_PLACES);
        if self.sides.iter().flatten().try_fold(1, product).is_none() {
            return Err(Error::input("the product of the sides is too large", "correct sides"));
        }
        match &self.rings {
            Some(rings) if rings.len() != count => Err(Error::input(
                format!("rings has {} values for {count} dimensions", rings.len()),
                "write true or false for each dimension",
            )),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for NetworkShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = |size: Option<usize>| size.unwrap_or(1);
        match (self.topology, &self.sides) {
            (TopologyKind::Crossbar, _) => f.write_str("crossbar")?,
            (TopologyKind::FatTree, _) => {
                let (nodes, spines) = (size(self.nodes_per_leaf), size(self.spines));
                write!(f, "fat tree of leaf switches with {nodes} nodes and {spines} upper switches")?;
            }
            (TopologyKind::Dragonfly, _) => {
                let (routers, nodes) = (size(self.routers_per_group), size(self.nodes_per_router));
                write!(f, "dragonfly of groups of {routers} routers with {nodes} nodes")?;
            }
            (kind, Some(sides)) => {
                let sides: Vec<String> = sides.iter().map(usize::to_string).collect();
                write!(f, "{} of {} nodes", kind.name(), sides.join(" x "))?;
            }
            (kind, None) => {
                let dimensions = self.dimensions.unwrap_or(super::DEFAULT_DIMENSIONS);
                write!(f, "{} in {dimensions} dimensions", kind.name())?;
            }
        }
        for (dimension, _) in self.rings.iter().flatten().enumerate().filter(|(_, is_ring)| **is_ring) {
            write!(f, ", rings along dimension {}", dimension + 1)?;
        }
        match self.contention {
            Some(true) => f.write_str(", with contention")?,
            Some(false) => f.write_str(", without contention")?,
            None => {}
        }
        self.ranks_per_node.map_or(Ok(()), |ranks| write!(f, ", {ranks} ranks per node"))
    }
}
