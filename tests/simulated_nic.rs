//! The interface of a node against the equations of the NIC message-rate paper.

use apexmap_measure::comm::simulated::{
    ComputationCosts, Frame, InterfaceCosts, LinkCosts, Machine, MessageCosts, PathCosts, Topology, run,
};
use apexmap_measure::comm::{Collectives, Comm, Computation, Rma, RmaWindow};

const NO_COSTS: ComputationCosts = [0.0; Computation::COUNT];
/// Picoseconds per byte of 2.3 GB/s and of 4.8 GB/s, with the bytes of packets and of credits.
const BUS_PER_BYTE: f64 = 1000.0 / 2.3 * 72.0 / 64.0;
const LINK_PER_BYTE: f64 = 1000.0 / 4.8 * 72.0 / 64.0 * 21.0 / 16.0;

/// The machine of the paper's Sections 3 and 4.
fn machine(cores: usize) -> Machine {
    let costs = PathCosts::uniform(MessageCosts {
        send: 25_000,
        latency: 500_000,
        copy_per_byte: 125.0,
        eager_bytes: usize::MAX,
        ..MessageCosts::default()
    });
    let frame = |header_bytes, unit_bytes| Frame { header_bytes, unit_bytes, ..Frame::default() };
    Machine {
        name: "NIC".into(),
        ranks_per_node: cores,
        topology: Topology::Torus { sides: vec![2] },
        network: costs,
        node: costs,
        interface: InterfaceCosts { gap: 0, per_byte: BUS_PER_BYTE, frame: frame(16, 8), queue_bytes: 4096 },
        link: LinkCosts {
            hop: 50_000,
            per_byte: LINK_PER_BYTE,
            frame: frame(28, 0),
            is_contended: true,
            ..LinkCosts::default()
        },
        poll: 0,
        sender_poll: 0,
        sender_line: 0,
        sender_change: 0,
        barrier_stage: Some(0),
        receive_packets: 0,
        node_packets: 0,
        limited_kernels: Vec::new(),
    }
}

/// Returns the picoseconds between messages that all cores of a node put into the other node, and between the messages of a core.
fn measure_intervals(cores: usize, bytes: usize) -> (f64, f64) {
    const MESSAGES: usize = 20_000;
    let (results, _) = run(&machine(cores), NO_COSTS, 2 * cores, |comm, _| {
        let items = bytes / 4;
        let (mut origin, mut memory) = (vec![7u32; items], vec![0u32; items]);
        comm.rma_window(&mut origin, &mut memory, |mut window| {
            comm.barrier();
            let start = comm.wall_time();
            if comm.rank() < cores {
                for _ in 0..MESSAGES {
                    // SAFETY: only this rank puts to this memory, which is read in fences.
                    unsafe { window.put(0, items, comm.rank() + cores, 0) };
                }
            }
            let issued = comm.wall_time() - start;
            window.fence(|_| ());
            (issued, comm.wall_time() - start)
        })
    })
    .expect("a simulation");
    let times: Vec<(f64, f64)> = results.into_iter().map(|result| result.expect("a rank that succeeds")).collect();
    let longest = times.iter().map(|(_, complete)| *complete).fold(0.0, f64::max);
    (1e12 * longest / (MESSAGES * cores) as f64, 1e12 * times[0].0 / MESSAGES as f64)
}

#[test]
fn puts_reach_the_bounds_of_cores_bus_and_link() {
    for cores in [1, 2, 4] {
        for bytes in [4usize, 8, 16, 64, 128, 1024, 4096] {
            let core = 25_000.0 + 125.0 * bytes as f64;
            let bus = BUS_PER_BYTE * (bytes.next_multiple_of(8) + 16) as f64;
            let link = LINK_PER_BYTE * (bytes + 28) as f64;
            let bound = (core / cores as f64).max(bus).max(link);
            let (between, issued) = measure_intervals(cores, bytes);
            assert!((between / bound - 1.0).abs() < 0.003, "{cores} cores, {bytes} bytes: {between} for {bound}");
            // A command queue of 4 KiB holds the cores back, so that they do not run ahead of the bus.
            assert!(issued > 0.98 * bound * cores as f64, "{cores} cores, {bytes} bytes: {issued} for {bound}");
        }
    }
}

#[test]
fn frames_add_headers_padding_and_trailers() {
    // Blue Gene/P: 16 bytes of headers, packets of multiples of 32 bytes, 14 bytes of acknowledgement.
    let packet = Frame { header_bytes: 16, unit_bytes: 32, trailer_bytes: 14, most_bytes: 256 };
    assert_eq!([0, 8, 16, 17, 232, 240, 241, 480].map(|data| packet.bytes(data)), [46, 46, 46, 78, 270, 270, 316, 540]);
    assert_eq!(Frame::default().bytes(100), 100);
}
