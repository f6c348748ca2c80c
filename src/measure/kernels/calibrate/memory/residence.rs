//! Other users of the machine, and the operating system, evict lines from a cache even if it has room for them. The latency after a
//! wait shows how many.

use super::chase::{Cycle, lines};
use super::*;

pub static KERNEL: Kernel = Kernel {
    id: "calibrate.residence",
    summary: "Latency of a region after some time without reads: what others leave of it in the caches",
    place: "lat_mem_rd of lmbench",
    parameters: parameters![BYTES, PAGES, WAIT],
    outputs: &OUTPUTS,
    method: "Every rank follows a cycle through the cache lines of its region twice, waits while it reads only the \
        clock, and follows the cycle once more, timed. The time is that of the slowest rank. The end of the chase \
        was compared with the generator of the cycle.",
    refuse: check_region,
    work: |point| {
        work_per_rank(point, lap_steps(point), "access", 8 * line_words() as u64, "one cache line per access")
    },
    arena_words: region_words,
    run: |point, _, world| on_transport!(world.transport, comm => run(comm, point, world.arena)),
    ..FAMILY
};

const WAIT: Key<f64> =
    key("wait", "time for which the region is not read", Domain::Real { exclusive_min: 0.0, max: 10.0, default: 0.01 })
        .in_column("wait_seconds", Unit::Seconds);
const OUTPUTS: [Output; 4] = [
    MEMORY_OUTPUTS[0],
    output("unused_seconds", Unit::Seconds, "mean time since a line was last read"),
    MEMORY_OUTPUTS[1],
    MEMORY_OUTPUTS[2],
];

/// Before the wait. They fill the caches.
const LAPS: u64 = 2;

fn lap_steps(point: &Point) -> u64 {
    lines(point) - 1
}

pub fn run<C: Collectives>(comm: &C, point: &Point, arena: &mut Arena) -> Result<Outcome> {
    let (cycle, steps) = (Cycle::from_point(point), lap_steps(point));
    let (chain, words) = cycle.chain(point, arena)?;
    prime(comm, words);
    comm.barrier();
    let mut place = [0u64];
    let mut lap_start = comm.wall_time();
    for _ in 0..LAPS {
        lap_start = comm.wall_time();
        chain.follow(&mut place, steps);
    }
    let end = comm.wall_time();
    while comm.wall_time() - end < WAIT.of(point) {
        std::hint::spin_loop();
    }
    let start = comm.wall_time();
    chain.follow(&mut place, steps);
    let seconds = comm.wall_time() - start;
    let wrong = u64::from(place[0] != cycle.place(0, (LAPS + 1) * steps));
    let mut outcome = gather_outcome(comm, seconds, steps as f64, wrong, "chases did not end where they should");
    // The time since the last read is the wait plus the last untimed lap for the first line, and the wait plus the timed lap for
    // the last.
    let unused = start - end + f64::midpoint(end - lap_start, seconds);
    outcome.outputs.insert("unused_seconds", Value::Real(unused));
    Ok(outcome)
}
