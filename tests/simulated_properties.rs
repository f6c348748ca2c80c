//! Properties of simulated machines on random inputs: the order of events, routes, reservations of links; and wrong machines,
//! memory per rank, full stacks.

use super::simulated::{NO_COSTS, machine};
use apexmap_measure::comm::simulated::{
    LinkCosts, Machine, Mapping, MessageCosts, Network, PathCosts, Sending, SimulatedComm, Time, Timetable, Topology,
    run,
};
use apexmap_measure::comm::{Collectives, Comm, Computation, Inbox, Mailboxes, Outbox, Tag};
use proptest::prelude::*;
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::process::Command;

/// A topology and its number of nodes.
fn topologies() -> impl Strategy<Value = (Topology, usize)> {
    let sides = prop::collection::vec(1usize..6, 1..4);
    let grid = sides.prop_flat_map(|sides| {
        let rings = prop::collection::vec(any::<bool>(), sides.len());
        rings.prop_map(move |rings| {
            let nodes = sides.iter().product();
            let sides = sides.clone();
            let topology = match rings.iter().filter(|ring| **ring).count() {
                0 => Topology::Mesh { sides },
                count if count == rings.len() => Topology::Torus { sides },
                _ => Topology::Grid { sides, rings },
            };
            (topology, nodes)
        })
    });
    let fat_tree = (1usize..6, 1usize..5, 1usize..6)
        .prop_map(|(leaf, spines, leaves)| (Topology::FatTree { leaf, spines }, leaf * leaves));
    let dragonfly = (1usize..4, 1usize..5, 1usize..6)
        .prop_map(|(nodes, routers, groups)| (Topology::Dragonfly { nodes, routers }, nodes * routers * groups));
    prop_oneof![Just((Topology::Crossbar, 20)), grid, fat_tree, dragonfly]
}

fn route(topology: &Topology, from: usize, to: usize) -> Vec<usize> {
    let mut links = Vec::new();
    topology.route(from, to, |link| links.push(link));
    links
}

/// The router of a node: the node itself in a grid, its switch in a fat tree.
fn router_of(topology: &Topology, node: usize) -> usize {
    match topology {
        Topology::FatTree { leaf, .. } => node / leaf,
        Topology::Dragonfly { nodes, .. } => node / nodes,
        _ => node,
    }
}

/// The fewest links between two nodes.
fn distance(topology: &Topology, from: usize, to: usize) -> usize {
    let along = |sides: &[usize], is_ring: &dyn Fn(usize) -> bool| {
        let (mut from, mut to, mut sum) = (from, to, 0);
        for (dimension, side) in sides.iter().enumerate() {
            let apart = (from % side).abs_diff(to % side);
            sum += if is_ring(dimension) { apart.min(side - apart) } else { apart };
            (from, to) = (from / side, to / side);
        }
        sum
    };
    match topology {
        Topology::Crossbar => 0,
        Topology::Torus { sides } => along(sides, &|_| true),
        Topology::Mesh { sides } => along(sides, &|_| false),
        Topology::Grid { sides, rings } => along(sides, &|dimension| rings[dimension]),
        Topology::FatTree { leaf, .. } => 2 * usize::from(from / leaf != to / leaf),
        Topology::Dragonfly { nodes, routers } => {
            let ((a, b), (group, other)) = ((from / nodes, to / nodes), (from / nodes / routers, to / nodes / routers));
            let gateway = |group: usize, other: usize| {
                group * routers + (if other > group { other - 1 } else { other }) % routers
            };
            match group == other {
                true => usize::from(a != b),
                // Groups have one link: the way to its router, the link, and the way from its other router.
                false => 1 + usize::from(a != gateway(group, other)) + usize::from(b != gateway(other, group)),
            }
        }
    }
}

