//! Costs of accesses: issue, overlapping misses, address translation, and memory of other ranks.
//!
//! A core overlaps misses that fall into its look-ahead window. If m misses per access reach this level or a farther one, and
//! the window holds w accesses, each miss costs 1 / (1 + m w) of its latency; an isolated miss costs all of it. Lines arrive
//! no faster than the gap of their level. The first lines of a block from memory have a larger gap, until prefetching starts.
//! Latency and gap hide each other only in part, because both vary between accesses. They are added in quadrature.

use super::super::{Parameter, array};
use super::hits::Shares;
use crate::machine::catalogue;
use apexmap_base::units::WORD_BYTES;

/// Numbers of a core and its memory, in the order of [`MEMORY`].
#[derive(Clone, Copy, Debug)]
pub struct Memory<'a>(pub &'a [f64]);

const SECONDS: (f64, f64) = (1e-13, 1e-5);

const fn seconds(number: &'static str, symbol: &'static str, first: f64) -> Parameter {
    Parameter::new_fitted(number, symbol, SECONDS.0, SECONDS.1, first).with_typical_guess()
}

/// Creates a parameter without which the predictions that need it are NaN.
const fn optional(number: &'static str, symbol: &'static str, first: f64) -> Parameter {
    seconds(number, symbol, first).with_value_if_missing(f64::NAN)
}

/// Numbers of a core and its memory for reads.
pub const MEMORY: [Parameter; 11] = [
    seconds(catalogue::ISSUE_SECONDS.name, "a", 0.6e-9),
    Parameter::new_fitted(catalogue::ISSUE_SECONDS_PER_BYTE.name, "b", 1e-14, 1e-8, 5e-12).with_typical_guess(),
    seconds(catalogue::L2_LINE_SECONDS.name, "g2", 0.3e-9),
    seconds(catalogue::L3_LINE_SECONDS.name, "g3", 0.8e-9),
    optional(catalogue::MEMORY_LINE_SECONDS.name, "g4", 2.5e-9),
    Parameter::new_fitted(catalogue::STARTUP_FACTOR.name, "s", 1e-2, 1e3, 1.5).with_typical_guess(),
    Parameter::new_fitted(catalogue::STARTUP_LINES.name, "n0", 1.0, 1e4, 64.0).with_typical_guess(),
    seconds(catalogue::L3_ALONE_SECONDS.name, "l3", 15e-9),
    optional(catalogue::MEMORY_ALONE_SECONDS.name, "l4", 150e-9),
    seconds(catalogue::OVERLAP_SECONDS.name, "t", 25e-9),
    seconds(catalogue::WALK_SECONDS.name, "w", 50e-9).with_value_if_missing(0.0),
];

/// Additional numbers for requests and replies, and for gets.
pub const REMOTE: [Parameter; 8] = [
    optional(catalogue::REQUEST_POLL_SECONDS.name, "p", 10e-9),
    optional(catalogue::REQUEST_SECONDS.name, "r", 100e-9),
    Parameter::new_fitted(catalogue::REQUEST_SECONDS_PER_BYTE.name, "c", 1e-14, 1e-8, 5e-11)
        .with_typical_guess()
        .with_value_if_missing(f64::NAN),
    optional(catalogue::REQUEST_ALONE_SECONDS.name, "ra", 200e-9),
    optional(catalogue::GET_CHECK_SECONDS.name, "p'", 10e-9),
    optional(catalogue::GET_LEAST_SECONDS.name, "r'", 10e-9),
    Parameter::new_fitted(catalogue::GET_SECONDS_PER_BYTE.name, "c'", 1e-14, 1e-8, 2e-11)
        .with_typical_guess()
        .with_value_if_missing(f64::NAN),
    optional(catalogue::GET_ALONE_SECONDS.name, "ra'", 20e-9),
];

/// Terms of the time of an access, in this order.
pub const TERMS: [&str; 7] = ["issue", "L2", "L3", "memory", "TLB", "polls", "remote"];

/// Places of terms in a [`Budget`].
const POLLS: usize = 5;
const REMOTE_BLOCK: usize = 6;

/// Seconds of each of [`TERMS`].
pub type Budget = [f64; TERMS.len()];

const LINE: f64 = 8.0;

/// Returns the smaller number of lines, up to 8 % less where they are equal: blocks of one length do not all start
/// prefetching at the same line, and fits whose best value lies on a measured length would not settle at a sharp bend.
fn smaller(lines: f64, startup_lines: f64) -> f64 {
    // The norm of order -8, without powers that overflow.
    lines / (1.0 + (lines / startup_lines).powi(8)).sqrt().sqrt().sqrt()
}

