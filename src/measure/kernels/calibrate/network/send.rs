//! NAME: calibrate.send. The processor time to send a message: the models' ts.
//!
//! DEFINITION: receives are posted, then a window of messages is sent. The clock runs on the sender, only during the calls that
//!   start the sends, not while it waits for their completion. The time is divided by the number of messages.
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
        "calibrate.send",
        "Processor time to send a message (ts)",
        "Section 3.1, Equation (1)",
        &[MESSAGE_BYTES, WINDOW, ROUNDS],
        Ranks::Any,
        "Pairs of ranks: receives are posted, then one side sends a window of messages, repeatedly. The time is \
         that of the calls that start the sends, without the wait for their completion, on the slowest sender. All \
         messages were compared with those sent.",
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
        if !pair.is_sender {
            pair.irecv();
            pair.comm.barrier();
            pair.wait_all();
            return 0.0;
        }
        pair.comm.barrier();
        let start = pair.comm.wall_time();
        pair.isend();
        let seconds = pair.comm.wall_time() - start;
        pair.wait_all();
        seconds
    })
}