/// The number of coordinates in which two places of a grid differ.
fn lines_apart(sides: &[usize], mut from: usize, mut to: usize) -> usize {
    let mut apart = 0;
    for side in sides {
        apart += usize::from(from % side != to % side);
        (from, to) = (from / side, to / side);
    }
    apart
}

proptest! {
    #[test]
    fn every_mapping_gives_each_node_a_place_for_itself(
        sides in prop::collection::vec(1usize..20, 1..4),
        share in 0.0f64..1.0,
    ) {
        let places: usize = sides.iter().product();
        let nodes = ((places as f64 * share) as usize).max(1);
        let topology = Topology::Mesh { sides: sides.clone() };
        for mapping in Mapping::ALL {
            // Only a box of powers of two may be too large for the sides.
            let Ok(own) = mapping.places(&topology, nodes) else {
                prop_assert!([Mapping::SubCube, Mapping::GrayCode].contains(&mapping));
                continue;
            };
            prop_assert_eq!(own.len(), nodes);
            prop_assert_eq!(own.iter().collect::<HashSet<_>>().len(), nodes, "{:?}", mapping);
            prop_assert!(own.iter().all(|place| *place < places));
            if [Mapping::RowMajor, Mapping::Random].contains(&mapping) {
                prop_assert!(own.iter().all(|place| *place < nodes), "a permutation of the first places");
                continue;
            }
            // Partners of a hypercube share a line.
            for (node, bit) in (0..nodes).flat_map(|node| (0..nodes.ilog2()).map(move |bit| (node, 1 << bit))) {
                if let Some(partner) = own.get(node ^ bit) {
                    prop_assert_eq!(lines_apart(&sides, own[node], *partner), 1, "{:?}", mapping);
                }
            }
        }
    }

    /// Routes of one link give the routers that it connects. Every other route is a chain of such links.
    #[test]
    fn every_route_is_a_shortest_chain_of_links_between_neighbours((topology, nodes) in topologies()) {
        topology.check(nodes).expect("a place for all nodes");
        // The ends of each link, from all routes: a route of n links begins at the router of its node.
        let mut ends: HashMap<usize, (usize, usize)> = HashMap::new();
        for from in 0..nodes {
            for to in 0..nodes {
                let links = route(&topology, from, to);
                prop_assert_eq!(links.len(), distance(&topology, from, to), "{} to {}", from, to);
                prop_assert_eq!(links.len(), route(&topology, to, from).len(), "{} to {} and back", from, to);
                prop_assert_eq!(links.iter().collect::<HashSet<_>>().len(), links.len(), "no link twice");
                if let [link] = links[..] {
                    let pair = (router_of(&topology, from), router_of(&topology, to));
                    prop_assert_eq!(*ends.entry(link).or_insert(pair), pair, "a link has two ends");
                }
            }
        }
        let distinct: HashSet<_> = ends.values().collect();
        let two_way = |topology: &Topology| matches!(topology, Topology::Torus { .. } | Topology::Grid { .. });
        // A ring of two nodes has two links from each to the other, of which routes use one.
        prop_assert!(two_way(&topology) || distinct.len() == ends.len(), "links of different pairs have different numbers");
        // Routes between the switches of a fat tree have two links at least; the next test checks them.
        if !matches!(topology, Topology::FatTree { .. } | Topology::Crossbar) {
            for (from, to) in (0..nodes).flat_map(|from| (0..nodes).map(move |to| (from, to))) {
                let mut place = router_of(&topology, from);
                for link in route(&topology, from, to) {
                    let (begin, end) = ends[&link];
                    prop_assert_eq!(begin, place, "the links of a route from {} to {} are joined", from, to);
                    place = end;
                }
                prop_assert_eq!(place, router_of(&topology, to));
            }
        }
    }

    #[test]
    fn links_within_fat_trees_go_up_from_the_senders_switch_and_down_to_the_receivers(
        leaf in 1usize..6, spines in 1usize..5, from in 0usize..30, to in 0usize..30,
    ) {
        let links = route(&Topology::FatTree { leaf, spines }, from, to);
        if let [up, down] = links[..] {
            prop_assert_eq!((up % 2, down % 2), (0, 1));
            prop_assert_eq!((up / 2 / spines, down / 2 / spines), (from / leaf, to / leaf));
            prop_assert_eq!(up / 2 % spines, down / 2 % spines, "one upper switch");
        }
    }

    /// Links are places in a table, which must stay small.
    #[test]
    fn links_have_small_numbers((topology, nodes) in topologies()) {
        let pairs = (0..nodes).flat_map(|from| (0..nodes).map(move |to| (from, to)));
        let largest = pairs.flat_map(|(from, to)| route(&topology, from, to)).max().unwrap_or(0);
        let limit = match &topology {
            Topology::Crossbar => 0,
            Topology::Torus { sides } | Topology::Mesh { sides } | Topology::Grid { sides, .. } => 2 * sides.len() * nodes,
            Topology::FatTree { leaf, spines } => 2 * spines * nodes.div_ceil(*leaf),
            Topology::Dragonfly { nodes: each, routers } => {
                let groups = nodes.div_ceil(each * routers);
                2 * (groups * routers * routers).max(groups * groups)
            }
        };
        prop_assert!(largest <= limit, "{} of {}", largest, limit);
    }

    /// Each message is on a link for its whole length, after its earliest time, and never with another one.
    #[test]
    fn a_link_carries_one_message_at_a_time(
        messages in prop::collection::vec((0u64..50, 0u64..300, 0u64..60), 1..60),
    ) {
        let (mut table, mut now, mut free) = (Timetable::default(), 0, Vec::<bool>::new());
        for (later, ahead, length) in messages {
            now += later;
            let earliest = now + ahead;
            let begins = table.reserve(now, earliest, length);
            // The model: slots of a picosecond; the message takes the first free ones.
            let (mut slot, mut left) = (earliest as usize, length);
            while left > 0 {
                if free.len() <= slot {
                    free.resize(slot + 1, true);
                }
                left -= u64::from(std::mem::replace(&mut free[slot], false));
                slot += 1;
            }
            prop_assert_eq!(begins, if length == 0 { earliest } else { slot as Time - length });
        }
        let periods: Vec<_> = table.periods().collect();
        prop_assert!(periods.windows(2).all(|pair| pair[0].1 < pair[1].0), "ascending, apart: {:?}", periods);
        for (begin, end) in periods {
            prop_assert!((begin..end).all(|slot| !free[slot as usize]), "no more than the messages");
        }
    }

    /// No message is faster than without others, those of a pair stay in order, and the last one is not earlier than the load of
    /// the busiest link.
    #[test]
    fn messages_keep_their_order_and_no_link_is_faster_than_its_rate(
        messages in prop::collection::vec((0u64..3000, 0usize..16, 1usize..16, 0usize..2000), 1..80),
    ) {
        let torus = machine(Topology::Torus { sides: vec![4, 4] });
        let costs = torus.network.message;
        let (mut network, mut now, mut last) = (Network::new(&torus, 16), 0, HashMap::new());
        let (mut loads, mut end) = (HashMap::<usize, Time>::new(), 0);
        for (later, from, step, bytes) in messages {
            now += later;
            let to = (from + step) % 16;
            let sending = Sending { now, begins: now, ends: (from, to), bytes };
            let passage = network.send(&torus, &costs, sending);
            let alone = Network::new(&torus, 16).send(&torus, &costs, sending);
            prop_assert!(passage.arrived >= alone.arrived && passage.left >= alone.left);
            prop_assert!(passage.arrived >= last.insert((from, to), passage.arrived).unwrap_or(0));
            end = end.max(passage.arrived);
            torus.topology.route(from, to, |link| *loads.entry(link).or_default() += 400 * bytes as Time);
        }
        prop_assert!(end >= loads.values().copied().max().unwrap_or(0));
    }

    /// Ranks act in the order of their clocks, and of equal clocks the lower rank first.
    #[test]
    fn ranks_act_in_the_order_of_time(
        works in prop::collection::vec(prop::collection::vec((0usize..4, 0usize..6), 1..20), 1..6),
    ) {
        let ranks = works.len();
        let log = RefCell::new(Vec::new());
        let body = |comm: &SimulatedComm| {
            let (mut inbox, mut outbox) = comm.mailbox(Tag::Request, 256, 256, 1);
            for &(work, to) in &works[comm.rank()] {
                comm.charge(Computation::Update, 1 + work);
                if to < ranks && to != comm.rank() {
                    assert!(outbox.send(to, &[work as u64]));
                } else {
                    inbox.take(|_, _| ());
                }
                log.borrow_mut().push(((comm.wall_time() * 1e12).round() as Time, comm.rank()));
            }
        };
        // The receiving core's time follows the action, so it is nothing here.
        let mut machine = machine(Topology::Crossbar);
        (machine.network.mailbox.receive, machine.node.mailbox.receive) = (0, 0);
        let simulate = || {
            log.borrow_mut().clear();
            let (results, account) = run(&machine, [1000.0; Computation::COUNT], ranks, |comm, _| body(comm)).expect("a simulation");
            assert!(results.iter().all(Result::is_ok), "{results:?}");
            (log.borrow().clone(), account)
        };
        let first = simulate();
        prop_assert!(first.0.is_sorted(), "{:?}", first.0);
        prop_assert_eq!(&first, &simulate(), "the same in every run");
    }
}

