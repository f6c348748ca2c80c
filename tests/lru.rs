//! Hit ratios by Che's approximation against a cache that is simulated line by line.

use apexmap::explore::models::lru::Accesses;
use apexmap::measure::numerics::power_law::PowerLaw;
use rand::SeedableRng;
use rand_distr::Distribution;
use rand_pcg::Pcg64Mcg;

/// A cache that replaces the line which was not used for longest: a list of lines, the latest first.
struct Cache {
    /// Neighbours of each line in the list; the last entry is its head and its end.
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

    /// Whether the line was there.
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

/// The share of the lines of blocks that were in the cache, for accesses from `before` to `before + run` since it was empty.
fn simulated(accesses: &Accesses, cache: usize, before: usize, run: usize, seed: u64) -> f64 {
    let (lines, block) = (accesses.lines as u32, accesses.block as u32);
    // Lines that are read once come from a ring so long that none is still there.
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
        let line = once as u32;
        once += accesses.once;
        if once as u32 != line {
            held.read(lines + line % ring);
        }
    }
    hits as f64 / (run as f64 * accesses.block)
}

#[test]
fn hit_ratios_are_those_of_a_simulated_cache() {
    for alpha in [1.0, 0.5, 0.1, 0.01] {
        for (block, once) in [(1.0, 0.125), (1.0, 0.0), (8.0, 0.125)] {
            for cache in [512, 4096] {
                let accesses = Accesses { alpha, lines: 16384.0, block, once };
                let (before, run) = (100_000, 1_000_000);
                let (found, expected) =
                    (accesses.hits(cache as f64, f64::INFINITY, 1.0), simulated(&accesses, cache, before, run, 1));
                assert!(
                    (found - expected).abs() < 0.003,
                    "{accesses:?}, {cache} lines: {found:.4}, simulated {expected:.4}"
                );
            }
        }
    }
}

#[test]
fn a_cache_that_begins_empty_finds_less() {
    for (alpha, cache) in [(1.0, 8192), (0.3, 8192), (0.1, 1024)] {
        let accesses = Accesses { alpha, lines: 16384.0, block: 1.0, once: 0.0 };
        for (before, run) in [(0, 4000), (4000, 4000), (0, 40_000)] {
            let found = accesses.hits(cache as f64, before as f64, run as f64);
            let runs = 400_000 / run as u64;
            let expected =
                (0..runs).map(|seed| simulated(&accesses, cache, before, run, seed)).sum::<f64>() / runs as f64;
            assert!((found - expected).abs() < 0.003, "{alpha}, {before} + {run}: {found:.4}, simulated {expected:.4}");
        }
    }
}

#[test]
fn a_block_longer_than_the_cache_is_never_found_there() {
    let accesses = Accesses { alpha: 0.01, lines: 4096.0, block: 64.0, once: 0.0 };
    assert_eq!(accesses.hits(32.0, f64::INFINITY, 1.0), 0.0);
    assert_eq!(simulated(&accesses, 32, 0, 2000, 1), 0.0);
    // All is found in what holds all.
    assert!((accesses.hits(4096.0, f64::INFINITY, 1.0) - 1.0).abs() < 1e-12);
}
