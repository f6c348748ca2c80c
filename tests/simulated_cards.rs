//! Simulated machines from cards: known values, refusals, and places of nodes.

use apexmap_base::point::Point;
use apexmap_measure::comm::Computation;
use apexmap_measure::comm::simulated::{Machine, Topology};
use apexmap_measure::kernels;
use apexmap_simulate::{assumptions, computation_costs, machine, missing_error, missing_numbers, ranks_per_node};
use apexmap_study::calibrate::card_text;
use apexmap_theory::machine::{Card, Number, PUBLISHED};
use proptest::prelude::*;
use std::path::Path;

fn published_card(name: &str) -> Card {
    Card::find(name).expect("a published card")
}

fn simulate(card: &Card, nodes: usize, ranks_per_node: usize) -> Machine {
    machine(card, nodes, ranks_per_node).unwrap_or_else(|e| panic!("{}: {e}", card.name))
}

fn point(kernel: &str, ranks: usize) -> Point {
    let point = Point::new(kernel, ranks);
    let point = match kernel.split('.').next() {
        Some("apex_map") => {
            point.with_parameter("M", 1u64 << 20).with_parameter("alpha", 0.1).with_parameter("L", 8u64)
        }
        Some("random_access") => point.with_parameter("N_words", 1u64 << 30),
        _ => point,
    };
    kernels::complete(point).expect("a point")
}

fn cost(card: &Card, kernel: &str, computation: Computation) -> f64 {
    computation_costs(card, &point(kernel, 4)).expect("costs")[computation as usize]
}

#[test]
fn red_storm_has_the_numbers_of_its_papers() {
    let card = published_card("red-storm");
    let machine = simulate(&card, 8192, 1);
    let rings = vec![false, false, true];
    assert_eq!(machine.topology, Topology::Grid { sides: vec![27, 16, 24], rings });
    let message = machine.network.message;
    // The joint fit of Table 2: the cores need all of the time of a message.
    assert_eq!((message.send, message.receive, message.latency, machine.link.hop), (5_600_000, 5_600_000, 0, 50_000));
    assert!((message.per_byte - 1000.0 / 1.1).abs() < 1e-9 && machine.interface.per_byte == message.per_byte);
    assert!(machine.link.is_contended && (machine.link.per_byte - 1000.0 / (4.8 * 0.76)).abs() < 1e-9);
    assert!(assumptions(&card, 8192, 1).expect("a list").iter().any(|line| line.contains("rendezvous")));
    let hypercube = |computation| cost(&card, "random_access.hypercube", computation);
    assert_eq!(hypercube(Computation::Update), 55_555.556);
    assert_eq!([Computation::Generate, Computation::Read, Computation::Draw].map(hypercube), [0.0; 3]);
    assert!(hypercube(Computation::Divide) > 0.0);
    let error = simulate_error(&card, 10369, 1);
    assert!(error.message.contains("[27, 16, 24] have no place for 10369 nodes"), "{error}");
}

fn simulate_error(card: &Card, nodes: usize, ranks_per_node: usize) -> apexmap_base::error::Error {
    machine(card, nodes, ranks_per_node).expect_err("a refusal")
}

#[test]
fn the_simulated_nic_has_the_bus_and_the_link_of_its_paper() {
    let machine = simulate(&published_card("simulated-nic"), 32, 4);
    let put = machine.network.put;
    assert_eq!((put.send, put.receive, put.copy_per_byte.round()), (25_000, 0, 125.0));
    // 714.3 ns over two routers, without the time of the core and the hop of the link.
    assert_eq!(put.latency + put.send + machine.link.hop, 714_300);
    let interface = machine.interface;
    assert_eq!((interface.frame.bytes(4), interface.frame.bytes(8), interface.queue_bytes), (24, 24, 4096));
    assert!((interface.per_byte - 1000.0 / 2.3 * 72.0 / 64.0).abs() < 1e-9);
    assert_eq!(machine.link.frame.bytes(8), 36);
    assert!((machine.link.per_byte - 1000.0 / 4.8 * 72.0 / 64.0 * 21.0 / 16.0).abs() < 1e-9);
    assert_eq!(machine.topology, Topology::Torus { sides: vec![4, 4, 2] });
}

