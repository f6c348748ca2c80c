//! NAME: calibrate.receive. The processor time to receive a message that has arrived: the models' tr.
//!
//! DEFINITION: a window of messages is sent, and all ranks meet at a barrier. The clock then runs on the receiver, from its first
//!   receive until it has all messages. The time is divided by the number of messages. Messages that a transport sends only on
//!   request (MPI's rendezvous for long messages) travel while the clock runs.
//! CHECK: every message of every round, with its whole content.

use super::about;
use super::pair::{self, MESSAGE_BYTES, ROUNDS, WINDOW};
use crate::comm::PointToPoint;
use crate::kernels::calibrate::CalibrationKernel;
use crate::kernels::{Outcome, Ranks};
use crate::on_transport;
use apexmap_base::error::Result;
use apexmap_base::point::Point;

pub const KERNEL: CalibrationKernel = CalibrationKernel {
    about: &about(
        "calibrate.receive",
        "Processor time to receive a message that has arrived (tr)",
        "Section 3.1, Equation (1)",
        &[MESSAGE_BYTES, WINDOW, ROUNDS],
        Ranks::Any,
        "Pairs of ranks: one side sends a window of messages, all ranks meet at a barrier, and then the other side \
         receives the messages, repeatedly. The time is that of the slowest receiver, from its first receive until it \
         has all messages. All messages were compared with those sent.",
    ),
    check: pair::check_point,
    work: pair::work,
    words: |_| 0,
    buffers: pair::memory,
    rings: pair::rings,
    accesses_in_order: false,
    is_simulatable: true,
    run: |point, _, world| on_transport!(&world.transport, comm => run(*comm, point)),
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
