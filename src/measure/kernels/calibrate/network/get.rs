//! NAME: calibrate.get. The time of a get: what one-sided accesses travel by.
//!
//! DEFINITION: each rank reads blocks of its partner's memory, a few next to each other that caches hold, with up to
//!   `window` gets under way, while the partner does the same. An operation is a get of one rank, its block summed.
//! CHECK: all words of all blocks fetched, by their sum.

use super::{about, contents, in_pairs_of, line, mailbox, of_each, partner, timed, total};
use crate::error::Result;
use crate::measure::comm::{GetWindow, Rma};
use crate::measure::kernels::calibrate::{Probe, outcome};
use crate::measure::kernels::{About, Domain, Outcome, Parameter, Ranks};
use crate::on_transport;
use crate::point::Point;
use crate::source;
use crate::units::WORD_BYTES;

pub const KERNEL: Probe = Probe {
    about: &About {
        source: &source::APEX_MAP,
        ..about(
            "calibrate.get",
            "Time of a get from another rank's memory, both ways at once between pairs of ranks",
            "Section 4 (one-sided models)",
            &[BYTES, GETS, WINDOW],
            Ranks::Any,
            "Every rank fetches blocks of its partner's memory through a window and sums their words, with up to `window` gets \
             under way. The time is that of the slowest rank, from a common start to its last block. The sum of all words \
             fetched was compared with that of the words which stand there.",
        )
    },
    refuse: |point| in_pairs_of(point, WORD_BYTES),
    work: |point| of_each(point, "get", "bytes fetched"),
    words: |_| 0,
    buffers: |point| (point.integer("window") + BLOCKS) * point.integer("message_bytes"),
    run: |point, _, world| on_transport!(&world.transport, comm => run(*comm, point)),
};

const BYTES: Parameter = Parameter { meaning: "get: bytes of a block, a multiple of 8", ..mailbox::BYTES };
const GETS: Parameter = Parameter { meaning: "gets: of each rank in one run", ..mailbox::MESSAGES };
const WINDOW: Parameter = Parameter {
    meaning: "window: gets of a rank that are under way at once",
    domain: Domain::Integer { least: 1, most: 1 << 16, default: 16 },
    ..line::WINDOW
};
/// So many blocks next to each other are fetched in turn.
const BLOCKS: u64 = 4;

/// Collective.
pub fn run<C: Rma>(comm: &C, point: &Point) -> Result<Outcome> {
    let (gets, words) = (point.integer("messages"), (point.integer("message_bytes") / WORD_BYTES) as usize);
    let partner = partner(comm);
    let blocks = |rank: usize| contents(rank).take(BLOCKS as usize * words).collect();
    let (memory, theirs): (Vec<u64>, Vec<u64>) = (blocks(comm.rank()), blocks(partner));
    let (sum, seconds) = comm.get_window(&memory, point.integer("window") as usize, words, |mut window| {
        let pass = |gets: u64| {
            let (mut asked, mut came, mut sum) = (0, 0, 0u64);
            while came < gets {
                while asked < gets && window.get(partner, (asked % BLOCKS) as usize * words, words) {
                    asked += 1;
                }
                match window.take(total) {
                    Some(found) => (came, sum) = (came + 1, sum.wrapping_add(found)),
                    None => comm.relax(),
                }
            }
            sum
        };
        timed(comm, gets, pass)
    });
    let times = |block: u64| gets / BLOCKS + u64::from(block < gets % BLOCKS);
    let blocks = theirs.chunks_exact(words).zip(0..);
    let expected = blocks.fold(0u64, |sum, (block, k)| sum.wrapping_add(total(block).wrapping_mul(times(k))));
    let wrong = u64::from(sum != expected);
    Ok(outcome(comm, seconds, gets as f64, wrong, "ranks fetched something else than what stands there"))
}
