//! NAME: calibrate.bisection. The bandwidth between the halves of the ranks: the models' bisection bandwidth B.
//!
//! DEFINITION: every rank of the first half exchanges windows of long messages with its partner in the second half, in both
//!   directions at once. Bytes are counted in one direction, as for the B of Equation (1). If ranks are assigned node by node,
//!   the halves are halves of the machine.
//! CHECK: as in `message_rate.bidirectional`, whose rounds this kernel uses.

use crate::kernels::shared::messages::{self, BOTH_WAYS, run_both_directions};
use crate::kernels::{Domain, Kernel, Key, Parameter, Work, parameters};
use crate::on_transport;
use apexmap_base::source;

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
    run: |point, _, world| on_transport!(&world.transport, comm => run_both_directions(*comm, point, world.arena)),
    ..BOTH_WAYS
};

const LONG_MESSAGE_BYTES: Key<u64> = Key::new(Parameter {
    domain: Domain::Integer { min: 4, max: 1 << 30, default: 1 << 20 },
    ..messages::MESSAGE_BYTES.parameter
});
const WINDOW: Key<u64> =
    Key::new(Parameter { domain: Domain::Integer { min: 1, max: 1 << 20, default: 16 }, ..messages::WINDOW.parameter });
const MESSAGES: Key<u64> = Key::new(Parameter {
    domain: Domain::Integer { min: 1, max: 1 << 32, default: 64 },
    ..messages::MESSAGES.parameter
});
