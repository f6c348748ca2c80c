//! NAME: random_access.star. Each process has its own table, and nothing is shared. It measures the memory rate of a node
//!   with all cores busy.
//!
//! SOURCE: HPC Challenge definition, "HPC Challenge RandomAccess Tests", variant 2.
//! WORK, DIFFERENCES: the same as for `random_access.sequential`, on every rank at the same time.

use super::{
    INDEX, N_WORDS, OFFSET, OPERATION, OWN_WORDS, PAGES, Q, SEED, STARTS, STREAM, TIME_BOUND, UPDATES, problem,
    sequential, work,
};

use crate::kernels::{Division, Kernel, Ranks, parameters};
use crate::on_transport;
use apexmap_base::source;

pub static KERNEL: Kernel = Kernel {
    id: "random_access.star",
    summary: "RandomAccess on all processes simultaneously, each with its own table",
    source: &source::HPCC_RANDOM_ACCESS,
    place: "tests, variant 2",
    parameters: parameters![
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
    ranks: Ranks::Any,
    division: Division::EachRank,
    work: |point| work(problem::updates(point) as f64 * point.ranks as f64),
    arena_words: |point| N_WORDS.of(point),
    run: |point, _, world| on_transport!(&world.transport, comm => sequential::run(*comm, point, world.arena)),
    ..sequential::KERNEL
};
