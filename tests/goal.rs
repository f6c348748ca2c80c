//! Schedules for LogGOPSim: they have the grammar of its `txt2bin`, and a LogGP interpreter gives the times of simulated ranks.

use super::common::{Scratch, refusal_message, successful_stdout};
use super::simgrid::{machine, simulate_pattern};
use apexmap_base::point::Point;
use apexmap_measure::comm::simulated::{Machine, Time, Topology};
use apexmap_simulate::envelope;
use apexmap_simulate::goal::{Pattern, options, schedule};
use std::collections::HashMap;

/// A send or a receive of a rank, and the numbers of the operations that it waits for.
struct Operation {
    is_send: bool,
    peer: usize,
    tag: usize,
    after: Vec<usize>,
}

/// Parses a schedule by the grammar of `txt2bin`: `label: send Nb to R tag T`, `label: recv Nb from R tag T`, `a requires b`.
fn parse(text: &str, bytes: usize) -> Vec<Vec<Operation>> {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//"));
    let ranks: usize = lines.next().and_then(|line| line.strip_prefix("num_ranks ")?.parse().ok()).expect("num_ranks");
    let mut schedule: Vec<Vec<Operation>> = Vec::new();
    let mut labels: HashMap<String, usize> = HashMap::new();
    for line in lines {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["rank", rank, "{"] => {
                assert_eq!(rank.parse(), Ok(schedule.len()));
                schedule.push(Vec::new());
                labels.clear();
            }
            ["}"] => {}
            [label, kind @ ("send" | "recv"), size, direction, peer, "tag", tag] => {
                assert_eq!(size, format!("{bytes}b"));
                assert_eq!(direction, if kind == "send" { "to" } else { "from" });
                let operations = schedule.last_mut().expect("a rank");
                labels.insert(label.strip_suffix(':').expect("a label").to_owned(), operations.len());
                let (peer, tag) = (peer.parse().expect("a rank"), tag.parse().expect("a tag"));
                operations.push(Operation { is_send: kind == "send", peer, tag, after: Vec::new() });
            }
            [label, "requires", other] => {
                schedule.last_mut().expect("a rank")[labels[label]].after.push(labels[other]);
            }
            _ => panic!("no line of a schedule: {line}"),
        }
    }
    assert_eq!(schedule.len(), ranks);
    schedule
}

/// Returns when the last operation of a schedule ends in the LogGP model. The operations of a rank are executed in their order.
fn execute(schedule: &[Vec<Operation>], machine: &Machine, bytes: usize) -> Time {
    let costs = machine.network.message;
    let mut ends: Vec<Vec<Time>> = schedule.iter().map(|_| Vec::new()).collect();
    let mut interfaces = vec![0; schedule.len()];
    let mut arrivals: HashMap<(usize, usize, usize), Time> = HashMap::new();
    let total: usize = schedule.iter().map(Vec::len).sum();
    for _ in 0..=total {
        for (rank, operations) in schedule.iter().enumerate() {
            let Some(next) = operations.get(ends[rank].len()) else { continue };
            let ready = next.after.iter().map(|&other| ends[rank][other]).max().unwrap_or(0);
            let ready = ready.max(ends[rank].last().copied().unwrap_or(0));
            if next.is_send {
                let begins = interfaces[rank].max(ready + costs.send);
                interfaces[rank] = begins + costs.channel_time(bytes);
                arrivals.insert((rank, next.peer, next.tag), begins + costs.latency + costs.on_the_way(bytes));
                ends[rank].push(ready + costs.send);
            } else if let Some(arrived) = arrivals.remove(&(next.peer, rank, next.tag)) {
                ends[rank].push(ready.max(arrived) + costs.receive);
            }
        }
    }
    assert!(
        ends.iter().zip(schedule).all(|(ends, operations)| ends.len() == operations.len()),
        "each receive has its send"
    );
    assert!(arrivals.is_empty(), "each send has its receive");
    ends.into_iter().flatten().max().unwrap_or(0)
}

