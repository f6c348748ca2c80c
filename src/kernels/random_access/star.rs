//! NAME: random_access.star. Every process its own table, nothing shared: what the memory of a node gives its cores.
//!
//! SOURCE: HPC Challenge definition, "HPC Challenge RandomAccess Tests", variant 2.
//! WORK, DIFFERENCES: those of `random_access.sequential`, on every rank at the same time.

use super::*;
use crate::on_transport;
use crate::source;

pub const KERNEL: Algorithm = Algorithm {
    id: "random_access.star",
    summary: "RandomAccess on every process at once, each on a table of its own",
    source: &source::HPCC_RANDOM_ACCESS,
    place: "tests, variant 2",
    parameters: &[OWN_WORDS, UPDATES, sequential::METHOD, sequential::STREAMS, Q, STREAM, STARTS, OFFSET, PAGES, SEED],
    ranks: Ranks::Any,
    shared: false,
    run: |point, world| on_transport!(&world.transport, comm => sequential::run(*comm, point, world.arena)),
    ..sequential::KERNEL
};
