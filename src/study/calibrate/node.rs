//! The classic numbers of a node: STREAM, GUPS and the latency from core to core.

use super::{Probe, levels};
use apexmap_base::provenance::Host;
use apexmap_base::units::WORD_BYTES;
use apexmap_measure::kernels::Kernel;
use apexmap_measure::kernels::calibrate::memory::{core_to_core, stream};
use apexmap_measure::kernels::random_access::{sequential::STAR, shared};
use apexmap_theory::machine::{Entry, NumberName, Word, catalogue};

/// STREAM's rule: each array is at least this many times as large as the last-level caches.
pub const STREAM_RULE: u64 = 4;
/// Maximum bytes of the arrays or tables of a core; it fills and checks its own, and larger ones take long.
const MAX_BYTES_PER_CORE: u64 = 1 << 30;
/// Maximum number of cores whose pairs are measured. Larger nodes use this many, in pairs of neighbours that are evenly spread.
pub const MAX_CORES: usize = 16;

pub fn last_caches(host: &Host) -> Option<u64> {
    let last = host.caches.iter().max_by_key(|cache| cache.level)?;
    let threads = host.processors.machine_hardware_threads.unwrap_or(last.shared_by);
    Some(last.bytes * u64::from(threads / last.shared_by.max(1)).max(1))
}

/// The bytes of each rank's three arrays together, a power of two.
fn arrays(host: &Host, cores: usize) -> u64 {
    let most = (MAX_BYTES_PER_CORE * cores as u64).min(levels::memory_bytes(host) / 4);
    let wanted = (3 * STREAM_RULE * last_caches(host).unwrap_or(32 << 20)).min(most);
    let each = (wanted / cores as u64).max(1 << 14);
    let rounded = each.next_power_of_two();
    // Round up within the limit.
    if rounded * cores as u64 <= most { rounded } else { rounded / 2 }
}

pub fn node_probes(host: &Host, cores: usize) -> Vec<Probe> {
    let bytes = arrays(host, cores);
    let mut probes = Vec::new();
    for (number, access) in [
        (catalogue::STREAM_COPY_BYTES_PER_SECOND, "copy"),
        (catalogue::STREAM_SCALE_BYTES_PER_SECOND, "scale"),
        (catalogue::STREAM_ADD_BYTES_PER_SECOND, "add"),
        (catalogue::STREAM_TRIAD_BYTES_PER_SECOND, "triad"),
    ] {
        let probe = Probe::new(number, &stream::KERNEL, cores).set("access", access).set("bytes", bytes);
        probes.push(probe.set("passes", 2u64).read_column("bytes_per_second"));
    }
    // The tables are about as large as one of the arrays. The total of all cores' tables and the shared table are
    // powers of two.
    let own = bytes / 2 / WORD_BYTES;
    let shared = super::previous_power_of_two(own * cores as u64);
    // HPCC's definition has four updates per word.
    let updates = |words: u64, count: u64| (count as f64 / words as f64).min(4.0);
    let star = gups(Word::Star, &STAR, cores);
    probes.push(star.set("N_words", own).set("updates", updates(own, 1 << 22)));
    let shared_probe = gups(Word::Shared, &shared::KERNEL, 1).set("N_words", shared).set("cores", cores as u64);
    probes.push(shared_probe.set("updates", updates(shared, (cores as u64) << 22)).set("updates_by", "unlocked"));
    probes.extend(core_to_core(cores));
    probes
}

/// The points of `apexmap try`: few numbers of the whole calibration, with its settings. Pairs of cores include the first.
pub fn quick_probes(host: &Host, cores: usize) -> Vec<Probe> {
    let is_wanted = |probe: &Probe| match probe.number.qualifier[..] {
        [] => QUICK_NUMBERS.iter().any(|entry| entry.name == probe.number.entry.name),
        [Word::Pair(first, _)] => first == 0,
        ref words => *words == [Word::Star],
    };
    let mut probes = [super::probes(host, cores), node_probes(host, cores)].concat();
    probes.retain(is_wanted);
    probes
}

const QUICK_NUMBERS: [&Entry; 9] = [
    catalogue::L1_LATENCY_SECONDS,
    catalogue::L2_LATENCY_SECONDS,
    catalogue::L3_LATENCY_SECONDS,
    catalogue::MEMORY_LATENCY_SECONDS,
    catalogue::L1_BANDWIDTH_BYTES_PER_SECOND,
    catalogue::L2_BANDWIDTH_BYTES_PER_SECOND,
    catalogue::L3_BANDWIDTH_BYTES_PER_SECOND,
    catalogue::MEMORY_BANDWIDTH_BYTES_PER_SECOND,
    catalogue::STREAM_TRIAD_BYTES_PER_SECOND,
];

pub(super) fn gups(word: Word, kernel: &'static Kernel, ranks: usize) -> Probe {
    let number = NumberName::new(catalogue::NODE_UPDATES_PER_SECOND).with_qualifier([word]);
    Probe { factor: 1e-9, ..Probe::from_number(number, kernel, ranks).read_column("operations_per_second") }
}

fn core_to_core(cores: usize) -> Vec<Probe> {
    let looked_at = cores.min(MAX_CORES);
    let rank = |k: usize| if cores <= MAX_CORES { k } else { k / 2 * cores / (MAX_CORES / 2) + k % 2 } as u64;
    let pairs = (0..looked_at).flat_map(|second| (0..second).map(move |first| (first, second)));
    let to_probe = |(first, second): (usize, usize)| {
        let (first, second) = (rank(first), rank(second));
        let name = NumberName::new(catalogue::CORE_TO_CORE_SECONDS).with_qualifier([Word::Pair(first, second)]);
        Probe::from_number(name, &core_to_core::KERNEL, cores).set("first", first).set("second", second)
    };
    pairs.map(to_probe).collect()
}
