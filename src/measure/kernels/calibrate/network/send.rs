//! NAME: calibrate.send. The processor time to send a message: the models' ts.
//!
//! DEFINITION: receives are posted, then a window of messages is sent; the clock runs on the sender, only during the
//!   calls that start the sends, not while it waits for their completion; the time is divided by the number of
//!   messages.
//! CHECK: every message of every round, with all of its content.

use super::about;
use super::line::{self, MESSAGE_BYTES, ROUNDS, WINDOW};
use crate::error::Result;
use crate::measure::comm::PointToPoint;
use crate::measure::kernels::calibrate::Probe;
use crate::measure::kernels::{Outcome, Ranks};
use crate::on_transport;
use crate::point::Point;

pub const KERNEL: Probe = Probe {
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
    refuse: line::refuse,
    work: line::work,
    words: |_| 0,
    buffers: line::memory,
    run: |point, _, world| on_transport!(&world.transport, comm => run(*comm, point)),
};

/// Collective.
pub fn run<C: PointToPoint>(comm: &C, point: &Point) -> Result<Outcome> {
    line::run(comm, point, |line| {
        if !line.sends {
            line.irecv();
            line.comm.barrier();
            line.wait_all();
            return 0.0;
        }
        line.comm.barrier();
        let start = line.comm.now();
        line.isend();
        let seconds = line.comm.now() - start;
        line.wait_all();
        seconds
    })
}
