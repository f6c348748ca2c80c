//! On which NUMA nodes memory is.

use nix::libc;
use std::collections::BTreeMap;
use std::ptr::null;

/// Pages that are asked about.
const SAMPLE: usize = 64;

/// How many of an even sample of these words' pages are on each NUMA node: of those that are in memory. Nothing where the
/// system does not tell.
pub fn memory_nodes(words: &[u64]) -> BTreeMap<usize, usize> {
    let mut nodes = BTreeMap::new();
    let count = words.len().min(SAMPLE);
    let addresses: Vec<*const u64> = (0..count).map(|page| &raw const words[words.len() / count * page]).collect();
    let mut status = vec![-1i32; count];
    // SAFETY: both arrays have `count` places. Without an array of nodes the call moves nothing: it writes where the pages
    // are, or an error for each, into `status`.
    let result = unsafe {
        libc::syscall(libc::SYS_move_pages, 0, count, addresses.as_ptr(), null::<i32>(), status.as_mut_ptr(), 0)
    };
    if result == 0 {
        for node in status.into_iter().filter_map(|node| usize::try_from(node).ok()) {
            *nodes.entry(node).or_default() += 1;
        }
    }
    nodes
}
