//! Calibration: one kernel for each machine number that models take as input.

pub mod memory;
pub mod network;

use crate::kernels::prelude::*;
use crate::kernels::shared::parameters::{HUGE_SHARE, PAGE_BYTES, PAGES};

pub(crate) const OUTPUTS: &[Output] =
    &[Output { column: "operation_seconds", unit: Unit::Seconds, meaning: "time per operation, on the slowest rank" }];

const MEMORY_OUTPUTS: &[Output] = &[OUTPUTS[0], PAGE_BYTES, HUGE_SHARE];

const FAMILY: Kernel = Kernel {
    source: &source::BLUE_GENE_P_RANDOM_ACCESS,
    outputs: OUTPUTS,
    headline: "operation_seconds",
    family_run: run_with_pages,
    ..Kernel::DEFAULT
};

fn run_with_pages(kernel: &Kernel, point: &Point, stream: u64, world: &mut World) -> Result<Outcome> {
    let mut outcome = (kernel.run)(point, stream, world)?;
    if let Some(pages) = PAGES.get(point)
        && kernel.arena_words(point) > 0
    {
        outcome.outputs.extend(world.arena.granted_pages(pages).outputs());
    }
    Ok(outcome)
}

/// The time of the slowest rank for its `operations`, and the number of faults on all ranks, which `fault_name` names. Collective.
pub(crate) fn gather_outcome<C: Collectives>(
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
