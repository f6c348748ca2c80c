//! NAME: apex_map.two_sided. Remote blocks by request and reply. Every rank serves the others between its own accesses.
//!
//! SOURCE: Strohmaier and Shan, Section 2.1 and Table 1 (right column).
//! The protocol and its differences from the paper are in [`two_sided`](crate::kernels::shared::accesses::two_sided).

use super::timing::Arrays;
use super::{ALPHA, B, HEADLINE, I, L, M, METHOD, N, NSER, OUTPUTS, PAGES, SEED, SMSG, Variant, with_outputs};
use crate::kernels::shared::accesses::two_sided::{POLL_EVERY, rings, run};
use crate::kernels::{About, Output, Ranks, output};
use crate::on_transport;
use apexmap_base::source;
use apexmap_base::units::Unit;

const ALL_OUTPUTS: [Output; OUTPUTS.len() + 2] = with_outputs([
    output("polls", Unit::None, "number of polls for requests on all ranks, including those while waiting"),
    output("poll_seconds", Unit::Seconds, "time of one poll that finds no request: median on rank 0, before the run"),
]);

const ABOUT: About = About {
    id: "apex_map.two_sided",
    summary: "Apex-Map with messages: a request and a reply per remote block",
    source: &source::APEX_MAP,
    place: "Section 2.1, Table 1",
    parameters: &[M, ALPHA, L, I, N, B, SMSG, NSER, POLL_EVERY, PAGES, SEED],
    outputs: &ALL_OUTPUTS,
    ranks: Ranks::Any,
    headline: HEADLINE,
    method: METHOD,
};

pub const TWO_SIDED: Variant = Variant {
    about: &ABOUT,
    arrays: Arrays::AllBefore,
    refuse: |_| Ok(()),
    rank_0_alone: false,
    is_simulatable: true,
    buffers: |point| point.integer("B") + point.integer("SMSG"),
    rings,
    run: |point, stream, world| on_transport!(&world.transport, comm => run(*comm, point, stream, world.arena)),
};
