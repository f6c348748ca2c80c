use super::*;
use crate::comm::{Inbox, Outbox};
use crate::kernels::shared::messages;

pub static KERNEL: Kernel = Kernel {
    id: "calibrate.mailbox",
    summary: "Time per message through a mailbox, in both directions simultaneously between pairs of ranks",
    source: &source::APEX_MAP,
    place: "Section 2.1 (requests and replies)",
    parameters: parameters![BYTES, MESSAGES],
    method: "Every rank sends messages to its partner through a mailbox and takes the partner's messages as they \
        arrive. The time is that of the slowest rank, from a common start to the last message it receives. The \
        sum of all words received was compared with the sum of the words sent.",
    simulation: Some(Computations::None),
    refuse: |point| require_pairs(point, WORD_BYTES),
    work: |point| work_per_rank(point, "message", "content of the messages, each counted once"),
    buffer_bytes: |point| (2 * HANDLES as u64 + 1) * BYTES.of(point),
    rings: |_| vec![Rings::new(HANDLES as u64, 1)],
    run: |point, _, world| on_transport!(world.transport, comm => run(comm, point)),
    ..FAMILY
};

pub(super) const BYTES: Key<u64> = messages::MESSAGE_BYTES
    .with_meaning("message size: bytes of content, a multiple of 8")
    .with_domain(integers(WORD_BYTES..=1 << 24, WORD_BYTES));
pub(super) const MESSAGES: Key<u64> =
    messages::MESSAGES.with_meaning("messages sent per rank in one run").with_domain(integers(1..=1 << 32, 1 << 14));
/// Posted receives, and sends.
const HANDLES: usize = 64;

pub fn run<C: Mailboxes>(comm: &C, point: &Point) -> Result<Outcome> {
    let (messages, words) = (MESSAGES.of(point), (BYTES.of(point) / WORD_BYTES) as usize);
    let partner = partner(comm);
    let message_of = |rank: usize| contents(rank).take(words).collect();
    let (outgoing, theirs): (Vec<u64>, Vec<u64>) = (message_of(comm.rank()), message_of(partner));
    let (mut inbox, mut outbox) = comm.mailbox(Tag::Request, HANDLES, HANDLES, words);
    let pass = |messages: u64| {
        let (mut sent, mut received, mut sum) = (0, 0, 0u64);
        while sent < messages || received < messages {
            let mut idle = true;
            if sent < messages && outbox.send(partner, &outgoing) {
                (sent, idle) = (sent + 1, false);
            }
            if let Some(message_sum) = inbox.take(|_, words| wrapping_sum(words)) {
                (received, sum, idle) = (received + 1, sum.wrapping_add(message_sum), false);
            }
            if idle {
                comm.relax();
            }
        }
        sum
    };
    let (sum, seconds) = time_pass(comm, messages, pass);
    let wrong = u64::from(sum != wrapping_sum(&theirs).wrapping_mul(messages));
    Ok(gather_outcome(comm, seconds, messages as f64, wrong, "ranks received wrong words"))
}