#[test]
fn wrong_machines_are_refused_with_their_reason() {
    let good = machine(Topology::Torus { sides: vec![4, 2] });
    let with = |change: fn(&mut Machine)| {
        let mut machine = good.clone();
        change(&mut machine);
        machine
    };
    let wrong = [
        (with(|machine| machine.ranks_per_node = 0), "its nodes have no ranks"),
        (
            with(|machine| machine.topology = Topology::Torus { sides: vec![3, 2] }),
            "sides [3, 2] have no place for 8 nodes",
        ),
        (with(|machine| machine.topology = Topology::Mesh { sides: vec![8, 0] }), "have no place"),
        (with(|machine| machine.topology = Topology::Torus { sides: vec![usize::MAX, 2] }), "have no place"),
        (
            with(|machine| machine.topology = Topology::Grid { sides: vec![4, 2], rings: vec![true] }),
            "is a ring or not",
        ),
        (with(|machine| machine.topology = Topology::FatTree { leaf: 0, spines: 2 }), "not between 1 and 1048576"),
        (with(|machine| machine.topology = Topology::Dragonfly { nodes: 2, routers: 0 }), "not between 1 and 1048576"),
        (with(|machine| machine.topology = Topology::Dragonfly { nodes: 1 << 32, routers: 1 << 32 }), "not between 1"),
        (with(|machine| machine.network.message.latency = Time::MAX), "the largest is 1000 s"),
        (with(|machine| machine.link.hop = 2_000_000_000_000_000), "a cost is 2000 s"),
        (with(|machine| machine.barrier_stage = Some(Time::MAX)), "the largest is 1000 s"),
        (with(|machine| machine.interface.frame.header_bytes = usize::MAX), "bytes besides its data"),
        (with(|machine| machine.network.message.per_byte = f64::NAN), "a byte takes NaN ps"),
        (with(|machine| machine.node.get.copy_per_byte = -1.0), "a byte takes -1 ps"),
        (with(|machine| machine.node.mailbox.take_per_byte = f64::NAN), "a byte takes NaN ps"),
        (with(|machine| machine.link.per_byte = f64::INFINITY), "a byte takes inf ps"),
    ];
    assert!(run(&good, NO_COSTS, 8, |_, _| ()).is_ok());
    for (machine, reason) in wrong {
        let error = run(&machine, NO_COSTS, 8, |_, _| ()).expect_err(reason);
        assert!(error.message.contains(reason) && error.message.starts_with("test cannot be simulated"), "{error}");
    }
}

