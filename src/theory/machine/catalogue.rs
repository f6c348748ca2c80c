//! Catalogue of the numbers on machine cards: names, units and meanings.

use apexmap_base::units::Unit;

/// A number that a card can hold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Entry {
    pub name: &'static str,
    /// Unit of the values that [`super::Card::get`] returns.
    pub unit: Unit,
    pub meaning: &'static str,
    /// Numbers that replace this one if the card does not have it.
    pub composite: Option<Composite>,
}

/// A number that is the sum of others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Composite {
    pub parts: &'static [&'static str],
    /// Added if the card has it. It is small and often unknown.
    pub overhead: Option<&'static str>,
}

const fn entry(name: &'static str, unit: Unit, meaning: &'static str) -> Entry {
    Entry { name, unit, meaning, composite: None }
}

impl Entry {
    const fn with_sum(self, parts: &'static [&'static str], overhead: Option<&'static str>) -> Self {
        Self { composite: Some(Composite { parts, overhead }), ..self }
    }
}

/// Defines one constant per number, so that a wrong name does not compile.
macro_rules! catalogue {
    ($($handle:ident = $entry:expr;)*) => {
        $(pub const $handle: &Entry = &$entry;)*

        /// All numbers, in the order of a machine: core, memory, cores together, network, numbers of whole models.
        pub const CATALOGUE: &[Entry] = &[$(*$handle),*];
    };
}

