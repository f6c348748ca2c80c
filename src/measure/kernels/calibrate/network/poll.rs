//! An empty poll is the cost of an iteration without a message, for a rank that serves others.

use super::*;
use crate::comm::{Inbox, Outbox};

pub static KERNEL: Kernel = Kernel {
    id: "calibrate.poll",
    summary: "Time of an empty poll (top)",
    place: "Section 3.1, Equation (1)",
    parameters: parameters![LOOKS],
    method: "Every rank polls for a message and checks for a free send handle, repeatedly, while no rank sends; the \
        time is that of the slowest rank. Then each rank sent one message to the next, which had to receive it.",
    refuse: require_two_ranks,
    work: |point| Work::new(LOOKS.of(point) as f64 * point.ranks as f64, "look", 0.0, "none"),
    buffer_bytes: |_| 2 * HANDLES as u64 * 8,
    rings: |_| vec![Rings::new(HANDLES as u64, 1)],
    run: |point, _, world| on_transport!(world.transport, comm => run(comm, point)),
    ..FAMILY
};

const LOOKS: Key<u64> = key("looks", "polls per rank in one run", integers(1..=1 << 32, 1 << 16));
/// Posted receives, and sends: the defaults of kernels that serve others.
const HANDLES: usize = 16;

pub fn run<C: Mailboxes>(comm: &C, point: &Point) -> Result<Outcome> {
    let polls = LOOKS.of(point);
    let (mut inbox, mut outbox) = comm.mailbox(Tag::Request, HANDLES, HANDLES, 1);
    let mut wrong = 0;
    let mut poll = |count: u64| {
        for _ in 0..count {
            let is_message = inbox.take(|_, _| ()).is_some();
            wrong += u64::from(is_message) + u64::from(!outbox.ready());
        }
    };
    poll(polls / 2);
    comm.barrier();
    let start = comm.wall_time();
    poll(polls);
    let seconds = comm.wall_time() - start;
    comm.barrier();

    let (next, previous) = ((comm.rank() + 1) % comm.size(), (comm.rank() + comm.size() - 1) % comm.size());
    while !outbox.send(next, &[mix(comm.rank() as u64)]) {
        comm.relax();
    }
    // If the message is lost, the time limit of the launch ends this loop.
    let (sender, word) = loop {
        match inbox.take(|sender, words| (sender, words[0])) {
            Some(message) => break message,
            None => comm.relax(),
        }
    };
    wrong += u64::from((sender, word) != (previous, mix(previous as u64)));
    comm.barrier();
    Ok(gather_outcome(comm, seconds, polls as f64, wrong, "polls gave a wrong answer about messages or send handles"))
}