#[test]
fn blue_gene_p_counts_in_cycles_and_packets() {
    let card = published_card("bluegene-p");
    let machine = simulate(&card, 64, 4);
    let message = machine.network.message;
    assert_eq!((message.send, message.receive), (176_471, 705_882));
    assert_eq!(machine.link.frame.bytes(8), 46);
    assert_eq!(machine.topology, Topology::Torus { sides: vec![4, 4, 4] });
    assert_eq!(machine.node.message, message);
    // Generating is the rest of 92 cycles after an update of 90.
    let cycles = |computation| cost(&card, "random_access.routed", computation) * 0.85e-3;
    assert!((cycles(Computation::Generate) - 2.0).abs() < 1e-5 && (cycles(Computation::Update) - 90.0).abs() < 1e-5);
    let error = simulate_error(&card, 64, 8);
    assert!(error.message.contains("4 cores per node"), "{error}");
}

/// Each table has 32 MiB. Two of them fit into the last cache of 67 MiB; 16 leave a sixteenth of it to each core.
#[test]
fn ranks_of_a_full_node_have_a_lower_clock_and_a_share_of_the_last_cache() {
    let mut card = Card::read(Path::new("tests/recorded/xeon-16-card.toml")).expect("a card");
    for (name, value, unit) in [
        ("core_clock_hz", 2.886, "GHz"),
        ("core_clock_hz--many", 2.742, "GHz"),
        ("generate_seconds", 0.56, "ns"),
        ("update_seconds", 5.19, "ns"),
        ("divide_seconds", 0.56, "ns"),
    ] {
        card.set(name, Number::new(value, unit, "measured")).expect("a number");
    }
    let costs = [1usize, 2, 16].map(|ranks| {
        let point = Point::new("random_access.hypercube", ranks).with_parameter("N_words", (ranks as u64) << 22);
        computation_costs(&card, &kernels::complete(point).expect("a point")).expect("costs")
    });
    let [of_one, of_two, of_all] = costs.map(|costs| costs[Computation::Generate as usize]);
    assert!((of_all / of_one - 2.886 / 2.742).abs() < 2e-3, "{of_one} and {of_all} ps");
    assert!(of_one < of_two && of_two < of_all, "{of_two} ps");
    let [_, of_two, of_all] = costs.map(|costs| costs[Computation::Update as usize]);
    assert!((1.3..3.0).contains(&(of_all / of_two)), "{of_two} and {of_all} ps");
}

#[test]
fn costs_of_published_machines_are_finite_or_refused_by_name() {
    for (name, _) in PUBLISHED {
        let card = published_card(name);
        for kernel in kernels::ALL {
            for ranks in [1, 4, 64] {
                let mut point = point_or_skip(kernel.id, ranks);
                let Some(point) = point.take() else { continue };
                match (machine(&card, ranks, 1), computation_costs(&card, &point)) {
                    (Ok(machine), Ok(costs)) => {
                        assert!(costs.iter().all(|cost| cost.is_finite() && *cost >= 0.0), "{name} {point:?}");
                        for path in [machine.network, machine.node] {
                            for costs in [path.message, path.get, path.put] {
                                assert!(costs.per_byte.is_finite() && costs.per_byte > 0.0, "{name}");
                            }
                        }
                    }
                    (Err(error), _) | (_, Err(error)) => {
                        let named = card_numbers_in(&error.message);
                        let refused = !kernel.is_simulatable() && error.message.contains("cannot be simulated");
                        let covers_only = error.message.contains("covers only");
                        assert!(named > 0 || covers_only || refused, "{name} {}: {error}", kernel.id);
                    }
                }
            }
        }
    }
}

