//! Kernels on simulated ranks: verified, identical in every run, and as long as their charges and messages add up to.

use apexmap_base::point::{Point, Value};
use apexmap_measure::comm::arena::Arena;
use apexmap_measure::comm::simulated::{
    ComputationCosts, InterfaceCosts, LinkCosts, Machine, MessageCosts, PathCosts, SimulatedComm, Topology, run,
};
use apexmap_measure::comm::{Collectives, Comm, Computation, Transport, World};
use apexmap_measure::kernels::random_access::{Problem, Rules, Tally, measure};
use apexmap_measure::kernels::{self, Kernel, Outcome, Refusal};
use apexmap_run::drive::cost::moves_and_messages;

/// Costs in picoseconds of each computation.
const COSTS: ComputationCosts = [900.0, 1_500.0, 20_000.0, 0.0, 2_000.0, 50_000.0, 0.0];
const NO_COSTS: ComputationCosts = [0.0; Computation::COUNT];

fn messages(send: u64, receive: u64, latency: u64, per_byte: f64, copy_per_byte: f64) -> PathCosts {
    let message = MessageCosts {
        send,
        receive,
        latency,
        per_byte,
        copy_per_byte,
        eager_bytes: 8 << 10,
        ..MessageCosts::default()
    };
    PathCosts::uniform(message)
}

/// A torus with two ranks per node and contended links.
fn torus() -> Machine {
    Machine {
        name: "torus".into(),
        ranks_per_node: 2,
        topology: Topology::Torus { sides: vec![4, 4, 4] },
        network: messages(300_000, 400_000, 2_000_000, 500.0, 200.0),
        node: messages(100_000, 150_000, 300_000, 150.0, 200.0),
        interface: InterfaceCosts { gap: 150_000, per_byte: 400.0, ..InterfaceCosts::default() },
        link: LinkCosts { hop: 50_000, per_byte: 500.0, is_contended: true, ..LinkCosts::default() },
        poll: 50_000,
        sender_poll: 0,
        sender_line: 0,
        sender_change: 0,
        barrier_stage: None,
        receive_packets: 0,
        node_packets: 0,
        limited_kernels: Vec::new(),
    }
}

