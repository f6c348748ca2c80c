//! Tests of the simulated transport: its contract, deadlocks and panics.

#[path = "mpi_checks/message_order.rs"]
#[expect(clippy::duplicate_mod, reason = "the same checks run on every transport")]
mod message_order;

use apexmap_measure::comm::simulated::{
    ComputationCosts, InterfaceCosts, LinkCosts, Machine, MessageCosts, PathCosts, SimulatedComm, Time, Topology, run,
};
use apexmap_measure::comm::{
    Collectives, Comm, Computation, GetWindow, Inbox, Mailboxes, Outbox, Path, Posting, Rma, RmaWindow, Tag,
};

pub const SEND: Time = 700;
pub const RECEIVE: Time = 900;
pub const LATENCY: Time = 5_000;
pub const PER_BYTE: f64 = 250.0;
pub const GAP: Time = 1_100;
pub const NO_COSTS: ComputationCosts = [0.0; Computation::COUNT];

fn costs() -> PathCosts {
    PathCosts::uniform(MessageCosts {
        send: SEND,
        receive: RECEIVE,
        latency: LATENCY,
        per_byte: PER_BYTE,
        eager_bytes: 1 << 20,
        handshake: LATENCY,
        ..MessageCosts::default()
    })
}

/// A machine with one rank per node whose polls take no time.
pub fn machine(topology: Topology) -> Machine {
    Machine {
        name: "test".into(),
        ranks_per_node: 1,
        topology,
        network: costs(),
        node: costs(),
        interface: InterfaceCosts { gap: GAP, ..InterfaceCosts::default() },
        link: LinkCosts { hop: 100, per_byte: 400.0, is_contended: true, ..LinkCosts::default() },
        poll: 0,
        sender_poll: 0,
        sender_line: 0,
        sender_change: 0,
        barrier_stage: None,
        receive_packets: 0,
        node_packets: 0,
        limited_kernels: Vec::new(),
    }
}

/// Runs a function on simulated ranks, which must all succeed. Returns their results.
pub fn simulate<R: 'static>(machine: &Machine, ranks: usize, body: impl Fn(&SimulatedComm) -> R) -> Vec<R> {
    let (results, _) = run(machine, NO_COSTS, ranks, |comm, _| body(comm)).expect("a simulation");
    results.into_iter().map(|result| result.expect("a rank that succeeds")).collect()
}

fn on_1_to_5_ranks(body: impl Fn(&SimulatedComm)) {
    for ranks in 1..=5 {
        simulate(&machine(Topology::Crossbar), ranks, &body);
        simulate(&Machine { ranks_per_node: 2, ..machine(Topology::Torus { sides: vec![2, 2] }) }, ranks, &body);
    }
}

#[test]
fn messages_taken_together_arrive_in_order() {
    on_1_to_5_ranks(message_order::check_order);
}

#[test]
fn all_to_all_delivers_every_word_in_rank_order() {
    on_1_to_5_ranks(|comm| {
        let (rank, size) = (comm.rank() as u64, comm.size() as u64);
        let words = |from: u64, to: u64| vec![100 * from + to; ((from + to) % 4) as usize];
        let counts: Vec<usize> = (0..size).map(|to| words(rank, to).len()).collect();
        let send: Vec<u64> = (0..size).flat_map(|to| words(rank, to)).collect();
        let mut received = vec![7];
        for _ in 0..3 {
            comm.all_to_all_v(&send, &counts, &mut received);
            assert_eq!(received, (0..size).flat_map(|from| words(from, rank)).collect::<Vec<_>>());
        }
    });
}

#[test]
fn a_mailbox_per_peer_delivers_only_its_messages_in_order() {
    on_1_to_5_ranks(|comm| {
        let peers: Vec<usize> = (0..comm.size()).filter(|&peer| peer != comm.rank()).rev().collect();
        let (mut lines, mut outbox) =
            comm.mailbox_per_peer(Tag::Data(1), &peers, (Posting::Ahead, Path::Messages), 2, 3);
        for number in 0..20u64 {
            for &peer in &peers {
                while !outbox.send(peer, &[comm.rank() as u64, number]) {
                    comm.relax();
                }
            }
        }
        for (line, &peer) in lines.iter_mut().zip(&peers) {
            for number in 0..20u64 {
                while line.take(|from, words| assert_eq!((from, words), (peer, &[peer as u64, number][..]))).is_none() {
                    comm.relax();
                }
            }
        }
        comm.barrier();
    });
}

#[test]
fn gets_and_writes_reach_the_memory_of_others() {
    on_1_to_5_ranks(|comm| {
        let (rank, size) = (comm.rank(), comm.size());
        let memory: Vec<u64> = (0..32).map(|word| (100 * rank + word) as u64).collect();
        comm.get_window(&memory, 2, 4, |mut window| {
            let (mut asked, mut sum, mut taken) = (0, 0, 0);
            while taken < size {
                if asked < size && window.get(asked, 4, 4) {
                    asked += 1;
                }
                if let Some(block) = window.take(|words| words.iter().sum::<u64>()) {
                    sum += block;
                    taken += 1;
                }
            }
            assert_eq!(sum, (0..size as u64).map(|owner| 4 * 100 * owner + 4 + 5 + 6 + 7).sum::<u64>());
        });
        let mut memory = vec![0; 2 * size + 1];
        comm.rma_window(&mut [], &mut memory, |mut window| {
            for round in 1..=3u64 {
                for to in 0..size {
                    window.put_value(to, 2 * rank, round);
                    window.xor(to, 2 * size, 1 << rank);
                }
                window.fence(|memory| {
                    assert!((0..size).all(|from| memory[2 * from] == round));
                    assert_eq!(std::mem::take(&mut memory[2 * size]), (1u64 << size) - 1);
                });
            }
        });
    });
}

#[test]
fn a_deadlock_names_what_the_first_ranks_wait_for() {
    let (results, _) = run(&machine(Topology::Crossbar), NO_COSTS, 3, |comm, _| {
        let (mut inbox, _outbox) = comm.mailbox(Tag::Request, 1, 1, 1);
        while inbox.take(|_, _| ()).is_none() {
            comm.relax();
        }
    })
    .expect("a simulation");
    let first = results[0].as_ref().expect_err("a deadlock");
    assert!(first.contains("deadlock: 3 of 3 ranks wait") && first.contains("rank 0 waits for a message"), "{first}");
}

#[test]
fn a_panic_of_a_rank_ends_the_others() {
    let (results, _) = run(&machine(Topology::Crossbar), NO_COSTS, 4, |comm, _| {
        assert!(comm.rank() != 2, "rank 2 is broken");
        comm.barrier();
    })
    .expect("a simulation");
    assert!(results[2].as_ref().is_err_and(|text| text.contains("rank 2 is broken")), "{results:?}");
    assert!(results.iter().all(Result::is_err));
}
