//! The steps of a site: counted as the valgrind tool counts them, for traces without it; and the kind of walk that they are.

use crate::runs::Step;
use crate::site::{Counters, LINE_BYTES, Site};
pub use apexmap_theory::places::Kind;

/// A site's last access, with its counters. Values are unknown, so nothing counts as chained or pointed.
#[derive(Clone, Debug, Default)]
pub struct Walk {
    pub last: Option<u64>,
    stride: i64,
    pub counters: Counters,
}

impl Walk {
    pub fn access(&mut self, address: u64, size: u32) {
        self.counters.accesses += 1;
        let Some(last) = self.last.replace(address) else {
            self.counters.runs += 1;
            return;
        };
        let step = address.wrapping_sub(last) as i64;
        let keeps_stride = step != 0 && step == self.stride;
        self.counters.same_address += u64::from(step == 0);
        self.counters.same_line += u64::from(address / LINE_BYTES == last / LINE_BYTES);
        if keeps_stride {
            self.counters.same_stride += 1;
            self.counters.stride = step;
        }
        let is_next = (1..=i64::from(size.max(8))).contains(&step);
        if is_next || keeps_stride && step.unsigned_abs() <= u64::from(size.max(8)) {
            self.counters.run_bytes += step.unsigned_abs();
        } else {
            self.counters.runs += 1;
        }
        if step != 0 {
            self.stride = step;
        }
    }
}

impl Counters {
    pub fn merge(&mut self, other: &Self) {
        self.accesses += other.accesses;
        self.same_address += other.same_address;
        self.same_stride += other.same_stride;
        self.same_line += other.same_line;
        self.runs += other.runs;
        self.run_bytes += other.run_bytes;
        self.chained += other.chained;
        self.pointed += other.pointed;
    }
}

pub fn kind_of(site: &Site, step: Step) -> Kind {
    let counters = &site.counters;
    let steps = counters.accesses.saturating_sub(1).max(1) as f64;
    let share = |count: u64| count as f64 / steps;
    // A word that is read again and again has no stride.
    if share(counters.same_stride) >= 0.1 && share(counters.same_stride + counters.same_address) >= 0.7 {
        // Of steps of 35 bytes, 45 % stay in their line.
        let leaves_out_none = step.bytes >= 0.7 * step.stride as f64 || 20 * step.stride <= 11 * LINE_BYTES;
        return if leaves_out_none || share(counters.same_line) >= 0.45 { Kind::Sweep } else { Kind::Strided };
    }
    match () {
        () if share(counters.chained) > 0.5 => Kind::Chain,
        () if share(counters.pointed) > 0.5 && share(counters.same_line) < 0.8 => Kind::Pointer,
        () if share(counters.same_line) >= 0.8 => Kind::Local,
        () => Kind::Random,
    }
}
