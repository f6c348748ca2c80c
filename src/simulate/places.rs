use apexmap_base::error::{Error, Result};
use apexmap_measure::comm::simulated::Topology;
use apexmap_theory::machine::{Card, DEFAULT_DIMENSIONS, NetworkShape, TopologyKind};
use apexmap_theory::models::topology::sides;

/// If the sides of the box of exactly the nodes of a launch differ by more than this factor, a box with unused places is used.
const MAX_RATIO: u64 = 4;

pub fn topology(card: &Card, nodes: usize) -> Result<Topology> {
    let crossbar = NetworkShape::default();
    let shape = card.network.as_ref().unwrap_or(&crossbar);
    let topology = match shape.topology {
        TopologyKind::Crossbar => Topology::Crossbar,
        TopologyKind::Torus => Topology::Torus { sides: grid_sides(shape, nodes) },
        TopologyKind::Mesh => match &shape.rings {
            Some(rings) => Topology::Grid { sides: grid_sides(shape, nodes), rings: rings.clone() },
            None => Topology::Mesh { sides: grid_sides(shape, nodes) },
        },
        TopologyKind::FatTree => {
            Topology::FatTree { leaf: shape.nodes_per_leaf.unwrap_or(1), spines: shape.spines.unwrap_or(1) }
        }
        TopologyKind::Dragonfly => Topology::Dragonfly {
            nodes: shape.nodes_per_router.unwrap_or(1),
            routers: shape.routers_per_group.unwrap_or(1),
        },
    };
    topology.check(nodes).map_err(|reason| {
        Error::input(
            format!("the network of {} cannot connect the nodes: {reason}", card.name),
            "request fewer ranks or more ranks per node, or correct [network] in the card",
        )
    })?;
    Ok(topology)
}

fn grid_sides(shape: &NetworkShape, nodes: usize) -> Vec<usize> {
    match &shape.sides {
        Some(sides) => sides.clone(),
        None => near_cubic_sides(nodes, shape.dimensions.unwrap_or(DEFAULT_DIMENSIONS)),
    }
}

/// A box for this many nodes, the longest side first: exactly for them if its sides are of similar length, otherwise the smallest
/// near-cubic box with a place for each.
fn near_cubic_sides(nodes: usize, dimensions: usize) -> Vec<usize> {
    let exact = sides(nodes as u64, dimensions);
    if exact.first() <= exact.last().map(|shortest| shortest * MAX_RATIO).as_ref() {
        return exact.into_iter().map(|side| side as usize).collect();
    }
    let mut sides = vec![1usize; dimensions];
    // The shortest side grows until all nodes have a place. The order of equal sides does not matter: they are sorted below.
    while sides.iter().product::<usize>() < nodes {
        *sides.iter_mut().rev().min_by_key(|side| **side).expect("at least one dimension") += 1;
    }
    sides.sort_unstable_by(|a, b| b.cmp(a));
    sides
}
