//! NAME: calibrate.receive. The time that a processor spends on receiving a message that is there: the models' tr.
//!
//! DEFINITION: a window of messages is sent, and all ranks meet; on the clock is the receiver, from its first receive to the
//!   moment when it has all messages; divided by the messages. Messages that a transport does not send before they are
//!   asked for (the long ones of MPI's rendezvous) are moved on the clock.
//! CHECK: every message of every round, all of its content.

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
        "calibrate.receive",
        "Time of a processor to receive a message that is there (tr)",
        "Section 3.1, Equation (1)",
        &[MESSAGE_BYTES, WINDOW, ROUNDS],
        Ranks::Any,
        "Pairs of ranks: one side sends a window of messages, all ranks meet, and then the other side receives them, again \
         and again. The time is that of the receiving side, from its first receive to the moment when it has all messages; \
         that of the slowest receiver counts. All messages were compared with what had been sent.",
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
        if line.sends {
            line.isend();
            line.comm.barrier();
            line.wait_all();
            return 0.0;
        }
        line.comm.barrier();
        let start = line.comm.now();
        line.irecv();
        line.wait_all();
        line.comm.now() - start
    })
}