catalogue! {
    CLOCK_HZ = entry("clock_hz", Unit::Hertz, "clock frequency for numbers in cycles");
    CORE_CLOCK_HZ = entry("core_clock_hz", Unit::Hertz,
        "clock of a core during a chain of additions; best is the highest");
    CORES = entry("cores", Unit::None, "processor cores of a node");
    // RandomAccess on a core
    UPDATE_SECONDS = entry("update_seconds", Unit::Seconds, "one random update of a table in local memory (t_u)");
    GENERATE_SECONDS = entry("generate_seconds", Unit::Seconds, "one value of the random stream (t_g)");
    LOOP_SECONDS = entry("loop_seconds", Unit::Seconds, "loop overhead per update (t_os)");
    LOCAL_SECONDS = entry("local_seconds", Unit::Seconds,
        "generating, updating and loop overhead together (t_g + t_u + t_os)")
            .with_sum(const { &[GENERATE_SECONDS.name, UPDATE_SECONDS.name] }, Some(LOOP_SECONDS.name));
    SEND_SECONDS = entry("send_seconds", Unit::Seconds, "sending, per update (t_s)");
    RECEIVE_SECONDS = entry("receive_seconds", Unit::Seconds, "receiving, per update (t_r)");
    OPERATION_SECONDS = entry("operation_seconds", Unit::Seconds, "overhead of a send and receive, per update (t_op)");
    REMOTE_SECONDS = entry("remote_seconds", Unit::Seconds,
        "sending, receiving and their overhead together (t_s + t_r + t_op)")
            .with_sum(const { &[SEND_SECONDS.name, RECEIVE_SECONDS.name] }, Some(OPERATION_SECONDS.name));
    PACKET_RECEIVE_SECONDS = entry("packet_receive_seconds", Unit::Seconds,
        "receiving a packet of any size (t_pkt_rcv)").with_sum(const { &[RECEIVE_SECONDS.name] }, None);
    UPDATE_ROLE_SECONDS = entry("update_role_seconds", Unit::Seconds,
        "overhead of the core that updates, per update (t_op3)");
    ROLE_0_SECONDS = entry("role_0_seconds", Unit::Seconds,
        "load of the core that generates and routes along X, per update (T_0)");
    ROLE_1_SECONDS = entry("role_1_seconds", Unit::Seconds, "load of the core that routes along Y, per update (T_1)");
    ROLE_2_SECONDS = entry("role_2_seconds", Unit::Seconds, "load of the core that routes along Z, per update (T_2)");
    HOP_SECONDS = entry("hop_seconds", Unit::Seconds, "routing an update over one hop in software");
    DIVIDE_SECONDS = entry("divide_seconds", Unit::Seconds,
        "dividing an update between the partners of an exchange, one stage; or among many owners");
    COPY_SECONDS_PER_BYTE = entry("copy_seconds_per_byte", Unit::SecondsPerByte, "copying bytes in memory");
    DIVISION_SECONDS = entry("division_seconds", Unit::Seconds, "finding the owner of a word by an integer division");
    PREDICTION_SECONDS = entry("prediction_seconds", Unit::Seconds,
        "finding the owner of a word by multiplication and correction");
    ATOMIC_SECONDS = entry("atomic_seconds", Unit::Seconds, "one random atomic update of a table in local memory");
    LOCKED_UPDATE_SECONDS = entry("locked_update_seconds", Unit::Seconds,
        "one random update of a table in local memory under a lock");
    BARRIER_SECONDS = entry("barrier_seconds", Unit::Seconds, "a barrier of the ranks");
    LOST_WINDOW_SECONDS = entry("lost_window_seconds", Unit::Seconds,
        "time between the read and the write of an update that is not atomic");
    WRONG_WORDS_SHARE = entry("wrong_words_share", Unit::None,
        "fraction of wrong words that does not depend on the number of updates (e0)");
    LOCK_HOLD_SECONDS = entry("lock_hold_seconds", Unit::Seconds, "time for which an update holds its lock");
    LOCK_FREE_SECONDS = entry("lock_free_seconds", Unit::Seconds, "time between releasing a lock and requesting the next one");
    // memory, by level
    LINE_BYTES = entry("line_bytes", Unit::Bytes, "size of a cache line");
    BASE_PAGE_BYTES = entry("base_page_bytes", Unit::Bytes, "size of a base page");
    HUGE_PAGE_BYTES = entry("huge_page_bytes", Unit::Bytes, "size of a huge page");
    L1_BYTES = entry("l1_bytes", Unit::Bytes, "size of the first-level data cache of a core");
    L1_LATENCY_SECONDS = entry("l1_latency_seconds", Unit::Seconds, "a dependent access that hits the first level");
    L1_BANDWIDTH_BYTES_PER_SECOND = entry("l1_bandwidth_bytes_per_second", Unit::BytesPerSecond,
        "reading consecutive bytes from the first level");
    L2_BYTES = entry("l2_bytes", Unit::Bytes, "size of the second-level cache, as one core sees it");
    L2_LATENCY_SECONDS = entry("l2_latency_seconds", Unit::Seconds, "a dependent access that hits the second level");
    L2_BANDWIDTH_BYTES_PER_SECOND = entry("l2_bandwidth_bytes_per_second", Unit::BytesPerSecond,
        "reading consecutive bytes from the second level");
    L3_BYTES = entry("l3_bytes", Unit::Bytes, "size of the third-level cache, as one core sees it");
    L3_LATENCY_SECONDS = entry("l3_latency_seconds", Unit::Seconds, "a dependent access that hits the third level");
    L3_BANDWIDTH_BYTES_PER_SECOND = entry("l3_bandwidth_bytes_per_second", Unit::BytesPerSecond,
        "reading consecutive bytes from the third level");
    MEMORY_BYTES = entry("memory_bytes", Unit::Bytes, "main memory of a node");
    MEMORY_LATENCY_SECONDS = entry("memory_latency_seconds", Unit::Seconds, "a dependent access to main memory");
    MEMORY_BANDWIDTH_BYTES_PER_SECOND = entry("memory_bandwidth_bytes_per_second", Unit::BytesPerSecond,
        "reading consecutive bytes, one core");
    NODE_BANDWIDTH_BYTES_PER_SECOND = entry("node_bandwidth_bytes_per_second", Unit::BytesPerSecond,
        "reading consecutive bytes, all cores of a node");
    STREAM_COPY_BYTES_PER_SECOND = entry("stream_copy_bytes_per_second", Unit::BytesPerSecond,
        "STREAM copy on all cores of a node: a = b");
    STREAM_SCALE_BYTES_PER_SECOND = entry("stream_scale_bytes_per_second", Unit::BytesPerSecond,
        "STREAM scale on all cores of a node: a = 3 b");
    STREAM_ADD_BYTES_PER_SECOND = entry("stream_add_bytes_per_second", Unit::BytesPerSecond,
        "STREAM add on all cores of a node: a = b + c");
    STREAM_TRIAD_BYTES_PER_SECOND = entry("stream_triad_bytes_per_second", Unit::BytesPerSecond,
        "STREAM triad on all cores of a node: a = b + 3 c");
    NODE_UPDATES_PER_SECOND = entry("node_updates_per_second", Unit::UpdatesPerSecond,
        "RandomAccess on all cores of a node: each with its own table (star), or all with one (shared)");
    CORE_TO_CORE_SECONDS = entry("core_to_core_seconds", Unit::Seconds,
        "transfer of a cache line from the core of one rank to that of another");
    L1_ACCESS_SECONDS = entry("l1_access_seconds", Unit::Seconds,
        "a random access that hits L1, with many outstanding");
    L2_ACCESS_SECONDS = entry("l2_access_seconds", Unit::Seconds,
        "a random access that hits L2, with many outstanding");
    L3_ACCESS_SECONDS = entry("l3_access_seconds", Unit::Seconds,
        "a random access that hits L3, with many outstanding");
    MEMORY_ACCESS_SECONDS = entry("memory_access_seconds", Unit::Seconds,
        "a random access to main memory, with many outstanding");
    NETWORK_ACCESS_SECONDS = entry("network_access_seconds", Unit::Seconds,
        "a random access to another rank's memory, with many outstanding");
    STARTUP_SECONDS_PER_BYTE = entry("startup_seconds_per_byte", Unit::SecondsPerByte,
        "extra time of each of the first 512 bytes of a block that is not in the first level, before prefetching starts");
    READ_SECONDS = entry("read_seconds", Unit::Seconds,
        "a random read in a region of this size: its address known in advance (independent), prefetched, or \
         known from the previous read (dependent)");
    PAGE_READ_SECONDS = entry("page_read_seconds", Unit::Seconds,
        "a dependent read of one line per page, in a region of this size");
    TRANSLATION_SECONDS = entry("translation_seconds", Unit::Seconds,
        "extra time of a read whose page has no cached translation, page walks included");
    TLB_REACH_BYTES = entry("tlb_reach_bytes", Unit::Bytes,
        "memory that the second-level TLB covers, from the time of dependent reads");
    L1_TLB_REACH_BYTES = entry("l1_tlb_reach_bytes", Unit::Bytes,
        "memory that the first-level TLB covers, from the time of dependent reads");
    LOADED_LATENCY_SECONDS = entry("loaded_latency_seconds", Unit::Seconds,
        "a dependent access to main memory while the other cores read for this fraction of the time");
    LOADED_BANDWIDTH_BYTES_PER_SECOND = entry("loaded_bandwidth_bytes_per_second", Unit::BytesPerSecond,
        "total read bandwidth of the other cores during a dependent access of one core");
    L1_MEASURED_BYTES = entry("l1_measured_bytes", Unit::Bytes,
        "size of the first-level data cache, from the latency of random reads");
    L2_MEASURED_BYTES = entry("l2_measured_bytes", Unit::Bytes,
        "size of the second-level cache, from the latency of random reads");
    L3_MEASURED_BYTES = entry("l3_measured_bytes", Unit::Bytes,
        "size of the third-level cache, from the latency of random reads");
    READ_BANDWIDTH_BYTES_PER_SECOND = entry("read_bandwidth_bytes_per_second", Unit::BytesPerSecond,
        "reading a region of this size from end to end");
    SECTOR_BYTES = entry("sector_bytes", Unit::Bytes, "smallest part of its memory that a device reads");
    LAUNCH_SECONDS = entry("launch_seconds", Unit::Seconds, "a launch of an empty kernel on a device, until the host knows its end");
    TO_DEVICE_BYTES_PER_SECOND = entry("to_device_bytes_per_second", Unit::BytesPerSecond,
        "from pinned memory of the host to a device");
    TO_HOST_BYTES_PER_SECOND = entry("to_host_bytes_per_second", Unit::BytesPerSecond,
        "from a device to pinned memory of the host");
    // Apex-Map on a core: numbers of its model
    ISSUE_SECONDS = entry("issue_seconds", Unit::Seconds, "issuing a read of a word that hits the first level");
    ISSUE_SECONDS_PER_BYTE = entry("issue_seconds_per_byte", Unit::SecondsPerByte,
        "reading further bytes of a block from the first level");
    L2_LINE_SECONDS = entry("l2_line_seconds", Unit::Seconds, "each line of a block from L2");
    L3_LINE_SECONDS = entry("l3_line_seconds", Unit::Seconds, "each line of a block from L3");
    MEMORY_LINE_SECONDS = entry("memory_line_seconds", Unit::Seconds, "each line of a long block from main memory");
    STARTUP_FACTOR = entry("startup_factor", Unit::None,
        "extra time of each of the first lines of a block from memory, in multiples of the time of a later line, which \
         is prefetched");
    STARTUP_LINES = entry("startup_lines", Unit::None, "first lines of a block from memory, before prefetching starts");
    L3_ALONE_SECONDS = entry("l3_alone_seconds", Unit::Seconds,
        "an isolated miss that L3 serves: no other miss overlaps it");
    MEMORY_ALONE_SECONDS = entry("memory_alone_seconds", Unit::Seconds, "an isolated miss that main memory serves");
    OVERLAP_SECONDS = entry("overlap_seconds", Unit::Seconds,
        "issue time of the loads that a core holds: misses within it overlap");
    WALK_SECONDS = entry("walk_seconds", Unit::Seconds,
        "an isolated page walk, among reads that need none");
    TLB_ENTRIES = entry("tlb_entries", Unit::None, "pages whose translations a core holds");
    L3_DISPLACEMENTS_PER_SECOND = entry("l3_displacements_per_second", Unit::PerSecond,
        "reciprocal of the time that other users of L3 need to fill it");
    DRAW_SECONDS = entry("draw_seconds", Unit::Seconds,
        "drawing the address of an access from the power law, outside the timed part");
    L3_CORES = entry("l3_cores", Unit::None, "cores that share a third-level cache");
    // Apex-Map: numbers of its compact models
    NEAR_BYTES = entry("near_bytes", Unit::Bytes,
        "near memory of one core: accesses to addresses below this size hit it (c of the compact models)");
    NEAR_WORD_SECONDS = entry("near_word_seconds", Unit::Seconds,
        "a word in near memory, in a block of any length (t_1)");
    FAR_WORD_SECONDS = entry("far_word_seconds", Unit::Seconds,
        "a word in far memory, in a block of any length (t_2)");
    BLOCK_SECONDS = entry("block_seconds", Unit::Seconds, "the first word of a block in any memory (l)");
    WORD_GAP_SECONDS = entry("word_gap_seconds", Unit::Seconds, "each further word of a block in any memory (g)");
    NEAR_BLOCK_SECONDS = entry("near_block_seconds", Unit::Seconds, "the first word of a block in near memory (l_1)");
    NEAR_GAP_SECONDS = entry("near_gap_seconds", Unit::Seconds, "each further word of a block in near memory (g_1)");
    FAR_BLOCK_SECONDS = entry("far_block_seconds", Unit::Seconds, "the first word of a block in far memory (l_2)");
    FAR_GAP_SECONDS = entry("far_gap_seconds", Unit::Seconds, "each further word of a block in far memory (g_2)");
    // Apex-Map between ranks
    REQUEST_POLL_SECONDS = entry("request_poll_seconds", Unit::Seconds,
        "polling for requests and replies, with every access");
    SENDER_POLL_SECONDS = entry("sender_poll_seconds", Unit::Seconds,
        "polling for messages of one more rank of the process");
    SENDER_LINE_SECONDS = entry("sender_line_seconds", Unit::Seconds,
        "reading a line that another rank of the process wrote: the mean between cores");
    REQUEST_SECONDS = entry("request_seconds", Unit::Seconds,
        "request, service and reply of a remote block if all accesses are remote");
    REQUEST_SECONDS_PER_BYTE = entry("request_seconds_per_byte", Unit::SecondsPerByte,
        "each byte of a block in a reply");
    REQUEST_ALONE_SECONDS = entry("request_alone_seconds", Unit::Seconds,
        "request, service and reply of a remote block among local accesses");
    GET_CHECK_SECONDS = entry("get_check_seconds", Unit::Seconds,
        "polling for blocks that have arrived, with every access");
    GET_LEAST_SECONDS = entry("get_least_seconds", Unit::Seconds,
        "a get of a remote block if all accesses are remote");
    GET_SECONDS_PER_BYTE = entry("get_seconds_per_byte", Unit::SecondsPerByte, "each byte of a block that a get fetches");
    GET_ALONE_SECONDS = entry("get_alone_seconds", Unit::Seconds, "a get of a remote block among local accesses");
    LINES_IN_FLIGHT = entry("lines_in_flight", Unit::None, "maximum of outstanding cache lines of one core");
    // network
    NETWORK_LATENCY_SECONDS = entry("network_latency_seconds", Unit::Seconds, "a short message, one way");
    WIRE_LATENCY_SECONDS = entry("wire_latency_seconds", Unit::Seconds,
        "transit of a short message, without the processors' time (LogGP's L)");
    NETWORK_BANDWIDTH_BYTES_PER_SECOND = entry("network_bandwidth_bytes_per_second", Unit::BytesPerSecond,
        "long messages, one way, one rank");
    NETWORK_GAP_SECONDS = entry("network_gap_seconds", Unit::Seconds,
        "minimum time between short messages of a rank (LogGP's g)");
    NETWORK_OVERHEAD_SECONDS = entry("network_overhead_seconds", Unit::Seconds,
        "processor time per short message, sent or received (LogGP's o)");
    NETWORK_SEND_OVERHEAD_SECONDS = entry("network_send_overhead_seconds", Unit::Seconds,
        "processor time to send a short message (LogGP's o_s)");
    NETWORK_RECEIVE_OVERHEAD_SECONDS = entry("network_receive_overhead_seconds", Unit::Seconds,
        "processor time to receive a short message (LogGP's o_r)");
    MESSAGE_RATE_PER_SECOND = entry("message_rate_per_second", Unit::PerSecond, "short messages of a rank");
    MESSAGE_SECONDS = entry("message_seconds", Unit::Seconds,
        "time between two messages of this size, per rank, with the named operation");
    GET_SECONDS = entry("get_seconds", Unit::Seconds,
        "a get of this size from another rank's memory, one at a time or with many outstanding");
    EAGER_BYTES = entry("eager_bytes", Unit::Bytes, "largest message that is sent without a rendezvous");
    EAGER_SECONDS_PER_BYTE = entry("eager_seconds_per_byte", Unit::SecondsPerByte,
        "extra time of each byte of a message up to eager_bytes, which is copied in transit");
    RENDEZVOUS_SECONDS = entry("rendezvous_seconds", Unit::Seconds,
        "extra latency of a message above eager_bytes");
    LINK_BANDWIDTH_BYTES_PER_SECOND = entry("link_bandwidth_bytes_per_second", Unit::BytesPerSecond,
        "a link between routers, one direction");
    ROUTER_LATENCY_SECONDS = entry("router_latency_seconds", Unit::Seconds, "crossing a router");
    LINK_EFFICIENCY = entry("link_efficiency", Unit::None,
        "fraction of a link's bytes left after packet framing and flow control");
    NODE_NETWORK_BANDWIDTH_BYTES_PER_SECOND = entry("node_network_bandwidth_bytes_per_second", Unit::BytesPerSecond,
        "between a node and the network");
    BISECTION_BYTES_PER_SECOND = entry("bisection_bytes_per_second", Unit::BytesPerSecond,
        "bisection bandwidth, one direction (B)");
    UPDATE_WIRE_BYTES = entry("update_wire_bytes", Unit::Bytes,
        "bytes per update on the wire, with headers and acknowledgement (b)");
    PACKET_UNIT_BYTES = entry("packet_unit_bytes", Unit::Bytes, "packets are multiples of this size");
    PACKET_MOST_BYTES = entry("packet_most_bytes", Unit::Bytes, "size of the largest packet");
    PACKET_HEADER_BYTES = entry("packet_header_bytes", Unit::Bytes, "header of a packet, included in its size");
    PACKET_ACKNOWLEDGEMENT_BYTES = entry("packet_acknowledgement_bytes", Unit::Bytes,
        "acknowledgement of a packet, not included in its size");
    // network interface
    IO_BANDWIDTH_BYTES_PER_SECOND = entry("io_bandwidth_bytes_per_second", Unit::BytesPerSecond,
        "bus between processor and network interface");
    IO_LATENCY_SECONDS = entry("io_latency_seconds", Unit::Seconds, "crossing the bus between processor and network interface, one way");
    IO_EFFICIENCY = entry("io_efficiency", Unit::None,
        "fraction of the bytes on the bus to the network interface left after packet framing");
    IO_COMMAND_BYTES = entry("io_command_bytes", Unit::Bytes,
        "command that is sent with each message over the bus to the network interface");
    IO_QUEUE_BYTES = entry("io_queue_bytes", Unit::Bytes,
        "bytes of a rank that may wait in the network interface before the core waits");
    MESSAGE_HEADER_BYTES = entry("message_header_bytes", Unit::Bytes, "bytes that the network adds to each message");
    INTERFACE_SECONDS = entry("interface_seconds", Unit::Seconds,
        "a short message in the network interfaces and in the cores at both ends");
    INJECT_SECONDS = entry("inject_seconds", Unit::Seconds,
        "processor time to inject a message, without moving its bytes");
    SCATTERED_INJECT_SECONDS = entry("scattered_inject_seconds", Unit::Seconds,
        "processor time to inject a message if each has a different destination: cyclic, indirect, random");
    BLOCK_INJECT_SECONDS = entry("block_inject_seconds", Unit::Seconds,
        "processor time to inject a message if the destination changes after each block of messages");
    STORE_SECONDS_PER_BYTE = entry("store_seconds_per_byte", Unit::SecondsPerByte,
        "processor time to move a byte to the network interface").with_sum(const { &[COPY_SECONDS_PER_BYTE.name] }, None);
    // numbers of whole models
    ROUND_SECONDS = entry("round_seconds", Unit::Seconds, "generating and applying the updates of one round (T_1)");
    STAGE_SECONDS = entry("stage_seconds", Unit::Seconds, "one stage of a hypercube exchange, copying included (T_C)");
}

/// The numbers of a level of caches.
#[derive(Clone, Copy)]
pub struct CacheLevel {
    pub level: u32,
    pub size: &'static Entry,
    /// The size that random reads show.
    pub measured: &'static Entry,
}

pub const CACHES: [CacheLevel; 3] = [
    CacheLevel { level: 1, size: L1_BYTES, measured: L1_MEASURED_BYTES },
    CacheLevel { level: 2, size: L2_BYTES, measured: L2_MEASURED_BYTES },
    CacheLevel { level: 3, size: L3_BYTES, measured: L3_MEASURED_BYTES },
];

/// Inverse of [`NETWORK_BANDWIDTH_BYTES_PER_SECOND`], which models fit.
pub const NETWORK_SECONDS_PER_BYTE: &str = "network_seconds_per_byte";

pub fn entry_of(name: &str) -> Option<&'static Entry> {
    CATALOGUE.iter().find(|entry| entry.name == name)
}
