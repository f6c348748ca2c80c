use super::{SystemFiles, this_system};
use nix::unistd::{SysconfVar, sysconf};
use std::sync::OnceLock;

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

/// If the system does not report it, it is the memory that one page of a page table maps: 2 MiB with base pages of 4 KiB, 512 MiB
/// with 64 KiB.
pub fn huge_page_bytes() -> u64 {
    let reported =
        (&this_system() as &dyn SystemFiles).read_number("sys/kernel/mm/transparent_hugepage/hpage_pmd_size");
    reported.unwrap_or_else(|| base_page_bytes() / 8 * base_page_bytes())
}
