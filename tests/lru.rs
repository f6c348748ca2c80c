//! Compares hit ratios by Che's approximation with a cache that is simulated line by line.

use apexmap_measure::numerics::power_law::PowerLaw;
use apexmap_theory::models::apex_map::lru::AccessPattern;
use rand::SeedableRng;
use rand_distr::Distribution;
use rand_pcg::Pcg64Mcg;

/// A cache that replaces the least recently used line: a list of lines, the most recent first.
struct Cache {
    /// Neighbours of each line in the list. The last entry is both head and end.
    before: Vec<u32>,
    after: Vec<u32>,
    held: Vec<bool>,
    room: usize,
}

impl Cache {
    fn new(lines: usize, room: usize) -> Self {
        let head = lines as u32;
        Self { before: vec![head; lines + 1], after: vec![head; lines + 1], held: vec![false; lines], room }
    }

    fn remove(&mut self, line: u32) {
        let (before, after) = (self.before[line as usize], self.after[line as usize]);
        self.after[before as usize] = after;
        self.before[after as usize] = before;
        self.held[line as usize] = false;
        self.room += 1;
    }

    /// Reads a line and returns whether the cache held it.
    fn read(&mut self, line: u32) -> bool {
        let (head, was) = (self.held.len(), self.held[line as usize]);
        if was {
            self.remove(line);
        } else if self.room == 0 {
            self.remove(self.before[head]);
        }
        let first = self.after[head];
        (self.before[line as usize], self.after[line as usize]) = (head as u32, first);
        self.before[first as usize] = line;
        self.after[head] = line;
        self.held[line as usize] = true;
        self.room -= 1;
        was
    }
}

/// Returns the share of the lines of blocks that hit, for accesses `before` to `before + run` on a cache that starts
/// empty.
fn simulate_hits(accesses: &AccessPattern, cache: usize, before: usize, run: usize, seed: u64) -> f64 {
    let (lines, block) = (accesses.lines as u32, accesses.block as u32);
    // Lines that are read once come from a ring so long that the cache has evicted all of them.
    let ring = 2 * cache as u32 + 2;
    let mut held = Cache::new((lines + ring) as usize, cache);
    let law = PowerLaw::new(u64::from(lines / block), accesses.alpha);
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let (mut once, mut hits) = (0.0, 0usize);
    for access in 0..before + run {
        let first = law.sample(&mut random) as u32 * block;
        for line in first..first + block {
            hits += usize::from(held.read(line) && access >= before);
        }
        let before = once as u32;
        once += accesses.once;
        (before..once as u32).for_each(|line| {
            held.read(lines + line % ring);
        });
    }
    hits as f64 / (run as f64 * accesses.block)
}

#[test]
fn hit_ratios_match_a_simulated_cache() {
    for alpha in [1.0, 0.5, 0.1, 0.01] {
        for (block, once) in [(1.0, 0.125), (1.0, 0.0), (1.0, 1.5), (8.0, 0.125)] {
            for cache in [512, 4096] {
                let accesses = AccessPattern { alpha, lines: 16384.0, ranks: 1.0, block, once, others: 0.0 };
                let (before, run) = (100_000, 1_000_000);
                let (approximated, expected) =
                    (accesses.hits(cache as f64).own.lines, simulate_hits(&accesses, cache, before, run, 1));
                assert!(
                    (approximated - expected).abs() < 0.003,
                    "{accesses:?}, {cache} lines: {approximated:.4}, simulated {expected:.4}"
                );
            }
        }
    }
}

