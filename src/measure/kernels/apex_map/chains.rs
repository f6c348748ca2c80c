//! In the paper all addresses are known in advance. Here access i belongs to chain i mod `chains`. The index array holds the
//! address minus the last word of the chain's previous block.

use super::draw::Location;
use super::sums::Plain;
use super::sums::lanes::Lanes;
use super::sums::vectors::{Kind, Width};
use super::tally::{PassTally, TimedRank};
use super::timing::{Arrays, time_accesses};
use super::*;

const CHAINS: Key<u64> =
    key("chains", "number of concurrent chains of dependent accesses: a power of two, at most 32", integers(1..=32, 1));

const ALL_OUTPUTS: [Output; OUTPUTS.len() + 1] = join(
    OUTPUTS,
    &[output(
        "chain_seconds",
        Unit::Seconds,
        "time between consecutive accesses of a chain: the latency under this load",
    )],
);

pub static KERNEL: Kernel = Kernel {
    id: "apex_map.chains",
    summary: "Apex-Map with dependent accesses: at most one outstanding access per chain",
    place: "Section 2",
    parameters: parameters![M, ALPHA, L, I, N, CHAINS, PAGES, SEED],
    outputs: &ALL_OUTPUTS,
    ranks: Ranks::One,
    plain_way: Some("dependent accesses"),
    refuse: |point| require_power_of_two(point, CHAINS),
    // The steps, one per access.
    buffer_bytes: |point| buffer_bytes(point, Arrays::OneByOne, I.of(point).div_ceil(L.of(point))),
    run: |point, stream, world| on_transport!(world.transport, comm => run(comm, point, stream, world.arena)),
    ..FAMILY
};

fn run<C: Collectives>(comm: &C, point: &Point, stream: u64, arena: &mut Arena) -> Result<Outcome> {
    let (memory, granted) = memory(point, comm.rank(), arena)?;
    let (block, chains) = (L.of(point) as usize, CHAINS.of(point) as usize);
    let mut rank = Chains { comm, memory, block, chains, steps: Vec::new() };
    let mut outcome = time_accesses(comm, (point, stream), granted, Arrays::OneByOne, &mut rank);
    let steps = I.of(point) as f64 * N.of(point) as f64 / chains as f64;
    outcome.outputs.insert("chain_seconds", Value::Real(outcome.seconds / steps));
    Ok(outcome)
}

struct Chains<'a, C> {
    comm: &'a C,
    memory: &'a [u64],
    block: usize,
    chains: usize,
    steps: Vec<u64>,
}

impl<C: Collectives> TimedRank for Chains<'_, C> {
    fn memory(&self) -> &[u64] {
        self.memory
    }

    fn prepare(&mut self, locations: &[Location]) {
        let offsets = Location::offsets(locations);
        // The first access of a chain has no predecessor.
        let previous = std::iter::repeat_n(0, self.chains)
            .chain(offsets.iter().map(|&offset| contents(0, offset + self.block as u64 - 1)));
        self.steps.clear();
        self.steps.extend(offsets.iter().zip(previous).map(|(&offset, previous)| offset.wrapping_sub(previous)));
    }

    fn pass(&mut self, _: &[Location]) -> PassTally {
        let sum = chase_all(self.memory, &self.steps, self.block, self.chains);
        let end = self.comm.wall_time();
        PassTally { sum, own_end: end, end, ..PassTally::default() }
    }
}

/// Returns the wrapping sum of all blocks. This is the timed loop. The offset of a block is its step plus the last word of the
/// previous block of its chain. If an offset is outside the memory, the loop ends and the sum is incomplete.
pub fn chase_all(memory: &[u64], steps: &[u64], block: usize, chains: usize) -> u64 {
    let mut sum = Sum::new(block);
    let run = match chains {
        1 => run_chains::<1>,
        2 => run_chains::<2>,
        4 => run_chains::<4>,
        8 => run_chains::<8>,
        16 => run_chains::<16>,
        32 => run_chains::<32>,
        other => panic!("chains = {other} is not a power of two from 1 to 32"),
    };
    run(&mut sum, memory, steps, block);
    sum.total()
}

