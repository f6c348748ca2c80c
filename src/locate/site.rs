//! Sites: the load and store instructions of a traced program, with their counters; and the sampled accesses.

use crate::reuse::{Displaced, YOUNGEST};

/// Bytes of a cache line. The tool counts in such lines on every machine.
pub const LINE_BYTES: u64 = 64;
pub const PAGE_BYTES: u64 = 4096;
pub const HUGE_PAGE_BYTES: u64 = 2 << 20;
/// The largest number of different lines whose accesses are all kept. Beyond, the rate of sampling halves. The tool also halves it after
/// some million messages, down to 2^13 lines.
pub const SAMPLE_LIMIT: usize = 1 << 17;

/// A load or store instruction, keyed by address, size and direction; or the loads or stores of one size in a text trace.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Site {
    /// Address of the instruction; 0 in a text trace.
    pub address: u64,
    /// Bytes per access.
    pub size: u32,
    pub is_store: bool,
    /// Address of the last access.
    pub last_address: u64,
    /// Accesses of all sites until the last access, and since the one before.
    pub last_time: u64,
    pub interval: u64,
    /// Index of the site whose loaded values `Counters::chained` counts: itself, or the one before it in an unrolled chain.
    pub chained_to: usize,
    pub counters: Counters,
    /// Accesses to the youngest lines of the sample, by their place; each counts 2^level.
    pub young: [u64; YOUNGEST],
    pub name: SiteName,
}

/// The place of an instruction in the source, from debug information. Empty or 0 where there is none.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct SiteName {
    pub function: String,
    pub file: String,
    pub line: u32,
    /// Path of the program or library.
    pub object: String,
}

/// Counters of a site, over all its accesses (not only the sampled ones). A step is the difference between the addresses of an access
/// and of the site's access before; its *stride* is the last step other than 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    pub accesses: u64,
    /// Steps of 0.
    pub same_address: u64,
    /// Steps other than 0 that equal the stride before.
    pub same_stride: u64,
    /// Steps within a line, those of 0 included.
    pub same_line: u64,
    /// The stride that was last kept, in bytes: that of the last access that `same_stride` counts; 0 if none.
    pub stride: i64,
    /// Runs: 1 plus the number of steps that end a run. A step continues a run if it is 1 to max(size, 8) bytes, or as long in
    /// the other direction and equals the stride before. A step of 0 ends a run.
    pub runs: u64,
    /// Sum of the sizes in bytes, without signs, of all steps that continue a run.
    pub run_bytes: u64,
    /// Accesses with another stride at a constant plus 1, 4, 8, 16 or 32 times the value that `Site::chained_to` loaded before: the
    /// largest count.
    pub chained: u64,
    /// Accesses with another stride within 256 bytes behind one of the last eight words loaded by any site.
    pub pointed: u64,
}

/// Receives accesses to lines of the sample, in their order. Those to the youngest ones are only counted (`Site::young`). A line's number
/// is its address divided by its size; `site` is an index in `sites`.
pub trait Sink {
    /// A line is accessed that is not among the youngest.
    fn access_old(&mut self, site: usize, line: u64, displaced: Displaced);
    /// A site enters a line that is among the youngest.
    fn enter_young(&mut self, site: usize, line: u64);
    /// A site enters a page that is not among the recent ones of all sites. Pages are sampled by their number, as lines are.
    fn enter_page(&mut self, site: usize, page: u64);
    /// Another program replaces the traced one: all that came until now is of the first.
    fn begin(&mut self);
    /// The rate of sampling halves: from now on lines are kept by [`is_kept`] at the new level, which grows by 1 each time. Known lines
    /// that are not kept at the new level must be forgotten.
    fn halve(&mut self);
}

/// Returns the hash of a line's number. The tool in C has the same.
pub fn hash(line: u64) -> u64 {
    let first = line.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (first ^ (first >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93)
}

/// Returns whether a line is in the sample at a level. The sample holds one of 2^level, those with the smallest hashes.
pub fn is_kept(line: u64, level: u32) -> bool {
    level == 0 || hash(line) >> (64 - level) == 0
}
