//! Provenance: the machine and the build that produced a measurement.

use crate::measure::affinity;
use crate::measure::hardware::{Hardware, HardwareThread, Place, order};
use crate::units::plural;
use nix::unistd::gethostname;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;

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

impl Build {
    /// What is to be known of times measured by this build: a C library whose copies are slow, code that is not optimised.
    pub fn cautions(&self) -> Vec<String> {
        let musl = self.target.ends_with("musl").then(|| {
            "The worker is built against musl, which copies memory more slowly than glibc: copies take up to 2.7 times as long, small \
             messages between threads up to 1.3 times. Let a build against this machine's own C library measure: --worker."
                .to_owned()
        });
        let slow = (!["3", ""].contains(&self.opt_level.as_str())).then(|| {
            format!(
                "The worker is built with opt-level {} instead of 3: its times are those of slow code, not of the machine. Build it \
                 with: cargo build --release.",
                self.opt_level
            )
        });
        musl.into_iter().chain(slow).collect()
    }
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
    #[serde(deserialize_with = "processors_of_any_version")]
    pub processors: Processors,
    /// Memory that this process may use; 0 if it is not known.
    pub memory_bytes: u64,
    /// Those of the first core that this process may use, a fast one where there are several kinds.
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

/// How many processors there are, as far as the system tells.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Processors {
    /// Cores that this process may keep busy: those that its affinity, its control groups and their processor time leave it.
    pub cores: Option<u32>,
    /// Hardware threads that this process may keep busy.
    pub hardware_threads: Option<u32>,
    pub machine_cores: Option<u32>,
    pub machine_hardware_threads: Option<u32>,
    pub packages: Option<u32>,
    pub numa_nodes: Option<u32>,
    /// The machine's cores of each kind, where there are several kinds.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub kinds: BTreeMap<String, u32>,
}

impl Processors {
    pub fn of(hardware: &Hardware) -> Self {
        let number = |count: usize| count as u32;
        let mut cores: BTreeMap<String, BTreeSet<usize>> = BTreeMap::new();
        for thread in &hardware.threads {
            if let (Some(kind), Some(core)) = (thread.kind, thread.core) {
                cores.entry(kind.to_string()).or_default().insert(core);
            }
        }
        let kinds = if cores.len() > 1 { cores } else { BTreeMap::new() };
        Self {
            cores: hardware.cores().map(number),
            hardware_threads: Some(number(hardware.hardware_threads())),
            machine_cores: hardware.count(|thread| thread.core).map(number),
            machine_hardware_threads: hardware.count(|thread| Some(thread.number)).map(number),
            packages: hardware.count(|thread| thread.package).map(number),
            numa_nodes: hardware.count(|thread| thread.numa_node).map(number),
            kinds: kinds.into_iter().map(|(kind, cores)| (kind, number(cores.len()))).collect(),
        }
    }
}

/// `2 packages, 40 cores, 80 hardware threads, 2 NUMA nodes; this process may use 20 cores`.
impl fmt::Display for Processors {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let counted = |count: Option<u32>, noun: &str| Some(plural(count? as usize, noun));
        let several = |count: Option<u32>| count.filter(|&count| count > 1);
        let kind = |(kind, count): (&String, &u32)| format!("{count} {kind}");
        let kinds = self.kinds.iter().map(kind).collect::<Vec<_>>().join(", ");
        let cores = counted(self.machine_cores, "core");
        let parts = [
            counted(several(self.packages), "package"),
            cores.map(|cores| if kinds.is_empty() { cores } else { format!("{cores} ({kinds})") }),
            counted(
                self.machine_hardware_threads.filter(|_| self.machine_hardware_threads != self.machine_cores),
                "hardware thread",
            ),
            counted(several(self.numa_nodes), "NUMA node"),
        ];
        f.write_str(&parts.into_iter().flatten().collect::<Vec<_>>().join(", "))?;
        match (self.cores, self.hardware_threads) {
            (Some(cores), _) if self.cores != self.machine_cores => {
                write!(f, "; this process may use {}", plural(cores as usize, "core"))
            }
            (_, Some(threads)) if self.hardware_threads < self.machine_hardware_threads => {
                write!(f, "; this process may use {}", plural(threads as usize, "hardware thread"))
            }
            _ => Ok(()),
        }
    }
}

