//! After the loaded latency of Intel's Memory Latency Checker and of multichase, and the Mess paper, whose curves of latency over
//! bandwidth have a parameter for the ratio of reads to writes. The other ranks pause after every 64 KiB. With a `write_share` they
//! read the first half of their region and write the second. A written line travels twice, because it is read first.

use super::read::{Places, follow_differences, prepare};
use super::stream::{fill, sum};
use super::*;

pub static KERNEL: Kernel = Kernel {
    id: "calibrate.loaded",
    summary: "Memory latency of one core while the other ranks read and write memory",
    place: "Section 3.1, tu",
    parameters: parameters![BYTES, PAGES, SHARE, WRITE_SHARE, READS],
    outputs: LOADED,
    method: "Rank 0 makes dependent random reads while all other ranks read and write their own memory from end to \
        end, for a given fraction of the time. The time is that of rank 0's reads; the bandwidth is that of all \
        other ranks until rank 0 has finished. The sums of the words read were compared with the sums computed \
        from their addresses, and the written words with the latest write.",
    refuse: |point| match point.ranks {
        1 => Err(refusal!(["ranks"], "needs at least two ranks: the others load the memory")),
        _ => check_region(point),
    },
    work: |point| Work::new(READS.of(point) as f64, "read", 8.0, "8 per read of rank 0"),
    arena_words: region_words,
    buffer_bytes: |point| READS.of(point) * WORD_BYTES,
    run: |point, stream, world| on_transport!(world.transport, comm => run(comm, point, stream, world.arena)),
    ..FAMILY
};

const LOADED: &[Output] = &[
    OUTPUTS[0],
    PAGE_BYTES,
    HUGE_SHARE,
    output(
        "background_bytes_per_second",
        Unit::BytesPerSecond,
        "bytes that all other ranks together read and write, per second",
    ),
    output(
        "background_traffic_bytes_per_second",
        Unit::BytesPerSecond,
        "bytes that travel for all other ranks, per second; written bytes count twice",
    ),
];
const SHARE: Key<u64> =
    key("share", "share of the time during which the other ranks read, in per cent", integers(0..=100, 100))
        .in_column("busy_per_cent", Unit::None);
const WRITE_SHARE: Key<u64> = key(
    "write_share",
    "share of bytes that the other ranks write, in per cent; they read the rest",
    integers(0..=100, 0),
)
.in_column("write_per_cent", Unit::None);
const READS: Key<u64> = key("reads", "reads by rank 0 in one run", integers(1..=1 << 30, 1 << 16));
/// Between two pauses.
const CHUNK_WORDS: usize = (64 << 10) / 8;

pub fn run<C: Collectives>(comm: &C, point: &Point, stream: u64, arena: &mut Arena) -> Result<Outcome> {
    run_with(comm, point, stream, arena, fill)
}

/// With `write` as the function that writes a chunk. Collective.
pub fn run_with<C: Collectives>(
    comm: &C,
    point: &Point,
    stream: u64,
    arena: &mut Arena,
    write: impl Fn(&mut [u64], u64),
) -> Result<Outcome> {
    let (words, pages) = (region_words(point), PAGES.of(point));
    let (memory, _) = arena.words_mut(pages, words as usize, index_contents(), |index| index as u64)?;
    let mut reads = vec![0; READS.of(point) as usize];
    let expected = prepare(&mut reads, Places::anywhere(words), &mut seed(&[stream, comm.rank() as u64]), true);
    prime(comm, memory);
    comm.barrier();
    let start = comm.wall_time();
    let mut load = BackgroundLoad::default();
    let seconds = if comm.rank() == 0 {
        load.wrong = u64::from(follow_differences(memory, black_box(&reads)) != expected);
        let seconds = comm.wall_time() - start;
        let mut barrier = comm.ibarrier();
        while !comm.test(&mut barrier) {
            comm.relax();
        }
        seconds
    } else {
        let [share, writes] = [SHARE, WRITE_SHARE].map(|share| share.of(point));
        load = run_background(comm, memory, share as f64 / 100.0, writes, write);
        load.seconds
    };
    // Wrong words stay marked as changed, so that the next run fills them again.
    if load.wrong == 0 {
        arena.mark_restored(pages);
    }
    let report = [seconds.to_bits(), load.bytes, load.written, load.wrong];
    let reports = comm.gather(&report).unwrap_or_else(|| report.to_vec());
    let (root_report, others) = reports.split_at(report.len());
    let seconds = f64::from_bits(root_report[0]);
    let rate = |bytes: fn(&[u64]) -> u64| -> f64 {
        others.chunks_exact(report.len()).map(|row| bytes(row) as f64 / f64::from_bits(row[0])).sum()
    };
    let wrong: u64 = reports.chunks_exact(report.len()).map(|row| row[3]).sum();
    let outputs = BTreeMap::from([
        ("operation_seconds", Value::Real(seconds / reads.len() as f64)),
        ("background_bytes_per_second", Value::Real(rate(|row| row[1]))),
        ("background_traffic_bytes_per_second", Value::Real(rate(|row| row[1] + row[2]))),
    ]);
    let verdict = if wrong == 0 { Ok(()) } else { Err(format!("{wrong} chunks or sums of words are wrong")) };
    Ok(Outcome { seconds, outputs, verdict })
}

