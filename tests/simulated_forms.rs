//! Simulated times against closed forms, to the picosecond.
//!
//! SOURCE: Alexandrov, Ionescu, Schauser, Scheiman, LogGP, SPAA 1995, Section 2: a message of n bytes takes o + L + (n - 1) G + o,
//! and the next one begins after max(g, o, n G); here a message has n G. Karp, Sahay, Santos, Schauser, Optimal Broadcast and
//! Summation in the LogP Model, SPAA 1993: broadcast trees.

use super::simulated::{GAP, LATENCY, PER_BYTE, RECEIVE, SEND, machine, simulate};
use apexmap_measure::comm::simulated::{
    InterfaceCosts, Machine, MessageCosts, PathCosts, SimulatedComm, Time, Topology,
};
use apexmap_measure::comm::{Collectives, Comm, Inbox, Mailboxes, Messages, Outbox, Path, PointToPoint, Posting, Tag};

/// The time of a message of this many bytes, from the call of the sender to the end of the receiver's.
fn one_way(bytes: usize) -> Time {
    SEND + LATENCY + (PER_BYTE * bytes as f64) as Time + RECEIVE
}

fn picoseconds_since(start: f64, comm: &SimulatedComm) -> Time {
    ((comm.wall_time() - start) * 1e12).round() as Time
}

#[test]
fn a_ping_pong_takes_the_time_of_its_closed_form() {
    for bytes in [8usize, 64, 4096] {
        let times = simulate(&machine(Topology::Crossbar), 2, |comm| {
            let mut messages = comm.messages(Tag::Request, 1024, 1024).expect("buffers");
            comm.barrier();
            let start = comm.wall_time();
            for _ in 0..10 {
                if comm.rank() == 0 {
                    messages.isend(0, bytes / 4, 1);
                    messages.irecv(0, bytes / 4, 1);
                } else {
                    messages.irecv(0, bytes / 4, 0);
                    messages.wait_all();
                    messages.isend(0, bytes / 4, 0);
                }
                messages.wait_all();
            }
            picoseconds_since(start, comm)
        });
        assert_eq!(times[0], 20 * one_way(bytes), "{bytes} bytes");
    }
}

#[test]
fn a_hypercube_exchange_takes_the_time_of_its_closed_form() {
    for ranks in [2usize, 16, 64] {
        let times = simulate(&machine(Topology::Crossbar), ranks, |comm| {
            let (mut inbox, mut outbox) = comm.mailbox(Tag::Request, 64, 64, 16);
            comm.barrier();
            let start = comm.wall_time();
            for stage in 0..ranks.trailing_zeros() {
                assert!(outbox.send(comm.rank() ^ (1 << stage), &[7; 16]));
                while inbox.take(|_, words| words.len()).is_none() {
                    comm.relax();
                }
            }
            picoseconds_since(start, comm)
        });
        let stage = one_way(128);
        assert!(times.iter().all(|time| *time == Time::from(ranks.trailing_zeros()) * stage), "{ranks}: {times:?}");
    }
}

#[test]
fn two_flows_over_one_link_take_turns() {
    // Nodes 0 and 1 send to nodes 2 and 3 of a line: both messages pass the link from node 1 to node 2.
    let line = machine(Topology::Mesh { sides: vec![4] });
    let arrivals = simulate(&line, 4, |comm| {
        let (mut inbox, mut outbox) = comm.mailbox(Tag::Request, 4, 4, 128);
        comm.barrier();
        let start = comm.wall_time();
        if comm.rank() < 2 {
            assert!(outbox.send(comm.rank() + 2, &[1; 128]));
            return 0;
        }
        while inbox.take(|_, _| ()).is_none() {
            comm.relax();
        }
        picoseconds_since(start, comm)
    });
    // The message of the lower rank gets the link first if two are sent at the same time.
    let (train, ends) = (400 * 1024, SEND + LATENCY + RECEIVE);
    assert_eq!(arrivals[2], ends + 2 * 100 + train);
    // The link is busy from the start: the other message passes it until the first one comes, and continues after it.
    assert_eq!(arrivals[3], ends + 2 * 100 + 2 * train);
}

#[test]
fn a_token_passes_a_ring_in_the_time_of_its_messages() {
    for ranks in [2usize, 5, 64] {
        let times = simulate(&machine(Topology::Crossbar), ranks, |comm| {
            let mut messages = comm.messages(Tag::Request, 16, 16).expect("buffers");
            let (start, next) = (comm.wall_time(), (comm.rank() + 1) % ranks);
            for round in 0..3 {
                if comm.rank() > 0 || round > 0 {
                    messages.irecv(0, 16, (comm.rank() + ranks - 1) % ranks);
                    messages.wait_all();
                }
                messages.isend(0, 16, next);
            }
            if comm.rank() == 0 {
                messages.irecv(0, 16, ranks - 1);
            }
            messages.wait_all();
            picoseconds_since(start, comm)
        });
        assert_eq!(times[0], (3 * ranks) as Time * one_way(64), "{ranks} ranks");
    }
}

