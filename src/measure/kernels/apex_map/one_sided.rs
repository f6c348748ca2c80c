//! Section 4 of the paper announces an implementation in one-sided models. The protocol is in
//! [`one_sided`](crate::kernels::shared::accesses::one_sided).

use super::timing::Arrays;
use super::*;
use crate::kernels::shared::accesses::one_sided::run;

pub static KERNEL: Kernel = Kernel {
    id: "apex_map.one_sided",
    summary: "Apex-Map with one-sided gets: one get per remote block",
    place: "Section 4, Table 1",
    parameters: parameters![M, ALPHA, L, I, N, B, PAGES, SEED],
    plain_way: Some("by one-sided gets"),
    windows: Windows::Always,
    simulation: Some(Computations::Blocks),
    waits_for_each_message: |point| B.of(point) == 1,
    buffer_bytes: |point| buffer_bytes(point, Arrays::AllBefore, B.of(point)),
    run: |point, stream, world| on_transport!(world.transport, comm => run(comm, point, stream, world.arena)),
    ..FAMILY
};
