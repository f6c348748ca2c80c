//! NAME: calibrate.get. The time of a get, the operation behind one-sided accesses.
//!
//! DEFINITION: each rank reads blocks of its partner's memory, a few adjacent ones that fit into caches, with up to `window`
//!   outstanding gets, while the partner does the same. An operation is one get, with the sum of its block.
//! CHECK: the sum of all words of all blocks fetched.

use super::{FAMILY, contents, mailbox, pair, partner, require_pairs, time_pass, work_per_rank, wrapping_sum};
use crate::comm::{GetWindow, Rma};
use crate::kernels::calibrate::gather_outcome;
use crate::kernels::{Computations, Domain, Kernel, Key, Outcome, Parameter, Windows, parameters};
use crate::on_transport;
use apexmap_base::error::Result;
use apexmap_base::point::Point;
use apexmap_base::source;
use apexmap_base::units::WORD_BYTES;

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
    run: |point, _, world| on_transport!(&world.transport, comm => run(*comm, point)),
    ..FAMILY
};

const BYTES: Key<u64> = Key::new(Parameter { meaning: "bytes per get, a multiple of 8", ..mailbox::BYTES.parameter });
const GETS: Key<u64> = Key::new(Parameter { meaning: "gets per rank in one run", ..mailbox::MESSAGES.parameter });
const WINDOW: Key<u64> = Key::new(Parameter {
    meaning: "maximum outstanding gets per rank",
    domain: Domain::Integer { min: 1, max: 1 << 16, default: 16 },
    ..pair::WINDOW.parameter
});
/// Number of adjacent blocks that are fetched in turn. Caches hold so few, so that the time is that of gets and not of memory.
const BLOCKS: u64 = 4;

/// Runs the kernel on all ranks. Collective.
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
