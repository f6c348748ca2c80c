//! The collective operations in progress, which all ranks share.

use super::machine::Time;
use std::any::Any;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

/// The parts that all ranks share.
#[derive(Default)]
pub struct Shared {
    /// Collective operations in progress, by their number.
    pub collectives: BTreeMap<u64, Collective>,
    /// Number of collective operations that each rank has begun.
    pub begun: HashMap<usize, u64>,
}

/// A collective operation in progress.
#[derive(Default)]
pub struct Collective {
    pub arrived: usize,
    pub left: usize,
    /// Clock of the last rank that arrived.
    pub last_arrival: Time,
    /// The value of each rank.
    pub given: Vec<Option<Box<dyn Any>>>,
    /// The result for all ranks, once all have arrived.
    pub outcome: Option<Rc<dyn Any>>,
    /// When each rank may continue; one value for all ranks, or one for each.
    pub released: Vec<Time>,
}

impl Collective {
    /// Returns when a rank may continue; `None` before all ranks have arrived.
    pub fn release(&self, rank: usize) -> Option<Time> {
        self.released.get(rank).or(self.released.first()).copied()
    }
}
