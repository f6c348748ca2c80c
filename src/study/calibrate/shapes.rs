//! The measurements that Apex-Map's model is fitted to: reads and accesses with a given remote share, independent of the power law.

use super::{Probe, levels};
use apexmap_base::provenance::Host;
use apexmap_base::units::WORD_BYTES;
use apexmap_measure::kernels::calibrate::memory::{blocks, residence, sparse};
use apexmap_measure::kernels::calibrate::network::request;
use apexmap_theory::machine::{Entry, Word, catalogue};

/// Fractions of reads that miss. Another probe covers reads that all miss.
const SHARES: [f64; 6] = [1.0 / 1024.0, 1.0 / 128.0, 1.0 / 32.0, 1.0 / 8.0, 1.0 / 4.0, 1.0 / 2.0];
const BLOCKS: [u64; 12] = [4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 16384];
const REMOTE_BLOCKS: [u64; 6] = [1, 16, 64, 256, 1024, 4096];
const REMOTE_SHARES: [f64; 5] = [1.0 / 1024.0, 1.0 / 64.0, 1.0 / 8.0, 0.5, 1.0];

/// Seconds without reads of a region in L3.
const WAITS: [f64; 6] = [1e-6, 1e-3, 3e-3, 1e-2, 3e-2, 0.1];

/// Largest region in bytes, if the memory allows: far beyond the caches, like the memory of a sweep.
const MAX_REGION: u64 = 512 << 20;

/// The points in addition to those of the card's own numbers, each under the number that it determines best.
pub fn shapes(host: &Host, cores: usize) -> Vec<Probe> {
    let level = |level: u32| host.caches.iter().find(|cache| cache.level == level).map(|cache| cache.bytes);
    let part = |bytes: u64, divisor: u64| (bytes / divisor).next_power_of_two();
    let far = MAX_REGION.min((levels::memory_bytes(host) / 8).next_power_of_two() / 2).max(1 << 22);
    let mut probes = Vec::new();
    probes.extend(blocks(catalogue::ISSUE_SECONDS_PER_BYTE, part(level(1).unwrap_or(32 << 10), 2), &Word::Huge));
    for (level, alone, line, divisor) in [
        (level(2), catalogue::L2_LINE_SECONDS, catalogue::L2_LINE_SECONDS, 2),
        // Others use L3 too, so a large region in it loses some lines. Half of L3 may belong to others.
        (level(3), catalogue::L3_ALONE_SECONDS, catalogue::L3_LINE_SECONDS, 8),
        (Some(far), catalogue::MEMORY_ALONE_SECONDS, catalogue::MEMORY_LINE_SECONDS, 1),
    ] {
        let Some(bytes) = level.map(|bytes| part(bytes, divisor)) else { continue };
        for pages in [Word::Huge, Word::Base] {
            probes.extend(blocks(line, bytes, &pages));
            probes.extend(sparse(alone, bytes, &pages));
        }
    }
    if let (Some(second), Some(third)) = (level(2), level(3)) {
        let bytes = part(third, 8).max(4 * part(second, 1)).min(part(third, 2));
        probes.extend(WAITS.map(|wait| residence(bytes, wait)));
    }
    if cores > 1 {
        for (by, number) in [("messages", catalogue::REQUEST_SECONDS), ("gets", catalogue::GET_LEAST_SECONDS)] {
            let blocks = REMOTE_BLOCKS.into_iter();
            probes.extend(blocks.flat_map(|block| REMOTE_SHARES.map(|share| request(number, by, block, share))));
        }
    }
    probes
}

fn blocks(number: &'static Entry, bytes: u64, pages: &Word) -> Vec<Probe> {
    let words = bytes / WORD_BYTES;
    let to_probe = |block: u64| {
        let probe = Probe::new(number, &blocks::KERNEL, 1).set("bytes", bytes).set("pages", pages);
        // A run then takes one or a few milliseconds.
        probe.set("L", block).set("reads", ((1 << 22) / block).clamp(256, 1 << 18))
    };
    BLOCKS.into_iter().filter(|block| 4 * block <= words).map(to_probe).collect()
}

fn sparse(number: &'static Entry, bytes: u64, pages: &Word) -> Vec<Probe> {
    let to_probe = |share: f64| {
        let probe = Probe::new(number, &sparse::KERNEL, 1).set("bytes", bytes).set("pages", pages);
        probe.set("random_share", share).set("reads", if share < 0.1 { 1u64 << 20 } else { 1 << 18 })
    };
    SHARES.map(to_probe).into()
}

fn residence(bytes: u64, wait: f64) -> Probe {
    Probe::new(catalogue::L3_DISPLACEMENTS_PER_SECOND, &residence::KERNEL, 1).set("bytes", bytes).set("wait", wait)
}

fn request(number: &'static Entry, by: &str, block: u64, share: f64) -> Probe {
    let probe = Probe::new(number, &request::KERNEL, 2).set("by", by).set("M", 2 * block.max(1024));
    probe.set("L", block).set("given_remote_share", share)
}
