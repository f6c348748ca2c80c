//! The canary: a fixed short piece of work, barriers, and the core clock.

use crate::comm::Collectives;
use apexmap_base::disturbance::{Fact, Facts};
use std::hint::black_box;
use std::time::Instant;

/// Words of the piece in the first-level cache: 16 KiB.
const CACHE_WORDS: usize = 2048;
/// How often they are read: some ten microseconds.
const CACHE_PASSES: usize = 12;
/// Random reads of memory: some ten microseconds.
const READS: usize = 1024;
/// Memory that they are spread over. Its size does not matter where lines can be put out of the caches after each piece; every
/// rank has as much.
const BYTES: usize = if CAN_FLUSH { 512 << 10 } else { 16 << 20 };
const CAN_FLUSH: bool = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));
const LINE_WORDS: usize = 8;
/// Processors fetch pairs of lines: of each pair one word is read, and both lines are put out of the caches.
const PAIR_WORDS: usize = 2 * LINE_WORDS;
const PAIRS: usize = BYTES / 8 / PAIR_WORDS;
/// Additions of one chain, and how many chains: the fastest counts, as an interruption makes one slow.
const CHAIN: u64 = 20_000;
const CHAINS: usize = 4;

/// Of both pieces, in bytes.
pub const MEMORY: usize = BYTES + CACHE_WORDS * 8;

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

    /// The times of both pieces, now.
    pub fn facts(&mut self) -> Facts {
        // A kernel leaves caches and translations of addresses as it likes: the first time of each piece brings back the
        // canary's own. Of three more the shortest counts, as an interruption makes one longer.
        black_box(self.in_cache());
        let cache = [(); 3].map(|()| seconds(|| self.in_cache())).into_iter().fold(f64::INFINITY, f64::min);
        self.in_memory();
        let memory = [(); 3].map(|()| self.in_memory()).into_iter().fold(f64::INFINITY, f64::min);
        Facts::default().with(Fact::CacheCanary, cache).with(Fact::MemoryCanary, memory)
    }

    /// Both pieces so many times.
    pub fn work(&mut self, times: usize) {
        for _ in 0..times {
            black_box(self.in_cache());
            self.in_memory();
        }
    }

    /// Multiplies in four chains, a word a cycle: neither vectors nor the width of loads make it faster, and another thread on the
    /// same core makes it slower.
    fn in_cache(&self) -> u64 {
        let next = |chain: u64, word: u64| (chain ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let (mut a, mut b, mut c, mut d) = (1, 2, 3, 4);
        for _ in 0..CACHE_PASSES {
            for &[e, f, g, h] in black_box(&self.cache[..]).as_chunks::<4>().0 {
                (a, b, c, d) = (next(a, e), next(b, f), next(c, g), next(d, h));
            }
        }
        a ^ b ^ c ^ d
    }

    /// The time of random reads of lines that no cache has.
    fn in_memory(&mut self) -> f64 {
        let (words, first) = (&self.memory, self.pair);
        let time = seconds(|| pairs(first).fold(0, |sum: u64, pair| sum.wrapping_add(words[pair * PAIR_WORDS])));
        for pair in pairs(first) {
            flush(&words[pair * PAIR_WORDS]);
            flush(&words[pair * PAIR_WORDS + LINE_WORDS]);
            self.pair = pair;
        }
        time
    }
}

/// The pairs of lines of the next piece: a sequence that comes back to none before it has met all (Hull and Dobell 1962: the factor
/// is 1 modulo 4, the increment odd, the modulus a power of two).
fn pairs(first: usize) -> impl Iterator<Item = usize> {
    let next = |pair: &usize| Some(pair.wrapping_mul(0x9E37_79B5).wrapping_add(0x3C6E_F35F) & (PAIRS - 1));
    std::iter::successors(Some(first), next).skip(1).take(READS)
}

fn seconds(piece: impl FnOnce() -> u64) -> f64 {
    let started = Instant::now();
    black_box(piece());
    started.elapsed().as_secs_f64()
}

/// Puts a line out of all caches, where a program may; elsewhere lines come back after so many reads that most are gone.
fn flush(word: &u64) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the address is one of a word that is there; the instruction changes no memory.
    unsafe {
        std::arch::x86_64::_mm_clflush(std::ptr::from_ref(word).cast());
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: the address is one of a word that is there; the line goes to memory as it is.
    unsafe {
        std::arch::asm!("dc civac, {}", in(reg) word, options(nostack, preserves_flags));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = word;
}

/// Barriers that are timed together, and how often: the shortest time counts.
const BARRIERS: (u32, usize) = (4, 4);

/// The time of a barrier of all ranks, which is known where there are several and none takes turns with another on a core.
/// Collective.
///
/// It tells how far the ranks are from each other. A hypervisor moves the processors of a virtual machine, from hardware threads of
/// one core to cores without a common cache, and messages then take five times as long.
pub fn barrier_seconds<C: Collectives>(comm: &C) -> Option<f64> {
    if comm.size() == 1 || comm.oversubscribed() {
        return None;
    }
    // The first lets all ranks begin at once.
    comm.barrier();
    let barriers = |_| {
        let started = comm.now();
        (0..BARRIERS.0).for_each(|_| comm.barrier());
        (comm.now() - started) / f64::from(BARRIERS.0)
    };
    Some((0..BARRIERS.1).map(barriers).fold(f64::INFINITY, f64::min))
}

/// Cycles of the core's clock per second: a chain of dependent additions takes one cycle each.
pub fn core_hertz() -> f64 {
    let chain = |_| {
        let started = Instant::now();
        let sum = additions();
        let seconds = started.elapsed().as_secs_f64();
        black_box(sum);
        CHAIN as f64 / seconds
    };
    (0..CHAINS).map(chain).fold(0.0, f64::max)
}

/// Additions of a register, as recent processors make several additions of a constant in one cycle.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
fn additions() -> u64 {
    let (mut sum, one) = (0u64, black_box(1u64));
    for _ in 0..CHAIN / 100 {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: only the two registers and the flags are touched.
        unsafe {
            std::arch::asm!(".rept 100", "add {sum}, {one}", ".endr", sum = inout(reg) sum, one = in(reg) one,
                options(nomem, nostack));
        }
        #[cfg(target_arch = "aarch64")]
        // SAFETY: only the two registers and the flags are touched.
        unsafe {
            std::arch::asm!(".rept 100", "add {sum}, {sum}, {one}", ".endr", sum = inout(reg) sum, one = in(reg) one,
                options(nomem, nostack));
        }
    }
    sum
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn additions() -> u64 {
    (0..CHAIN).fold(0, |sum: u64, _| black_box(sum).wrapping_add(1))
}