impl Memory<'_> {
    /// Returns the time to issue the reads of a block of this many words if all of them hit the first level.
    pub fn issue_seconds(self, block: f64) -> f64 {
        self.0[0] + self.0[1] * WORD_BYTES as f64 * (block - 1.0)
    }

    fn gaps(self, lines: f64) -> [f64; 3] {
        let [l2, l3, memory, startup, startup_lines] = array(&self.0[2..7]);
        [l2 * lines, l3 * lines, memory * (lines + startup * smaller(lines, startup_lines))]
    }

    /// Returns the number of accesses that a core overlaps, with `poll` seconds between them. An access takes the first load
    /// of each pair of lines: the processors of the measurements fetch the other one, too.
    fn accesses_ahead(self, lines: f64, poll: f64) -> f64 {
        let [_, _, overlap, _] = self.latencies();
        overlap / (poll + self.0[0] * (lines / 2.0).max(1.0))
    }

    /// Returns the latencies of isolated misses served by L3 and by memory, the look-ahead time, and the time of a page walk.
    fn latencies(self) -> [f64; 4] {
        array(&self.0[7..11])
    }

    /// Returns the time that misses add to an access, by level, then address translation. `poll`: seconds between accesses.
    pub fn misses(self, shares: &Shares, block: f64, poll: f64) -> [f64; 4] {
        let [l3_alone, memory_alone, _, walk] = self.latencies();
        // The latency of L2 is hidden by other work of the core. No measurement shows it.
        let alone = [0.0, l3_alone, memory_alone];
        let lines = (block / LINE).max(1.0);
        let (gaps, ahead) = (self.gaps(lines), self.accesses_ahead(lines, poll));
        let mut farther = shares.waiting.iter().sum::<f64>();
        let mut added = [0.0; 4];
        for level in 0..alone.len() {
            let (served, waiting) = (shares.served[level], shares.waiting[level]);
            // The costs of a level without accesses may be unknown.
            if served == 0.0 && waiting == 0.0 {
                continue;
            }
            // A square of seconds cannot overflow, and `hypot` takes several times as long.
            let (gap, latency) = (served * gaps[level], waiting * alone[level] / (1.0 + farther * ahead));
            added[level] = (gap * gap + latency * latency).sqrt();
            farther -= waiting;
        }
        if shares.untranslated > 0.0 {
            added[3] = shares.untranslated * walk / (1.0 + shares.untranslated * ahead);
        }
        added
    }
}

/// Cost of a block of another rank, by messages or by gets: four numbers of [`REMOTE`].
#[derive(Clone, Copy, Debug)]
pub struct Remote<'a>(pub &'a [f64]);

impl<'a> Remote<'a> {
    pub fn from_way(way: f64, remote: &'a [f64]) -> Self {
        Self(if way == 0.0 { &remote[..4] } else { &remote[4..] })
    }

    pub fn poll(self) -> f64 {
        self.0[0]
    }

    /// Returns the time of a remote block that no other remote access hides, without its bytes.
    pub fn isolated_seconds(self) -> f64 {
        self.0[3]
    }

    /// Returns the part of a remote block's time that others hide if `share` of the accesses is remote.
    pub fn hidden(self, share: f64) -> f64 {
        share * (self.0[3] - self.0[1])
    }

    /// Returns the time of a remote block of `block` words, of which other remote accesses hide a part.
    fn block(self, block: f64, share: f64) -> f64 {
        let [_, among_others, per_byte, alone] = *self.0 else { return f64::NAN };
        share * among_others + (1.0 - share) * alone + per_byte * WORD_BYTES as f64 * block
    }
}

pub fn access_budget(
    memory: Memory,
    remote: Remote,
    block: f64,
    (own, served): (&Shares, &Shares),
    share: f64,
    ranks: f64,
) -> Budget {
    let poll = if ranks > 1.0 { remote.poll() } else { 0.0 };
    let issue = memory.issue_seconds(block);
    let mut budget = [(1.0 - share) * issue, 0.0, 0.0, 0.0, 0.0, poll, 0.0];
    let mut add = |times: f64, shares: &Shares| {
        let misses = memory.misses(shares, block, poll);
        budget[1..5].iter_mut().zip(misses).for_each(|(term, seconds)| *term += times * seconds);
    };
    if share < 1.0 {
        add(1.0 - share, own);
    }
    if share > 0.0 {
        // The rank that reads or sends the block has its misses.
        add(share, served);
        budget[REMOTE_BLOCK] = share * remote.block(block, share);
    }
    budget
}

/// What each further rank of a process adds to an access by messages, beyond the one of measured requests. Nothing is fitted:
/// other kernels measure polls and transfers of lines between cores, on two ranks. 0 without messages over threads.
///
/// SOURCE: this program's transport over threads (`comm::threads::mailbox`), and Table 1 of the Apex-Map paper. A rank has
/// one ring from each other rank. A poll looks at all rings: with every access for requests, and for replies while some are
/// outstanding. A send handle is free after its receiver has taken the message: to see that, a rank reads a line of each
/// receiver, which has written it, once in SMSG sends. Messages in one ring hide a part of each other's time, because one
/// look finds several; with more rings, each has fewer.
pub const SENDERS: [Parameter; 2] = [
    Parameter::new_rare(catalogue::SENDER_POLL_SECONDS.name, "p_s", 1e-3),
    Parameter::new_rare(catalogue::SENDER_LINE_SECONDS.name, "l_s", 1e-3),
];

/// Send handles of a rank: the default of SMSG.
const HANDLES: f64 = 16.0;

/// Adds the seconds of `ranks` - 2 further senders to an access, of which `share` is remote.
pub fn add_further_senders(budget: &mut Budget, numbers: &[f64], ranks: f64, (share, remote): (f64, Remote)) {
    let (further, poll, line) = (ranks - 2.0, numbers[0], numbers[1]);
    if further <= 0.0 || (poll == 0.0 && line == 0.0) {
        return;
    }
    let polls = further * poll;
    budget[POLLS] += polls;
    if share == 0.0 {
        return;
    }
    let written_lines = (ranks - 1.0).min(HANDLES) - 1.0;
    // A request and its reply.
    let handles = 2.0 * (written_lines * line + polls) / HANDLES;
    budget[REMOTE_BLOCK] += share * (handles + remote.hidden(share) - remote.hidden(share / (ranks - 1.0)));
    // While its replies are outstanding, an access polls for them too: for the fraction share * (alone + t) / t of an access of t
    // seconds, at most always. This is a quadratic equation for t.
    let base: f64 = budget.iter().sum();
    let half = (base + share * polls) / 2.0;
    let with_replies = half + (half * half + share * polls * remote.isolated_seconds()).sqrt();
    budget[POLLS] += (with_replies - base).clamp(0.0, polls);
}