fn point_or_skip(kernel: &str, ranks: usize) -> Option<Point> {
    let point = Point::new(kernel, ranks);
    let point = match kernel.split('.').next()? {
        "apex_map" => point.with_parameter("M", 1u64 << 20).with_parameter("alpha", 0.1).with_parameter("L", 8u64),
        "random_access" => point.with_parameter("N_words", 1u64 << 20),
        "message_rate" => point,
        _ => return None,
    };
    kernels::complete(point).ok()
}

/// Returns how many numbers of the catalogue a text names.
fn card_numbers_in(text: &str) -> usize {
    let words = text.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    words.filter(|word| apexmap_theory::machine::entry_of(word).is_some()).count()
}

#[test]
fn refusals_name_every_missing_number_and_its_command() {
    let card = published_card("phoenix");
    let error = simulate_error(&card, 4, 1);
    assert!(error.message.contains("network_latency_seconds"), "{error}");
    assert!(error.help.contains("`apexmap calibrate` with a launcher"), "{error}");
    let error = computation_costs(&card, &point("random_access.hypercube", 4)).expect_err("no numbers");
    assert!(error.message.contains("local_seconds, divide_seconds"), "{error}");
    assert!(error.help.contains("local_seconds, divide_seconds: `apexmap calibrate`"), "{error}");
    let both = missing_numbers(&card, 4, 1, &point("random_access.hypercube", 4));
    let of_cores = ["network_send_overhead_seconds", "network_receive_overhead_seconds"];
    assert_eq!(both, [&["network_latency_seconds", "local_seconds", "divide_seconds"][..], &of_cores].concat());
    let error = computation_costs(&card, &point("apex_map.two_sided", 4)).expect_err("no numbers");
    for name in ["l1_bytes", "issue_seconds", "memory_line_seconds", "overlap_seconds"] {
        assert!(error.message.contains(name), "{name}: {error}");
    }
    assert!(!error.message.contains("l3_bytes") && !error.message.contains("request"), "{error}");
    let empty = Card::new("M", "made up", "test");
    let error = simulate_error(&empty, 4, 1);
    assert!(error.message.contains("network_latency_seconds, network_bandwidth_bytes_per_second"), "{error}");
    let text = "name = \"M\"\nsummary = \"\"\nsource = \"\"\n[network]\ntopology = \"torus\"\ncontention = true\n";
    let error = simulate_error(&Card::parse(text, Path::new("m.toml")).expect("a card"), 4, 1);
    assert_eq!(card_numbers_in(&error.message), 3, "{error}");
    assert!(error.help.contains("link_bandwidth_bytes_per_second: no sweep measures it"), "{error}");
}

#[test]
fn one_rank_divides_no_updates() {
    let card = published_card("bluegene-p");
    for kernel in
        kernels::ALL.iter().filter(|kernel| kernel.id.starts_with("random_access.") && kernel.is_simulatable())
    {
        let Some(point) = point_or_skip(kernel.id, 1) else { continue };
        let costs = computation_costs(&card, &point).expect("costs");
        let [generate, divide, update] = [Computation::Generate, Computation::Divide, Computation::Update]
            .map(|computation| costs[computation as usize] * 0.85e-3);
        // Section 5.2: an update of the sequential version takes 92 cycles; in `roles`, a core that only updates takes longer.
        assert_eq!(divide, 0.0, "{}", kernel.id);
        let is_role = kernel.id == "random_access.roles";
        assert!(is_role || (generate + update - 92.0).abs() < 1e-4, "{}: {generate} {update}", kernel.id);
    }
}

