//! A simulated machine as a platform for SimGrid, with the options under which SMPI has the same costs.
//!
//! SOURCE: Casanova, Giersch, Legrand, Quinson, Suter: Versatile, scalable, and accurate simulation of distributed applications
//! and platforms, JPDC 74 (2014). The elements and options are those of SimGrid 3.32.

use apexmap_measure::comm::simulated::{Machine, Time, Topology};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Returns the platform of these nodes as XML. One host is one node. A crossbar is a cluster; other topologies have one route per pair of
/// nodes, with the links of [`Topology::route`]. Not expressed, because SimGrid has no option for it: the gap between messages of an
/// interface, header bytes, the time of a failed poll, and the time of the answer before a long message.
pub fn platform(machine: &Machine, nodes: usize) -> String {
    machine.check(nodes * machine.ranks_per_node).expect("a place for each node");
    let body = match machine.topology {
        Topology::Crossbar => crossbar(machine, nodes),
        _ => explicit_routes(machine, nodes),
    };
    format!(
        "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n<platform version=\"4.1\">\n{}\
         <zone id=\"world\" routing=\"Full\">\n{body}</zone>\n</platform>\n",
        options(machine, nodes),
    )
}

/// The options for which a message of SMPI costs what a message of the machine costs.
fn options(machine: &Machine, nodes: usize) -> String {
    let path = if nodes > 1 { &machine.network } else { &machine.node };
    let costs = &path.message;
    let overhead = |time: Time| format!("0:{}:{}", seconds(time as f64), costs.copy_per_byte * 1e-12);
    let eager = costs.eager_bytes.saturating_add(1).min(i32::MAX as usize).to_string();
    let options = [
        ("smpi/os", overhead(costs.send)),
        ("smpi/ois", overhead(costs.send)),
        ("smpi/or", overhead(costs.receive)),
        ("smpi/lat-factor", "0:1".into()),
        ("smpi/bw-factor", format!("0:{}", if nodes > 1 { rank_share(machine) } else { 1.0 })),
        ("smpi/send-is-detached-thresh", eager.clone()),
        ("smpi/async-small-thresh", eager),
        ("smpi/test", "0".into()),
        ("smpi/iprobe", "0".into()),
        ("smpi/simulate-computation", "no".into()),
        // Links are shared in equal parts, whatever their latencies, and answers need no part of them.
        ("network/weight-S", "0".into()),
        ("network/TCP-gamma", "0".into()),
        ("network/crosstraffic", "no".into()),
    ];
    let lines: String = options.map(|(name, value)| format!("<prop id=\"{name}\" value=\"{value}\"/>\n")).concat();
    format!("<config>\n{lines}</config>\n")
}

/// A crossbar: every node has a link for sending and one for receiving, each with half of the latency.
fn crossbar(machine: &Machine, nodes: usize) -> String {
    format!(
        "<cluster id=\"cluster\" prefix=\"n\" suffix=\"\" radical=\"0-{}\" speed=\"1Gf\" core=\"{}\" bw=\"{:e}Bps\" lat=\"{}\" \
         loopback_bw=\"{:e}Bps\" loopback_lat=\"{}\" sharing_policy=\"SPLITDUPLEX\"/>\n",
        nodes - 1,
        machine.ranks_per_node,
        interface_bandwidth(machine),
        seconds(machine.network.message.latency as f64 / 2.0),
        bytes_per_second(machine.node.message.per_byte),
        seconds(machine.node.message.latency as f64),
    )
}

/// Hosts, their interfaces, the links of the topology, and a route for each pair of nodes.
fn explicit_routes(machine: &Machine, nodes: usize) -> String {
    let mut text = String::new();
    for node in 0..nodes {
        let _ = writeln!(text, "<host id=\"n{node}\" speed=\"1Gf\" core=\"{}\"/>", machine.ranks_per_node);
    }
    let half_latency = seconds(machine.network.message.latency as f64 / 2.0);
    let mut link = |id: String, bandwidth: f64, latency: &str, policy: &str| {
        let _ = writeln!(
            text,
            "<link id=\"{id}\" bandwidth=\"{bandwidth:e}Bps\" latency=\"{latency}\" sharing_policy=\"{policy}\"/>"
        );
    };
    for node in 0..nodes {
        link(format!("i{node}"), interface_bandwidth(machine), &half_latency, "SPLITDUPLEX");
    }
    let within = &machine.node.message;
    link("memory".into(), bytes_per_second(within.per_byte), &seconds(within.latency as f64), "FATPIPE");
    let pairs = || (0..nodes).flat_map(|from| (0..nodes).map(move |to| (from, to)));
    let mut names = BTreeMap::new();
    for (from, to) in pairs() {
        machine.topology.route(from, to, |number| {
            let next = names.len();
            names.entry(number).or_insert(next);
        });
    }
    let policy = if machine.link.is_contended { "SHARED" } else { "FATPIPE" };
    for (&number, name) in &names {
        let bandwidth = bytes_per_second(machine.link.byte_time(number));
        link(format!("l{name}"), bandwidth, &seconds(machine.link.hop as f64), policy);
    }
    for (from, to) in pairs() {
        let _ = write!(text, "<route src=\"n{from}\" dst=\"n{to}\" symmetrical=\"NO\">");
        if from == to {
            text.push_str("<link_ctn id=\"memory\"/>");
        } else {
            let _ = write!(text, "<link_ctn id=\"i{from}\" direction=\"UP\"/>");
            machine.topology.route(from, to, |number| {
                let _ = write!(text, "<link_ctn id=\"l{}\"/>", names[&number]);
            });
            let _ = write!(text, "<link_ctn id=\"i{to}\" direction=\"DOWN\"/>");
        }
        text.push_str("</route>\n");
    }
    text
}

/// Bytes per second of an interface; at most what the ranks of the node send.
fn interface_bandwidth(machine: &Machine) -> f64 {
    let ranks = machine.ranks_per_node as f64;
    bytes_per_second(machine.interface.per_byte).min(ranks * bytes_per_second(machine.network.message.per_byte))
}

/// The part of the slowest link that a single message gets, because a rank sends more slowly.
fn rank_share(machine: &Machine) -> f64 {
    let link = match machine.topology {
        Topology::Crossbar => f64::INFINITY,
        _ => bytes_per_second(machine.link.per_byte),
    };
    (bytes_per_second(machine.network.message.per_byte) / interface_bandwidth(machine).min(link)).min(1.0)
}

/// Bytes per second; a byte that takes no time has 10^15 of them, because SimGrid needs a finite number.
fn bytes_per_second(picoseconds_per_byte: f64) -> f64 {
    if picoseconds_per_byte > 0.0 { 1e12 / picoseconds_per_byte } else { 1e15 }
}

fn seconds(picoseconds: f64) -> String {
    format!("{:e}", picoseconds * 1e-12)
}