/// Before cores and hardware threads were counted apart, it was the number of the machine's hardware threads.
fn processors_of_any_version<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Processors, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum AnyVersion {
        HardwareThreads(u32),
        Processors(Processors),
    }
    Ok(match AnyVersion::deserialize(deserializer)? {
        AnyVersion::HardwareThreads(count) => {
            Processors { machine_hardware_threads: Some(count), ..Processors::default() }
        }
        AnyVersion::Processors(processors) => processors,
    })
}

/// Where a rank ran when its launch began.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Placement {
    pub rank: usize,
    pub node: String,
    /// Tells machines apart whatever their nodes are called: of the id that the kernel drew when it started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    /// The hardware thread, by the system's number.
    #[serde(alias = "core")]
    pub hardware_thread: Option<u32>,
    /// The first hardware thread of its core.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub physical_core: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub package: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub numa_node: Option<u32>,
    /// Memory of the node that programs may use, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_memory_bytes: Option<u64>,
    /// The rank may run on this one core only.
    pub pinned: bool,
    /// Where its memory was when the last sample was taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryPlacement>,
}

/// On which NUMA node a rank's memory is, by a sample of its pages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemoryPlacement {
    /// The node of the hardware thread that the rank ran on.
    pub numa_node: u32,
    /// The node that holds most of the pages.
    pub memory_node: u32,
    /// Share of the pages that are on other nodes than the rank.
    pub elsewhere: f64,
}

impl MemoryPlacement {
    /// Of the calling thread with these numbers of pages by node; `None` where the system does not tell.
    pub fn of(pages: &BTreeMap<usize, usize>) -> Option<Self> {
        let hardware = Hardware::here();
        let own = hardware.thread(nix::sched::sched_getcpu().ok()?)?.numa_node?;
        Self::on(own, pages)
    }

    /// Of a rank on NUMA node `own`.
    pub fn on(own: usize, pages: &BTreeMap<usize, usize>) -> Option<Self> {
        let all: usize = pages.values().sum();
        let (&most, _) = pages.iter().max_by_key(|(_, count)| **count)?;
        let elsewhere = (all - pages.get(&own).copied().unwrap_or(0)) as f64 / all as f64;
        Some(Self { numa_node: own as u32, memory_node: most as u32, elsewhere })
    }
}

fn read(path: &str) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

pub fn host_name() -> String {
    gethostname().map(|name| name.to_string_lossy().into_owned()).unwrap_or_else(|_| "unknown".into())
}

/// One-minute load average.
pub fn load() -> Option<f64> {
    read("/proc/loadavg")?.split(' ').next()?.parse().ok()
}

pub fn host() -> Host {
    let hardware = Hardware::here();
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
        processors: Processors::of(hardware),
        memory_bytes: hardware.usable_memory_bytes().unwrap_or(0),
        caches: caches(hardware),
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

/// The caches of the hardware thread that a single rank is put on.
fn caches(hardware: &Hardware) -> Vec<Cache> {
    let first =
        order(&hardware.threads, &hardware.allowed, Place::default()).first().and_then(|&first| hardware.thread(first));
    let caches = first.map_or(&[][..], |thread| &thread.caches).iter();
    caches
        .map(|cache| Cache { level: cache.level, bytes: cache.bytes, shared_by: cache.threads.len() as u32 })
        .collect()
}

/// The largest cache that a core can use; `None` if the system does not report it.
pub fn largest_cache_bytes() -> Option<u64> {
    caches(Hardware::here()).iter().map(|cache| cache.bytes).max()
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
    let hardware = Hardware::here();
    let number = nix::sched::sched_getcpu().ok();
    let thread = number.and_then(|number| hardware.thread(number));
    let of = |part: fn(&HardwareThread) -> Option<usize>| thread.and_then(part).map(|number| number as u32);
    Placement {
        rank,
        node: host_name(),
        machine: read("/proc/sys/kernel/random/boot_id").and_then(|id| Some(id.split('-').next()?.to_owned())),
        hardware_thread: number.map(|number| number as u32),
        physical_core: of(|thread| thread.core),
        package: of(|thread| thread.package),
        numa_node: of(|thread| thread.numa_node),
        node_memory_bytes: hardware.usable_memory_bytes(),
        pinned: affinity::of_thread().is_some_and(|set| hardware.on_one_core(&set)),
        memory: None,
    }
}