#[test]
fn kernels_that_overlap_messages_need_the_cores_time_of_a_message() {
    // This card has a latency and no time of the cores.
    let card = published_card("bluegene-l");
    let names = ["network_send_overhead_seconds", "network_receive_overhead_seconds"];
    let missing =
        |point: &Point| missing_numbers(&card, 16, 1, point).iter().filter(|name| names.contains(name)).count();
    let original = [("receives", "on_demand"), ("own_updates", "at_once"), ("waits", "early")];
    let hypercube = |ranks: usize, handles: u64, words: &[(&str, &str)]| {
        let point = Point::new("random_access.hypercube", ranks).with_parameter("N_words", 1u64 << 20);
        let point = point.with_parameter("SMSG", handles);
        let point = words.iter().fold(point, |point, &(name, word)| point.with_parameter(name, word));
        missing(&kernels::complete(point).expect("a point"))
    };
    assert_eq!(hypercube(16, 1, &original), 0);
    assert_eq!([hypercube(16, 2, &original), hypercube(12, 1, &original), hypercube(16, 1, &original[..2])], [2; 3]);
    assert_eq!(hypercube(16, 1, &original[1..]), 2, "receives ahead");
    for kernel in ["message_rate.ping_pong", "random_access.alltoallv"] {
        assert_eq!(missing(&point(kernel, 16)), 0, "{kernel}");
    }
    for kernel in ["random_access.base", "random_access.exchange", "random_access.one_sided", "apex_map.two_sided"] {
        assert_eq!((missing(&point(kernel, 16)), missing(&point(kernel, 1))), (2, 0), "{kernel}");
    }
    assert_eq!(missing(&point("message_rate.streaming", 16)), 2);
    let help = missing_error(&card, &names).help;
    assert!(help.contains("`apexmap run log-gp`") && help.contains("kernels that wait for each message"), "{help}");
    // Cards with any time of the core that sends, and those of threads.
    for (card, nodes) in
        [(published_card("simulated-nic"), 16), (published_card("bluegene-p"), 16), (card_of_threads(), 1)]
    {
        let streaming = missing_numbers(&card, nodes, 1, &point("message_rate.streaming", 2));
        assert!(streaming.is_empty(), "{}: {streaming:?}", card.name);
    }
}

/// A card whose messages were measured between threads of one node.
fn card_of_threads() -> Card {
    let mut card = Card::new("M", "made up", "test");
    card.provenance.insert("transport".into(), "threads".into());
    for (name, value, unit) in [
        ("cores", 2.0, ""),
        ("network_latency_seconds", 300.0, "ns"),
        ("network_bandwidth_bytes_per_second", 20.0, "GB/s"),
        ("send_seconds", 60.0, "ns"),
        ("receive_seconds", 20.0, "ns"),
        ("message_rate_per_second", 10.0, "M/s"),
        ("operation_seconds", 2.0, "ns"),
        ("barrier_seconds", 200.0, "ns"),
        ("copy_seconds_per_byte", 0.01, "ns/B"),
        ("get_seconds--8B-many", 6.0, "ns"),
        ("get_seconds--64KiB-many", 1316.56, "ns"),
        ("get_seconds--8B-one", 14.0, "ns"),
        ("message_seconds--4B-send", 60.0, "ns"),
        ("message_seconds--4KiB-send", 260.0, "ns"),
        ("message_seconds--64KiB-send", 1260.0, "ns"),
        ("message_seconds--8B-mailbox", 140.0, "ns"),
        ("message_seconds--8KiB-mailbox", 549.2, "ns"),
        ("message_seconds--4B-put", 3.0, "ns"),
        ("network_latency_seconds--4B-put", 223.0, "ns"),
    ] {
        card.set(name, Number::new(value, unit, "made up")).expect("a number");
    }
    card
}

#[test]
fn a_barrier_of_many_ranks_takes_the_same_time_on_any_number_of_them() {
    let nic = published_card("simulated-nic");
    for (nodes, ranks_per_node) in [(2, 1), (16, 4), (64, 4), (100, 1)] {
        let barrier = simulate(&nic, nodes, ranks_per_node).barrier(nodes * ranks_per_node);
        assert!(barrier.abs_diff(2_000_000) < 8, "{nodes} nodes: {barrier} ps");
    }
}

