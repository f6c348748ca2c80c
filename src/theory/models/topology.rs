//! Bisection of networks: links that cross the cut into two halves.

use apexmap_measure::kernels::random_access::grid::prime_factors;

/// Topologies, by the words that users write. The index is a variable's value.
pub const NAMES: &[&str] = &["torus", "mesh", "fat_tree", "dragonfly", "given"];

/// Returns the sides of the most cubic box of these nodes, longest first: 8192 nodes are 32 x 16 x 16.
pub fn sides(nodes: u64, dimensions: usize) -> Vec<u64> {
    let mut sides = vec![1; dimensions.max(1)];
    // The largest factor first: the small ones then even out the sides.
    for factor in prime_factors(nodes as usize).into_iter().rev() {
        *sides.iter_mut().min().expect("at least one side") *= factor as u64;
    }
    sides.sort_unstable_by(|a, b| b.cmp(a));
    sides
}

/// Returns the links across the cut into halves, in one direction; `None` for `given`. Torus and mesh are cut across their
/// longest side, a torus twice unless that side has two nodes, which share one link. A fat tree has full bisection: half of
/// the nodes send, over one link each. A balanced dragonfly, with a link between each two groups, has one per four nodes.
pub fn bisection_links(topology: usize, nodes: f64, dimensions: usize) -> Option<f64> {
    let across = || {
        let longest = sides(nodes as u64, dimensions)[0] as f64;
        (nodes / longest, longest)
    };
    match *NAMES.get(topology)? {
        "torus" => {
            let (section, longest) = across();
            Some(if longest > 2.0 { 2.0 * section } else { section })
        }
        "mesh" => Some(across().0),
        "fat_tree" => Some(nodes / 2.0),
        "dragonfly" => Some(nodes / 4.0),
        _ => None,
    }
}