/// Of 64 bits of picoseconds, sums would otherwise wrap and give short times.
#[test]
fn a_simulation_beyond_the_end_of_virtual_time_fails() {
    let mut slow = machine(Topology::Torus { sides: vec![2, 2] });
    slow.network.message.latency = 999_000_000_000_000;
    let beyond = |machine: &Machine, body: fn(&SimulatedComm)| {
        let (results, _) = run(machine, NO_COSTS, 4, move |comm, _| body(comm)).expect("a simulation");
        results
            .into_iter()
            .filter_map(std::result::Result::err)
            .any(|text| text.contains("more than 13 days of virtual time"))
    };
    assert!(!beyond(&slow, |comm| (0..10).for_each(|_| comm.barrier())));
    assert!(beyond(&slow, |comm| (0..1000).for_each(|_| comm.barrier())));
    // A single message of many bytes, each of which takes a second.
    let mut per_byte = machine(Topology::Crossbar);
    per_byte.network = PathCosts::uniform(MessageCosts { per_byte: 1e12, ..per_byte.network.message });
    assert!(beyond(&per_byte, |comm| comm.broadcast(&mut vec![0u64; 1 << 20])));
}

/// Links are numbered far apart: those that no message takes need no memory.
#[test]
fn links_that_no_message_takes_need_no_memory() {
    let fat_tree = machine(Topology::FatTree { leaf: 1, spines: 1 << 20 });
    let costs = fat_tree.network.message;
    let mut network = Network::new(&fat_tree, 1 << 10);
    // The numbers of the last switch's links are near 2^31; a table of them would have 80 GiB.
    let sending = Sending { now: 0, begins: 0, ends: (1023, 5), bytes: 8 };
    let first = network.send(&fat_tree, &costs, sending);
    let second = network.send(&fat_tree, &costs, sending);
    assert!(second.arrived > first.arrived, "the link was busy");
}

