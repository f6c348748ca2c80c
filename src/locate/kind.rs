//! How a site walks through memory, from its counters.

use crate::site::Site;
pub use apexmap_theory::places::Kind;

/// Returns the kind of a site. `swept` is the size in bytes of all sites of its line that have its stride and direction: compilers
/// unroll loops, so that several sites share the words of a sweep.
pub fn kind_of(site: &Site, swept: u64) -> Kind {
    let counters = &site.counters;
    let steps = counters.accesses.saturating_sub(1).max(1) as f64;
    let share = |count: u64| count as f64 / steps;
    // A word that is read again and again has no stride.
    let is_still = share(counters.same_address) > 0.8 && share(counters.same_stride) < 0.1;
    if !is_still && share(counters.same_stride + counters.same_address) >= 0.7 {
        let leaves_out_none = swept as f64 >= 0.7 * counters.stride.unsigned_abs() as f64;
        return if leaves_out_none || share(counters.same_line) >= 0.45 { Kind::Sweep } else { Kind::Strided };
    }
    match () {
        () if share(counters.chained) > 0.5 => Kind::Chain,
        () if share(counters.pointed) > 0.5 && share(counters.same_line) < 0.8 => Kind::Pointer,
        () if share(counters.same_line) >= 0.8 => Kind::Local,
        () => Kind::Random,
    }
}
