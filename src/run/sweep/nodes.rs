//! The parameters `nodes` and `ranks_per_node` of a sweep.

use super::launch_spec::LaunchSpec;
use apexmap_base::error::Result;
use apexmap_base::point::Point;
use apexmap_base::toml_file::TomlSource;
use apexmap_measure::comm::TransportKind;
use apexmap_measure::kernels::{Refusal, command};
use apexmap_measure::refusal;
use std::ops::Range;

/// A grid must set neither too many nor too few of ranks, nodes and ranks per node. `place` returns a parameter's position.
pub fn check(place: &dyn Fn(&str) -> Option<Range<usize>>, launch: &LaunchSpec, page: &TomlSource) -> Result<()> {
    let (ranks, nodes, per_node) = (place("ranks"), place("nodes"), place("ranks_per_node"));
    if let (Some(ranks), Some(_)) = (ranks, &nodes) {
        let message = "ranks follows from nodes and ranks_per_node, which are set too";
        return Err(page.error_at(ranks, message, "remove ranks, or remove nodes"));
    }
    if let (Some(place), true) = (&per_node, launch.ranks_per_node.is_some()) {
        let message = "ranks_per_node is set here and in [launch]";
        return Err(page.error_at(place.clone(), message, "keep one of the two"));
    }
    if let (Some(place), None, None) = (nodes, &per_node, launch.ranks_per_node) {
        let message = "nodes alone does not determine the number of ranks";
        return Err(page.error_at(
            place,
            message,
            "add ranks_per_node to [fixed], for example ranks_per_node = \"cores\"",
        ));
    }
    Ok(())
}

/// A point without other parameters, on `ranks`, or `nodes` (1 by default) times `ranks_per_node` or its default.
pub fn point_on_nodes(
    kernel: &str,
    ranks: Option<usize>,
    nodes: Option<usize>,
    ranks_per_node: Option<usize>,
    default_ranks_per_node: Option<usize>,
) -> Point {
    let ranks_on_node = match (nodes, ranks_per_node) {
        (None, None) => return Point::new(kernel, ranks.unwrap_or(1)),
        (_, per_node) => per_node.or(default_ranks_per_node).unwrap_or(1),
    };
    let nodes = nodes.unwrap_or_else(|| ranks.map_or(1, |ranks| ranks.div_ceil(ranks_on_node)));
    let ranks = ranks.unwrap_or_else(|| nodes.saturating_mul(ranks_on_node));
    Point::new(kernel, ranks)
        .with_parameter("nodes", nodes as u64)
        .with_parameter("ranks_per_node", ranks_on_node as u64)
}

/// Largest number of threads. More threads than any machine runs at once only need memory and start-up time.
const MAX_THREADS: usize = 4096;

/// The point, if its launch can have these nodes and ranks.
pub fn check_point(point: Point, launch: &LaunchSpec) -> Result<Point, Refusal> {
    match point.launch_size().nodes {
        Some(nodes) if nodes > 1 && launch.transport == TransportKind::Threads => Err(refusal!(
            ["nodes"],
            "nodes = {nodes}, but threads of one process are all on this machine; several nodes need transport = \"mpi\""
        )),
        _ if point.ranks > 1 && point.kernel == command::KERNEL.id && launch.transport == TransportKind::Threads => {
            Err(refusal!(
                ["ranks"],
                "a command runs once, not on {} ranks; set transport = \"mpi\" and a launcher in [launch], which then starts it, or start \
                 processes in the command: [\"mpirun\", \"-n\", \"{{processes}}\", \"./app\"]",
                point.ranks
            ))
        }
        _ if point.ranks > MAX_THREADS && launch.transport == TransportKind::Threads => Err(refusal!(
            ["ranks"],
            "P = {} is more than {MAX_THREADS} ranks, the limit for threads of one process; more need transport = \"mpi\"",
            point.ranks
        )),
        _ => Ok(point),
    }
}
