//! The numbers that machine cards hold: names, units and meanings.

use apexmap_base::units::Unit;

/// A number that a card may hold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Entry {
    pub name: &'static str,
    /// The unit in which [`super::Card::get`] returns it.
    pub unit: Unit,
    pub meaning: &'static str,
    /// What a card may have instead.
    pub composite: Option<Composite>,
}

/// A number as the sum of others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Composite {
    pub parts: &'static [&'static str],
    /// Added if the card has it: it is small and often unknown.
    pub overhead: Option<&'static str>,
}

const fn entry(name: &'static str, unit: Unit, meaning: &'static str) -> Entry {
    Entry { name, unit, meaning, composite: None }
}

impl Entry {
    const fn or_sum(self, parts: &'static [&'static str], overhead: Option<&'static str>) -> Self {
        Self { composite: Some(Composite { parts, overhead }), ..self }
    }
}

/// Every number, in the order of a machine: core, memory, cores together, network, and what models fit as a whole.
pub const CATALOGUE: &[Entry] = &[
    entry("clock_hz", Unit::Hertz, "rate of the cycles that numbers in cycles count"),
    entry(
        "core_clock_hz",
        Unit::Hertz,
        "clock of a core while it computes, by a chain of additions; best is the highest",
    ),
    entry("cores", Unit::None, "processor cores of a node"),
    // RandomAccess on a core
    entry("update_seconds", Unit::Seconds, "one random update of a table in local memory (t_u)"),
    entry("generate_seconds", Unit::Seconds, "one value of the random stream (t_g)"),
    entry("loop_seconds", Unit::Seconds, "loop overhead per update (t_os)"),
    entry("local_seconds", Unit::Seconds, "generating, updating and loop overhead together (t_g + t_u + t_os)")
        .or_sum(&["generate_seconds", "update_seconds"], Some("loop_seconds")),
    entry("send_seconds", Unit::Seconds, "sending, per update (t_s)"),
    entry("receive_seconds", Unit::Seconds, "receiving, per update (t_r)"),
    entry("operation_seconds", Unit::Seconds, "overhead of a send and receive, per update (t_op)"),
    entry("remote_seconds", Unit::Seconds, "sending, receiving and their overhead together (t_s + t_r + t_op)")
        .or_sum(&["send_seconds", "receive_seconds"], Some("operation_seconds")),
    entry("packet_receive_seconds", Unit::Seconds, "receiving a packet of any size (t_pkt_rcv)")
        .or_sum(&["receive_seconds"], None),
    entry("update_role_seconds", Unit::Seconds, "overhead of the core that updates, per update (t_op3)"),
    entry("role_0_seconds", Unit::Seconds, "load of the core that generates and routes along X, per update (T_0)"),
    entry("role_1_seconds", Unit::Seconds, "load of the core that routes along Y, per update (T_1)"),
    entry("role_2_seconds", Unit::Seconds, "load of the core that routes along Z, per update (T_2)"),
    entry("hop_seconds", Unit::Seconds, "routing an update over one hop in software"),
    entry("copy_seconds_per_byte", Unit::SecondsPerByte, "copying bytes in memory"),
    entry("division_seconds", Unit::Seconds, "the owner of a word by an integer division"),
    entry("prediction_seconds", Unit::Seconds, "the owner of a word by multiplication and correction"),
    entry("atomic_seconds", Unit::Seconds, "one random atomic update of a table in local memory"),
    entry("locked_update_seconds", Unit::Seconds, "one random update of a table in local memory under a lock"),
    entry("barrier_seconds", Unit::Seconds, "a barrier of the ranks"),
    entry(
        "lost_window_seconds",
        Unit::Seconds,
        "from reading a word to writing it back in an update that is not atomic",
    ),
    entry("wrong_words_share", Unit::None, "fraction of words left wrong however few updates are made (e0)"),
    entry("lock_hold_seconds", Unit::Seconds, "how long an update holds its lock"),
    entry("lock_free_seconds", Unit::Seconds, "from giving a lock back to asking for the next one"),
    // memory, by level
    entry("l1_bytes", Unit::Bytes, "size of the first-level data cache of a core"),
    entry("l1_latency_seconds", Unit::Seconds, "a dependent access that hits the first level"),
    entry("l1_bandwidth_bytes_per_second", Unit::BytesPerSecond, "reading consecutive bytes from the first level"),
    entry("l2_bytes", Unit::Bytes, "size of the second-level cache, as one core sees it"),
    entry("l2_latency_seconds", Unit::Seconds, "a dependent access that hits the second level"),
    entry("l2_bandwidth_bytes_per_second", Unit::BytesPerSecond, "reading consecutive bytes from the second level"),
    entry("l3_bytes", Unit::Bytes, "size of the third-level cache, as one core sees it"),
    entry("l3_latency_seconds", Unit::Seconds, "a dependent access that hits the third level"),
    entry("l3_bandwidth_bytes_per_second", Unit::BytesPerSecond, "reading consecutive bytes from the third level"),
    entry("memory_bytes", Unit::Bytes, "main memory of a node"),
    entry("memory_latency_seconds", Unit::Seconds, "a dependent access to main memory"),
    entry("memory_bandwidth_bytes_per_second", Unit::BytesPerSecond, "reading consecutive bytes, one core"),
    entry("node_bandwidth_bytes_per_second", Unit::BytesPerSecond, "reading consecutive bytes, all cores of a node"),
    entry("stream_copy_bytes_per_second", Unit::BytesPerSecond, "STREAM copy on all cores of a node: a = b"),
    entry("stream_scale_bytes_per_second", Unit::BytesPerSecond, "STREAM scale on all cores of a node: a = 3 b"),
    entry("stream_add_bytes_per_second", Unit::BytesPerSecond, "STREAM add on all cores of a node: a = b + c"),
    entry("stream_triad_bytes_per_second", Unit::BytesPerSecond, "STREAM triad on all cores of a node: a = b + 3 c"),
    entry(
        "node_updates_per_second",
        Unit::UpdatesPerSecond,
        "RandomAccess on all cores of a node: each with its own table (star), or all with one (shared)",
    ),
    entry("core_to_core_seconds", Unit::Seconds, "handing a cache line from the core of one rank to that of another"),
    entry("l1_access_seconds", Unit::Seconds, "a random access that hits L1, with many outstanding"),
    entry("l2_access_seconds", Unit::Seconds, "a random access that hits L2, with many outstanding"),
    entry("l3_access_seconds", Unit::Seconds, "a random access that hits L3, with many outstanding"),
    entry("memory_access_seconds", Unit::Seconds, "a random access to main memory, with many outstanding"),
    entry("network_access_seconds", Unit::Seconds, "a random access to another rank's memory, with many outstanding"),
    entry(
        "startup_seconds_per_byte",
        Unit::SecondsPerByte,
        "added to each of the first 512 bytes of a block that is not in the first level, until prefetching runs",
    ),
    entry(
        "read_seconds",
        Unit::Seconds,
        "a random read in a region of this size: its address known in advance (independent), prefetched, or known from \
         the previous read (dependent)",
    ),
    entry("page_read_seconds", Unit::Seconds, "a dependent read of one line per page, in a region of this size"),
    entry(
        "translation_seconds",
        Unit::Seconds,
        "extra time of a read whose page has not been used for long: address translation, page walks included",
    ),
    entry(
        "tlb_reach_bytes",
        Unit::Bytes,
        "memory whose pages the second-level TLB holds, by the time of dependent reads",
    ),
    entry(
        "l1_tlb_reach_bytes",
        Unit::Bytes,
        "memory whose pages the first-level TLB holds, by the time of dependent reads",
    ),
    entry(
        "loaded_latency_seconds",
        Unit::Seconds,
        "a dependent access to main memory while the other cores read for this fraction of the time",
    ),
    entry(
        "loaded_bandwidth_bytes_per_second",
        Unit::BytesPerSecond,
        "total read bandwidth of the other cores meanwhile",
    ),
    entry("l1_measured_bytes", Unit::Bytes, "size of the first-level data cache by the latency of random reads"),
    entry("l2_measured_bytes", Unit::Bytes, "size of the second-level cache by the latency of random reads"),
    entry("l3_measured_bytes", Unit::Bytes, "size of the third-level cache by the latency of random reads"),
    entry("read_bandwidth_bytes_per_second", Unit::BytesPerSecond, "reading a region of this size from end to end"),
    // Apex-Map on a core, as its model has it
    entry("issue_seconds", Unit::Seconds, "issuing a read of a word that hits the first level"),
    entry("issue_seconds_per_byte", Unit::SecondsPerByte, "reading further bytes of a block from the first level"),
    entry("l2_line_seconds", Unit::Seconds, "each line of a block from L2"),
    entry("l3_line_seconds", Unit::Seconds, "each line of a block from L3"),
    entry("memory_line_seconds", Unit::Seconds, "each line of a long block from main memory"),
    entry(
        "startup_factor",
        Unit::None,
        "what each of the first lines of a block from memory takes longer, in multiples of a further one, which is \
         prefetched",
    ),
    entry("startup_lines", Unit::None, "first lines of a block from memory, until prefetching runs"),
    entry("l3_alone_seconds", Unit::Seconds, "a miss that L3 serves, among hits: no other miss hides it"),
    entry("memory_alone_seconds", Unit::Seconds, "a miss that main memory serves, among hits"),
    entry("overlap_seconds", Unit::Seconds, "time of issue of loads that a core holds: misses within it overlap"),
    entry("walk_seconds", Unit::Seconds, "address translation by a page walk, among reads that need none"),
    entry("tlb_entries", Unit::None, "pages whose translations a core holds"),
    entry(
        "l3_displacements_per_second",
        Unit::PerSecond,
        "one over the time in which others who use L3, too, would fill all of it",
    ),
    entry("draw_seconds", Unit::Seconds, "drawing the place of an access by the power law, beside the clock"),
    entry("l3_cores", Unit::None, "cores that share a third-level cache"),
    // Apex-Map by its compact models
    entry(
        "near_bytes",
        Unit::Bytes,
        "near memory of one core: accesses to addresses below this size hit it (c of the compact models)",
    ),
    entry("near_word_seconds", Unit::Seconds, "a word in near memory, whatever the length of its block (t_1)"),
    entry("far_word_seconds", Unit::Seconds, "a word in far memory, whatever the length of its block (t_2)"),
    entry("block_seconds", Unit::Seconds, "the first word of a block, wherever it is (l)"),
    entry("word_gap_seconds", Unit::Seconds, "each further word of a block, wherever it is (g)"),
    entry("near_block_seconds", Unit::Seconds, "the first word of a block in near memory (l_1)"),
    entry("near_gap_seconds", Unit::Seconds, "each further word of a block in near memory (g_1)"),
    entry("far_block_seconds", Unit::Seconds, "the first word of a block in far memory (l_2)"),
    entry("far_gap_seconds", Unit::Seconds, "each further word of a block in far memory (g_2)"),
    // Apex-Map between ranks
    entry("request_poll_seconds", Unit::Seconds, "with every access, to look for requests and replies"),
    entry(
        "request_seconds",
        Unit::Seconds,
        "request, service and reply of a remote block where all accesses are remote",
    ),
    entry("request_seconds_per_byte", Unit::SecondsPerByte, "each byte of a block that is replied"),
    entry("request_alone_seconds", Unit::Seconds, "request, service and reply of a remote block among local accesses"),
    entry("get_check_seconds", Unit::Seconds, "with every access, to look for blocks that have come"),
    entry("get_least_seconds", Unit::Seconds, "a get of a remote block where all accesses are remote"),
    entry("get_seconds_per_byte", Unit::SecondsPerByte, "each byte of a block that is got"),
    entry("get_alone_seconds", Unit::Seconds, "a get of a remote block among local accesses"),
    entry("line_bytes", Unit::Bytes, "size of a cache line"),
    entry("lines_in_flight", Unit::None, "maximum of outstanding cache lines of one core"),
    // network
    entry("network_latency_seconds", Unit::Seconds, "a short message, one way"),
    entry(
        "wire_latency_seconds",
        Unit::Seconds,
        "a short message on its way, without the processors' time (LogGP's L)",
    ),
    entry("network_bandwidth_bytes_per_second", Unit::BytesPerSecond, "long messages, one way, one rank"),
    entry("network_gap_seconds", Unit::Seconds, "minimum time between short messages of a rank (LogGP's g)"),
    entry("network_overhead_seconds", Unit::Seconds, "processor time per short message, sent or received (LogGP's o)"),
    entry("network_send_overhead_seconds", Unit::Seconds, "processor time to send a short message (LogGP's o_s)"),
    entry("network_receive_overhead_seconds", Unit::Seconds, "processor time to receive a short message (LogGP's o_r)"),
    entry("message_rate_per_second", Unit::PerSecond, "short messages of a rank"),
    entry(
        "message_seconds",
        Unit::Seconds,
        "from one message of this size to the next, per rank, by the named operation",
    ),
    entry(
        "get_seconds",
        Unit::Seconds,
        "a get of this size from another rank's memory, one at a time or with many outstanding",
    ),
    entry("eager_bytes", Unit::Bytes, "largest message that travels without a rendezvous"),
    entry(
        "eager_seconds_per_byte",
        Unit::SecondsPerByte,
        "added to each byte of a message up to eager_bytes, which is copied on its way",
    ),
    entry("rendezvous_seconds", Unit::Seconds, "added to the latency of a message above eager_bytes"),
    entry("link_bandwidth_bytes_per_second", Unit::BytesPerSecond, "a link between routers, one direction"),
    entry("router_latency_seconds", Unit::Seconds, "crossing a router"),
    entry("link_efficiency", Unit::None, "fraction of a link's bytes left after packet framing and flow control"),
    entry("node_network_bandwidth_bytes_per_second", Unit::BytesPerSecond, "between a node and the network"),
    entry("bisection_bytes_per_second", Unit::BytesPerSecond, "bisection bandwidth, one direction (B)"),
    entry("update_wire_bytes", Unit::Bytes, "bytes per update on the wire, with headers and acknowledgement (b)"),
    entry("packet_unit_bytes", Unit::Bytes, "packets are multiples of this size"),
    entry("packet_most_bytes", Unit::Bytes, "size of the largest packet"),
    entry("packet_header_bytes", Unit::Bytes, "header of a packet, in its size"),
    entry("packet_acknowledgement_bytes", Unit::Bytes, "acknowledgement of a packet, beside its size"),
    // network interface
    entry("io_bandwidth_bytes_per_second", Unit::BytesPerSecond, "bus between processor and network interface"),
    entry("io_latency_seconds", Unit::Seconds, "crossing that bus, one way"),
    entry("io_efficiency", Unit::None, "fraction of that bus's bytes left after packet framing"),
    entry("io_command_bytes", Unit::Bytes, "command that goes with each message over that bus"),
    entry("message_header_bytes", Unit::Bytes, "bytes that the network adds to each message"),
    entry(
        "interface_seconds",
        Unit::Seconds,
        "a short message in the network interfaces and in the cores at both ends",
    ),
    entry("inject_seconds", Unit::Seconds, "processor time to inject a message, besides moving its bytes"),
    entry(
        "scattered_inject_seconds",
        Unit::Seconds,
        "the same where each message has another destination: cyclic, indirect, random",
    ),
    entry("block_inject_seconds", Unit::Seconds, "the same where the destination changes block by block"),
    entry("store_seconds_per_byte", Unit::SecondsPerByte, "processor time to move a byte to the network interface")
        .or_sum(&["copy_seconds_per_byte"], None),
    // what models fit as a whole
    entry("round_seconds", Unit::Seconds, "generating and applying the updates of one round (T_1)"),
    entry("stage_seconds", Unit::Seconds, "one stage of a hypercube exchange, copying included (T_C)"),
];

/// The entry of a name without its qualifier.
pub fn entry_of(name: &str) -> Option<&'static Entry> {
    CATALOGUE.iter().find(|entry| entry.name == name)
}
