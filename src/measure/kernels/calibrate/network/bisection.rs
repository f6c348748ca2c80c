//! NAME: calibrate.bisection. The bandwidth between the halves of the ranks: the models' bisection bandwidth B.
//!
//! DEFINITION: every rank of the first half exchanges windows of long messages with its partner in the second half, in both
//!   directions at once. Bytes are counted in one direction, as for the B of Equation (1). If ranks are assigned node by node,
//!   the halves are halves of the machine.
//! CHECK: as in `message_rate.bidirectional`, whose rounds this kernel uses.

use super::about;
use crate::comm::World;
use crate::kernels::shared::messages::{self, MessagePattern, run_both_directions};
use crate::kernels::{About, Domain, Kernel, Outcome, Parameter, Ranks, Rings, Work, require_even_ranks};
use crate::on_transport;
use apexmap_base::error::Result;
use apexmap_base::point::Point;

pub struct Bisection;

const ABOUT: About = About {
    outputs: messages::OUTPUTS,
    headline: "bytes_per_second",
    ..about(
        "calibrate.bisection",
        "Bandwidth in one direction between the halves of the ranks, with both directions loaded (B)",
        "Section 3.1, Equation (1)",
        &[
            LONG_MESSAGE_BYTES,
            Parameter { domain: Domain::Integer { min: 1, max: 1 << 20, default: 16 }, ..messages::WINDOW },
            Parameter { domain: Domain::Integer { min: 1, max: 1 << 32, default: 64 }, ..messages::MESSAGES },
            messages::OPERATION,
            messages::BUFFERS,
            messages::CACHES,
            messages::CACHE_BYTES,
        ],
        Ranks::Any,
        "Every rank of the first half exchanges windows of messages with its partner in the second half, in both \
         directions at once; the time is that of the slowest rank. Bytes are counted in one direction. Every \
         message was checked on arrival, and all of its content after the run.",
    )
};

const LONG_MESSAGE_BYTES: Parameter =
    Parameter { domain: Domain::Integer { min: 4, max: 1 << 30, default: 1 << 20 }, ..messages::MESSAGE_BYTES };

/// The pattern with traffic in both directions.
const BOTH_DIRECTIONS: MessagePattern = MessagePattern {
    about: &ABOUT,
    refuse: require_even_ranks,
    fan_out: |point| (point.ranks as u64, 1),
    run: |point, _, world| on_transport!(&world.transport, comm => run_both_directions(*comm, point, world.arena)),
};

impl Kernel for Bisection {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn check(&self, point: &Point) -> std::result::Result<(), String> {
        BOTH_DIRECTIONS.check(point)
    }

    fn work(&self, point: &Point) -> Work {
        let both_work = BOTH_DIRECTIONS.work(point);
        Work {
            operations: both_work.operations / 2.0,
            bytes: both_work.bytes / 2.0,
            byte_definition: "content of the messages in one direction",
            ..both_work
        }
    }

    fn memory(&self, point: &Point) -> u64 {
        BOTH_DIRECTIONS.memory(point)
    }

    fn arena_words(&self, point: &Point) -> u64 {
        BOTH_DIRECTIONS.arena_words(point)
    }

    fn rings(&self, point: &Point) -> Vec<Rings> {
        BOTH_DIRECTIONS.rings(point)
    }

    fn is_simulatable(&self) -> bool {
        BOTH_DIRECTIONS.is_simulatable()
    }

    fn run(&self, point: &Point, stream: u64, world: &mut World) -> Result<Outcome> {
        BOTH_DIRECTIONS.run(point, stream, world)
    }
}
