//! NAME: random_access.star. Each process has its own table, and nothing is shared. It measures the memory rate of a node
//!   with all cores busy.
//!
//! SOURCE: HPC Challenge definition, "HPC Challenge RandomAccess Tests", variant 2.
//! WORK, DIFFERENCES: the same as for `random_access.sequential`, on every rank at the same time.

use super::{
    Algorithm, Division, INDEX, OFFSET, OPERATION, OWN_WORDS, PAGES, Q, SEED, STARTS, STREAM, TIME_BOUND, UPDATES,
    about, sequential,
};

use crate::kernels::{Ranks, no_rings};
use crate::on_transport;
use apexmap_base::source;

pub const KERNEL: Algorithm = Algorithm {
    about: &about(
        "random_access.star",
        "RandomAccess on all processes simultaneously, each with its own table",
        &source::HPCC_RANDOM_ACCESS,
        "tests, variant 2",
        Ranks::Any,
        &[
            OWN_WORDS,
            UPDATES,
            TIME_BOUND,
            sequential::METHOD,
            sequential::STREAMS,
            Q,
            STREAM,
            INDEX,
            OPERATION,
            STARTS,
            OFFSET,
            PAGES,
            SEED,
        ],
    ),
    table: Division::None,
    rings: no_rings,
    run: |point, world| on_transport!(&world.transport, comm => sequential::run(*comm, point, world.arena)),
    ..sequential::KERNEL
};
