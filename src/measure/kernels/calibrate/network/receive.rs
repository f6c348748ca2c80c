//! NAME: calibrate.receive. The processor time to receive a message that has arrived: the models' tr.
//!
//! DEFINITION: a window of messages is sent, and all ranks meet at a barrier. The clock then runs on the receiver, from its first
//!   receive until it has all messages. The time is divided by the number of messages. Messages that a transport sends only on
//!   request (MPI's rendezvous for long messages) travel while the clock runs.
//! CHECK: every message of every round, with its whole content.

use super::FAMILY;
use super::pair::{self, MESSAGE_BYTES, ROUNDS, WINDOW};
use crate::comm::PointToPoint;
use crate::kernels::{Computations, Kernel, Outcome, parameters};
use crate::on_transport;
use apexmap_base::error::Result;
use apexmap_base::point::Point;

pub static KERNEL: Kernel = Kernel {
    id: "calibrate.receive",
    summary: "Processor time to receive a message that has arrived (tr)",
    place: "Section 3.1, Equation (1)",
    parameters: parameters![MESSAGE_BYTES, WINDOW, ROUNDS],
    method: "Pairs of ranks: one side sends a window of messages, all ranks meet at a barrier, and then the other side \
        receives the messages, repeatedly. The time is that of the slowest receiver, from its first receive until it \
        has all messages. All messages were compared with those sent.",
    simulation: Some(Computations::None),
    refuse: pair::check_point,
    work: pair::work,
    buffer_bytes: pair::memory,
    rings: pair::rings,
    run: |point, _, world| on_transport!(&world.transport, comm => run(*comm, point)),
    ..FAMILY
};

/// Runs the kernel on all ranks. Collective.
pub fn run<C: PointToPoint>(comm: &C, point: &Point) -> Result<Outcome> {
    pair::run(comm, point, |pair| {
        if pair.is_sender {
            pair.isend();
            pair.comm.barrier();
            pair.wait_all();
            return 0.0;
        }
        pair.comm.barrier();
        let start = pair.comm.wall_time();
        pair.irecv();
        pair.wait_all();
        pair.comm.wall_time() - start
    })
}