#[test]
fn a_card_of_one_node_has_its_messages_within_nodes() {
    let card = card_of_threads();
    assert_eq!(ranks_per_node(&card), 2);
    let machine = simulate(&card, 1, 2);
    let message = machine.node.message;
    assert_eq!((message.send, message.receive, message.latency, message.gap), (60_000, 20_000, 220_000, 100_000));
    assert_eq!((machine.poll, machine.barrier_stage), (2_000, Some(200_000)));
    let (get, put) = (machine.node.get, machine.node.put);
    assert_eq!((get.send, get.latency, get.on_the_way(8), get.on_the_way(1 << 16)), (6_000, 4_000, 0, 1_310_560));
    // Measured sizes, and between and beyond them.
    let times = [4, 2050, 4096, 1 << 16, 1 << 17].map(|bytes| message.on_the_way(bytes));
    assert_eq!(times, [0, 100_000, 200_000, 1_200_000, 1_200_000 + 50 * 65536]);
    assert_eq!(message.channel_time(4096), 300_000);
    // In a stream through a mailbox, the core that takes the messages is the slower one.
    let mailbox = machine.node.mailbox;
    assert_eq!((mailbox.send, mailbox.receive, mailbox.latency), (60_000, 140_000, 100_000));
    assert_eq!((mailbox.taking(8), mailbox.taking(8192), mailbox.on_the_way(8192)), (140_400, 549_600, 0));
    assert_eq!((put.send, put.latency), (3_000, 220_000));
    assert!(assumptions(&card, 1, 2).expect("a list").iter().all(|line| !line.contains("between nodes")));
    assert!(assumptions(&card, 2, 2).expect("a list").iter().any(|line| line.starts_with("messages between nodes")));
}

#[test]
fn numbers_of_one_node_are_used_within_nodes_of_a_network() {
    let mut card = published_card("bluegene-l");
    assert_eq!(simulate(&card, 2, 2).node, simulate(&card, 2, 2).network);
    for (name, value, unit) in
        [("network_latency_seconds--node", 1.0, "us"), ("network_bandwidth_bytes_per_second--node", 2.0, "GB/s")]
    {
        card.set(name, Number::new(value, unit, "made up")).expect("a number");
    }
    let machine = simulate(&card, 2, 2);
    assert_eq!((machine.node.message.latency, machine.node.message.per_byte), (1_000_000, 500.0));
    assert_eq!(machine.network.message.latency, 35_000_000);
}

/// Returns message, advice and marked text of the error that a `[network]` table causes.
fn error_of(table: &str) -> (String, String, usize) {
    let text = format!("name = \"M\"\nsummary = \"\"\nsource = \"\"\n[network]\n{table}");
    let error = Card::parse(&text, Path::new("m.toml")).expect_err("an invalid table");
    let place = error.location.as_ref().expect("a place");
    assert!(place.file.ends_with("m.toml"), "{error}");
    let line = place.text[..place.span.start].matches('\n').count() + 1;
    (error.message.clone(), error.help.clone(), line)
}

#[test]
fn wrong_networks_are_refused_with_file_and_line() {
    for (table, message, help, line) in [
        ("topology = \"tore\"", "\"tore\" is not known", "torus", 5),
        ("topology = \"torus\"\nsides = [4, 0]", "a size of [network] is 0", "1 to 1048576", 4),
        ("topology = \"fat-tree\"\nnodes_per_leaf = 16\nspines = 5000000", "is 5000000", "1 to 1048576", 4),
        (
            "topology = \"dragonfly\"\nnodes_per_router = 4294967296\nrouters_per_group = 4294967296",
            "is 4294967296",
            "1 to",
            4,
        ),
        (
            "topology = \"torus\"\nsides = [1048576, 1048576, 2]",
            "product of the sides is too large",
            "correct sides",
            4,
        ),
        ("topology = \"torus\"\nsides = []", "0 dimensions", "1 to 8", 4),
        ("topology = \"torus\"\nsides = [4]\ndimensions = 1", "sides and dimensions", "one of them", 4),
        ("topology = \"torus\"\nrings = [true]", "has no rings", "remove rings", 4),
        ("topology = \"mesh\"\nrings = [true]", "1 values for 3 dimensions", "for each dimension", 4),
        ("topology = \"crossbar\"\nspines = 4", "has no spines", "remove spines", 4),
        ("topology = \"fat-tree\"\nspines = 4", "sizes of its switches", "nodes_per_leaf", 4),
        ("topology = \"dragonfly\"", "sizes of its groups", "routers_per_group", 4),
        ("topology = \"torus\"\nside = [4]", "no key \"side\"", "sides", 6),
        ("dimensions = 3", "\"topology\" is missing", "topology", 4),
        ("topology = \"torus\"\ndimensions = -1", "-1", "correct", 6),
    ] {
        let (text, advice, line_number) = error_of(table);
        assert!(
            text.contains(message) && advice.contains(help) && line_number == line,
            "{table}: {text}; {advice}; {line_number}"
        );
    }
}

