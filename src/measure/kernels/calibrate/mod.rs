//! Calibration: one kernel for each machine number that models take as input.

pub mod memory;
pub mod network;

use crate::comm::arena::Pages;
use crate::comm::{Collectives, World};
use crate::kernels::{About, Kernel, Outcome, Output, Rings, Work, output};
use apexmap_base::error::Result;
use apexmap_base::point::{Point, Value};
use apexmap_base::units::{Unit, WORD_BYTES};
use std::collections::BTreeMap;

pub(in crate::kernels) const OUTPUTS: &[Output] =
    &[Output { column: "operation_seconds", unit: Unit::Seconds, meaning: "time per operation, on the slowest rank" }];

/// The outputs of kernels that traverse memory: the pages that the system provided.
const PAGE_OUTPUTS: [Output; 2] = [
    output("page_bytes", Unit::Bytes, "page size granted to rank 0; absent if mixed or unknown"),
    output("huge_share", Unit::None, "fraction of rank 0's memory on huge pages"),
];

const MEMORY_OUTPUTS: &[Output] = &[OUTPUTS[0], PAGE_OUTPUTS[0], PAGE_OUTPUTS[1]];

pub(in crate::kernels) const HEADLINE: &str = "operation_seconds";

/// A kernel that measures one cost. It holds the parts that differ between these kernels.
pub struct CalibrationKernel {
    pub about: &'static About,
    /// Checks a point; returns why it cannot be run.
    pub(in crate::kernels) check: fn(&Point) -> std::result::Result<(), String>,
    pub(in crate::kernels) work: fn(&Point) -> Work,
    /// Words of the arena that it traverses, per rank.
    pub(in crate::kernels) words: fn(&Point) -> u64,
    /// Further memory per rank, in bytes.
    pub(in crate::kernels) buffers: fn(&Point) -> u64,
    /// Like [`Kernel::rings`].
    pub(in crate::kernels) rings: fn(&Point) -> Vec<Rings>,
    /// Like [`Kernel::accesses_in_order`].
    pub(in crate::kernels) accesses_in_order: bool,
    /// Like [`Kernel::is_simulatable`].
    pub(in crate::kernels) is_simulatable: bool,
    /// Runs a point. The second argument is the number of the run, for kernels that draw random values.
    pub(in crate::kernels) run: fn(&Point, u64, &mut World) -> Result<Outcome>,
}

impl Kernel for CalibrationKernel {
    fn about(&self) -> &'static About {
        self.about
    }

    fn check(&self, point: &Point) -> std::result::Result<(), String> {
        (self.check)(point)
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

    fn rings(&self, point: &Point) -> Vec<Rings> {
        (self.rings)(point)
    }

    fn accesses_in_order(&self) -> bool {
        self.accesses_in_order
    }

    fn is_simulatable(&self) -> bool {
        self.is_simulatable
    }

    fn run(&self, point: &Point, stream: u64, world: &mut World) -> Result<Outcome> {
        let mut outcome = (self.run)(point, stream, world)?;
        if let (Some(Value::Text(pages)), true) = (point.params.get("pages"), (self.words)(point) > 0) {
            outcome.outputs.extend(world.arena.granted_pages(Pages::from_name(pages)).outputs());
        }
        Ok(outcome)
    }
}

/// Combines the outcome of all ranks: the time of the slowest rank for its `operations`, and the number of faults on all ranks,
/// which `fault_name` names. Collective.
pub(in crate::kernels) fn gather_outcome<C: Collectives>(
    comm: &C,
    seconds: f64,
    operations: f64,
    faults: u64,
    fault_name: &str,
) -> Outcome {
    let report = [seconds.to_bits(), faults];
    let reports = comm.gather(&report).unwrap_or_else(|| report.to_vec());
    let seconds = reports.chunks_exact(2).map(|row| f64::from_bits(row[0])).fold(0.0, f64::max);
    let faults: u64 = reports.chunks_exact(2).map(|row| row[1]).sum();
    Outcome {
        seconds,
        outputs: BTreeMap::from([("operation_seconds", Value::Real(seconds / operations))]),
        verdict: if faults == 0 { Ok(()) } else { Err(format!("{faults} {fault_name}")) },
    }
}