#[test]
fn a_binomial_broadcast_reaches_each_rank_at_the_time_of_its_closed_form() {
    // One word, so that the sender's own work is longer than the message: it sends every SEND picoseconds.
    let fast = PathCosts::uniform(MessageCosts {
        send: 3_000,
        receive: RECEIVE,
        latency: LATENCY,
        per_byte: PER_BYTE,
        eager_bytes: 1 << 20,
        ..MessageCosts::default()
    });
    let machine = Machine { network: fast, interface: InterfaceCosts::default(), ..machine(Topology::Crossbar) };
    for stages in 1..=6usize {
        let ranks = 1usize << stages;
        let times = simulate(&machine, ranks, |comm| {
            let (mut inbox, mut outbox) = comm.mailbox(Tag::Request, 8, 8, 1);
            let (start, rank) = (comm.wall_time(), comm.rank());
            let mut received = 0;
            for stage in 0..stages {
                let distance = ranks >> (stage + 1);
                if rank % (2 * distance) == distance {
                    while inbox.take(|_, _| ()).is_none() {
                        comm.relax();
                    }
                    received = picoseconds_since(start, comm);
                } else if rank % (2 * distance) == 0 {
                    assert!(outbox.send(rank + distance, &[7]));
                }
            }
            received
        });
        for (rank, &time) in times.iter().enumerate().skip(1) {
            // A message per one in the rank's number; before them its ancestors have sent one for each zero above the last one.
            let messages = rank.count_ones() as Time;
            let last_stage = stages as Time - Time::from(rank.trailing_zeros());
            let message = 3_000 + LATENCY + (PER_BYTE * 8.0) as Time + RECEIVE;
            assert_eq!(time, messages * message + (last_stage - messages) * 3_000, "rank {rank} of {ranks}");
        }
    }
}

#[test]
fn collective_operations_take_a_tree_of_messages() {
    for (ranks, stages) in [(1usize, 0), (2, 1), (5, 3), (16, 4), (100, 7)] {
        let times = simulate(&machine(Topology::Crossbar), ranks, |comm| {
            let mut clocks = vec![comm.wall_time()];
            let mut words = [7u64; 10];
            comm.broadcast(&mut words);
            clocks.push(comm.wall_time());
            assert!(comm.gather(&words).is_none_or(|words| words.len() == 10 * ranks));
            clocks.push(comm.wall_time());
            assert_eq!(comm.all_reduce_sum(1), ranks as u64);
            clocks.push(comm.wall_time());
            comm.barrier();
            clocks.push(comm.wall_time());
            clocks.windows(2).map(|pair| ((pair[1] - pair[0]) * 1e12).round() as Time).collect::<Vec<_>>()
        });
        let expected = [one_way(80), one_way(80), 2 * one_way(8), one_way(0)].map(|stage| stages * stage);
        assert!(times.iter().all(|times| *times == expected), "{ranks} ranks: {times:?}");
    }
}

#[test]
fn a_pairwise_exchange_takes_a_message_per_other_rank() {
    for (ranks, words) in [(2usize, 1usize), (7, 8), (16, 100), (64, 8)] {
        let times = simulate(&machine(Topology::Crossbar), ranks, |comm| {
            let (start, mut received) = (comm.wall_time(), Vec::new());
            comm.all_to_all_v(&vec![7; ranks * words], &vec![words; ranks], &mut received);
            picoseconds_since(start, comm)
        });
        let expected = (ranks - 1) as Time * one_way(8 * words);
        assert!(times.iter().all(|time| *time == expected), "{ranks} ranks, {words} words: {times:?}");
    }
}

#[test]
fn a_stream_takes_the_largest_of_overhead_gap_and_bytes_per_message() {
    // Bytes, and the time between messages: the interface's gap, then the bytes.
    for (bytes, between) in [(0usize, GAP), (4, GAP), (8, 2_000), (1000, 250_000)] {
        let times = simulate(&machine(Topology::Crossbar), 2, |comm| {
            let mut messages = comm.messages(Tag::Request, 256, 256).expect("buffers");
            let start = comm.wall_time();
            for _ in 0..100 {
                if comm.rank() == 0 { messages.isend(0, bytes / 4, 1) } else { messages.irecv(0, bytes / 4, 0) }
            }
            messages.wait_all();
            picoseconds_since(start, comm)
        });
        assert_eq!(times[1], one_way(bytes) + 99 * between, "{bytes} bytes");
    }
}

#[test]
fn eight_senders_to_one_receiver_share_its_interface() {
    let bus = Machine {
        interface: InterfaceCosts { per_byte: PER_BYTE, ..InterfaceCosts::default() },
        ..machine(Topology::Crossbar)
    };
    let times = simulate(&bus, 9, |comm| {
        let mut messages = comm.messages(Tag::Request, 1024, 1024).expect("buffers");
        let start = comm.wall_time();
        match comm.rank() {
            0 => (1..9).for_each(|from| messages.irecv(0, 1024, from)),
            _ => messages.isend(0, 1024, 0),
        }
        messages.wait_all();
        picoseconds_since(start, comm)
    });
    assert_eq!(times[0], one_way(8 * 4096));
}

