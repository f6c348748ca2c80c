//! Mailboxes with limited room: times of waiting senders against closed forms, deadlocks, refusals, and what users see of it.

use super::common::{Scratch, refusal_message, successful_stdout};
use super::simulated::{LATENCY, NO_COSTS, RECEIVE, SEND, machine};
use apexmap_measure::comm::simulated::{Machine, SimulatedComm, Time, Topology, run};
use apexmap_measure::comm::{Collectives, Comm, Inbox, Mailboxes, Outbox, Tag};
use apexmap_theory::machine::Card;
use std::path::Path;

/// A time after the arrival of the first messages, in picoseconds.
const LATE: Time = 1_000_000;
/// The time on the way of a word, after the latency.
const WORD: Time = 2_000;

fn with_room(places: usize) -> Machine {
    let mut machine = Machine { receive_packets: places, ..machine(Topology::Crossbar) };
    machine.interface.gap = 0;
    machine
}

/// Rank 0 sends words without a pause to rank 1, which starts `LATE` to take them, one every `LATE`. Returns the times at which the sends
/// returned and those at which the words were there, since the start, and the share of the time in which ranks waited for room.
fn slow_receiver(machine: &Machine, messages: u64) -> (Vec<Time>, Vec<Time>, f64) {
    let body = |comm: &SimulatedComm| {
        let (mut inbox, mut outbox) = comm.mailbox(Tag::Request, 4, 64, 1);
        comm.barrier();
        let start = comm.wall_time();
        let since_start = || ((comm.wall_time() - start) * 1e12).round() as Time;
        let action = |number: u64| {
            if comm.rank() == 0 {
                while !outbox.send(1, &[number]) {
                    comm.relax();
                }
            } else {
                comm.delay(LATE as f64 * 1e-12, || ());
                while inbox.take(|_, words| assert_eq!(words, [number])).is_none() {
                    comm.relax();
                }
            }
            since_start()
        };
        (0..messages).map(action).collect::<Vec<Time>>()
    };
    let (results, account) = run(machine, NO_COSTS, 2, |comm, _| body(comm)).expect("a simulation");
    let mut times = results.into_iter().map(|result| result.expect("a rank that succeeds"));
    (times.next().expect("rank 0"), times.next().expect("rank 1"), account.blocked_share)
}

#[test]
fn a_sender_waits_for_the_receive_that_makes_room_and_pays_its_send_once() {
    let take = |number: Time| number * (LATE + RECEIVE);
    for places in [1, 2, 3] {
        let (sent, taken, share) = slow_receiver(&with_room(places), 6);
        // The core works on the first message that finds no room before it waits for the first receive.
        let expected: Vec<Time> = (0..6)
            .map(|number| match number as usize {
                free if free < places => (number + 1) * SEND,
                blocked => take((blocked - places) as Time) + LATE,
            })
            .collect();
        assert_eq!(sent, expected, "{places} places");
        let node = Machine { ranks_per_node: 2, node_packets: places, ..with_room(0) };
        assert_eq!(slow_receiver(&node, 6).0, expected, "{places} places for the other rank of the node");
        assert_eq!(taken, (1..=6).map(take).collect::<Vec<_>>(), "{places} places");
        // Rank 0 waited for nearly all of this time, and rank 1 for none.
        assert!((share - (6 - places) as f64 / 12.0).abs() < 0.02, "{places} places: {share}");
    }
}

#[test]
fn room_that_is_never_full_changes_no_time() {
    let unlimited = slow_receiver(&with_room(0), 6);
    assert_eq!(unlimited, slow_receiver(&with_room(6), 6));
    assert_eq!(unlimited.2, 0.0);
    // Ranks of a node pass their messages through its memory.
    let node = Machine { ranks_per_node: 2, ..with_room(1) };
    assert_eq!(slow_receiver(&node, 6).0, unlimited.0);
}

#[test]
fn a_message_in_a_full_mailbox_arrives_a_latency_after_room_was_made() {
    // The receiver waits for the second word: it is sent when the first one was taken.
    let (_, taken, _) = slow_receiver(&with_room(1), 2);
    let quick = LATE + RECEIVE + LATE;
    assert_eq!(taken, [LATE + RECEIVE, quick.max(LATE + LATENCY + WORD) + RECEIVE]);
}

#[test]
fn full_mailboxes_in_a_circle_are_a_deadlock_with_its_ranks() {
    for waits in [true, false] {
        let (results, _) = run(&with_room(2), NO_COSTS, 3, |comm, _| {
            let (_inbox, mut outbox) = comm.mailbox(Tag::Request, 4, 64, 1);
            for number in 0..3 {
                while !outbox.send((comm.rank() + 1) % 3, &[number]) {
                    if waits {
                        comm.relax();
                    }
                }
            }
        })
        .expect("a simulation");
        let text = results.iter().filter_map(|result| result.as_ref().err()).find(|text| text.contains("deadlock"));
        let expected = if waits {
            "3 of 3 ranks wait, and nothing is on its way: rank 0 waits for room at rank 1"
        } else {
            "this rank polls for room at its receiver"
        };
        assert!(text.is_some_and(|text| text.contains(expected)), "{results:?}");
    }
}

