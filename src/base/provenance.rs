//! Provenance: the machine and the build that produced a measurement.

use crate::units::plural;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;
use std::fmt;

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
    /// Of a rank on NUMA node `own`.
    pub fn on(own: usize, pages: &BTreeMap<usize, usize>) -> Option<Self> {
        let all: usize = pages.values().sum();
        let (&most, _) = pages.iter().max_by_key(|(_, count)| **count)?;
        let elsewhere = (all - pages.get(&own).copied().unwrap_or(0)) as f64 / all as f64;
        Some(Self { numa_node: own as u32, memory_node: most as u32, elsewhere })
    }
}
