//! The protocol and its differences from the paper are in [`two_sided`](crate::kernels::shared::accesses::two_sided).

use super::timing::Arrays;
use super::*;
use crate::kernels::shared::accesses::two_sided::{POLL_EVERY, rings, run};

const ALL_OUTPUTS: [Output; OUTPUTS.len() + 2] = join(
    OUTPUTS,
    &[
        output("polls", Unit::None, "number of polls for requests on all ranks, including those while waiting"),
        output(
            "poll_seconds",
            Unit::Seconds,
            "time of one poll that finds no request: median on rank 0, before the run",
        ),
    ],
);

pub static KERNEL: Kernel = Kernel {
    id: "apex_map.two_sided",
    summary: "Apex-Map with messages: a request and a reply per remote block",
    place: "Section 2.1, Table 1",
    parameters: parameters![M, ALPHA, L, I, N, B, SMSG, NSER, POLL_EVERY, PAGES, SEED],
    outputs: &ALL_OUTPUTS,
    plain_way: Some("by messages"),
    simulation: Some(Computations::Blocks),
    buffer_bytes: |point| buffer_bytes(point, Arrays::AllBefore, B.of(point) + SMSG.of(point)),
    rings,
    places: |point| B.of(point),
    run: |point, stream, world| on_transport!(world.transport, comm => run(comm, point, stream, world.arena)),
    ..FAMILY
};