#[test]
fn a_rank_whose_stack_is_nearly_full_is_reported() {
    fn descend(comm: &SimulatedComm, depth: u64) -> u64 {
        let filling = std::hint::black_box([depth; 64]);
        comm.barrier();
        if depth == 0 { filling[0] } else { descend(comm, depth - 1) + std::hint::black_box(filling)[1] }
    }
    let (results, _) =
        run(&machine(Topology::Crossbar), NO_COSTS, 2, |comm, _| descend(comm, 10)).expect("a simulation");
    assert!(results.iter().all(Result::is_ok), "{results:?}");
    let (results, _) =
        run(&machine(Topology::Crossbar), NO_COSTS, 2, |comm, _| descend(comm, 1 << 20)).expect("a simulation");
    let failed = results.iter().filter_map(|result| result.as_ref().err());
    assert!(failed.clone().any(|text| text.contains("the stack of simulated rank")), "{results:?}");
}

const RANKS: &str = "APEXMAP_TEST_SIMULATED_RANKS";

/// The largest memory of a process that simulates these ranks, in bytes.
fn peak_memory(ranks: usize) -> usize {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["--exact", "simulated_properties::a_simulation_in_a_process_of_its_own", "--nocapture"]);
    let output = command.env(RANKS, ranks.to_string()).output().expect("this program can be started");
    let text = String::from_utf8_lossy(&output.stdout);
    let kib = text.split_once("VmHWM:").and_then(|(_, rest)| rest.split_whitespace().next()?.parse::<usize>().ok());
    kib.unwrap_or_else(|| panic!("{text}")) * 1024
}

