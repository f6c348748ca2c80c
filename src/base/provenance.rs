//! Provenance: the machine and the build that produced a measurement.

use crate::units::{self, plural};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Build {
    pub version: String,
    /// Fingerprint of the measuring code of all kernels.
    pub fingerprint: String,
    /// Fingerprints by family of kernels. A family's samples depend only on its own.
    #[serde(default)]
    pub families: BTreeMap<String, String>,
    /// What the fingerprints are computed from.
    #[serde(default)]
    pub hashed: Hashed,
    /// Commit of the program; for a separate worker, the commit that last changed the measuring code.
    pub commit: String,
    pub compiler: String,
    pub target: String,
    pub opt_level: String,
    pub rustflags: String,
}

/// What fingerprints are computed from. Equal code has other fingerprints by another way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hashed {
    /// Whole files, comments included: version 0.2.0.
    #[default]
    Files,
    Tokens,
}

impl Build {
    /// Returns cautions about times from this build: a C library with slow copies, code without optimisation.
    pub fn cautions(&self) -> Vec<String> {
        // On x86-64, the worker has its own copies.
        let has_slow_copies = self.target.ends_with("musl") && !self.target.starts_with("x86_64");
        let musl_caution = has_slow_copies.then(|| {
            "The worker is built against musl, which copies memory more slowly than glibc: copies take up to 2.7 times as long, small \
             messages between threads up to 1.3 times. Use a build against this machine's own C library: --worker."
                .to_owned()
        });
        let optimisation_caution = (!["3", ""].contains(&self.opt_level.as_str())).then(|| {
            format!(
                "The worker is built with opt-level {} instead of 3: it measures slow code, not the machine. Build it \
                 with: cargo build --release.",
                self.opt_level
            )
        });
        musl_caution.into_iter().chain(optimisation_caution).collect()
    }
}

/// One level of data or unified cache, as one core sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cache {
    pub level: u32,
    pub bytes: u64,
    pub shared_by: u32,
}

/// Sizes of lines and pages in bytes. The default is that of x86-64, the only machines of versions that recorded none.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Granularity {
    pub line_bytes: u64,
    pub base_page_bytes: u64,
    pub huge_page_bytes: u64,
}

impl Default for Granularity {
    fn default() -> Self {
        Self { line_bytes: 64, base_page_bytes: 4 << 10, huge_page_bytes: 2 << 20 }
    }
}

/// Facts about the node of all ranks that plain names contain. The default is for results of several machines.
#[derive(Clone, Copy, Debug, Default)]
pub struct PlainNode {
    /// Cores of the one node on which all ranks ran. If they are unknown or fewer than the ranks, several ranks are not called cores.
    pub cores: Option<u32>,
    /// Sizes of its pages; if unknown, pages are called base and huge pages.
    pub granularity: Option<Granularity>,
}

/// A machine, as the operating system reports it. Values that it does not report are absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Host {
    pub name: String,
    pub cpu_model: String,
    pub processors: Processors,
    /// Memory that this process may use, in bytes; 0 if unknown.
    pub memory_bytes: u64,
    /// Caches of the first core that this process may use; a fast core if the machine has several kinds.
    pub caches: Vec<Cache>,
    /// The part of the last cache that random reads saw before the sweep, in bytes, if a probe saw its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_cache_seen_bytes: Option<u64>,
    #[serde(default)]
    pub granularity: Granularity,
    /// Entries of the second-level data TLB for base pages (4 KiB) and huge pages (2 MiB), as x86-64 processors report them.
    pub tlb_entries_4k: Option<u32>,
    pub tlb_entries_2m: Option<u32>,
    /// The largest memory-side cache of a NUMA node, in bytes: all memory is behind such caches, if any are reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_side_cache_bytes: Option<u64>,
    /// Frequency of the clock behind "cycles per access".
    pub cycle_hertz: Option<f64>,
    pub cycle_source: String,
    pub kernel: String,
    pub governor: Option<String>,
    /// The system's setting for transparent huge pages: `always`, `madvise` or `never`.
    pub huge_pages: Option<String>,
    pub load: Option<f64>,
}

impl Host {
    /// Returns the memory for people: `256 GiB`, `256 GiB behind memory-side caches of 16 GiB per NUMA node`, or `not reported`.
    pub fn memory(&self) -> String {
        let size = if self.memory_bytes == 0 { "not reported".into() } else { units::bytes(self.memory_bytes as f64) };
        let cache = self.memory_side_cache_bytes.map(|bytes| units::bytes(bytes as f64));
        size + &cache.map_or(String::new(), |cache| format!(" behind memory-side caches of {cache} per NUMA node"))
    }

    /// Returns the bytes that the second-level data TLB covers with pages of this size, if the processor reports its entries.
    pub fn tlb_reach(&self, page_bytes: f64) -> Option<f64> {
        // Base pages have at most 64 KiB.
        let entries = if page_bytes > 65536.0 { self.tlb_entries_2m } else { self.tlb_entries_4k };
        entries.map(|entries| f64::from(entries) * page_bytes)
    }

