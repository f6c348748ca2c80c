//! What each further rank of a process adds to an access by messages, beyond the one that the numbers of requests were measured with.
//!
//! SOURCE: the transport over threads of this program (`comm::threads::mailbox`), and Table 1 of the Apex-Map paper. A rank has one ring
//! from each other rank. A poll looks at the rings of all of them: with every access for requests, and for replies while some are
//! outstanding. A send handle is free after its receiver has taken the message. To see that, a rank reads a line of each receiver
//! once in SMSG sends; the receivers have written those to which it sent. Messages in one ring hide a part of each other's time,
//! because one look at the ring finds several; with more rings, each has fewer.
//!
//! Nothing here is fitted: a poll and the transfer of a line between cores are measured by other kernels, on two ranks.

use super::costs::{Budget, POLLS, REMOTE_BLOCK, Remote};
use crate::machine::catalogue;
use crate::models::Parameter;

/// Numbers of further senders, in this order. They are 0 if messages do not travel over threads.
pub const SENDERS: [Parameter; 2] = [
    Parameter::new_rare(catalogue::SENDER_POLL_SECONDS.name, "p_s", 1e-3),
    Parameter::new_rare(catalogue::SENDER_LINE_SECONDS.name, "l_s", 1e-3),
];

/// Send handles of a rank: the default of SMSG.
const HANDLES: f64 = 16.0;

/// Adds the seconds of `ranks` - 2 further senders to an access, of which `share` is remote.
pub fn add_further(budget: &mut Budget, numbers: &[f64], ranks: f64, (share, remote): (f64, Remote)) {
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
