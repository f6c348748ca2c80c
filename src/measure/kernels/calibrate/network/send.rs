//! NAME: calibrate.send. The processor time to send a message: the models' ts.
//!
//! DEFINITION: receives are posted, then a window of messages is sent. The clock runs on the sender, only during the calls that
//!   start the sends, not while it waits for their completion. The time is divided by the number of messages.
//! CHECK: every message of every round, with its whole content.

use super::FAMILY;
use super::pair::{self, MESSAGE_BYTES, ROUNDS, WINDOW};
use crate::comm::PointToPoint;
use crate::kernels::{Computations, Kernel, Outcome, parameters};
use crate::on_transport;
use apexmap_base::error::Result;
use apexmap_base::point::Point;

pub static KERNEL: Kernel = Kernel {
    id: "calibrate.send",
    summary: "Processor time to send a message (ts)",
    place: "Section 3.1, Equation (1)",
    parameters: parameters![MESSAGE_BYTES, WINDOW, ROUNDS],
    method: "Pairs of ranks: receives are posted, then one side sends a window of messages, repeatedly. The time is \
        that of the calls that start the sends, without the wait for their completion, on the slowest sender. All \
        messages were compared with those sent.",
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
        if !pair.is_sender {
            pair.irecv();
            pair.comm.barrier();
            pair.wait_all();
            return 0.0;
        }
        // All receives are posted then, so no message is unexpected.
        pair.comm.barrier();
        let start = pair.comm.wall_time();
        pair.isend();
        let seconds = pair.comm.wall_time() - start;
        pair.wait_all();
        seconds
    })
}