/// A machine with one rank per node, whose ranks only wait for each other's messages.
fn crossbar(network: PathCosts) -> Machine {
    Machine {
        name: "crossbar".into(),
        ranks_per_node: 1,
        topology: Topology::Crossbar,
        network,
        node: network,
        interface: InterfaceCosts::default(),
        link: LinkCosts::default(),
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

fn simulate(machine: &Machine, costs: ComputationCosts, point: &Point) -> Outcome {
    let kernel = kernels::find(&point.kernel).expect("a kernel");
    let program = |comm: &SimulatedComm, arena: &mut Arena| {
        let mut world = World { transport: Transport::Simulated(comm), arena };
        kernel.run(point, 0, &mut world).map_err(|error| error.to_string())
    };
    let (outcomes, _) = run(machine, costs, point.ranks, program).expect("a simulation");
    let describe = |rank: usize| move |why| panic!("{} on rank {rank}: {why}", point.label());
    let outcomes =
        outcomes.into_iter().enumerate().map(|(rank, outcome)| outcome.flatten().unwrap_or_else(describe(rank)));
    outcomes.collect::<Vec<_>>().swap_remove(0)
}

/// Returns the virtual seconds of a point.
pub fn simulated_seconds(machine: &Machine, costs: ComputationCosts, point: &Point) -> f64 {
    simulate(machine, costs, point).seconds
}

fn small_points(ranks: usize) -> impl Iterator<Item = Result<Point, Refusal>> {
    let simulatable = kernels::ALL.iter().filter(|kernel| kernel.is_simulatable());
    simulatable.map(move |kernel| kernels::complete(small_point(kernel, ranks)))
}

/// Returns a small point of a kernel.
fn small_point(kernel: &Kernel, ranks: usize) -> Point {
    let sizes: &[(&str, u64)] = match kernel.id {
        id if id.starts_with("random_access.") => &[("N_words", 1 << 11), ("Q", 24)],
        id if id.starts_with("apex_map.") => &[("M", (5 << 20) * 64), ("L", 16), ("I", 32), ("N", 2)],
        "calibrate.request" => &[("M", 5 << 10), ("I", 16), ("N", 2)],
        "calibrate.send" | "calibrate.receive" => &[("window", 4), ("rounds", 2)],
        "calibrate.mailbox" | "calibrate.get" => &[("messages", 12)],
        "calibrate.barrier" => &[("barriers", 8)],
        "message_rate.block_cyclic" => &[("messages", 8), ("window", 4), ("block", 2)],
        _ => &[("messages", 8), ("window", 4)],
    };
    sizes.iter().fold(Point::new(kernel.id, ranks), |point, &(name, value)| point.with_parameter(name, value))
}

fn check_verified_and_identical(point: &Point) {
    let [outcome, again] = [(); 2].map(|()| simulate(&torus(), COSTS, point));
    assert_eq!(outcome.verdict, Ok(()), "{}", point.label());
    assert!(outcome.seconds > 0.0 && outcome.seconds < 1.0, "{}: {} s", point.label(), outcome.seconds);
    assert_eq!(outcome.seconds.to_bits(), again.seconds.to_bits(), "{}", point.label());
    assert_eq!(outcome.outputs, again.outputs, "{}", point.label());
}

/// A plan estimates the time of a simulation from its messages.
#[test]
fn the_messages_that_a_plan_expects_are_within_a_factor_of_two() {
    for id in ["base", "alltoallv", "hypercube", "exchange", "routed", "roles"] {
        for (ranks, look_ahead) in [(16, 64u64), (64, 64), (64, 1024)] {
            let sizes = [("N_words", ranks as u64 * 1024), ("Q", look_ahead), ("updates", 4)];
            let point = Point::new(&format!("random_access.{id}"), ranks);
            let point = sizes.into_iter().fold(point, |point, (name, value)| point.with_parameter(name, value));
            let point = kernels::complete(point).expect("a point");
            let outcome = simulate(&torus(), COSTS, &point);
            let messages = outcome.outputs["messages_per_update"].as_f64().expect("a number");
            let kernel = kernels::find(&point.kernel).expect("a kernel");
            let (_, expected) = moves_and_messages(kernel, &point, look_ahead as f64);
            let ratio = expected / messages;
            assert!((0.5..=2.0).contains(&ratio), "{id}, {ranks} ranks, Q = {look_ahead}: {expected} of {messages}");
        }
    }
}

#[test]
fn kernels_whose_time_depends_on_messages_are_simulatable() {
    let simulatable: Vec<_> = kernels::ALL.iter().filter(|kernel| kernel.is_simulatable()).map(|k| k.id).collect();
    let others = |family: &str| simulatable.iter().filter(|id| kernels::family(id) == family).count();
    assert_eq!(["apex_map", "random_access", "message_rate", "calibrate"].map(others), [2, 7, 7, 7], "{simulatable:?}");
}

#[test]
fn every_simulatable_kernel_is_verified_and_identical_on_16_ranks() {
    small_points(16).for_each(|point| check_verified_and_identical(&point.expect("a valid point")));
}

#[test]
fn every_simulatable_kernel_is_verified_and_identical_on_64_ranks() {
    small_points(64).for_each(|point| check_verified_and_identical(&point.expect("a valid point")));
}

#[test]
fn kernels_of_any_number_of_ranks_are_verified_and_identical_on_5_ranks() {
    let points: Vec<Point> = small_points(5).filter_map(Result::ok).collect();
    let ids: Vec<&str> = points.iter().map(|point| point.kernel.as_str()).collect();
    for id in ["random_access.hypercube", "random_access.base", "apex_map.two_sided", "message_rate.cyclic"] {
        assert!(ids.contains(&id), "{ids:?}");
    }
    points.iter().for_each(check_verified_and_identical);
}

#[test]
fn variants_of_kernels_are_verified_and_identical() {
    let variants: &[(&str, &[(&str, &str)])] = &[
        ("random_access.hypercube", &[("receives", "on_demand"), ("own_updates", "at_once"), ("waits", "early")]),
        ("random_access.hypercube", &[("operation", "add"), ("pages", "base"), ("starts", "reference")]),
        ("random_access.base", &[("sending", "immediate"), ("stream", "lcg")]),
        ("random_access.base", &[("sending", "reference")]),
        ("random_access.one_sided", &[("access", "xor")]),
        ("random_access.routed", &[("owner_by", "division")]),
        ("message_rate.ping_pong", &[("operation", "put")]),
        ("message_rate.streaming", &[("operation", "put"), ("buffers", "one")]),
        ("message_rate.random", &[("operation", "put")]),
        ("calibrate.request", &[("by", "gets")]),
    ];
    for (id, settings) in variants {
        let small = small_point(kernels::find(id).expect("a kernel"), 16);
        let point = settings.iter().fold(small, |point, &(name, value)| point.with_parameter(name, value));
        check_verified_and_identical(&kernels::complete(point).expect("a valid point"));
    }
    let counts: &[(&str, &[(&str, u64)])] = &[
        ("random_access.hypercube", &[("time_bound", 1), ("SMSG", 2)]),
        ("random_access.roles", &[("routers", 1), ("delay_ns", 100), ("disabled", 1), ("packets", 4)]),
        ("random_access.exchange", &[("d", 3)]),
        ("apex_map.two_sided", &[("poll_every", 8), ("NSER", 1), ("B", 2), ("SMSG", 1)]),
        ("apex_map.one_sided", &[("B", 1)]),
        ("message_rate.streaming", &[("message_bytes", 64 << 10)]),
    ];
    for (id, settings) in counts {
        let small = small_point(kernels::find(id).expect("a kernel"), 16);
        let point = settings.iter().fold(small, |point, &(name, value)| point.with_parameter(name, value));
        check_verified_and_identical(&kernels::complete(point).expect("a valid point"));
    }
}

fn hypercube(ranks: usize, updates_per_rank: u64) -> Point {
    let words = 256 * ranks as u64;
    let point =
        Point::new("random_access.hypercube", ranks).with_parameter("N_words", words).with_parameter("Q", 256u64);
    kernels::complete(point.with_parameter("updates", updates_per_rank as f64 / 256.0)).expect("a valid point")
}

#[test]
fn twice_the_time_of_an_update_doubles_the_time_of_updates() {
    let free = crossbar(messages(0, 0, 0, 0.0, 0.0));
    let seconds = |update: f64| {
        let costs = std::array::from_fn(|k| if k == Computation::Update as usize { update } else { 0.0 });
        simulate(&free, costs, &hypercube(16, 1024)).seconds
    };
    let (once, twice) = (seconds(1000.0), seconds(2000.0));
    assert!(once >= 1024.0 * 1e-9, "{once}");
    assert!((twice / once - 2.0).abs() < 1e-9, "{once} {twice}");
    // 1024 updates per rank take 1 us each more; the fullest rank has a few more.
    let slower = |update: f64| simulate(&torus(), [0.0, 0.0, update, 0.0, 0.0, 0.0, 0.0], &hypercube(16, 1024)).seconds;
    let added = slower(1e6) - slower(0.0);
    assert!((0.8e-3..1.5e-3).contains(&added), "{added}");
}

#[test]
fn messages_of_a_hypercube_take_the_time_of_its_closed_form() {
    let (send, receive, latency) = (700, 900, 5_000);
    for ranks in [2, 16, 64] {
        let (generate, rounds, look_ahead) = (10, 4, 256);
        let mut costs = NO_COSTS;
        costs[Computation::Generate as usize] = generate as f64;
        let point = hypercube(ranks, rounds * look_ahead);
        let seconds = simulate(&crossbar(messages(send, receive, latency, 0.0, 0.0)), costs, &point).seconds;
        let stages = u64::from(ranks.trailing_zeros());
        let expected = rounds * (look_ahead * generate + stages * (send + receive + latency));
        assert_eq!((seconds * 1e12).round() as u64, expected, "{ranks} ranks");
    }
}

#[test]
fn a_hypercube_with_all_costs_follows_t1_and_tc_log2_p() {
    let (send, receive, latency, per_byte, copy_per_byte) = (500_000, 700_000, 2_000_000, 800.0, 300.0);
    let [generate, divide, update] = [0, 1, 2].map(|kind| COSTS[kind]);
    let look_ahead = 1024.0;
    for ranks in [2usize, 16, 64] {
        let point = Point::new("random_access.hypercube", ranks).with_parameter("N_words", 256 * ranks as u64);
        let point = point.with_parameter("updates", 4.0 * look_ahead / 256.0).with_parameter("waits", "early");
        let point = kernels::complete(point).expect("a valid point");
        let network = messages(send, receive, latency, per_byte, copy_per_byte);
        let seconds = simulate(&crossbar(network), COSTS, &point).seconds;
        // Half of the updates are for the other half of the partition.
        let bytes = 8.0 * look_ahead / 2.0;
        let t1 = look_ahead * (generate + update);
        let tc = look_ahead * divide + (send + receive + latency) as f64 + bytes * (per_byte + 2.0 * copy_per_byte);
        let expected = 4.0 * (t1 + tc * f64::from(ranks.trailing_zeros())) * 1e-12;
        assert!((seconds / expected - 1.0).abs() < 0.06, "{ranks} ranks: {seconds} s, expected {expected} s");
    }
}

#[test]
fn a_large_table_takes_little_memory_and_the_same_messages() {
    let point = |words: u64| {
        let point = Point::new("random_access.hypercube", 64).with_parameter("N_words", words);
        kernels::complete(point.with_parameter("updates", (1 << 16) as f64 / words as f64)).expect("a valid point")
    };
    // 2^50 words are 8 PiB.
    let [small, large] = [1 << 14, 1 << 50].map(|words| simulate(&torus(), COSTS, &point(words)));
    assert_eq!(large.verdict, Ok(()));
    assert_eq!(large.outputs["updates_made"], Value::Integer(1 << 16));
    assert_eq!(large.seconds.to_bits(), small.seconds.to_bits());
    assert_eq!(large.outputs["rules_broken"], Value::Text("simulated".into()));
}

#[test]
fn apex_map_reads_a_memory_that_is_not_stored() {
    let point = |words: u64| {
        let point = Point::new("apex_map.two_sided", 16).with_parameter("M", words).with_parameter("L", 64u64);
        let point = point.with_parameter("alpha", 0.25).with_parameter("I", 64u64).with_parameter("N", 2u64);
        kernels::complete(point).expect("a valid point")
    };
    // 2^40 words are 8 TiB.
    let [small, large] = [1 << 20, 1 << 40].map(|words| simulate(&torus(), COSTS, &point(words)));
    assert_eq!([&small.verdict, &large.verdict], [&Ok(()), &Ok(())]);
    assert!(small.outputs["remote_share"].as_f64().is_some_and(|share| share > 0.1), "{:?}", small.outputs);
}

#[test]
fn reads_of_own_memory_take_their_time() {
    // With one rank, all accesses are to its own memory.
    let point = Point::new("apex_map.two_sided", 1).with_parameter("M", 1u64 << 20).with_parameter("I", 128u64);
    let point = kernels::complete(point.with_parameter("N", 2u64).with_parameter("poll_every", 1u64 << 20));
    let mut costs = NO_COSTS;
    costs[Computation::Read as usize] = 7_000.0;
    let outcome = simulate(&crossbar(messages(0, 0, 0, 0.0, 0.0)), costs, &point.expect("a valid point"));
    assert_eq!((outcome.seconds * 1e12).round() as u64, 256 * 7_000);
}

/// Exchanges all updates in one step, with a wrong bit in one of them if `is_faulty`.
fn exchange_all(comm: &SimulatedComm, arena: &mut Arena, point: &Point, is_faulty: bool) -> Outcome {
    let problem = Problem::with_distributed_table(point, comm.rank(), comm.size());
    let pass = |table: &mut apexmap_measure::kernels::shared::updates::table::Table| {
        let mut values = vec![0; problem.own_updates() as usize];
        problem.own_generator().fill(&mut values);
        if is_faulty && comm.rank() == 3 {
            values[7] ^= 1 << 60;
        }
        let owner = |value: &u64| problem.owners.owner_by_division(problem.index.word(*value));
        values.sort_by_key(owner);
        let counts: Vec<usize> =
            (0..comm.size()).map(|rank| values.iter().filter(|value| owner(value) == rank).count()).collect();
        let mut received = Vec::new();
        comm.all_to_all_v(&values, &counts, &mut received);
        received.iter().for_each(|&value| table.update(value));
        Tally { applied: received.len() as u64, ..Tally::default() }
    };
    measure(comm, &problem, arena, Rules::STRICT, pass).expect("memory")
}

#[test]
fn a_wrong_update_is_reported() {
    let point = Point::new("random_access.alltoallv", 8).with_parameter("N_words", 1u64 << 10);
    let point = kernels::complete(point).expect("a valid point");
    for operation in ["xor", "add"] {
        let point = point.clone().with_parameter("operation", operation);
        let [right, wrong] = [false, true].map(|is_faulty| {
            let (outcomes, _) = run(&torus(), COSTS, 8, |comm, arena| exchange_all(comm, arena, &point, is_faulty))
                .expect("a simulation");
            outcomes.into_iter().next().expect("rank 0").expect("it succeeds").verdict
        });
        assert_eq!(right, Ok(()), "{operation}");
        assert!(wrong.as_ref().is_err_and(|why| why.contains("words")), "{operation}: {wrong:?}");
    }
}
