//! The mapping of nodes onto the places of a network. The hypercube paper (Section 4) proposes to map the hypercube onto the
//! physical topology and has not done it.

use super::topology::Topology;
use crate::numerics::mix::seed;

apexmap_base::words! {
    /// The places of nodes on a network, as an order of the nodes.
    #[derive(Default)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    pub enum Mapping {
        /// Node n has place n: along the first side first.
        #[default]
        RowMajor = "row-major",
        /// A box of powers of two within a grid: each bit of a node's number is a bit of one coordinate, so that all partners of a
        /// hypercube share a line of the grid.
        SubCube = "sub-cube",
        /// The same box, with a Gray code along each line: neighbours differ in one bit.
        GrayCode = "gray-code",
        /// The places of row-major order in random order, the same in each run.
        Random = "random",
    }
}

impl Mapping {
    pub fn places(self, topology: &Topology, nodes: usize) -> Result<Vec<usize>, String> {
        match self {
            Self::RowMajor => Ok((0..nodes).collect()),
            Self::Random => Ok(random_order(nodes)),
            Self::SubCube | Self::GrayCode => {
                let (Topology::Torus { sides } | Topology::Mesh { sides } | Topology::Grid { sides, .. }) = topology
                else {
                    return Err(format!("mapping \"{}\" needs a torus or a mesh", self.name()));
                };
                let bits = box_bits(sides, nodes).ok_or_else(|| {
                    format!("sides {sides:?} contain no box of powers of two with {} nodes", nodes.next_power_of_two())
                })?;
                Ok((0..nodes).map(|node| self.place_in_box(sides, &bits, node)).collect())
            }
        }
    }

    fn place_in_box(self, sides: &[usize], bits: &[u32], node: usize) -> usize {
        let (mut rest, mut stride, mut place) = (node, 1, 0);
        for (side, bits) in sides.iter().zip(bits) {
            let code = rest & ((1 << bits) - 1);
            rest >>= bits;
            place += stride * if self == Self::GrayCode { position_in_gray_code(code) } else { code };
            stride *= side;
        }
        place
    }
}

/// For the most cubic box of powers of two that has a place for all nodes.
fn box_bits(sides: &[usize], nodes: usize) -> Option<Vec<u32>> {
    let mut bits = vec![0u32; sides.len()];
    for _ in 0..nodes.next_power_of_two().trailing_zeros() {
        let fits = |dimension: &usize| 2 << bits[*dimension] <= sides[*dimension];
        let shortest = (0..sides.len()).filter(fits).min_by_key(|dimension| bits[*dimension])?;
        bits[shortest] += 1;
    }
    Some(bits)
}

/// In the reflected Gray code.
fn position_in_gray_code(code: usize) -> usize {
    (0..usize::BITS).fold(0, |position, shift| position ^ code >> shift)
}

/// Numbers below `count` (Fisher and Yates).
fn random_order(count: usize) -> Vec<usize> {
    let mut places: Vec<usize> = (0..count).collect();
    for last in (1..count).rev() {
        places.swap(last, (seed(&[last as u64]) % (last as u64 + 1)) as usize);
    }
    places
}