/// Returns the hit ratio of each of several streams of single lines that share a cache.
/// Stream k reads line `line(k, draw)`.
fn simulate_shared_cache(
    streams: usize,
    lines: u32,
    room: usize,
    blocks: u64,
    alpha: f64,
    line: impl Fn(usize, u64) -> Option<u32>,
) -> Vec<f64> {
    let mut held = Cache::new(lines as usize, room);
    let law = PowerLaw::new(blocks, alpha);
    let mut random = Pcg64Mcg::seed_from_u64(3);
    let (mut hits, mut reads) = (vec![0u32; streams], vec![0u32; streams]);
    for access in 0..600_000 {
        for stream in 0..streams {
            let Some(line) = line(stream, law.sample(&mut random)) else { continue };
            let hit = held.read(line);
            if access >= 100_000 {
                hits[stream] += u32::from(hit);
                reads[stream] += 1;
            }
        }
    }
    hits.iter().zip(reads).map(|(hits, reads)| f64::from(*hits) / f64::from(reads)).collect()
}

#[test]
fn ranks_that_share_a_cache_each_get_their_share() {
    for (alpha, ranks, cache) in [(1.0, 2, 4096), (0.3, 4, 4096), (0.05, 2, 1024)] {
        let lines = 8192u32;
        let expected =
            simulate_shared_cache(ranks, lines * ranks as u32, cache, u64::from(lines), alpha, |stream, draw| {
                Some(stream as u32 * lines + draw as u32)
            });
        let accesses = AccessPattern { alpha, lines: f64::from(lines), ranks: 1.0, block: 1.0, once: 0.0, others: 0.0 };
        let approximated = accesses.hits(cache as f64 / ranks as f64).own.lines;
        for expected in expected {
            assert!(
                (approximated - expected).abs() < 0.003,
                "{alpha}, {ranks} ranks: {approximated:.4}, simulated {expected:.4}"
            );
        }
    }
}

#[test]
fn requests_that_a_rank_serves_share_its_cache_with_its_own_reads() {
    let lines = 8192u64;
    for (alpha, ranks, cache) in [(1.0, 2u64, 2048), (0.3, 2, 2048), (0.3, 4, 1024), (0.02, 2, 512), (0.5, 12, 1024)] {
        let accesses =
            AccessPattern { alpha, lines: lines as f64, ranks: ranks as f64, block: 1.0, once: 0.0, others: 0.0 };
        let approximated = accesses.hits(cache as f64);
        // Selects from all ranks' accesses those to the memory of one rank. The distance to it grows from rank to rank.
        let expected =
            simulate_shared_cache(ranks as usize, lines as u32, cache, lines * ranks, alpha, |stream, draw| {
                (draw / lines == stream as u64).then_some((draw % lines) as u32)
            });
        let served = mean_of_other_ranks(&expected, alpha, ranks);
        assert!(
            (approximated.own.lines - expected[0]).abs() < 0.003,
            "{alpha}, {ranks}: {approximated:?}, simulated {expected:?}"
        );
        assert!(
            (approximated.served.lines - served).abs() < 0.003,
            "{alpha}, {ranks}: {approximated:?}, simulated {served:.4}"
        );
    }
}

/// Returns the mean of the hit ratios of other ranks, weighted by their accesses.
fn mean_of_other_ranks(ratios: &[f64], alpha: f64, ranks: u64) -> f64 {
    let share =
        |rank: usize| (((rank + 1) as f64).powf(alpha) - (rank as f64).powf(alpha)) / (ranks as f64).powf(alpha);
    let others = 1..ratios.len();
    others.clone().map(|rank| share(rank) * ratios[rank]).sum::<f64>() / others.map(share).sum::<f64>()
}

#[test]
fn a_block_larger_than_the_cache_never_hits() {
    let accesses = AccessPattern { alpha: 0.01, lines: 4096.0, ranks: 1.0, block: 64.0, once: 0.0, others: 0.0 };
    assert_eq!(accesses.hits(32.0).own.lines, 0.0);
    assert_eq!(simulate_hits(&accesses, 32, 0, 2000, 1), 0.0);
    // A cache that holds everything always hits, and no other rank sends requests.
    let hits = accesses.hits(4096.0);
    assert!((hits.own.lines - 1.0).abs() < 1e-12 && hits.served.lines == 1.0, "{hits:?}");
}

