use crate::comm::Collectives;
use apexmap_base::disturbance::{Fact, Facts};
use std::hint::black_box;
use std::time::Instant;

/// 16 KiB, in the first-level cache.
const CACHE_WORDS: usize = 2048;
/// They take about ten microseconds.
const CACHE_PASSES: usize = 12;
/// They take about ten microseconds.
const MEMORY_READS: usize = 1024;
/// Equal on all ranks. If lines can be flushed after each piece of work, the size does not matter and is small.
const MEMORY_BYTES: usize = if CAN_FLUSH { 512 << 10 } else { 16 << 20 };
const CAN_FLUSH: bool = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));
const LINE_WORDS: usize = 8;
/// Processors fetch lines in pairs. So one word per pair is read, and both lines are flushed.
const PAIR_WORDS: usize = 2 * LINE_WORDS;
const PAIRS: usize = MEMORY_BYTES / 8 / PAIR_WORDS;

pub const TOTAL_BYTES: usize = MEMORY_BYTES + CACHE_WORDS * 8;

pub struct Canary {
    cache: Vec<u64>,
    memory: Vec<u64>,
    /// The pair of lines that was read last.
    pair: usize,
}

impl Canary {
    pub fn new() -> Self {
        let memory: Vec<u64> = (0..(PAIRS * PAIR_WORDS) as u64).collect();
        memory.iter().step_by(LINE_WORDS).for_each(flush);
        Self { cache: (0..CACHE_WORDS as u64).collect(), memory, pair: 0 }
    }

    pub fn measure(&mut self) -> Facts {
        // A kernel replaces the contents of caches and TLBs, so the first time of each piece only restores the canary's own. The
        // shortest of three further times counts, because interruptions only make a time longer.
        black_box(self.work_in_cache());
        let cache = [(); 3].map(|()| time_seconds(|| self.work_in_cache())).into_iter().fold(f64::INFINITY, f64::min);
        self.time_in_memory();
        let memory = [(); 3].map(|()| self.time_in_memory()).into_iter().fold(f64::INFINITY, f64::min);
        let mut facts = Facts::default();
        // A coarse clock may not advance.
        facts.set(Fact::CacheCanary, Some(cache).filter(|seconds| *seconds > 0.0));
        facts.set(Fact::MemoryCanary, Some(memory).filter(|seconds| *seconds > 0.0));
        facts
    }

    pub fn work(&mut self, times: usize) {
        for _ in 0..times {
            black_box(self.work_in_cache());
            self.time_in_memory();
        }
    }

    /// Multiplies in four chains, one word per cycle. Vector units and the width of loads do not make this faster, and another
    /// thread on the same core makes it slower.
    fn work_in_cache(&self) -> u64 {
        let next = |chain: u64, word: u64| (chain ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let (mut a, mut b, mut c, mut d) = (1, 2, 3, 4);
        for _ in 0..CACHE_PASSES {
            for &[e, f, g, h] in black_box(&self.cache[..]).as_chunks::<4>().0 {
                (a, b, c, d) = (next(a, e), next(b, f), next(c, g), next(d, h));
            }
        }
        a ^ b ^ c ^ d
    }

    fn time_in_memory(&mut self) -> f64 {
        let (words, first) = (&self.memory, self.pair);
        let time =
            time_seconds(|| next_pairs(first).fold(0, |sum: u64, pair| sum.wrapping_add(words[pair * PAIR_WORDS])));
        for pair in next_pairs(first) {
            flush(&words[pair * PAIR_WORDS]);
            flush(&words[pair * PAIR_WORDS + LINE_WORDS]);
            self.pair = pair;
        }
        time
    }
}

/// Returns the pairs of lines for the next piece of work. The sequence visits all pairs before it repeats one (Hull and Dobell
/// 1962: the factor is 1 modulo 4, the increment odd, the modulus a power of two).
fn next_pairs(first: usize) -> impl Iterator<Item = usize> {
    let next = |pair: &usize| Some(pair.wrapping_mul(0x9E37_79B5).wrapping_add(0x3C6E_F35F) & (PAIRS - 1));
    std::iter::successors(Some(first), next).skip(1).take(MEMORY_READS)
}

fn time_seconds(piece: impl FnOnce() -> u64) -> f64 {
    let started = Instant::now();
    black_box(piece());
    started.elapsed().as_secs_f64()
}

/// Some processors do not permit it. The region is then so large that most lines have been evicted before they are read again.
fn flush(word: &u64) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the address is that of an existing word; the instruction changes no memory.
    unsafe {
        std::arch::x86_64::_mm_clflush(std::ptr::from_ref(word).cast());
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: the address is that of an existing word; the line goes to memory unchanged.
    unsafe {
        std::arch::asm!("dc civac, {}", in(reg) word, options(nostack, preserves_flags));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = word;
}

/// Barriers per timing, and number of timings; the shortest time counts.
const BARRIER_TIMINGS: (u32, usize) = (4, 4);

/// The time of a barrier of all ranks shows how far apart they are. A hypervisor may move the processors of a virtual machine from
/// hardware threads of one core to cores without a common cache; messages then take five times as long. `None` for a single rank,
/// or if ranks are oversubscribed. Collective.
pub fn barrier_seconds<C: Collectives>(comm: &C) -> Option<f64> {
    if comm.size() == 1 || comm.is_oversubscribed() {
        return None;
    }
    // The first barrier makes all ranks begin at the same time.
    comm.barrier();
    let barriers = |_| {
        let started = comm.wall_time();
        (0..BARRIER_TIMINGS.0).for_each(|_| comm.barrier());
        (comm.wall_time() - started) / f64::from(BARRIER_TIMINGS.0)
    };
    Some((0..BARRIER_TIMINGS.1).map(barriers).fold(f64::INFINITY, f64::min)).filter(|seconds| *seconds > 0.0)
}