#[test]
fn schedules_take_the_time_of_simulated_ranks() {
    let machine = machine("crossbar\nrank 0 {", Topology::Crossbar);
    for (pattern, name) in Pattern::ALL {
        for ranks in [2, 16, 20] {
            for bytes in [64, 65536] {
                let text = schedule(&machine, pattern, ranks, bytes);
                let parsed = parse(&text, bytes);
                let expected = if pattern == Pattern::AllToAll { ranks } else { 1 << ranks.ilog2() };
                assert_eq!(parsed.len(), if pattern == Pattern::PingPong { 2 } else { expected });
                let same = if pattern == Pattern::AllToAll { "shifts" } else { name };
                let simulated = simulate_pattern(&machine, parsed.len(), same, bytes, 1);
                assert_eq!(
                    execute(&parsed, &machine, bytes),
                    (simulated * 1e12).round() as Time,
                    "{name} {ranks} {bytes}"
                );
            }
        }
    }
}

#[test]
fn options_of_loggopsim_are_whole_picoseconds() {
    let machine = machine("crossbar", Topology::Crossbar);
    assert_eq!(options(&machine, 2), "-L 5000000 -o 800000 -g 0 -G 250 -O 0 -S 1048576");
    let text = schedule(&machine, Pattern::PingPong, 2, 8);
    assert!(text.contains("LogGOPSim -f schedule.bin -L 5000000"), "{text}");
}

#[test]
fn points_outside_of_the_tested_envelope_have_their_reasons() {
    let torus = machine("torus", Topology::Torus { sides: vec![16, 16, 16] });
    let stream = |ranks, bytes: u64| {
        Point::new("message_rate.streaming", ranks)
            .with_parameter("message_bytes", bytes)
            .with_parameter("window", 64u64)
            .with_parameter("operation", "send")
    };
    assert_eq!(envelope(&stream(256, 4096), &torus), [""; 0]);
    let has = |point: Point, machine: &Machine, words: &str| {
        let reasons = envelope(&point, machine);
        assert!(reasons.len() == 1 && reasons[0].contains(words), "{reasons:?} for {words}");
    };
    has(stream(257, 4096), &torus, "more than 256 ranks");
    has(stream(16, 8), &torus, "fewer than 64 bytes");
    has(stream(16, 64).with_parameter("operation", "put"), &torus, "one-sided");
    has(stream(16, 64).with_parameter("window", 129u64), &torus, "wait for their receiver");
    has(Point::new("random_access.alltoallv", 64), &torus, "messages to all ranks over shared links");
    has(Point::new("random_access.base", 64), &torus, "from many senders at once");
    assert_eq!(envelope(&Point::new("random_access.alltoallv", 64), &machine("crossbar", Topology::Crossbar)), [""; 0]);
    let with = |change: fn(&mut Machine)| {
        let mut machine = torus.clone();
        change(&mut machine);
        machine
    };
    has(stream(16, 64), &with(|machine| machine.ranks_per_node = 2), "several ranks on a node");
    has(stream(16, 4096), &with(|machine| machine.network.message.eager_bytes = 1024), "receiver's answer");
    has(stream(16, 64), &with(|machine| machine.interface.gap = 1), "headers");
    has(stream(16, 64), &with(|machine| machine.topology = Topology::Mesh { sides: vec![16] }), "mesh");
}

#[test]
fn calibrate_writes_the_network_of_a_card_for_other_simulators() {
    let scratch = Scratch::new();
    let folder = scratch.join("network");
    let write = |simulator: &str| {
        let out = folder.to_str().expect("a path");
        let nodes = ["--from-card", "red-storm", "--nodes", "27", "--out", out];
        successful_stdout(&[&["calibrate", "--export", simulator][..], &nodes].concat())
    };
    assert!(write("simgrid").contains("simgrid.xml"));
    let platform = std::fs::read_to_string(folder.join("simgrid.xml")).expect("a platform");
    assert!(platform.contains("<host id=\"n26\"") && platform.contains("value=\"Red Storm\""), "{platform}");
    assert_eq!(write("goal").lines().count(), 3);
    let schedule = std::fs::read_to_string(folder.join("hypercube.goal")).expect("a schedule");
    assert!(parse(&schedule, 4096).len().is_power_of_two());
    let message = refusal_message(&["calibrate", "--export", "goal", "--from-card", "phoenix", "--nodes", "4"]);
    assert!(message.contains("Phoenix"), "{message}");
}
