//! Latency and bandwidth of each cache level and of memory, measured well within the plateau of the level.

use super::{CHASES, MAX_REGION, Probe, previous_power_of_two};
use apexmap_base::provenance::Host;
use apexmap_base::units;
use apexmap_measure::kernels::calibrate::memory::{chase, stream};
use apexmap_theory::machine::catalogue;

/// Bytes of the first, second and third level; `None` for an unknown one.
pub type Sizes = [Option<f64>; 3];

/// Ratio of the region for memory to the largest cache, which serves its share of a region that is read repeatedly.
const MEMORY_FACTOR: u64 = 16;

pub fn reported_sizes(host: &Host) -> Sizes {
    [1, 2, 3].map(|level| host.caches.iter().find(|cache| cache.level == level).map(|cache| cache.bytes as f64))
}

/// Memory of a machine that reports none, in bytes.
const TYPICAL_MEMORY: u64 = 8 << 30;

pub fn memory_bytes(host: &Host) -> u64 {
    if host.memory_bytes > 0 { host.memory_bytes } else { TYPICAL_MEMORY }
}

pub fn unknown_memory(host: &Host) -> Option<String> {
    let typical = units::bytes(TYPICAL_MEMORY as f64);
    (host.memory_bytes == 0).then(|| format!("main memory: the system reports none; regions are those of {typical}"))
}

pub fn beyond_caches(host: &Host) -> u64 {
    previous_power_of_two((2 * largest_cache(host)).min(memory_bytes(host) / 8).max(1 << 20))
}

pub fn largest_cache(host: &Host) -> u64 {
    host.caches.iter().map(|cache| cache.bytes).max().unwrap_or(32 << 20)
}

fn memory_region(host: &Host) -> u64 {
    let wanted = (MEMORY_FACTOR * largest_cache(host)).min(MAX_REGION.max(2 * largest_cache(host)));
    previous_power_of_two(wanted.min(memory_bytes(host) / 8).max(1 << 20))
}

/// Half of the first level; for others, the geometric mean with the nearer level, at least twice the nearer one and at most half.
fn plateau(nearer: Option<f64>, size: f64) -> u64 {
    let half = previous_power_of_two(size as u64 / 2);
    let Some(nearer) = nearer else { return half };
    let middle = 2f64.powf((nearer * size).sqrt().log2().round()) as u64;
    middle.max(2 * (nearer as u64).next_power_of_two()).min(half)
}

/// That of the reported sizes if it is well within these sizes, too: a small difference of a size moves no region.
fn region(level: usize, sizes: Sizes, reported: Sizes) -> Option<u64> {
    let nearer = |sizes: Sizes| sizes[..level].iter().copied().flatten().next_back();
    let size = sizes[level]?;
    let least = nearer(sizes).map_or(0.0, |nearer| 2.0 * nearer);
    let is_within = |bytes: &u64| (least..=size / 2.0).contains(&(*bytes as f64));
    let expected = reported[level].map(|size| plateau(nearer(reported), size));
    Some(expected.filter(is_within).unwrap_or_else(|| plateau(nearer(sizes), size)))
}

pub fn probes(host: &Host, sizes: Sizes) -> Vec<Probe> {
    let caches = [0, 1, 2].map(|level| region(level, sizes, reported_sizes(host)));
    let regions = caches.into_iter().chain([Some(memory_region(host))]);
    let numbers = [
        [catalogue::L1_LATENCY_SECONDS, catalogue::L1_ACCESS_SECONDS, catalogue::L1_BANDWIDTH_BYTES_PER_SECOND],
        [catalogue::L2_LATENCY_SECONDS, catalogue::L2_ACCESS_SECONDS, catalogue::L2_BANDWIDTH_BYTES_PER_SECOND],
        [catalogue::L3_LATENCY_SECONDS, catalogue::L3_ACCESS_SECONDS, catalogue::L3_BANDWIDTH_BYTES_PER_SECOND],
        [
            catalogue::MEMORY_LATENCY_SECONDS,
            catalogue::MEMORY_ACCESS_SECONDS,
            catalogue::MEMORY_BANDWIDTH_BYTES_PER_SECOND,
        ],
    ];
    let mut probes = Vec::new();
    for (bytes, [latency, access, bandwidth]) in regions.zip(numbers) {
        let Some(bytes) = bytes else { continue };
        let chase = |number| Probe::new(number, &chase::KERNEL, 1).set("bytes", bytes).set("steps", 1u64 << 18);
        // Each run reads 64 MiB in total, so that small regions take long enough for the clock.
        let passes = ((1u64 << 26) / bytes).max(1);
        let read = Probe::new(bandwidth, &stream::KERNEL, 1).set("bytes", bytes).set("passes", passes);
        probes.push(chase(latency).set("chases", 1u64));
        probes.push(Probe { factor: 1.0 / CHASES as f64, ..chase(access).set("chases", CHASES) });
        probes.push(read.set("access", "read").read_column("bytes_per_second"));
    }
    probes
}