/// Started by the test of memory; without its variable there is nothing to do.
#[test]
fn a_simulation_in_a_process_of_its_own() {
    let Some(ranks) = std::env::var(RANKS).ok().and_then(|text| text.parse::<usize>().ok()) else { return };
    let torus = Machine {
        link: LinkCosts { hop: 100, per_byte: 400.0, is_contended: true, ..LinkCosts::default() },
        ..machine(Topology::Torus { sides: vec![32, 32, 16] })
    };
    let (results, account) = run(&torus, NO_COSTS, ranks, |comm, _| {
        let (mut inbox, mut outbox) = comm.mailbox(Tag::Request, 4, 4, 4);
        for stage in 0..ranks.ilog2() {
            assert!(outbox.send(comm.rank() ^ (1 << stage), &[7; 4]));
            while inbox.take(|_, _| ()).is_none() {
                comm.relax();
            }
        }
    })
    .expect("a simulation");
    assert!(results.iter().all(Result::is_ok));
    assert_eq!(account.messages as usize, ranks * ranks.ilog2() as usize);
    let status = std::fs::read_to_string("/proc/self/status").expect("the state of this process");
    println!("{}", status.lines().find(|line| line.starts_with("VmHWM")).expect("the peak memory"));
}

#[test]
fn mappings_onto_a_line_match_manual_ones() {
    let line = Topology::Torus { sides: vec![8] };
    let places = |mapping: Mapping| mapping.places(&line, 8).expect("places");
    assert_eq!(places(Mapping::SubCube), places(Mapping::RowMajor));
    // The Gray code 0, 1, 3, 2, 6, 7, 5, 4 along the line: node 3 has the third place.
    assert_eq!(places(Mapping::GrayCode), [0, 1, 3, 2, 7, 6, 4, 5]);
    assert_ne!(places(Mapping::Random), places(Mapping::RowMajor));
    let plane = Topology::Mesh { sides: vec![3, 5] };
    // Two bits fit into the second side, one into the first.
    assert_eq!(Mapping::SubCube.places(&plane, 8).expect("places"), [0, 1, 3, 4, 6, 7, 9, 10]);
    assert!(Mapping::SubCube.places(&plane, 9).expect_err("16 places").contains("no box of powers of two"));
    assert!(Mapping::GrayCode.places(&Topology::Crossbar, 2).expect_err("no grid").contains("torus or a mesh"));
}

#[test]
fn a_rank_needs_little_memory() {
    let [few, many] = [1024, 16_384].map(peak_memory);
    let each = (many - few) / (16_384 - 1024);
    println!("{few} bytes with 1024 ranks, {many} with 16384: {each} for each rank more");
    assert!(each < 40 << 10, "{each} bytes per rank");
}

#[test]
fn messages_between_all_nodes_use_no_more_links_than_planned() {
    for (topology, nodes, planned) in [
        (Topology::Crossbar, 10, 0),
        (Topology::Torus { sides: vec![4, 3] }, 12, 48),
        (Topology::Mesh { sides: vec![5, 2] }, 10, 40),
        (Topology::Grid { sides: vec![4, 2], rings: vec![true, false] }, 8, 32),
        (Topology::FatTree { leaf: 4, spines: 2 }, 12, 12),
        (Topology::FatTree { leaf: 4, spines: 1 << 20 }, 12, 72),
        (Topology::Dragonfly { nodes: 2, routers: 3 }, 42, 84),
        (Topology::Dragonfly { nodes: 1, routers: 1 }, 64, 4032),
        (Topology::Dragonfly { nodes: 1, routers: 1 << 20 }, 3, 27),
    ] {
        let mut used = std::collections::BTreeSet::new();
        for (from, to) in (0..nodes).flat_map(|from| (0..nodes).map(move |to| (from, to))) {
            topology.route(from, to, |link| _ = used.insert(link));
        }
        assert_eq!(topology.max_links(nodes), planned, "{topology:?}");
        assert!(used.len() as u64 <= planned, "{topology:?} uses {} of {planned}", used.len());
    }
}
