//! Memory of the ranks of a point, the machine, and sizes that depend on it: shares of its memory, and sizes beyond its caches.

use super::spec::Scalar;
use apexmap_base::point::Point;
use apexmap_base::units::WORD_BYTES;
use apexmap_measure::comm::{TransportKind, arena};
use apexmap_measure::hardware::Hardware;
use apexmap_measure::kernels::keys::{PAGES, Pages};
use apexmap_measure::kernels::{self, Domain, Parameter};
use apexmap_measure::{observer, seen_cache};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A process with its libraries (x86_64, glibc). The value for threads was measured, the one for MPI is an estimate.
fn process_bytes(transport: TransportKind) -> u64 {
    match transport {
        TransportKind::Threads => 16 << 20,
        TransportKind::Mpi => 24 << 20,
        TransportKind::Simulated => 16 << 20,
    }
}

/// Bytes of a rank besides its measurement: its canary, the used part of its stack, and memory of the system and the library.
const RANK_BYTES: u64 = observer::MEMORY + (48 << 10);
/// Bytes of a simulated rank besides its measurement: the used part of its stack, and its state.
const SIMULATED_RANK_BYTES: u64 = 24 << 10;
/// Bytes of a rank for each point of its launch.
const TASK_BYTES: u64 = 3 << 10;

/// On one node. A rank keeps memory for the largest point, once for each kind of pages; other memory is freed before the next.
pub fn launch_bytes<'a>(points: impl IntoIterator<Item = &'a Point>, transport: TransportKind, ranks: usize) -> u64 {
    if transport == TransportKind::Simulated {
        let memory = |point: &Point| kernels::find(&point.kernel).map_or(0, |kernel| kernel.simulated_memory(point));
        let largest = points.into_iter().map(memory).max().unwrap_or(0);
        return process_bytes(transport).saturating_add((largest + SIMULATED_RANK_BYTES).saturating_mul(ranks as u64));
    }
    let (mut words, mut kinds, mut rest, mut tasks) = (0, [false; 2], 0, 0);
    for point in points {
        tasks += 1;
        let Ok(kernel) = kernels::find(&point.kernel) else { continue };
        let arena_words = kernel.arena_words(point);
        let rings: u64 = match transport {
            TransportKind::Threads => kernel.rings(point).iter().map(|rings| rings.bytes(point.ranks)).sum(),
            TransportKind::Mpi | TransportKind::Simulated => 0,
        };
        // If ranks differ, one node may have only ranks that need the most memory.
        let memory = match ranks < point.ranks {
            true => kernel.memory(point),
            false => kernel.total_memory(point).div_ceil(point.ranks as u64),
        };
        rest = rest.max(memory.saturating_sub(arena_words.saturating_mul(WORD_BYTES)).saturating_add(rings));
        words = words.max(arena_words);
        let has_base_pages = PAGES.get(point) == Some(Pages::Base);
        kinds[usize::from(has_base_pages)] |= arena_words > 0;
    }
    let [huge, base] = kinds;
    let on_huge = if huge { arena::allocated_bytes(words) } else { 0 };
    let on_base = if base { words.saturating_mul(WORD_BYTES) } else { 0 };
    let rank = [RANK_BYTES, TASK_BYTES * tasks, on_huge, on_base, rest].into_iter().fold(0, u64::saturating_add);
    let processes = if transport == TransportKind::Mpi { ranks as u64 } else { 1 };
    rank.saturating_mul(ranks as u64).saturating_add(process_bytes(transport).saturating_mul(processes))
}

/// How to compute a value from the number in the sweep, which shares of memory and sizes beyond caches do not use.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Amount {
    Total,
    PerRank,
    /// A share of a node's memory.
    MemoryShare(f64),
    /// For every rank.
    BeyondCaches,
    /// One rank per core of the NUMA node that `core_node` names; without it, the number in the sweep.
    OneNumaNode,
}

/// The value of a [`Domain::Global`] that means [`Amount::BeyondCaches`].
pub const BEYOND_CACHES: &str = "beyond caches";

/// The paper's size per rank (64 Mwords, Section 3.3), which is the smallest size beyond caches.
const MIN_WORDS: u64 = 64 << 20;
/// Ratio of memory to the last cache. Only a small part of the memory is then cached.
const CACHE_FACTOR: u64 = 4;
/// Largest share of a node's memory that its ranks take, for each kind of pages. A launch may keep memory of both kinds.
const MAX_MEMORY_SHARE: f64 = 0.25;
/// Memory in bytes that the system and other programs need, but at most half of all memory.
const RESERVED_BYTES: u64 = 2 << 30;

/// The amount of a parameter that a sweep does not set.
pub fn default_amount(parameter: &Parameter) -> Amount {
    match parameter.domain {
        Domain::Size { .. } => Amount::MemoryShare(0.5),
        Domain::Global { .. } => Amount::BeyondCaches,
        _ => Amount::Total,
    }
}

/// The machine, and the number of ranks that share a node's memory.
#[derive(Clone, Copy)]
pub struct Sizes<'a> {
    pub machine: &'a Machine,
    /// All ranks if absent.
    pub ranks_per_node: Option<usize>,
}

