//! Provenance: the machine and the build that produced a measurement.

use crate::measure::affinity;
use nix::unistd::gethostname;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::sync::OnceLock;

/// The build of this program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Build {
    pub version: String,
    /// Fingerprint of the measuring code of all kernels.
    pub fingerprint: String,
    /// The same per family of kernels: what a family's samples depend on.
    #[serde(default)]
    pub families: BTreeMap<String, String>,
    pub commit: String,
    pub compiler: String,
    pub target: String,
    pub opt_level: String,
    pub rustflags: String,
}

/// The build of the running program.
pub fn build() -> Build {
    Build {
        version: env!("CARGO_PKG_VERSION").into(),
        fingerprint: env!("APEXMAP_BUILD").into(),
        families: env!("APEXMAP_BUILDS")
            .split(' ')
            .filter_map(|one| one.split_once('='))
            .map(|(family, fingerprint)| (family.to_owned(), fingerprint.to_owned()))
            .collect(),
        commit: env!("APEXMAP_COMMIT").into(),
        compiler: env!("APEXMAP_COMPILER").into(),
        target: env!("APEXMAP_TARGET").into(),
        opt_level: env!("APEXMAP_PROFILE").into(),
        rustflags: env!("APEXMAP_FLAGS").into(),
    }
}

/// One level of data or unified cache, as one core sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cache {
    pub level: u32,
    pub bytes: u64,
    /// Processors that share it.
    pub shared_by: u32,
}

/// A machine, as far as the operating system reports it. What it does not report is absent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Host {
    pub name: String,
    pub cpu_model: String,
    /// Processors this process may use.
    pub cores: u32,
    /// Processors of the machine.
    pub processors: u32,
    pub memory_bytes: u64,
    pub caches: Vec<Cache>,
    /// Entries of the second-level data TLB for 4 KiB and for 2 MiB pages, as the processor reports them.
    pub tlb_entries_4k: Option<u32>,
    pub tlb_entries_2m: Option<u32>,
    /// Measured rate of the cycles that "cycles per access" counts.
    pub cycle_hertz: Option<f64>,
    /// Which cycles these are.
    pub cycle_source: String,
    pub kernel: String,
    pub governor: Option<String>,
    /// The system's setting for transparent huge pages: `always`, `madvise` or `never`.
    pub huge_pages: Option<String>,
    pub load: Option<f64>,
}

/// Where a rank ran when its launch began.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Placement {
    pub rank: usize,
    pub node: String,
    /// Processor number, if the system reports it.
    pub core: Option<u32>,
    /// The rank may run on this one processor only.
    pub pinned: bool,
}

fn read(path: &str) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

pub fn host_name() -> String {
    gethostname().map(|name| name.to_string_lossy().into_owned()).unwrap_or_else(|_| "unknown".into())
}

/// Processors that this process may use; the first caller must not be a pinned thread.
pub fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from))
}

/// Hardware threads per core; 1 if the system does not report it.
pub fn threads_per_core() -> usize {
    read("/sys/devices/system/cpu/cpu0/topology/thread_siblings_list")
        .map_or(1, |list| count_list(&list).max(1) as usize)
}

/// One-minute load average.
pub fn load() -> Option<f64> {
    read("/proc/loadavg")?.split(' ').next()?.parse().ok()
}

/// Physical memory in bytes, or the smaller limit of this process's control group.
pub fn memory_bytes() -> Option<u64> {
    let info = read("/proc/meminfo")?;
    let kilobytes: u64 =
        info.lines().find_map(|l| l.strip_prefix("MemTotal:"))?.trim().strip_suffix(" kB")?.parse().ok()?;
    let limit = read("/sys/fs/cgroup/memory.max").and_then(|text| text.parse().ok()).unwrap_or(u64::MAX);
    Some((kilobytes * 1024).min(limit))
}

pub fn host() -> Host {
    let cpuinfo = read("/proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| {
        let line = cpuinfo.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let (tlb_entries_4k, tlb_entries_2m) = tlb();
    let cycle_hertz = cycle_hertz();
    Host {
        name: host_name(),
        cpu_model: field("model name").or_else(|| field("CPU part")).unwrap_or_else(|| "unknown".into()),
        cores: cores() as u32,
        processors: cpuinfo.lines().filter(|line| line.starts_with("processor")).count() as u32,
        memory_bytes: memory_bytes().unwrap_or(0),
        caches: caches(),
        tlb_entries_4k,
        tlb_entries_2m,
        cycle_source: match cycle_hertz {
            Some(_) if cfg!(target_arch = "x86_64") => "time-stamp counter".into(),
            Some(_) => "maximum frequency reported by the system".into(),
            None => "unknown".into(),
        },
        cycle_hertz,
        kernel: read("/proc/sys/kernel/osrelease").unwrap_or_default(),
        governor: read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        huge_pages: huge_pages(),
        load: load(),
    }
}

fn huge_pages() -> Option<String> {
    let text = read("/sys/kernel/mm/transparent_hugepage/enabled")?;
    Some(text.split_once('[')?.1.split_once(']')?.0.to_owned())
}

fn caches() -> Vec<Cache> {
    let mut found = Vec::new();
    for index in 0..8 {
        let of = |name: &str| read(&format!("/sys/devices/system/cpu/cpu0/cache/index{index}/{name}"));
        let (Some(level), Some(size), Some(kind)) = (of("level"), of("size"), of("type")) else { continue };
        let bytes = size.strip_suffix('K').and_then(|kib| kib.parse::<u64>().ok()).map(|kib| kib * 1024);
        let (Ok(level), Some(bytes)) = (level.parse(), bytes) else { continue };
        if kind != "Instruction" {
            found.push(Cache { level, bytes, shared_by: of("shared_cpu_list").map_or(1, |list| count_list(&list)) });
        }
    }
    found.sort_by_key(|cache: &Cache| cache.level);
    found
}

/// The largest cache that a core can use; `None` if the system does not report it.
pub fn largest_cache_bytes() -> Option<u64> {
    caches().iter().map(|cache| cache.bytes).max()
}

/// Members of a list such as `0-3,8`.
fn count_list(list: &str) -> u32 {
    let count = |part: &str| match part.split_once('-') {
        Some((a, b)) => Some(b.parse::<u32>().ok()? - a.parse::<u32>().ok()? + 1),
        None => Some(1),
    };
    list.split(',').filter_map(count).sum()
}

/// Second-level data TLB entries (4 KiB, 2 MiB).
#[cfg(target_arch = "x86_64")]
fn tlb() -> (Option<u32>, Option<u32>) {
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
fn tlb() -> (Option<u32>, Option<u32>) {
    (None, None)
}

/// Ticks of the time-stamp counter per second, by the system's clock.
#[cfg(target_arch = "x86_64")]
fn cycle_hertz() -> Option<f64> {
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
    Some(rates[2])
}

#[cfg(not(target_arch = "x86_64"))]
fn cycle_hertz() -> Option<f64> {
    let kilohertz: f64 = read("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq")?.parse().ok()?;
    Some(kilohertz * 1e3)
}

/// Where the calling thread runs now.
pub fn placement(rank: usize) -> Placement {
    let pinned = affinity::of_thread().is_some_and(|processors| processors.len() == 1);
    Placement { rank, node: host_name(), core: nix::sched::sched_getcpu().ok().map(|core| core as u32), pinned }
}
