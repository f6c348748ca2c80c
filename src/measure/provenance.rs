use crate::affinity;
use crate::core_clock::core_clock;
use crate::hardware::{
    FilesBelow, Hardware, HardwareThread, PlacementOrder, SystemFiles, base_page_bytes, facts_are_hidden,
    huge_page_bytes, line_words, place_ranks, this_system,
};
use apexmap_base::provenance::{Build, Cache, Granularity, Hashed, Host, MemoryPlacement, Placement, Processors};
use apexmap_base::units::WORD_BYTES;
use nix::unistd::gethostname;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::OnceLock;

/// The program's, if it is more than the measuring code.
static COMMIT: OnceLock<&str> = OnceLock::new();

/// The first call counts.
pub fn set_commit(commit: &'static str) {
    COMMIT.get_or_init(|| commit);
}

pub fn build() -> Build {
    Build {
        version: env!("CARGO_PKG_VERSION").into(),
        fingerprint: env!("APEXMAP_BUILD").into(),
        families: env!("APEXMAP_BUILDS")
            .split(' ')
            .filter_map(|entry| entry.split_once('='))
            .map(|(family, fingerprint)| (family.to_owned(), fingerprint.to_owned()))
            .collect(),
        hashed: Hashed::Tokens,
        commit: (*COMMIT.get().unwrap_or(&env!("APEXMAP_COMMIT"))).into(),
        compiler: env!("APEXMAP_COMPILER").into(),
        target: env!("APEXMAP_TARGET").into(),
        opt_level: env!("APEXMAP_PROFILE").into(),
        rustflags: env!("APEXMAP_FLAGS").into(),
    }
}

/// As far as the system reports them.
pub fn processors(hardware: &Hardware) -> Processors {
    let to_count = |count: usize| count as u32;
    let mut cores: BTreeMap<String, BTreeSet<usize>> = BTreeMap::new();
    for thread in &hardware.threads {
        if let (Some(kind), Some(core)) = (&thread.kind, thread.core) {
            cores.entry(kind.to_string()).or_default().insert(core);
        }
    }
    let kinds = if cores.len() > 1 { cores } else { BTreeMap::new() };
    Processors {
        cores: hardware.cores().map(to_count),
        hardware_threads: Some(to_count(hardware.hardware_threads())),
        machine_cores: hardware.count_distinct(|thread| thread.core).map(to_count),
        machine_hardware_threads: hardware.count_distinct(|thread| Some(thread.number)).map(to_count),
        packages: hardware.count_distinct(|thread| thread.package).map(to_count),
        numa_nodes: hardware.count_distinct(|thread| thread.numa_node).map(to_count),
        kinds: kinds.into_iter().map(|(kind, cores)| (kind, to_count(cores.len()))).collect(),
    }
}

/// For the calling thread, from its number of pages per NUMA node. `None` if the system does not report the thread's node.
pub fn memory_placement(pages: &BTreeMap<usize, usize>) -> Option<MemoryPlacement> {
    let hardware = Hardware::this_machine();
    let numa_node = hardware.thread(nix::sched::sched_getcpu().ok()?)?.numa_node?;
    MemoryPlacement::from_page_counts(numa_node, pages)
}

fn read_text(path: &str) -> Option<String> {
    this_system().text(path).filter(|_| !facts_are_hidden())
}

pub fn host_name() -> String {
    gethostname().map(|name| name.to_string_lossy().into_owned()).unwrap_or_else(|_| "unknown".into())
}

pub fn load_average() -> Option<f64> {
    read_text("/proc/loadavg")?.split(' ').next()?.parse().ok()
}

pub fn host() -> Host {
    let hardware = Hardware::this_machine();
    let is_visible = !facts_are_hidden();
    let (tlb_entries_4k, tlb_entries_2m) = if is_visible { tlb_entries() } else { (None, None) };
    // A machine that reports nothing still has a clock that can be measured.
    let (cycle_hertz, cycle_source) =
        if is_visible { cycle_clock() } else { core_clock(&FilesBelow(Path::new("/nonexistent"))) };
    Host {
        name: host_name(),
        cpu_model: hardware.cpu_model.clone(),
        processors: processors(hardware),
        memory_bytes: hardware.usable_memory_bytes().unwrap_or(0),
        caches: caches(hardware),
        last_cache_seen_bytes: None,
        granularity: Granularity {
            line_bytes: line_words() as u64 * WORD_BYTES,
            base_page_bytes: base_page_bytes(),
            huge_page_bytes: huge_page_bytes(),
        },
        tlb_entries_4k,
        tlb_entries_2m,
        memory_side_cache_bytes: hardware.memory_side_cache_bytes,
        cycle_hertz,
        cycle_source: cycle_source.into(),
        kernel: read_text("/proc/sys/kernel/osrelease").unwrap_or_default(),
        governor: read_text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        huge_pages: huge_pages(),
        load: load_average(),
    }
}

