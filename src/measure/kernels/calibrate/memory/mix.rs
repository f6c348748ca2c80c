//! The source does not define the order of the mixture. Here a sequence begins where the previous one ended, and the lengths of the
//! sequences differ by at most one.

use super::read::{Places, prepare};
use super::*;

pub static KERNEL: Kernel = Kernel {
    id: "calibrate.mix",
    summary: "Bandwidth of a mixture of random and consecutive reads",
    source: &source::HPCC_RANDOM_ACCESS,
    place: "Figures 1 and 2 (MAPS)",
    parameters: parameters![BYTES, PAGES, SHARE, ACCESSES],
    headline: "bytes_per_second_per_rank",
    method: "Every rank reads words of its region: after each random word a sequence of consecutive words, whose \
        length follows from the share of random accesses. Random addresses are drawn while the clock is stopped, \
        at most 16384 at a time; the first batch is untimed. The region was traversed once before. The time is \
        that of the slowest rank. The sum of all words was compared with the sum computed from their addresses.",
    refuse: |point| {
        check_region(point)?;
        let (random, words) = (random_count(point), region_words(point));
        let longest = (ACCESSES.of(point) - random).div_ceil(random);
        if longest > words {
            return Err(refusal!(
                ["random_share", "accesses", "bytes"],
                "random_share = {} needs sequences of {longest} words in a region of {words}; use a larger share, or more bytes",
                SHARE.of(point)
            ));
        }
        Ok(())
    },
    work: |point| work_per_rank(point, ACCESSES.of(point), "access", 8, "8 per access"),
    arena_words: region_words,
    buffer_bytes: |point| 2 * batch(point) as u64 * WORD_BYTES,
    run: |point, stream, world| on_transport!(world.transport, comm => run(comm, point, stream, world.arena)),
    ..FAMILY
};

const SHARE: Key<f64> = key(
    "random_share",
    "fraction of the accesses that are random; 1 means no consecutive ones, and below 0.0001 they determine the time",
    Domain::Real { exclusive_min: 0.0, max: 1.0, default: 0.1 },
);
const ACCESSES: Key<u64> =
    key("accesses", "words read per run", integers(1 << 10..=1 << 40, 1 << 22)).in_column("mixed_accesses", Unit::None);
const BATCH: u64 = 1 << 14;

fn random_count(point: &Point) -> u64 {
    ((ACCESSES.of(point) as f64 * SHARE.of(point)).round() as u64).max(1)
}

fn batch(point: &Point) -> usize {
    random_count(point).min(BATCH) as usize
}

#[derive(Clone, Copy)]
struct ConsecutiveReads {
    random: u64,
    consecutive: u64,
    /// Random accesses so far.
    done: u64,
    next_start: u64,
}

impl ConsecutiveReads {
    fn new(point: &Point) -> Self {
        let random = random_count(point);
        Self { random, consecutive: ACCESSES.of(point) - random, done: 0, next_start: 0 }
    }

    fn next_length(&mut self) -> u64 {
        let words_before =
            |done: u64| (u128::from(done) * u128::from(self.consecutive) / u128::from(self.random)) as u64;
        self.done += 1;
        words_before(self.done) - words_before(self.done - 1)
    }

    /// At the start of the region if the sequence does not fit before the end.
    fn begin_sequence(&mut self, length: u64, words: u64) -> u64 {
        let start = if self.next_start + length > words { 0 } else { self.next_start };
        self.next_start = start + length;
        start
    }
}

pub fn run<C: Collectives>(comm: &C, point: &Point, stream: u64, arena: &mut Arena) -> Result<Outcome> {
    let (memory, mut draw) = prepare_region(comm, point, stream, arena)?;
    let words = region_words(point);
    let (mut places, mut lengths) = (vec![0; batch(point)], vec![0; batch(point)]);
    let mut sequences = ConsecutiveReads::new(point);
    let first_sequences = sequences;
    let (mut seconds, mut wrong, mut warmed) = (0.0, 0, false);
    while sequences.done < sequences.random {
        let count = places.len().min((sequences.random - sequences.done) as usize);
        let (places, lengths) = (&mut places[..count], &mut lengths[..count]);
        let mut expected = prepare(places, Places::anywhere(words), &mut draw, false);
        let sequences_before = sequences;
        let mut next_sequences = sequences;
        for length in lengths.iter_mut() {
            *length = sequences.next_length();
            let start = next_sequences.begin_sequence(*length, words);
            // start + (start + 1) + ...
            let sum = u128::from(*length) * u128::from(2 * start + length.saturating_sub(1)) / 2;
            expected = expected.wrapping_add(sum as u64);
        }
        sequences.next_start = next_sequences.next_start;
        let start = comm.wall_time();
        let found_sum = sum_mixed(memory, black_box(places), black_box(lengths), sequences_before.next_start);
        let elapsed = comm.wall_time() - start;
        wrong += u64::from(found_sum != expected);
        if warmed {
            seconds += elapsed;
        } else {
            // The first batch is repeated, now timed.
            (warmed, sequences) = (true, first_sequences);
        }
    }
    let accesses = ACCESSES.of(point) as f64;
    Ok(gather_outcome(comm, seconds, accesses, wrong, "sums differ from the sum of the words in memory"))
}

#[multiversion::multiversion(targets("x86_64+avx2"))]
fn sum_mixed(memory: &[u64], places: &[u64], lengths: &[u64], mut start: u64) -> u64 {
    if lengths.iter().all(|length| *length == 0) {
        return sum_all(memory, places, 1);
    }
    let mut sum = 0u64;
    for (&place, &length) in places.iter().zip(lengths) {
        if start + length > memory.len() as u64 {
            start = 0;
        }
        sum = sum.wrapping_add(memory[place as usize]);
        for word in &memory[start as usize..(start + length) as usize] {
            sum = sum.wrapping_add(*word);
        }
        start += length;
    }
    sum
}
