use super::*;
use crate::numerics::power_law::remote_share;

/// In seconds, computed with the costs below. These are lower bounds: runs almost always take longer.
const MIN_SECONDS: f64 = 1e-3;
/// For an access whose words are in the first-level cache.
const LOCAL_SECONDS: f64 = 0.5e-9;
/// Additional, per word of an access.
const WORD_SECONDS: f64 = 0.025e-9;
/// Additional, per access to another rank's memory.
const REMOTE_SECONDS: f64 = 100e-9;
/// With this expected number the busiest of hundreds of ranks has few more than the mean.
const MIN_REMOTE_ACCESSES: f64 = 400.0;
/// Per rank. They are drawn for each run and kept in memory.
const MAX_ACCESSES: f64 = (1 << 22) as f64;
/// Read by the accesses of a rank.
const MAX_WORDS: f64 = (1 << 27) as f64;

/// Returns the default of N. A run then lasts long enough for the clock and has enough remote accesses to average out, within
/// limits of time and memory. It is a power of two, so that the last digit of the computed remote share does not change it.
pub(crate) fn count(point: &Point) -> u64 {
    count_for_share(point, remote_share(point.ranks, ALPHA.of(point)))
}

pub(crate) fn count_for_share(point: &Point, remote: f64) -> u64 {
    let (indices, block) = (I.of(point) as f64, L.of(point) as f64);
    let access = LOCAL_SECONDS + WORD_SECONDS * block + REMOTE_SECONDS * remote;
    let accesses_for_remote = if remote > 0.0 { MIN_REMOTE_ACCESSES / remote } else { 0.0 };
    let accesses_needed = (MIN_SECONDS / access).max(accesses_for_remote);
    let accesses = accesses_needed.min(MAX_ACCESSES).min(MAX_WORDS / block);
    ((accesses / indices).ceil() as u64).max(1).next_power_of_two()
}
