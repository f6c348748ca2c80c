use super::files::{NODE_FOLDER, SystemFiles, parse_list, this_system};
use nix::libc;
use nix::unistd::{SysconfVar, sysconf};
use std::collections::BTreeMap;
use std::ptr::null;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

/// NUMA nodes with memory that this process may use, ascending. Empty if the system does not report them.
pub fn nodes_with_memory(system: &dyn SystemFiles) -> Vec<usize> {
    let read_nodes = |file: &str| system.read_list(&format!("{NODE_FOLDER}/{file}")).filter(|nodes| !nodes.is_empty());
    let mut nodes = (read_nodes("has_memory").or_else(|| read_nodes("online")))
        .unwrap_or_else(|| system.numbered_entries(NODE_FOLDER, "node"));
    let allowed = system.read_field("proc/self/status", "Mems_allowed_list").and_then(|list| parse_list(&list));
    let online = system.read_list(&format!("{NODE_FOLDER}/online"));
    let is_member = |set: &Option<Vec<usize>>, node: usize| set.as_ref().is_none_or(|set| set.contains(&node));
    nodes.retain(|&node| {
        let memory = system.text(&format!("{NODE_FOLDER}/node{node}/meminfo")).unwrap_or_default();
        let is_empty = memory.lines().any(|line| line.split_whitespace().skip(2).take(2).eq(["MemTotal:", "0"]));
        !is_empty && is_member(&online, node) && is_member(&allowed, node)
    });
    nodes
}

pub fn memory_side_cache_bytes(system: &dyn SystemFiles) -> Option<u64> {
    let caches_of_node = |node: usize| {
        let folder = format!("{NODE_FOLDER}/node{node}/memory_side_cache");
        let size = |index| system.read_number::<u64>(&format!("{folder}/index{index}/size"));
        system.numbered_entries(&folder, "index").into_iter().filter_map(size).max()
    };
    system.numbered_entries(NODE_FOLDER, "node").into_iter().filter_map(caches_of_node).max()
}

/// All pages then come from one NUMA node. The memory must consist of whole pages that no thread has touched yet.
pub fn set_memory_node(memory: &[u8], node: usize) -> std::io::Result<()> {
    const BITS: usize = libc::c_ulong::BITS as usize;
    let mut nodes: Vec<libc::c_ulong> = vec![0; node / BITS + 1];
    nodes[node / BITS] = 1 << (node % BITS);
    // The system reads one bit less than this argument says.
    let bits = nodes.len() * BITS + 1;
    // SAFETY: the range is one slice. `nodes` has `bits` bits, less the one that the system does not read. The call reads the
    // nodes and changes only where the range's pages will come from.
    let result = unsafe {
        libc::syscall(libc::SYS_mbind, memory.as_ptr(), memory.len(), libc::MPOL_BIND, nodes.as_ptr(), bits, 0)
    };
    if result == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

/// Per query.
const MAX_QUERIED_PAGES: usize = 64;

/// For evenly spaced pages of these words that are in memory. Empty if the system does not report it.
pub fn pages_by_node(words: &[u64]) -> BTreeMap<usize, usize> {
    let mut nodes = BTreeMap::new();
    let count = words.len().min(MAX_QUERIED_PAGES);
    let addresses: Vec<*const u64> = (0..count).map(|page| &raw const words[words.len() / count * page]).collect();
    let mut status = vec![-1i32; count];
    // SAFETY: both arrays have `count` entries. Without an array of nodes the call moves nothing: for each page it writes the
    // node, or an error, into `status`.
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

pub struct MemoryArea {
    pub start: u64,
    pub end: u64,
    pub resident: u64,
    pub huge: u64,
    /// The size of a page that is not huge.
    pub page_bytes: u64,
}

/// Read no earlier than this call. Reading walks all of the process's memory, so ranks that call together share one reading.
pub fn memory_areas() -> Option<Arc<[MemoryArea]>> {
    static LATEST: Mutex<Option<(Instant, Arc<[MemoryArea]>)>> = Mutex::new(None);
    let called = Instant::now();
    let mut latest = LATEST.lock().unwrap_or_else(PoisonError::into_inner);
    if latest.as_ref().is_none_or(|(started, _)| *started < called) {
        let started = Instant::now();
        let text = std::fs::read_to_string("/proc/self/smaps").ok()?;
        *latest = Some((started, parse_areas(&text)));
    }
    latest.as_ref().map(|(_, areas)| areas.clone())
}

fn parse_areas(smaps: &str) -> Arc<[MemoryArea]> {
    let mut areas: Vec<MemoryArea> = Vec::new();
    for line in smaps.lines() {
        let mut fields = line.split_ascii_whitespace();
        let (Some(name), Some(value)) = (fields.next(), fields.next()) else { continue };
        if let Some((from, to)) = name.split_once('-').filter(|_| !name.ends_with(':')) {
            if let (Ok(start), Ok(end)) = (u64::from_str_radix(from, 16), u64::from_str_radix(to, 16)) {
                areas.push(MemoryArea { start, end, resident: 0, huge: 0, page_bytes: base_page_bytes() });
            }
            continue;
        }
        let (Some(area), Ok(kib)) = (areas.last_mut(), value.parse::<u64>()) else { continue };
        match name {
            "Rss:" => area.resident = kib << 10,
            "AnonHugePages:" => area.huge = kib << 10,
            "KernelPageSize:" => area.page_bytes = kib << 10,
            _ => {}
        }
    }
    areas.into()
}

/// The largest line of the first processor's caches counts; 8 (64 bytes) if the system does not report it.
pub fn line_words() -> usize {
    static WORDS: OnceLock<usize> = OnceLock::new();
    *WORDS.get_or_init(|| reported_line_bytes(&this_system()).unwrap_or(64) as usize / 8)
}

pub fn reported_line_bytes(system: &dyn SystemFiles) -> Option<u64> {
    const CACHES: &str = "sys/devices/system/cpu/cpu0/cache";
    let caches = system.numbered_entries(CACHES, "index").into_iter();
    let line = |cache| system.read_number::<u64>(&format!("{CACHES}/index{cache}/coherency_line_size"));
    caches.filter_map(line).filter(|bytes| bytes.is_power_of_two() && (16..=4096).contains(bytes)).max()
}

/// 4 KiB, 16 KiB or 64 KiB.
pub fn base_page_bytes() -> u64 {
    let bytes = sysconf(SysconfVar::PAGE_SIZE).ok().flatten();
    bytes.and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or(4 << 10)
}

/// As reported, or what one page of a page table maps: 2 MiB with base pages of 4 KiB, 512 MiB with 64 KiB.
pub fn huge_page_bytes() -> u64 {
    let reported =
        (&this_system() as &dyn SystemFiles).read_number("sys/kernel/mm/transparent_hugepage/hpage_pmd_size");
    reported.unwrap_or_else(|| base_page_bytes() / 8 * base_page_bytes())
}