/// Picoseconds of a byte that a core copies.
const COPY: f64 = 30.0;
/// A time after the arrival of all messages of a test, in picoseconds.
const LATE: Time = 1_000_000;
/// Time of an announcement, and of its answer.
const HANDSHAKE: Time = 2_000;

/// A machine whose cores copy messages of 16 words, and send messages of up to this size without an answer.
fn copying_machine(eager_bytes: usize) -> Machine {
    let crossbar = machine(Topology::Crossbar);
    let costs = MessageCosts { copy_per_byte: COPY, eager_bytes, handshake: HANDSHAKE, ..crossbar.network.mailbox };
    Machine { network: PathCosts::uniform(costs), interface: InterfaceCosts::default(), ..crossbar }
}

/// Rank 0 sends messages of 16 words at the start, with a handle for each. Returns the time when rank 1 has taken all, if it starts
/// `late` to take them, and when all handles of rank 0 are free.
fn late_receiver(machine: &Machine, messages: u64, late: Time, receives: Option<usize>) -> (Time, Time) {
    let times = simulate(machine, 2, |comm| {
        let handles = messages as usize;
        let (mut inboxes, mut outbox) = match receives {
            Some(receives) => {
                let (inbox, outbox) = comm.mailbox(Tag::Request, receives, handles, 16);
                (vec![inbox], outbox)
            }
            None => comm.mailbox_per_peer(
                Tag::Request,
                &[1 - comm.rank()],
                (Posting::OnDemand, Path::Messages),
                handles,
                16,
            ),
        };
        comm.barrier();
        let start = comm.wall_time();
        if comm.rank() == 0 {
            (0..messages).for_each(|number| assert!(outbox.send(1, &[number; 16])));
            drop(outbox);
            return picoseconds_since(start, comm);
        }
        comm.delay(late as f64 * 1e-12, || ());
        for number in 0..messages {
            while inboxes[0].take(|_, words| assert_eq!(words, [number; 16])).is_none() {
                comm.relax();
            }
        }
        picoseconds_since(start, comm)
    });
    (times[1], times[0])
}

/// The time on the way of 16 words, and that of a core that copies them.
fn bytes_and_copy() -> (Time, Time) {
    ((PER_BYTE * 128.0) as Time, (COPY * 128.0) as Time)
}

#[test]
fn a_message_that_comes_before_its_receive_costs_another_copy() {
    let ((bytes, copy), machine) = (bytes_and_copy(), copying_machine(1 << 20));
    // Posted ahead, the message waits in its buffer.
    assert_eq!(late_receiver(&machine, 1, LATE, Some(1)).0, LATE + RECEIVE + copy);
    assert_eq!(late_receiver(&machine, 1, LATE, None).0, LATE + RECEIVE + 2 * copy);
    // A receiver that waits has posted its receive in time.
    let one_way = SEND + copy + LATENCY + bytes + RECEIVE + copy;
    assert_eq!([None, Some(1)].map(|receives| late_receiver(&machine, 1, 0, receives).0), [one_way; 2]);
}

#[test]
fn messages_beyond_the_receive_buffers_cost_another_copy() {
    let ((_, copy), machine) = (bytes_and_copy(), copying_machine(1 << 20));
    for (buffers, unexpected) in [(1, 4), (2, 3), (4, 1), (5, 0), (9, 0)] {
        let (taken, _) = late_receiver(&machine, 5, LATE, Some(buffers));
        assert_eq!(taken, LATE + 5 * (RECEIVE + copy) + unexpected * copy, "{buffers} buffers");
    }
}

#[test]
fn a_long_message_waits_for_its_receive() {
    let ((bytes, copy), machine) = (bytes_and_copy(), copying_machine(64));
    // The receiver's interface answers at once, and the sender's handle is free when the message has left.
    let left = SEND + copy + 2 * HANDSHAKE + bytes;
    assert_eq!(late_receiver(&machine, 1, LATE, Some(1)), (LATE + RECEIVE + copy, left));
    assert_eq!(late_receiver(&machine, 1, 0, Some(1)), (left + LATENCY + RECEIVE + copy, left));
    // It answers when the receive is posted.
    let left = LATE + HANDSHAKE + bytes;
    assert_eq!(late_receiver(&machine, 1, LATE, None), (left + LATENCY + RECEIVE + copy, left));
    // With one buffer, each message leaves when the one before it has been read.
    let first_read = LATE + RECEIVE + copy;
    let left = first_read + HANDSHAKE + bytes;
    assert_eq!(late_receiver(&machine, 2, LATE, Some(1)), (left + LATENCY + RECEIVE + copy, left));
}
