//! A single process draws each array while the clock is stopped. Meanwhile other users of the machine evict lines from shared
//! caches, so models need the time of a draw.

use super::*;
use crate::kernels::shared::accesses::draw::{Draws, Location};
use crate::kernels::shared::accesses::{ALPHA, I, L, M, N, SEED, check};

const ARRAYS: Key<u64> = N.with_domain(integers(1..=1 << 32, 256));

pub static KERNEL: Kernel = Kernel {
    id: "calibrate.draw",
    summary: "Time to draw the address of an access from the power law",
    source: &source::APEX_MAP,
    place: "Section 2",
    parameters: parameters![M, ALPHA, L, I, ARRAYS, SEED],
    method: "Every rank draws the addresses of accesses into one array repeatedly; no memory is read. The time is \
        that of the slowest rank. The sum of the addresses was compared with that of the same addresses drawn \
        one by one.",
    outputs: OUTPUTS,
    refuse: check,
    work: |point| Work::new(address_count(point) as f64 * point.ranks as f64, "place", 8.0, "8 per place"),
    buffer_bytes: |point| I.of(point) * WORD_BYTES,
    run: |point, stream, world| on_transport!(world.transport, comm => run(comm, point, stream)),
    ..FAMILY
};

fn address_count(point: &Point) -> u64 {
    I.of(point).saturating_mul(N.of(point))
}

fn run<C: Collectives>(comm: &C, point: &Point, stream: u64) -> Result<Outcome> {
    let new_draws = |purpose| Draws::new(point, comm.rank(), stream, purpose);
    let sum =
        |places: &[Location]| places.iter().fold(0u64, |sum, location| sum.wrapping_add(location.offset() as u64 + 1));
    // The array begins with addresses of another sequence, so a kernel that draws nothing is wrong even with one array.
    let (mut generator, mut array) = (new_draws(0), new_draws(1).array(I.of(point) as usize));
    let (mut seconds, mut found_sum) = (0.0, 0u64);
    comm.barrier();
    for _ in 0..N.of(point) {
        let start = comm.wall_time();
        generator.fill(black_box(&mut array));
        seconds += comm.wall_time() - start;
        found_sum = found_sum.wrapping_add(sum(&array));
    }
    let (mut reference, single) = (new_draws(0), &mut array[..1]);
    let mut next = || {
        reference.fill(single);
        sum(single)
    };
    let expected = (0..address_count(point)).fold(0u64, |partial_sum, _| partial_sum.wrapping_add(next()));
    let wrong = u64::from(found_sum != expected);
    Ok(gather_outcome(comm, seconds, address_count(point) as f64, wrong, "ranks drew other places"))
}