fn run_chains<const CHAINS: usize>(sum: &mut Sum, memory: &[u64], steps: &[u64], block: usize) {
    if block == 1 {
        let sum_of_words = follow::<CHAINS, u64>(memory, steps, 1, 0, |sum, words| sum.wrapping_add(words[0]));
        return sum.add_word(sum_of_words);
    }
    match Kind::best().width() {
        Width::Plain => run_plain::<CHAINS>(sum, memory, steps),
        // SAFETY: the processor has the instructions, because a `Kind` comes only from their detection.
        #[cfg(target_arch = "x86_64")]
        Width::Avx2 => unsafe { run_avx2::<CHAINS>(sum, memory, steps) },
        // SAFETY: the same.
        #[cfg(target_arch = "x86_64")]
        Width::Avx512 => unsafe { run_avx512::<CHAINS>(sum, memory, steps) },
    }
}

fn run_plain<const CHAINS: usize>(sum: &mut Sum, memory: &[u64], steps: &[u64]) {
    // SAFETY: these lanes need no instructions of their own.
    let lanes = unsafe { Lanes::<Plain>::begin(sum) };
    let lanes = follow::<CHAINS, _>(memory, steps, sum.block, lanes, |mut lanes, words| {
        // SAFETY: `follow` passes blocks of `sum.block` words.
        unsafe { lanes.block(words.as_ptr()) };
        lanes
    });
    lanes.end(sum);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn run_avx2<const CHAINS: usize>(sum: &mut Sum, memory: &[u64], steps: &[u64]) {
    // A closure has the instructions of the function that contains it. This closure is therefore repeated for each kind.
    // SAFETY: this function has the instructions.
    let lanes = unsafe { Lanes::<std::arch::x86_64::__m256i>::begin(sum) };
    let lanes = follow::<CHAINS, _>(memory, steps, sum.block, lanes, |mut lanes, words| {
        // SAFETY: `follow` passes blocks of `sum.block` words.
        unsafe { lanes.block(words.as_ptr()) };
        lanes
    });
    lanes.end(sum);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn run_avx512<const CHAINS: usize>(sum: &mut Sum, memory: &[u64], steps: &[u64]) {
    // A closure has the instructions of the function that contains it. This closure is therefore repeated for each kind.
    // SAFETY: this function has the instructions.
    let lanes = unsafe { Lanes::<std::arch::x86_64::__m512i>::begin(sum) };
    let lanes = follow::<CHAINS, _>(memory, steps, sum.block, lanes, |mut lanes, words| {
        // SAFETY: `follow` passes blocks of `sum.block` words.
        unsafe { lanes.block(words.as_ptr()) };
        lanes
    });
    lanes.end(sum);
}

/// The sum is passed by value from block to block, so that it stays in registers.
#[inline(always)]
fn follow<const CHAINS: usize, S>(
    memory: &[u64],
    steps: &[u64],
    block: usize,
    mut sum: S,
    mut add: impl FnMut(S, &[u64]) -> S,
) -> S {
    let Some(last_offset) = memory.len().checked_sub(block) else { return sum };
    let (rounds, rest) = steps.as_chunks::<CHAINS>();
    let mut last = [0u64; CHAINS];
    for round in rounds {
        for chain in 0..CHAINS {
            let offset = round[chain].wrapping_add(last[chain]) as usize;
            if offset > last_offset {
                return sum;
            }
            // SAFETY: `offset` is at most `last_offset`, where the last block of the memory begins.
            let words = unsafe { memory.get_unchecked(offset..offset + block) };
            sum = add(sum, words);
            last[chain] = words[block - 1];
        }
    }
    for (last, step) in last.iter().zip(rest) {
        match memory.get(step.wrapping_add(*last) as usize..).and_then(|words| words.get(..block)) {
            Some(words) => sum = add(sum, words),
            None => return sum,
        }
    }
    sum
}
