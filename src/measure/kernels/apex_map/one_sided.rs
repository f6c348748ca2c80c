//! NAME: apex_map.one_sided. Remote blocks by gets from a window. No rank serves another.
//!
//! SOURCE: Strohmaier and Shan, Section 4, which announces an implementation in one-sided models (SHMEM, UPC), and
//!   Table 1 (left column). This kernel uses MPI windows. The protocol is in
//!   [`one_sided`](crate::kernels::shared::accesses::one_sided).

use super::timing::Arrays;
use super::{ALPHA, B, HEADLINE, I, L, M, METHOD, N, OUTPUTS, PAGES, SEED, Variant};
use crate::kernels::shared::accesses::one_sided::run;
use crate::kernels::{About, Ranks, no_rings};
use crate::on_transport;
use apexmap_base::source;

const ABOUT: About = About {
    id: "apex_map.one_sided",
    summary: "Apex-Map with one-sided gets: one get per remote block",
    source: &source::APEX_MAP,
    place: "Section 4, Table 1",
    parameters: &[M, ALPHA, L, I, N, B, PAGES, SEED],
    outputs: OUTPUTS,
    ranks: Ranks::Any,
    headline: HEADLINE,
    method: METHOD,
};

pub const ONE_SIDED: Variant = Variant {
    about: &ABOUT,
    arrays: Arrays::AllBefore,
    refuse: |_| Ok(()),
    rank_0_alone: false,
    is_simulatable: true,
    buffers: |point| point.integer("B"),
    rings: no_rings,
    run: |point, stream, world| on_transport!(&world.transport, comm => run(*comm, point, stream, world.arena)),
};