#[test]
fn only_the_kernels_of_the_domain_have_limited_room() {
    let machine = Machine { limited_kernels: vec!["random_access.roles".into()], ..with_room(4) };
    let machine = Machine { node_packets: 1, ..machine };
    let places = |kernel: &str| [machine.for_kernel(kernel).receive_packets, machine.for_kernel(kernel).node_packets];
    assert_eq!([places("random_access.roles"), places("random_access.base")], [[4, 1], [0, 0]]);
    assert_eq!(with_room(4).for_kernel("random_access.base").receive_packets, 4);
}

#[test]
fn impossible_numbers_of_places_are_refused_with_the_line_of_the_card() {
    for value in ["0", "-4", "2.5", "1e9", "nan"] {
        let text = format!(
            "name = \"M\"\nsummary = \"\"\nsource = \"\"\n[numbers.receive_packets]\nvalue = {value}\nhow = \"made up\"\n"
        );
        let error = Card::parse(&text, Path::new("m.toml")).expect_err("an impossible number");
        let place = error.location.as_ref().expect("a place");
        assert_eq!(place.text[..place.span.start].matches('\n').count(), 3, "{value}: {error}");
        assert!(error.message.contains("receive_packets must be") && !error.help.is_empty(), "{value}: {error}");
    }
}

const ROLES: &str = r#"
[fixed]
kernel = "random_access.roles"
cores_per_node = 4
ranks_per_node = 4
nodes = 8
packets = 4
N_words = "8 kwords"
updates = 2
Q = 64
[launch]
simulate = "bluegene-p"
"#;

#[test]
fn waiting_for_room_has_a_column_and_is_named_as_the_limit() {
    let scratch = Scratch::new();
    let (sweep, folder) = (scratch.join("roles.toml"), scratch.join("out"));
    std::fs::write(&sweep, ROLES).expect("a sweep");
    let out = folder.to_str().expect("a path");
    successful_stdout(&["run", sweep.to_str().expect("a path"), "--out", out]);
    let csv = successful_stdout(&["export", out, "--format", "csv"]);
    let cells: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    let column = cells[0].iter().position(|name| *name == "blocked_share").expect("a column");
    let share: f64 = cells[1][column].parse().expect("a share");
    assert!((0.01..0.9).contains(&share), "{share}");
    let page = std::fs::read_to_string(folder.join("report.html")).expect("a page");
    for text in [&successful_stdout(&["status", out]), &page] {
        assert!(text.contains("Full mailboxes limit the rates: simulated ranks waited for room"), "{text}");
    }
}

/// Core 0 needs a microsecond for an update, 98 cycles (2 + 96) besides, and part of its time for messages.
#[test]
fn the_steady_rate_is_that_of_the_slowest_core() {
    let scratch = Scratch::new();
    let (sweep, folder) = (scratch.join("roles.toml"), scratch.join("out"));
    std::fs::write(&sweep, ROLES.replace("updates = 2", "updates = 2\ndelay_ns = 1000")).expect("a sweep");
    let out = folder.to_str().expect("a path");
    successful_stdout(&["run", sweep.to_str().expect("a path"), "--no-report", "--out", out]);
    let rate = |column: &str| -> f64 {
        let csv = successful_stdout(&["export", out, "--select", column]);
        csv.lines().nth(1).expect("a sample").parse().expect("a rate")
    };
    let [steady, whole] = ["steady_operations_per_second", "operations_per_second"].map(rate);
    let seconds = 8.0 / steady;
    let least = 1e-6 + 98.0 / 850e6;
    assert!((least..1.2 * least).contains(&seconds) && (steady / whole - 1.0).abs() < 0.1, "{steady}, {whole}");
}

#[test]
fn replies_that_do_not_wait_need_a_place_each() {
    let scratch = Scratch::new();
    let text = std::fs::read_to_string("models/hypothetical-smp.toml").expect("a card");
    let text = text + "\n[numbers.receive_packets]\nvalue = 4\nhow = \"made up\"\n";
    let card = scratch.join("card.toml");
    std::fs::write(&card, text).expect("a card");
    let error =
        refusal_message(&["plan", "protocol", "--simulate", card.to_str().expect("a path"), "--ranks-per-node", "1"]);
    assert!(error.contains("replies that do not wait") && error.contains("room for receive_packets = 4"), "{error}");
    assert!(error.contains("[numbers.receive_packets] of the card"), "{error}");
}
