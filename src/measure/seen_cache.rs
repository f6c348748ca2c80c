//! A probe of where the last cache really ends. Hypervisors report the whole cache of a processor to a machine that gets a part of
//! it.

use crate::comm::arena::{Arena, Pages};
use crate::hardware::Hardware;
use crate::kernels::shared::sums::sum_all;
use crate::numerics::mix::mix;
use std::hint::black_box;
use std::sync::OnceLock;
use std::time::Instant;

/// Not probed up to this size: the memory that exceeds such caches is the smallest that sweeps take anyway.
pub const UNPROBED_BYTES: u64 = 128 << 20;
/// 256 MiB, twice the largest cache that does not enlarge the memory of sweeps.
const LARGEST: usize = 32 << 20;
/// 4 MiB, which the last cache holds on every machine with a large one.
const SMALLEST: usize = 512 << 10;
/// Independent reads of a region per time, and times per region; the shortest time counts.
const READS: usize = 1 << 14;
const TIMES: u64 = 4;
/// If a read in the largest region takes less than this times one in the smallest, the cache holds both.
const LEAST_RATIO: f64 = 1.5;

/// For the probe, so that it never takes the memory of others.
const LEAST_FREE_BYTES: u64 = 4 << 30;
static SEEN: OnceLock<Option<u64>> = OnceLock::new();

pub fn seen_bytes() -> Option<u64> {
    *SEEN.get()?
}

/// As random reads see the last cache, a power of two; `None` if reads see no end of it, or if too little memory is free. The first
/// call takes about a second.
pub fn probe() -> Option<u64> {
    *SEEN.get_or_init(|| {
        Hardware::this_machine().free_memory_bytes().filter(|bytes| *bytes >= LEAST_FREE_BYTES)?;
        let mut arena = Arena::default();
        let (memory, _) = arena.words(Pages::Huge, LARGEST, mix(LARGEST as u64), |index| index as u64).ok()?;
        let sizes = (SMALLEST.ilog2()..=LARGEST.ilog2()).map(|bits| 1usize << bits);
        end_of_cache(&sizes.map(|words| (8 * words as u64, read_seconds(&memory[..words]))).collect::<Vec<_>>())
    })
}

/// The shortest time of random reads of a region that was read in order just before, unless it is the largest.
fn read_seconds(region: &[u64]) -> f64 {
    if region.len() < LARGEST {
        black_box(region.iter().step_by(8).fold(0, |sum: u64, word| sum.wrapping_add(*word)));
    }
    let time = |turn: u64| {
        let place = |read: usize| mix(turn << 32 | read as u64) & (region.len() as u64 - 1);
        let places: Vec<u64> = (0..READS).map(place).collect();
        let started = Instant::now();
        black_box(sum_all(region, black_box(&places), 1));
        started.elapsed().as_secs_f64()
    };
    (0..TIMES).map(time).fold(f64::INFINITY, f64::min)
}

/// The largest region whose reads are nearer to those of the smallest region than to those of the largest, from times in ascending
/// order of size. `None` if they do not differ.
pub fn end_of_cache(times: &[(u64, f64)]) -> Option<u64> {
    let ((_, fastest), (_, slowest)) = (times.first()?, times.last()?);
    let middle = (slowest > &(LEAST_RATIO * fastest)).then(|| (fastest * slowest).sqrt())?;
    Some(times.iter().take_while(|(_, seconds)| *seconds < middle).last()?.0)
}