/// Simulates single lines like [`simulated`], with other users who bring bursts of lines at random times. Three bursts
/// fill the part of the cache that the accesses leave.
fn simulate_with_bursts(accesses: &AccessPattern, cache: usize, burst: usize, run: usize) -> f64 {
    let lines = accesses.lines as u32;
    let ring = 2 * cache as u32 + 2;
    let mut held = Cache::new((lines + ring) as usize, cache);
    let law = PowerLaw::new(u64::from(lines), accesses.alpha);
    let mut random = Pcg64Mcg::seed_from_u64(5);
    let gap = rand_distr::Exp::new(accesses.others / burst as f64).expect("a rate");
    let (mut next, mut ring_index, mut hits) = (gap.sample(&mut random), 0u32, 0usize);
    for access in 0..run {
        hits += usize::from(held.read(law.sample(&mut random) as u32));
        while next <= access as f64 {
            for _ in 0..burst {
                held.read(lines + ring_index % ring);
                ring_index += 1;
            }
            next += gap.sample(&mut random);
        }
    }
    hits as f64 / run as f64
}

#[test]
fn bursts_of_other_ranks_displace_the_least_read_lines() {
    for (alpha, others) in [(1.0, 2.0), (0.3, 0.5), (0.3, 8.0), (0.05, 4.0)] {
        let (lines, cache) = (512.0, 8192);
        let accesses = AccessPattern { alpha, lines, ranks: 1.0, block: 1.0, once: 0.0, others };
        // The third burst is the first after which the cache has no room for a line and everything read since.
        let burst = ((cache as f64 - lines) / 2.9) as usize;
        let (approximated, expected) =
            (accesses.hits(cache as f64).own.lines, simulate_with_bursts(&accesses, cache, burst, 4_000_000));
        assert!((approximated - expected).abs() < 0.02, "{accesses:?}: {approximated:.4}, simulated {expected:.4}");
        // A steady stream of lines would hardly displace lines that are read uniformly.
        let steady = AccessPattern { once: others, others: 0.0, ..accesses }.hits(cache as f64).own.lines;
        assert!(alpha < 1.0 || expected < steady - 0.02, "{expected:.4}, with steady lines {steady:.4}");
    }
}

#[test]
fn a_block_is_complete_until_its_first_line_is_displaced() {
    let (blocks, block, cache) = (64.0, 8.0, 65536.0);
    let mut random = Pcg64Mcg::seed_from_u64(7);
    // Number of accesses for which a line stays: large and small relative to the 64 until its block is read again.
    for stays in [1000.0, 200.0, 60.0, 10.0] {
        let others = (cache - blocks * block) / stays;
        let accesses = AccessPattern { alpha: 1.0, lines: blocks * block, ranks: 1.0, block, once: 0.0, others };
        let approximated = accesses.hits(cache).own;
        let exponential = rand_distr::Exp::new(1.0).expect("a rate");
        let (mut lines, mut complete_blocks, reads) = (0, 0, 100_000);
        for _ in 0..reads {
            let unread: f64 = blocks * random_of(&exponential, &mut random);
            let mut stay = || (0..3).map(|_| random_of(&exponential, &mut random)).sum::<f64>() * stays / 3.0;
            let left = (0..8).filter(|_| stay() > unread).count();
            lines += left;
            complete_blocks += usize::from(left == 8);
        }
        let expected = [lines as f64 / (8.0 * f64::from(reads)), complete_blocks as f64 / f64::from(reads)];
        assert!((approximated.lines - expected[0]).abs() < 0.01, "{stays}: {approximated:?}, {expected:?}");
        assert!((approximated.whole - expected[1]).abs() < 0.03, "{stays}: {approximated:?}, {expected:?}");
    }
}

fn random_of(law: &rand_distr::Exp<f64>, random: &mut Pcg64Mcg) -> f64 {
    law.sample(random)
}
