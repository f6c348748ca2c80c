//! What accesses cost: issue, misses that overlap, address translation, and what another rank's memory adds.
//!
//! A miss alone among hits costs all of its latency. Misses that a core comes upon within the time that it looks ahead overlap, so that
//! of the latency a miss costs 1 / (1 + m w), where m misses of its level or farther ones go with an access and w accesses lie ahead: as
//! many as the loads that a core holds. Lines come no faster than the gap of the level lets
//! them, and those of memory until prefetching runs at more. Latency hides behind the gaps, and the gaps behind latency; as both vary
//! from access to access, neither hides all of the other: they add up as squares.

use super::super::{Parameter, array};
use super::hits::Shares;
use crate::machine::catalogue;
use apexmap_base::units::WORD_BYTES;

/// Numbers of a core and its memory, in the order of [`MEMORY`].
#[derive(Clone, Copy, Debug)]
pub struct Memory<'a>(pub &'a [f64]);

const SECONDS: (f64, f64) = (1e-13, 1e-5);

const fn seconds(number: &'static str, symbol: &'static str, first: f64) -> Parameter {
    Parameter::fitted(number, symbol, SECONDS.0, SECONDS.1, first)
}

/// What a core and its memory need for reads.
pub const MEMORY: [Parameter; 11] = [
    seconds(catalogue::ISSUE_SECONDS.name, "a", 0.6e-9),
    Parameter::fitted(catalogue::ISSUE_SECONDS_PER_BYTE.name, "b", 1e-14, 1e-8, 5e-12),
    seconds(catalogue::L2_LINE_SECONDS.name, "g2", 0.3e-9),
    seconds(catalogue::L3_LINE_SECONDS.name, "g3", 0.8e-9),
    seconds(catalogue::MEMORY_LINE_SECONDS.name, "g4", 2.5e-9),
    Parameter::fitted(catalogue::STARTUP_FACTOR.name, "s", 1e-2, 1e3, 1.5),
    Parameter::fitted(catalogue::STARTUP_LINES.name, "n0", 1.0, 1e4, 64.0),
    seconds(catalogue::L3_ALONE_SECONDS.name, "l3", 15e-9),
    seconds(catalogue::MEMORY_ALONE_SECONDS.name, "l4", 150e-9),
    seconds(catalogue::OVERLAP_SECONDS.name, "t", 25e-9),
    seconds(catalogue::WALK_SECONDS.name, "w", 50e-9),
];

/// What requests and replies, and gets, need besides.
pub const REMOTE: [Parameter; 8] = [
    seconds(catalogue::REQUEST_POLL_SECONDS.name, "p", 10e-9),
    seconds(catalogue::REQUEST_SECONDS.name, "r", 100e-9),
    Parameter::fitted(catalogue::REQUEST_SECONDS_PER_BYTE.name, "c", 1e-14, 1e-8, 5e-11),
    seconds(catalogue::REQUEST_ALONE_SECONDS.name, "ra", 200e-9),
    seconds(catalogue::GET_CHECK_SECONDS.name, "p'", 10e-9),
    seconds(catalogue::GET_LEAST_SECONDS.name, "r'", 10e-9),
    Parameter::fitted(catalogue::GET_SECONDS_PER_BYTE.name, "c'", 1e-14, 1e-8, 2e-11),
    seconds(catalogue::GET_ALONE_SECONDS.name, "ra'", 20e-9),
];

/// Terms of an access's time, in this order.
pub const TERMS: [&str; 7] = ["issue", "L2", "L3", "memory", "TLB", "polls", "remote"];

/// Seconds of each of [`TERMS`].
pub type Budget = [f64; TERMS.len()];

/// Words of a line.
const LINE: f64 = 8.0;