    /// Returns the processor and its cores for titles: `Intel Xeon Processor, 2 cores`; empty if both are unknown.
    pub fn plain_name(&self) -> String {
        let cores = self.processors.machine_cores.map(|cores| units::plural(cores as usize, "core"));
        let model = Some(plain_model(&self.cpu_model)).filter(|model| !model.is_empty());
        model.into_iter().chain(cores).collect::<Vec<_>>().join(", ")
    }

    pub fn node_type(&self) -> String {
        let last_cache_bytes = self.caches.iter().map(|cache| cache.bytes).max();
        node_type(&self.cpu_model, &self.processors, last_cache_bytes, self.memory_bytes, self.memory_side_cache_bytes)
    }
}

/// `Example CPU, 2 packages, 64 cores, 2 NUMA nodes, last cache 32 MiB, 256 GiB`. `memory_bytes` is 0 if unknown.
pub fn node_type(
    cpu_model: &str,
    processors: &Processors,
    last_cache_bytes: Option<u64>,
    memory_bytes: u64,
    memory_side_cache_bytes: Option<u64>,
) -> String {
    // The part that a process may use depends on its job, not on the node.
    let whole = Processors { cores: None, hardware_threads: None, ..processors.clone() };
    let cache = last_cache_bytes.map(|bytes| format!("last cache {}", units::bytes(bytes as f64)));
    let memory = (memory_bytes > 0).then(|| units::bytes(memory_class(memory_bytes) as f64));
    let model = plain_model(cpu_model);
    let side_cache = memory_side_cache_bytes.map(|bytes| format!("memory-side cache {}", units::bytes(bytes as f64)));
    let parts = [Some(model), Some(whole.to_string()), cache, memory, side_cache];
    parts.into_iter().flatten().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
}

/// Returns the model of a processor without marks: `Intel Xeon Processor`.
fn plain_model(cpu_model: &str) -> String {
    let marks = ["(R)", "(TM)", "(r)", "(tm)"];
    let model = marks.into_iter().fold(cpu_model.to_owned(), |name, mark| name.replace(mark, ""));
    model.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Rounds memory up to 1, 1.25, 1.5 or 1.75 times a power of two, because nodes report a few per cent less.
fn memory_class(bytes: u64) -> u64 {
    let step = (bytes.checked_next_power_of_two().unwrap_or(1 << 63) / 8).max(1);
    bytes.div_ceil(step).saturating_mul(step)
}

/// Numbers of processors, as the system reports them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Processors {
    /// Cores that this process may keep busy, within its affinity, its control groups and their limits of processor time.
    pub cores: Option<u32>,
    /// Hardware threads that this process may keep busy.
    pub hardware_threads: Option<u32>,
    pub machine_cores: Option<u32>,
    pub machine_hardware_threads: Option<u32>,
    pub packages: Option<u32>,
    pub numa_nodes: Option<u32>,
    /// Cores of the machine by kind, if it has several kinds.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub kinds: BTreeMap<String, u32>,
}

/// `2 packages, 40 cores, 80 hardware threads, 2 NUMA nodes; this process may use 20 cores`.
impl fmt::Display for Processors {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let count_text = |count: Option<u32>, noun: &str| Some(plural(count? as usize, noun));
        let if_several = |count: Option<u32>| count.filter(|&count| count > 1);
        let kind_text = |(kind, count): (&String, &u32)| format!("{count} {kind}");
        let kinds = self.kinds.iter().map(kind_text).collect::<Vec<_>>().join(", ");
        let cores = count_text(self.machine_cores, "core");
        let parts = [
            count_text(if_several(self.packages), "package"),
            cores.map(|cores| if kinds.is_empty() { cores } else { format!("{cores} ({kinds})") }),
            count_text(
                self.machine_hardware_threads.filter(|_| self.machine_hardware_threads != self.machine_cores),
                "hardware thread",
            ),
            count_text(if_several(self.numa_nodes), "NUMA node"),
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

/// The place of a rank when its launch began.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Placement {
    pub rank: usize,
    pub node: String,
    /// Identifies the machine regardless of the node's name, by the boot id that the kernel draws when it starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    pub hardware_thread: Option<u32>,
    /// The first hardware thread of its core.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub physical_core: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub package: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub numa_node: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_memory_bytes: Option<u64>,
    /// Whether the rank may run only on this core.
    pub pinned: bool,
    /// The place of its memory at the latest sample.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryPlacement>,
}

/// The NUMA nodes of a rank's memory, estimated from a subset of its pages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemoryPlacement {
    /// The NUMA node of the hardware thread that the rank ran on.
    pub numa_node: u32,
    /// The NUMA node that holds most of the pages.
    pub memory_node: u32,
    /// Share of the pages that are on NUMA nodes other than the rank's.
    pub elsewhere: f64,
}

impl MemoryPlacement {
    /// Creates the placement of a rank on NUMA node `numa_node` from the number of its pages per NUMA node.
    pub fn from_page_counts(numa_node: usize, pages: &BTreeMap<usize, usize>) -> Option<Self> {
        let total: usize = pages.values().sum();
        let (&fullest_node, _) = pages.iter().max_by_key(|(_, count)| **count)?;
        let elsewhere = (total - pages.get(&numa_node).copied().unwrap_or(0)) as f64 / total as f64;
        Some(Self { numa_node: numa_node as u32, memory_node: fullest_node as u32, elsewhere })
    }
}
