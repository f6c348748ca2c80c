//! If ranks are assigned node by node, the halves are halves of the machine.

use super::*;
use crate::kernels::shared::messages::{self, BOTH_WAYS, run_both_directions};

pub static KERNEL: Kernel = Kernel {
    id: "calibrate.bisection",
    summary: "Bandwidth in one direction between the halves of the ranks, with both directions loaded (B)",
    source: &source::BLUE_GENE_P_RANDOM_ACCESS,
    place: "Section 3.1, Equation (1)",
    parameters: parameters![
        LONG_MESSAGE_BYTES,
        WINDOW,
        MESSAGES,
        messages::OPERATION,
        messages::BUFFERS,
        messages::CACHES,
        messages::CACHE_BYTES,
    ],
    headline: "bytes_per_second",
    method: "Every rank of the first half exchanges windows of messages with its partner in the second half, in both \
        directions at once; the time is that of the slowest rank. Bytes are counted in one direction. Every \
        message was checked on arrival, and all of its content after the run.",
    work: |point| {
        let both_work = BOTH_WAYS.work(point);
        Work {
            operations: both_work.operations / 2.0,
            bytes: both_work.bytes / 2.0,
            byte_definition: "content of the messages in one direction",
            ..both_work
        }
    },
    run: |point, _, world| on_transport!(world.transport, comm => run_both_directions(comm, point, world.arena)),
    ..BOTH_WAYS
};

const LONG_MESSAGE_BYTES: Key<u64> = messages::MESSAGE_BYTES.with_domain(integers(4..=1 << 30, 1 << 20));
const WINDOW: Key<u64> = messages::WINDOW.with_domain(integers(1..=1 << 20, 16));
const MESSAGES: Key<u64> = messages::MESSAGES.with_domain(integers(1..=1 << 32, 64));
