//! Calibration: the machine numbers that models take as input, each measured by a kernel of its own.

pub mod memory;
pub mod network;

use crate::error::Result;
use crate::measure::comm::World;
use crate::measure::kernels::{About, Kernel, Outcome, Work};
use crate::point::Point;
use crate::units::WORD_BYTES;

/// A cost: a kernel, but for what all of them share.
pub struct Probe {
    pub about: &'static About,
    /// Points that it cannot run.
    refuse: fn(&Point) -> std::result::Result<(), String>,
    work: fn(&Point) -> Work,
    /// Words of the arena that it traverses, per rank.
    words: fn(&Point) -> u64,
    /// Further bytes, per rank.
    buffers: fn(&Point) -> u64,
    /// The run's number, for those that draw.
    run: fn(&Point, u64, &mut World) -> Result<Outcome>,
}

impl Kernel for Probe {
    fn about(&self) -> &'static About {
        self.about
    }

    fn check(&self, point: &Point) -> std::result::Result<(), String> {
        (self.refuse)(point)
    }

    fn work(&self, point: &Point) -> Work {
        (self.work)(point)
    }

    fn memory(&self, point: &Point) -> u64 {
        (self.words)(point).saturating_mul(WORD_BYTES).saturating_add((self.buffers)(point))
    }

    fn arena_words(&self, point: &Point) -> u64 {
        (self.words)(point)
    }

    fn run(&self, point: &Point, stream: u64, world: &mut World) -> Result<Outcome> {
        (self.run)(point, stream, world)
    }
}
