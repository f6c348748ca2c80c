use super::*;
use crate::comm::{Buffer, RmaWindow};

pub static KERNEL: Kernel = Kernel {
    id: "calibrate.barrier",
    summary: "Time of a barrier of all ranks",
    source: &source::NIC_MESSAGE_RATE,
    place: "Section 4 (shmem_barrier_all)",
    parameters: parameters![BARRIERS],
    method: "All ranks pass consecutive barriers; the time is that of the slowest rank. In further barriers each rank \
        in turn arrived late and wrote to all others before: a rank that had left the barrier had to find the \
        written value.",
    windows: Windows::InCheck,
    simulation: Some(Computations::None),
    waits_for_each_message: |_| true,
    refuse: require_two_ranks,
    work: |point| Work::new(BARRIERS.of(point) as f64, "barrier", 0.0, "none"),
    buffer_bytes: |point| 128 * point.ranks as u64,
    run: |point, _, world| on_transport!(world.transport, comm => run(comm, point)),
    ..FAMILY
};

const BARRIERS: Key<u64> = key("barriers", "barriers in one run", integers(1..=1 << 32, 1024));
/// The late rank's own clock counts. Barriers and puts take far less, so a rank that leaves early finds the old value.
const LATE_SECONDS: f64 = 200e-6;
/// So that each rank's item is alone on its cache line of at most 256 bytes.
const ITEMS_PER_LINE: usize = 64;

pub fn run<C: Rma>(comm: &C, point: &Point) -> Result<Outcome> {
    let barriers = BARRIERS.of(point);
    (0..barriers.div_ceil(4)).for_each(|_| comm.barrier());
    let start = comm.wall_time();
    (0..barriers).for_each(|_| comm.barrier());
    let seconds = comm.wall_time() - start;
    let faults = count_early_exits(comm, || comm.barrier())?;
    Ok(gather_outcome(comm, seconds, barriers as f64, faults, "times a rank left a barrier before all had arrived"))
}

/// Returns how often this rank leaves `barrier` before the late rank has arrived. Collective.
pub fn count_early_exits<C: Rma>(comm: &C, barrier: impl Fn()) -> Result<u64> {
    let (me, size) = (comm.rank(), comm.size());
    let (mut origin, mut memory) = (Buffer::new(ITEMS_PER_LINE)?, Buffer::new(size * ITEMS_PER_LINE)?);
    origin.items_mut().fill(1);
    Ok(comm.rma_window(origin.items_mut(), memory.items_mut(), |mut window| {
        let mut early = 0;
        for late in 0..size {
            window.fence(|_| ());
            if late == me {
                comm.delay(LATE_SECONDS, || comm.relax());
                for target in (0..size).filter(|&to| to != me) {
                    // SAFETY: only this rank puts to item `me * ITEMS_PER_LINE`, and the item's owner only peeks at it.
                    unsafe { window.put(0, 1, target, me * ITEMS_PER_LINE) };
                }
                window.flush();
            }
            barrier();
            // SAFETY: the item is always the last, and only, item of a put.
            early += u64::from(late != me && unsafe { window.peek(late * ITEMS_PER_LINE) } != 1);
        }
        window.fence(|_| ());
        early
    }))
}
