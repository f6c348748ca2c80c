use super::*;

pub static KERNEL: Kernel = Kernel {
    id: "calibrate.copy",
    summary: "Time per byte copied from memory to memory",
    source: &source::HYPERCUBE_RANDOM_ACCESS,
    place: "Section 3 (copy costs in T_C)",
    parameters: parameters![COPY_BYTES, COPIES],
    headline: "bytes_per_second",
    method: "Every rank copies blocks of copy_bytes from one buffer to another, both of 16 blocks, in turn; the time \
        is that of the slowest rank. The blocks were compared with their sources after the run. Bytes are those \
        copied, counted once.",
    work: |point| {
        let operations = COPIES.of(point) as f64 * point.ranks as f64;
        Work::new(operations, "copy", COPY_BYTES.of(point) as f64, "bytes copied, counted once")
    },
    buffer_bytes: |point| 2 * BLOCKS as u64 * COPY_BYTES.of(point).next_multiple_of(WORD_BYTES),
    run: |point, _, world| on_transport!(world.transport, comm => run(comm, point)),
    ..FAMILY
};

const COPY_BYTES: Key<u64> = key("copy_bytes", "bytes per block, rounded up to words", integers(8..=1 << 34, 4 << 10))
    .in_column("copy_bytes", Unit::Bytes);
const COPIES: Key<u64> =
    key("copies", "blocks that each rank copies per run, at least 16", integers(BLOCKS as u64..=1 << 32, 1 << 14));
const BLOCKS: usize = 16;

pub fn run<C: Collectives>(comm: &C, point: &Point) -> Result<Outcome> {
    let block = COPY_BYTES.of(point).div_ceil(WORD_BYTES) as usize;
    let source: Vec<u64> = (0..(BLOCKS * block) as u64).map(mix).collect();
    let mut target = vec![0; source.len()];
    let copies = COPIES.of(point) as usize;
    copy_blocks(&source, &mut target, block, copies.div_ceil(4).max(BLOCKS));
    // The source has no such words, so copies of the warm-up do not count.
    target.fill(0);
    comm.barrier();
    let start = comm.wall_time();
    copy_blocks(&source, &mut target, block, copies);
    let seconds = comm.wall_time() - start;
    let wrong = count_wrong_blocks(&source, &target, block);
    Ok(gather_outcome(comm, seconds, copies as f64, wrong, "blocks were not copied"))
}

/// Starts again after the last block.
pub fn copy_blocks(source: &[u64], target: &mut [u64], block: usize, copies: usize) {
    let blocks = source.len() / block;
    for copy in 0..copies {
        let start = copy % blocks * block;
        black_box(&mut target[start..][..block]).copy_from_slice(black_box(&source[start..][..block]));
    }
}

pub fn count_wrong_blocks(source: &[u64], target: &[u64], block: usize) -> u64 {
    source.chunks(block).zip(target.chunks(block)).filter(|(source, target)| source != target).count() as u64
}