impl Memory<'_> {
    /// To issue the reads of a block of so many words, all of which hit the first level.
    pub fn issue(self, block: f64) -> f64 {
        self.0[0] + self.0[1] * WORD_BYTES as f64 * (block - 1.0)
    }

    /// The least time between the lines of a block from each level, for all of so many lines.
    fn gaps(self, lines: f64) -> [f64; 3] {
        let [l2, l3, memory, startup, startup_lines] = array(&self.0[2..7]);
        [l2 * lines, l3 * lines, memory * (lines + startup * lines.min(startup_lines))]
    }

    /// Accesses to blocks of so many lines that a core holds at a time, where `poll` seconds go with each besides: each takes as long
    /// as the first load of each pair of lines, of which the processors that this was measured on fetch the other one, too.
    fn ahead(self, lines: f64, poll: f64) -> f64 {
        let [_, _, overlap, _] = self.latencies();
        overlap / (poll + self.0[0] * (lines / 2.0).max(1.0))
    }

    /// Of misses that L3 and memory serve, alone; the time that a core looks ahead; and of a page walk.
    fn latencies(self) -> [f64; 4] {
        array(&self.0[7..11])
    }

    /// What misses add to an access, by level, and address translation; `poll` are seconds that go with each access besides.
    pub fn misses(self, shares: &Shares, block: f64, poll: f64) -> [f64; 4] {
        let [l3_alone, memory_alone, _, walk] = self.latencies();
        // The latency of L2 is hidden by what a core does meanwhile: no measurement shows any.
        let alone = [0.0, l3_alone, memory_alone];
        let lines = (block / LINE).max(1.0);
        let (gaps, ahead) = (self.gaps(lines), self.ahead(lines, poll));
        let mut farther = shares.waiting.iter().sum::<f64>();
        let mut added = [0.0; 4];
        for (level, (served, waiting)) in shares.served.into_iter().zip(shares.waiting).enumerate() {
            // What a level costs that nothing reaches may be unknown.
            if served == 0.0 && waiting == 0.0 {
                continue;
            }
            added[level] = (served * gaps[level]).hypot(waiting * alone[level] / (1.0 + farther * ahead));
            farther -= waiting;
        }
        if shares.untranslated > 0.0 {
            added[3] = shares.untranslated * walk / (1.0 + shares.untranslated * ahead);
        }
        added
    }
}

/// What another rank's block costs, by messages or by gets: four of [`REMOTE`].
#[derive(Clone, Copy, Debug)]
pub struct Remote<'a>(pub &'a [f64]);

impl<'a> Remote<'a> {
    pub fn by(way: f64, remote: &'a [f64]) -> Self {
        Self(if way == 0.0 { &remote[..4] } else { &remote[4..] })
    }

    /// With every access, to look for what others want, or for what has come.
    pub fn poll(self) -> f64 {
        self.0[0]
    }

    /// A block of so many words, where a share of the accesses is remote: others hide a part of it.
    fn block(self, block: f64, share: f64) -> f64 {
        let [_, among_others, per_byte, alone] = *self.0 else { return f64::NAN };
        share * among_others + (1.0 - share) * alone + per_byte * WORD_BYTES as f64 * block
    }
}

/// The time of an access, of which a share goes to other ranks.
pub fn access(
    memory: Memory,
    remote: Remote,
    block: f64,
    (own, served): (&Shares, &Shares),
    share: f64,
    ranks: f64,
) -> Budget {
    let poll = if ranks > 1.0 { remote.poll() } else { 0.0 };
    let issue = memory.issue(block);
    let mut budget = [(1.0 - share) * issue, 0.0, 0.0, 0.0, 0.0, poll, 0.0];
    let mut add = |times: f64, shares: &Shares| {
        let misses = memory.misses(shares, block, poll);
        budget[1..5].iter_mut().zip(misses).for_each(|(term, seconds)| *term += times * seconds);
    };
    if share < 1.0 {
        add(1.0 - share, own);
    }
    if share > 0.0 {
        // Whoever reads another rank's block, or sends it, has its misses.
        add(share, served);
        budget[6] = share * remote.block(block, share);
    }
    budget
}