#[test]
fn networks_are_written_and_read_back() {
    for (table, description) in [
        ("topology = \"crossbar\"", "crossbar"),
        ("topology = \"torus\"\ndimensions = 5\ncontention = false", "torus in 5 dimensions, without contention"),
        (
            "topology = \"mesh\"\nsides = [2, 3]\nrings = [true, false]\nranks_per_node = 4",
            "mesh of 2 x 3 nodes, rings along dimension 1, 4 ranks per node",
        ),
        (
            "topology = \"fat-tree\"\nnodes_per_leaf = 16\nspines = 8",
            "fat tree of leaf switches with 16 nodes and 8 upper switches",
        ),
        (
            "topology = \"dragonfly\"\nnodes_per_router = 2\nrouters_per_group = 4",
            "dragonfly of groups of 4 routers with 2 nodes",
        ),
    ] {
        let text = format!(
            "name = \"M\"\nsummary = \"\"\nsource = \"\"\n[network]\n{table}\n[numbers.cores]\nvalue = 4\nhow = \"x\""
        );
        let card = Card::parse(&text, Path::new("m.toml")).expect("a card");
        let network = card.network.as_ref().expect("a network");
        assert_eq!(network.to_string(), description);
        assert!(card_text(&card, None).contains(&format!("Network: {description}")));
        assert_eq!(Card::parse(&card.to_toml(), Path::new("again")).expect("its own text"), card);
    }
}

proptest! {
    #[test]
    fn boxes_have_a_place_for_each_node_and_are_near_cubic(nodes in 1usize..20_000, dimensions in 1usize..6) {
        let mut card = published_card("bluegene-p");
        card.network.as_mut().expect("a network").dimensions = Some(dimensions);
        let Topology::Torus { sides } = simulate(&card, nodes, 1).topology else { panic!("not a torus") };
        let places: usize = sides.iter().product();
        prop_assert!(sides.len() == dimensions && places >= nodes && sides.is_sorted_by(|a, b| a >= b));
        prop_assert!(sides[0] <= 4 * sides[dimensions - 1], "{:?}", sides);
        if nodes.is_power_of_two() {
            prop_assert_eq!(places, nodes);
        }
    }
}

/// The latency of a card is that of neighbours: it includes the links between them, and no link if they share a switch.
#[test]
fn a_latency_without_links_between_neighbours_stays_whole() {
    let whole = 35_000_000;
    for (table, links) in [
        ("topology = \"crossbar\"", 0),
        ("topology = \"fat-tree\"\nnodes_per_leaf = 4\nspines = 2", 0),
        ("topology = \"fat-tree\"\nnodes_per_leaf = 1\nspines = 2", 2),
        ("topology = \"dragonfly\"\nnodes_per_router = 2\nrouters_per_group = 2", 0),
        ("topology = \"torus\"\ndimensions = 2", 1),
    ] {
        let mut card = published_card("bluegene-l");
        card.set("router_latency_seconds", Number::new(50.0, "ns", "made up")).expect("a number");
        card.network = Some(toml::from_str(table).expect("a network"));
        let machine = simulate(&card, 16, 1);
        assert_eq!(machine.topology.links(0, 1), links, "{table}");
        assert_eq!(machine.network.message.latency, whole - links as u64 * 50_000, "{table}");
    }
}
