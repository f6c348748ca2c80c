use super::*;
use crate::comm::GetWindow;

pub static KERNEL: Kernel = Kernel {
    id: "calibrate.get",
    summary: "Time per get from another rank's memory, in both directions simultaneously between pairs of ranks",
    source: &source::APEX_MAP,
    place: "Section 4 (one-sided models)",
    parameters: parameters![BYTES, GETS, WINDOW],
    method: "Every rank fetches blocks of its partner's memory through a window and sums their words, with up to \
        `window` outstanding gets. The time is that of the slowest rank, from a common start to its last \
        block. The sum of all words fetched was compared with the sum of the words in that memory.",
    windows: Windows::Always,
    simulation: Some(Computations::None),
    refuse: |point| require_pairs(point, WORD_BYTES),
    work: |point| work_per_rank(point, "get", "bytes fetched"),
    buffer_bytes: |point| (WINDOW.of(point) + BLOCKS) * BYTES.of(point),
    run: |point, _, world| on_transport!(world.transport, comm => run(comm, point)),
    ..FAMILY
};

const BYTES: Key<u64> = mailbox::BYTES.with_meaning("bytes per get, a multiple of 8");
const GETS: Key<u64> = mailbox::MESSAGES.with_meaning("gets per rank in one run");
const WINDOW: Key<u64> =
    pair::WINDOW.with_meaning("maximum outstanding gets per rank").with_domain(integers(1..=1 << 16, 16));
/// Adjacent blocks that are fetched in turn. Caches hold so few, so that the time is that of gets and not of memory.
const BLOCKS: u64 = 4;

pub fn run<C: Rma>(comm: &C, point: &Point) -> Result<Outcome> {
    let (gets, words) = (GETS.of(point), (BYTES.of(point) / WORD_BYTES) as usize);
    let partner = partner(comm);
    let blocks = |rank: usize| contents(rank).take(BLOCKS as usize * words).collect();
    let (memory, theirs): (Vec<u64>, Vec<u64>) = (blocks(comm.rank()), blocks(partner));
    let (sum, seconds) = comm.get_window(&memory, WINDOW.of(point) as usize, words, |mut window| {
        let pass = |gets: u64| {
            let (mut started, mut arrived, mut sum) = (0, 0, 0u64);
            while arrived < gets {
                while started < gets && window.get(partner, (started % BLOCKS) as usize * words, words) {
                    started += 1;
                }
                match window.take(wrapping_sum) {
                    Some(block_sum) => (arrived, sum) = (arrived + 1, sum.wrapping_add(block_sum)),
                    None => comm.relax(),
                }
            }
            sum
        };
        time_pass(comm, gets, pass)
    });
    let fetches_of = |block: u64| gets / BLOCKS + u64::from(block < gets % BLOCKS);
    let blocks = theirs.chunks_exact(words).zip(0..);
    let expected = blocks
        .fold(0u64, |sum, (block, number)| sum.wrapping_add(wrapping_sum(block).wrapping_mul(fetches_of(number))));
    let wrong = u64::from(sum != expected);
    Ok(gather_outcome(comm, seconds, gets as f64, wrong, "ranks fetched wrong words"))
}