/// Whatever part of the node this process may use.
pub fn node_type() -> &'static str {
    static NODE_TYPE: OnceLock<String> = OnceLock::new();
    NODE_TYPE.get_or_init(|| node_type_of(Hardware::this_machine()))
}

pub fn node_type_of(hardware: &Hardware) -> String {
    let caches = hardware.threads.iter().filter_map(|thread| Some(thread.caches.last()?.bytes));
    apexmap_base::provenance::node_type(
        &hardware.cpu_model,
        &processors(hardware),
        caches.max(),
        hardware.memory_bytes.unwrap_or(0),
        hardware.memory_side_cache_bytes,
    )
}

fn huge_pages() -> Option<String> {
    let text = read_text("/sys/kernel/mm/transparent_hugepage/enabled")?;
    Some(text.split_once('[')?.1.split_once(']')?.0.to_owned())
}

fn caches(hardware: &Hardware) -> Vec<Cache> {
    let first_thread = place_ranks(&hardware.threads, &hardware.allowed, PlacementOrder::default())
        .first()
        .and_then(|&first| hardware.thread(first));
    let caches = first_thread.map_or(&[][..], |thread| &thread.caches).iter();
    caches
        .map(|cache| Cache { level: cache.level, bytes: cache.bytes, shared_by: cache.threads.len() as u32 })
        .collect()
}

/// That a core can use, or `None` if the system does not report it.
pub fn largest_cache_bytes() -> Option<u64> {
    caches(Hardware::this_machine()).iter().map(|cache| cache.bytes).max()
}

#[cfg(target_arch = "x86_64")]
fn tlb_entries() -> (Option<u32>, Option<u32>) {
    let cpuid = raw_cpuid::CpuId::new();
    if let Some(info) = cpuid.get_l2_l3_cache_and_tlb_info() {
        let (small, large) = (u32::from(info.dtlb_4k_size()), u32::from(info.dtlb_2m_4m_size()));
        if small > 0 {
            return (Some(small), (large > 0).then_some(large));
        }
    }
    let Some(leaves) = cpuid.get_deterministic_address_translation_info() else { return (None, None) };
    let (mut small, mut large) = (None, None);
    for leaf in leaves {
        use raw_cpuid::DatType;
        if !matches!(leaf.cache_type(), DatType::DataTLB | DatType::UnifiedTLB | DatType::LoadOnly) {
            continue;
        }
        let entries = u32::from(leaf.ways()) * leaf.sets();
        if leaf.has_4k_entries() {
            small = small.max(Some(entries));
        }
        if leaf.has_2mb_entries() {
            large = large.max(Some(entries));
        }
    }
    (small, large)
}

#[cfg(not(target_arch = "x86_64"))]
fn tlb_entries() -> (Option<u32>, Option<u32>) {
    (None, None)
}

/// The clock behind "cycles per access", in hertz, and its source: the time-stamp counter.
#[cfg(target_arch = "x86_64")]
fn cycle_clock() -> (Option<f64>, &'static str) {
    use std::time::{Duration, Instant};
    // SAFETY: RDTSC exists on every x86_64 processor.
    let ticks = || unsafe { core::arch::x86_64::_rdtsc() };
    let measure = || {
        let (start, first) = (Instant::now(), ticks());
        while start.elapsed() < Duration::from_millis(4) {
            std::hint::spin_loop();
        }
        (ticks() - first) as f64 / start.elapsed().as_secs_f64()
    };
    let mut rates: Vec<f64> = (0..5).map(|_| measure()).collect();
    rates.sort_by(f64::total_cmp);
    (Some(rates[2]), "time-stamp counter")
}

#[cfg(not(target_arch = "x86_64"))]
fn cycle_clock() -> (Option<f64>, &'static str) {
    core_clock(&this_system())
}

pub fn placement(rank: usize) -> Placement {
    let hardware = Hardware::this_machine();
    let number = nix::sched::sched_getcpu().ok();
    let thread = number.and_then(|number| hardware.thread(number));
    let thread_number = |part: fn(&HardwareThread) -> Option<usize>| thread.and_then(part).map(|number| number as u32);
    Placement {
        rank,
        node: host_name(),
        machine: read_text("/proc/sys/kernel/random/boot_id").and_then(|id| Some(id.split('-').next()?.to_owned())),
        hardware_thread: number.map(|number| number as u32),
        physical_core: thread_number(|thread| thread.core),
        package: thread_number(|thread| thread.package),
        numa_node: thread_number(|thread| thread.numa_node),
        node_memory_bytes: hardware.usable_memory_bytes(),
        pinned: affinity::allowed_hardware_threads().is_some_and(|set| hardware.share_one_core(&set)),
        memory: None,
    }
}