impl Sizes<'_> {
    /// The number of words for this amount; `None` for a plain number.
    pub fn words(&self, point: &Point, parameter: &Parameter, amount: Amount) -> Option<u64> {
        match amount {
            Amount::MemoryShare(part) => Some(largest_size(point, parameter.name, self.bytes_per_rank(point, part))),
            Amount::BeyondCaches => {
                let max_words = match self.machine.memory {
                    0 => u64::MAX,
                    memory => {
                        let usable_share = memory.saturating_sub(RESERVED_BYTES).max(memory / 2) as f64 / memory as f64;
                        power_below(
                            (self.bytes_per_rank(point, usable_share * MAX_MEMORY_SHARE) / WORD_BYTES as f64) as u64,
                        )
                    }
                };
                Some(words_beyond_caches(self.machine).min(max_words).saturating_mul(point.ranks as u64))
            }
            Amount::Total | Amount::PerRank | Amount::OneNumaNode => None,
        }
    }

    fn bytes_per_rank(&self, point: &Point, part: f64) -> f64 {
        let per_node = point.launch_size().ranks_per_node.or(self.ranks_per_node);
        let neighbours = per_node.map_or(point.ranks, |limit| limit.min(point.ranks));
        part * self.machine.memory as f64 / neighbours.max(1) as f64
    }
}

/// The words per rank that exceed the caches of this machine, as far as reads see them: a power of two, at least 64 Mwords.
pub fn words_beyond_caches(machine: &Machine) -> u64 {
    // Hypervisors report the whole cache of a processor. The probe takes about a second, so it runs only for large ones.
    let probe = || if machine.can_probe { seen_cache::probe() } else { None };
    let seen =
        if machine.last_cache > seen_cache::UNPROBED_BYTES { machine.last_cache_seen.or_else(probe) } else { None };
    let last_cache = seen.map_or(machine.last_cache, |seen| seen.min(machine.last_cache));
    MIN_WORDS.max(CACHE_FACTOR * last_cache / WORD_BYTES).next_power_of_two()
}

fn power_below(words: u64) -> u64 {
    1 << words.max(1).ilog2()
}

/// The largest power of two for which a rank needs at most this number of bytes.
fn largest_size(point: &Point, name: &str, bytes: f64) -> u64 {
    let Ok(kernel) = kernels::find(&point.kernel) else { return 1 };
    let fits = |words: &u64| {
        let words = kernel.arena_words(&point.clone().with_parameter(name, *words));
        words as f64 * WORD_BYTES as f64 <= bytes
    };
    (0..60).rev().map(|bits| 1 << bits).find(fits).unwrap_or(1)
}

/// Parses "1/2 of memory", "25 % of memory" or "0.1 of memory"; `None` for other values.
pub fn parse_memory_share(scalar: &Scalar) -> Result<Option<f64>, String> {
    let Scalar::Text(text) = scalar else { return Ok(None) };
    let Some(share) = text.trim_end().strip_suffix("of memory") else { return Ok(None) };
    let number = |text: &str| text.trim().parse::<f64>().ok();
    let value = match (share.split_once('/'), share.trim_end().strip_suffix('%')) {
        (Some((above, below)), _) => number(above).zip(number(below)).map(|(above, below)| above / below),
        (None, Some(percent)) => number(percent).map(|percent| percent / 100.0),
        (None, None) => number(share),
    };
    match value {
        Some(value) if value > 0.0 && value <= 1.0 => Ok(Some(value)),
        _ => Err(format!("\"{text}\" is not a fraction of memory; write \"1/2 of memory\" or \"25 % of memory\"")),
    }
}

/// The machine that a sweep is read for. It determines the words for `ranks` and shares of memory.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Machine {
    /// Cores that this process may use, or hardware threads if the system does not report cores: `ranks = "cores"`.
    pub cores: usize,
    /// Hardware threads that this process may use: `ranks = "hardware threads"`.
    pub hardware_threads: usize,
    /// Cores of one NUMA node, if the system reports them: `ranks = "node"`.
    pub cores_of_numa_node: Option<usize>,
    /// Cores that this process may use, by NUMA node: `core_node = "all"`; empty if unknown.
    #[serde(default)]
    pub numa_cores: BTreeMap<usize, usize>,
    /// NUMA nodes with memory: `memory_node = "all"`; empty if unknown.
    #[serde(default)]
    pub memory_nodes: Vec<usize>,
    /// Memory of a node in bytes; 0 if unknown.
    pub memory: u64,
    /// The largest cache that a core reaches, shared or not, in bytes; 0 if unknown.
    pub last_cache: u64,
    /// The part of it that random reads saw earlier, in bytes.
    #[serde(default)]
    pub last_cache_seen: Option<u64>,
    /// Whether reads can probe it now, because this is the machine of this process.
    #[serde(skip)]
    pub can_probe: bool,
    /// Whether the ranks of the machine are simulated, whatever transport the sweep names.
    #[serde(default)]
    pub is_simulated: bool,
}

impl Machine {
    /// This machine: the processors that this process may use, and the memory within the limit of its control group.
    pub fn detect() -> Self {
        let hardware = Hardware::this_machine();
        let numa_cores = hardware.cores_by_numa_node();
        Self {
            hardware_threads: hardware.hardware_threads(),
            cores_of_numa_node: numa_cores.values().max().copied(),
            numa_cores,
            memory_nodes: hardware.memory_nodes.clone(),
            last_cache: hardware.last_cache_bytes().unwrap_or(0),
            can_probe: true,
            ..Self::with_cores(hardware.cores_or_threads(), hardware.usable_memory_bytes().unwrap_or(0))
        }
    }

    /// A machine with one NUMA node of cores. Each core has one hardware thread, and the caches are small.
    pub fn with_cores(cores: usize, memory: u64) -> Self {
        Self {
            cores,
            hardware_threads: cores,
            cores_of_numa_node: Some(cores),
            numa_cores: BTreeMap::from([(0, cores)]),
            memory_nodes: vec![0],
            memory,
            last_cache: 0,
            last_cache_seen: None,
            can_probe: false,
            is_simulated: false,
        }
    }
}
