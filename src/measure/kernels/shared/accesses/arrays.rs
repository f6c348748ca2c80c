//! The number of index arrays of a run where a point names none.

use crate::numerics::power_law::remote_share;
use apexmap_base::point::Point;

/// A run lasts at least this long if an access takes no longer than the constants below say, which is hardly ever so: seconds.
const LEAST_SECONDS: f64 = 1e-3;
/// Of an access whose words are in the first cache, and of each of its words: seconds.
const LOCAL_SECONDS: f64 = 0.5e-9;
const WORD_SECONDS: f64 = 0.025e-9;
/// Of an access to another rank's memory, in addition: seconds.
const REMOTE_SECONDS: f64 = 100e-9;
/// Expected remote accesses of a rank: so many that the busiest of hundreds of ranks has few more than the mean.
const LEAST_REMOTE: f64 = 400.0;
/// Accesses of a rank, which are drawn for each run and kept in memory; and words that they read.
const MOST_ACCESSES: f64 = (1 << 22) as f64;
const MOST_WORDS: f64 = (1 << 27) as f64;

/// Accesses enough for the clock and for the law of large numbers, within bounds of time and memory: a power of two of arrays,
/// so that the last digit of a computed share changes nothing.
pub(in crate::kernels) fn count(point: &Point) -> u64 {
    // The neighbours' first rank has a memory of its own.
    let ranks = if point.params.contains_key("neighbours") { 1 } else { point.ranks };
    enough(point, remote_share(ranks, point.real("alpha")))
}

/// The same for a known share of remote accesses.
pub(in crate::kernels) fn enough(point: &Point, remote: f64) -> u64 {
    let (indices, block) = (point.integer("I") as f64, point.integer("L") as f64);
    let access = LOCAL_SECONDS + WORD_SECONDS * block + REMOTE_SECONDS * remote;
    let of_remote = if remote > 0.0 { LEAST_REMOTE / remote } else { 0.0 };
    let wanted = (LEAST_SECONDS / access).max(of_remote);
    let accesses = wanted.min(MOST_ACCESSES).min(MOST_WORDS / block);
    ((accesses / indices).ceil() as u64).max(1).next_power_of_two()
}