#[derive(Clone, Copy, Default)]
struct BackgroundLoad {
    seconds: f64,
    /// Read and written.
    bytes: u64,
    written: u64,
    /// Chunks with wrong contents.
    wrong: u64,
}

/// Works until rank 0 has finished, then checks the written words and restores them.
fn run_background<C: Collectives>(
    comm: &C,
    memory: &mut [u64],
    share: f64,
    writes: u64,
    write: impl Fn(&mut [u64], u64),
) -> BackgroundLoad {
    let middle = if writes > 0 { memory.len() / 2 } else { memory.len() };
    let (read, written) = memory.split_at_mut(middle);
    let (chunks_read, chunks_written) = (read.len().div_ceil(CHUNK_WORDS), written.len().div_ceil(CHUNK_WORDS));
    let (mut load, mut reads_done, mut writes_done, mut turn) = (BackgroundLoad::default(), 0, 0, 0);
    let begin = comm.wall_time();
    let mut barrier = comm.ibarrier();
    // Each rank works at least once, even if rank 0 finishes first.
    while (turn == 0 && share > 0.0) || !comm.test(&mut barrier) {
        if share == 0.0 {
            comm.relax();
            continue;
        }
        let start = comm.wall_time();
        // Distributes `writes` of every hundred turns evenly.
        let words = if (turn + 1) * writes / 100 > turn * writes / 100 {
            let chunk = chunk_range(written.len(), writes_done % chunks_written);
            let words = chunk.len() as u64;
            writes_done += 1;
            write(black_box(&mut written[chunk]), value_of_write(writes_done));
            load.written += words * WORD_BYTES;
            words
        } else {
            let chunk = black_box(&read[chunk_range(read.len(), reads_done % chunks_read)]);
            let chunk_sum = sum(chunk);
            let (first, count) = (chunk[0], chunk.len() as u64);
            load.wrong += u64::from(chunk_sum != first * count + count * (count - 1) / 2);
            reads_done += 1;
            count
        };
        let pause_end = start + (comm.wall_time() - start) / share;
        load.bytes += words * WORD_BYTES;
        turn += 1;
        while comm.wall_time() < pause_end {
            std::hint::spin_loop();
        }
    }
    load.seconds = comm.wall_time() - begin;
    for (chunk, words) in written.chunks_mut(CHUNK_WORDS).enumerate() {
        // The latest of the writes 1, 2, ... to this chunk.
        let latest_write = writes_done - (writes_done + chunks_written - 1 - chunk) % chunks_written;
        let expected =
            |index: usize| if writes_done > chunk { value_of_write(latest_write) } else { (middle + index) as u64 };
        let places = chunk * CHUNK_WORDS..;
        load.wrong += u64::from(!words.iter().zip(places.clone()).all(|(&word, index)| word == expected(index)));
        words.iter_mut().zip(places).for_each(|(word, index)| *word = (middle + index) as u64);
    }
    load
}

/// The value differs from every index of a word. Writes count from 1.
fn value_of_write(write: usize) -> u64 {
    !(write as u64)
}

fn chunk_range(words: usize, number: usize) -> std::ops::Range<usize> {
    number * CHUNK_WORDS..words.min((number + 1) * CHUNK_WORDS)
}
