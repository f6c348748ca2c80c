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
    pub composite: Option<&'static Composite>,
}

/// A number that is the sum of others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Composite {
    pub parts: &'static [&'static str],
    /// Added if the card has it. It is small and often unknown.
    pub overhead: Option<&'static str>,
}

const fn lowercase<const N: usize>(text: &str) -> [u8; N] {
    let (bytes, mut lower, mut index) = (text.as_bytes(), [0; N], 0);
    while index < N {
        lower[index] = bytes[index].to_ascii_lowercase();
        index += 1;
    }
    lower
}

/// Defines one constant per number, so that a wrong name does not compile: the name of `READ_SECONDS` is `read_seconds`.
macro_rules! catalogue {
    ($($handle:ident = $unit:ident, $meaning:literal $(, sum of [$($part:ident),*] $(and $overhead:ident)?)?;)*) => {
        $(pub const $handle: &Entry = {
            const NAME: [u8; stringify!($handle).len()] = lowercase(stringify!($handle));
            const COMPOSITE: &[Composite] =
                &[$(Composite { parts: &[$($part.name),*], overhead: [$(Some($overhead.name),)? None][0] })?];
            let Ok(name) = std::str::from_utf8(&NAME) else { panic!("a name in ASCII") };
            &Entry { name, unit: Unit::$unit, meaning: $meaning, composite: COMPOSITE.first() }
        };)*

        /// All numbers, in the order of a machine: core, memory, cores together, network, numbers of whole models.
        pub const CATALOGUE: &[Entry] = &[$(*$handle),*];
    };
}

catalogue! {
    CLOCK_HZ = Hertz, "clock frequency for numbers in cycles";
    CORE_CLOCK_HZ = Hertz, "clock of a core during a chain of additions; best is the highest; many: before runs on all cores";
    CORES = None, "processor cores of a node";
    // RandomAccess on a core
    UPDATE_SECONDS = Seconds, "one random update of a table in local memory (t_u)";
    GENERATE_SECONDS = Seconds, "one value of the random stream (t_g)";
    LOOP_SECONDS = Seconds, "loop overhead per update (t_os)";
    LOCAL_SECONDS = Seconds, "generating, updating and loop overhead together (t_g + t_u + t_os)",
        sum of [GENERATE_SECONDS, UPDATE_SECONDS] and LOOP_SECONDS;
    SEND_SECONDS = Seconds, "sending, per update (t_s)";
    RECEIVE_SECONDS = Seconds, "receiving, per update (t_r)";
    OPERATION_SECONDS = Seconds, "overhead of a send and receive, per update (t_op)";
    REMOTE_SECONDS = Seconds, "sending, receiving and their overhead together (t_s + t_r + t_op)",
        sum of [SEND_SECONDS, RECEIVE_SECONDS] and OPERATION_SECONDS;
    PACKET_RECEIVE_SECONDS = Seconds, "receiving a packet of any size (t_pkt_rcv)", sum of [RECEIVE_SECONDS];
    UPDATE_ROLE_SECONDS = Seconds, "overhead of the core that updates, per update (t_op3)";
    ROLE_0_SECONDS = Seconds, "load of the core that generates and routes along X, per update (T_0)";
    ROLE_1_SECONDS = Seconds, "load of the core that routes along Y, per update (T_1)";
    ROLE_2_SECONDS = Seconds, "load of the core that routes along Z, per update (T_2)";
    HOP_SECONDS = Seconds, "routing an update over one hop in software";
    DIVIDE_SECONDS = Seconds, "dividing an update between the partners of an exchange, one stage; or among many owners";
    LOOK_SECONDS = Seconds, "looking for messages between two updates";
    COPY_SECONDS_PER_BYTE = SecondsPerByte, "copying bytes in memory";
    DIVISION_SECONDS = Seconds, "finding the owner of a word by an integer division";
    PREDICTION_SECONDS = Seconds, "finding the owner of a word by multiplication and correction";
    ATOMIC_SECONDS = Seconds, "one random atomic update of a table in local memory";
    LOCKED_UPDATE_SECONDS = Seconds, "one random update of a table in local memory under a lock";
    BARRIER_SECONDS = Seconds, "a barrier of the ranks";
    LOST_WINDOW_SECONDS = Seconds, "time between the read and the write of an update that is not atomic";
    WRONG_WORDS_SHARE = None, "fraction of wrong words that does not depend on the number of updates (e0)";
    LOCK_HOLD_SECONDS = Seconds, "time for which an update holds its lock";
    LOCK_FREE_SECONDS = Seconds, "time between releasing a lock and requesting the next one";
    // memory, by level
    LINE_BYTES = Bytes, "size of a cache line";
    BASE_PAGE_BYTES = Bytes, "size of a base page";
    HUGE_PAGE_BYTES = Bytes, "size of a huge page";
    L1_BYTES = Bytes, "size of the first-level data cache of a core";
    L1_LATENCY_SECONDS = Seconds, "a dependent access that hits the first level";
    L1_BANDWIDTH_BYTES_PER_SECOND = BytesPerSecond, "reading consecutive bytes from the first level";
    L2_BYTES = Bytes, "size of the second-level cache, as one core sees it";
    L2_LATENCY_SECONDS = Seconds, "a dependent access that hits the second level";
    L2_BANDWIDTH_BYTES_PER_SECOND = BytesPerSecond, "reading consecutive bytes from the second level";
    L3_BYTES = Bytes, "size of the third-level cache, as one core sees it";
    L3_LATENCY_SECONDS = Seconds, "a dependent access that hits the third level";
    L3_BANDWIDTH_BYTES_PER_SECOND = BytesPerSecond, "reading consecutive bytes from the third level";
    MEMORY_BYTES = Bytes, "main memory of a node";
    MEMORY_LATENCY_SECONDS = Seconds, "a dependent access to main memory";
    MEMORY_BANDWIDTH_BYTES_PER_SECOND = BytesPerSecond, "reading consecutive bytes, one core";
    NODE_BANDWIDTH_BYTES_PER_SECOND = BytesPerSecond, "reading consecutive bytes, all cores of a node";
    STREAM_COPY_BYTES_PER_SECOND = BytesPerSecond, "STREAM copy on all cores of a node: a = b";
    STREAM_SCALE_BYTES_PER_SECOND = BytesPerSecond, "STREAM scale on all cores of a node: a = 3 b";
    STREAM_ADD_BYTES_PER_SECOND = BytesPerSecond, "STREAM add on all cores of a node: a = b + c";
    STREAM_TRIAD_BYTES_PER_SECOND = BytesPerSecond, "STREAM triad on all cores of a node: a = b + 3 c";
    NODE_UPDATES_PER_SECOND = UpdatesPerSecond,
        "RandomAccess on all cores of a node: each with its own table (star), or all with one (shared)";
    CORE_TO_CORE_SECONDS = Seconds, "transfer of a cache line from the core of one rank to that of another";
    L1_ACCESS_SECONDS = Seconds, "a random access that hits L1, with many outstanding";
    L2_ACCESS_SECONDS = Seconds, "a random access that hits L2, with many outstanding";
    L3_ACCESS_SECONDS = Seconds, "a random access that hits L3, with many outstanding";
    MEMORY_ACCESS_SECONDS = Seconds, "a random access to main memory, with many outstanding";
    NETWORK_ACCESS_SECONDS = Seconds, "a random access to another rank's memory, with many outstanding";
    STARTUP_SECONDS_PER_BYTE = SecondsPerByte,
        "extra time of each of the first 512 bytes of a block that is not in the first level, before prefetching starts";
    READ_SECONDS = Seconds,
        "a random read in a region of this size: its address known in advance (independent), prefetched, or \
        known from the previous read (dependent)";
    PAGE_READ_SECONDS = Seconds, "a dependent read of one line per page, in a region of this size";
    TRANSLATION_SECONDS = Seconds, "extra time of a read whose page has no cached translation, page walks included";
    TLB_REACH_BYTES = Bytes, "memory that the second-level TLB covers, from the time of dependent reads";
    L1_TLB_REACH_BYTES = Bytes, "memory that the first-level TLB covers, from the time of dependent reads";
    LOADED_LATENCY_SECONDS = Seconds,
        "a dependent access to main memory while the other cores read for this fraction of the time";
    LOADED_BANDWIDTH_BYTES_PER_SECOND = BytesPerSecond,
        "total read bandwidth of the other cores during a dependent access of one core";
    L1_MEASURED_BYTES = Bytes, "size of the first-level data cache, from the latency of random reads";
    L2_MEASURED_BYTES = Bytes, "size of the second-level cache, from the latency of random reads";
    L3_MEASURED_BYTES = Bytes, "size of the third-level cache, from the latency of random reads";
    READ_BANDWIDTH_BYTES_PER_SECOND = BytesPerSecond, "reading a region of this size from end to end";
    SECTOR_BYTES = Bytes, "smallest part of its memory that a device reads";
    SHORT_BLOCK_SECONDS = Seconds, "a random block of 32 bytes from the memory of a device, of all work items together";
    INDEX_SECONDS = Seconds, "the number of a block, for each work item of a device that reads a part of it, of all together";
    LAUNCH_SECONDS = Seconds, "a launch of an empty kernel on a device, until the host knows its end";
    TO_DEVICE_BYTES_PER_SECOND = BytesPerSecond, "from pinned memory of the host to a device";
    TO_HOST_BYTES_PER_SECOND = BytesPerSecond, "from a device to pinned memory of the host";
    // Apex-Map on a core: numbers of its model
    ISSUE_SECONDS = Seconds, "issuing a read of a word that hits the first level";
    ISSUE_SECONDS_PER_BYTE = SecondsPerByte, "reading further bytes of a block from the first level";
    L2_LINE_SECONDS = Seconds, "each line of a block from L2";
    L3_LINE_SECONDS = Seconds, "each line of a block from L3";
    MEMORY_LINE_SECONDS = Seconds, "each line of a long block from main memory";
    STARTUP_FACTOR = None,
        "extra time of each of the first lines of a block from memory, in multiples of the time of a later \
        line, which is prefetched";
    STARTUP_LINES = None, "first lines of a block from memory, before prefetching starts";
    L3_ALONE_SECONDS = Seconds, "an isolated miss that L3 serves: no other miss overlaps it";
    MEMORY_ALONE_SECONDS = Seconds, "an isolated miss that main memory serves";
    OVERLAP_SECONDS = Seconds, "issue time of the loads that a core holds: misses within it overlap";
    WALK_SECONDS = Seconds, "an isolated page walk, among reads that need none";
    TLB_ENTRIES = None, "pages whose translations a core holds";
    L3_DISPLACEMENTS_PER_SECOND = PerSecond, "reciprocal of the time that other users of L3 need to fill it";
    DRAW_SECONDS = Seconds, "drawing the address of an access from the power law, outside the timed part";
    L3_CORES = None, "cores that share a third-level cache";
    // Apex-Map: numbers of its compact models
    NEAR_BYTES = Bytes,
        "near memory of one core: accesses to addresses below this size hit it (c of the compact models)";
    NEAR_WORD_SECONDS = Seconds, "a word in near memory, in a block of any length (t_1)";
    FAR_WORD_SECONDS = Seconds, "a word in far memory, in a block of any length (t_2)";
    BLOCK_SECONDS = Seconds, "the first word of a block in any memory (l)";
    WORD_GAP_SECONDS = Seconds, "each further word of a block in any memory (g)";
    NEAR_BLOCK_SECONDS = Seconds, "the first word of a block in near memory (l_1)";
    NEAR_GAP_SECONDS = Seconds, "each further word of a block in near memory (g_1)";
    FAR_BLOCK_SECONDS = Seconds, "the first word of a block in far memory (l_2)";
    FAR_GAP_SECONDS = Seconds, "each further word of a block in far memory (g_2)";
    // Apex-Map between ranks
    REQUEST_POLL_SECONDS = Seconds, "polling for requests and replies, with every access";
    SENDER_POLL_SECONDS = Seconds, "polling for messages of one more rank of the process";
    SENDER_LINE_SECONDS = Seconds, "reading a line that another rank of the process wrote: the mean between cores";
    REQUEST_SECONDS = Seconds, "request, service and reply of a remote block if all accesses are remote";
    REQUEST_SECONDS_PER_BYTE = SecondsPerByte, "each byte of a block in a reply";
    REQUEST_ALONE_SECONDS = Seconds, "request, service and reply of a remote block among local accesses";
    GET_CHECK_SECONDS = Seconds, "polling for blocks that have arrived, with every access";
    GET_LEAST_SECONDS = Seconds, "a get of a remote block if all accesses are remote";
    GET_SECONDS_PER_BYTE = SecondsPerByte, "each byte of a block that a get fetches";
    GET_ALONE_SECONDS = Seconds, "a get of a remote block among local accesses";
    LINES_IN_FLIGHT = None, "maximum of outstanding cache lines of one core";
    // network
    NETWORK_LATENCY_SECONDS = Seconds, "a short message, one way";
    WIRE_LATENCY_SECONDS = Seconds, "transit of a short message, without the processors' time (LogGP's L)";
    NETWORK_BANDWIDTH_BYTES_PER_SECOND = BytesPerSecond, "long messages, one way, one rank";
    NETWORK_GAP_SECONDS = Seconds, "minimum time between short messages of a rank (LogGP's g)";
    NETWORK_OVERHEAD_SECONDS = Seconds, "processor time per short message, sent or received (LogGP's o)";
    NETWORK_SEND_OVERHEAD_SECONDS = Seconds, "processor time to send a short message (LogGP's o_s)";
    NETWORK_RECEIVE_OVERHEAD_SECONDS = Seconds, "processor time to receive a short message (LogGP's o_r)";
    MESSAGE_RATE_PER_SECOND = PerSecond, "short messages of a rank";
    MESSAGE_SECONDS = Seconds, "time between two messages of this size, per rank, with the named operation";
    GET_SECONDS = Seconds, "a get of this size from another rank's memory, one at a time or with many outstanding";
    EAGER_BYTES = Bytes, "largest message that is sent without a rendezvous";
    EAGER_SECONDS_PER_BYTE = SecondsPerByte,
        "extra time of each byte of a message up to eager_bytes, which is copied in transit";
    RENDEZVOUS_SECONDS = Seconds, "extra latency of a message above eager_bytes";
    LINK_BANDWIDTH_BYTES_PER_SECOND = BytesPerSecond, "a link between routers, one direction";
    ROUTER_LATENCY_SECONDS = Seconds, "crossing a router";
    LINK_EFFICIENCY = None, "fraction of a link's bytes left after packet framing and flow control";
    NODE_NETWORK_BANDWIDTH_BYTES_PER_SECOND = BytesPerSecond, "between a node and the network";
    BISECTION_BYTES_PER_SECOND = BytesPerSecond, "bisection bandwidth, one direction (B)";
    UPDATE_WIRE_BYTES = Bytes, "bytes per update on the wire, with headers and acknowledgement (b)";
    PACKET_UNIT_BYTES = Bytes, "packets are multiples of this size";
    PACKET_MOST_BYTES = Bytes, "size of the largest packet";
    PACKET_HEADER_BYTES = Bytes, "header of a packet, included in its size";
    PACKET_ACKNOWLEDGEMENT_BYTES = Bytes, "acknowledgement of a packet, not included in its size";
    RECEIVE_PACKETS = None, "messages from other nodes that wait for one receiver; senders of further ones wait themselves";
    // network interface
    IO_BANDWIDTH_BYTES_PER_SECOND = BytesPerSecond, "bus between processor and network interface";
    IO_LATENCY_SECONDS = Seconds, "crossing the bus between processor and network interface, one way";
    IO_EFFICIENCY = None, "fraction of the bytes on the bus to the network interface left after packet framing";
    IO_COMMAND_BYTES = Bytes, "command that is sent with each message over the bus to the network interface";
    IO_QUEUE_BYTES = Bytes, "bytes of a rank that may wait in the network interface before the core waits";
    MESSAGE_HEADER_BYTES = Bytes, "bytes that the network adds to each message";
    INTERFACE_SECONDS = Seconds, "a short message in the network interfaces and in the cores at both ends";
    INJECT_SECONDS = Seconds, "processor time to inject a message, without moving its bytes";
    SCATTERED_INJECT_SECONDS = Seconds,
        "processor time to inject a message if each has a different destination: cyclic, indirect, random";
    BLOCK_INJECT_SECONDS = Seconds,
        "processor time to inject a message if the destination changes after each block of messages";
    STORE_SECONDS_PER_BYTE = SecondsPerByte,
        "processor time to move a byte to the network interface", sum of [COPY_SECONDS_PER_BYTE];
    // numbers of whole models
    ROUND_SECONDS = Seconds, "generating and applying the updates of one round (T_1)";
    STAGE_SECONDS = Seconds, "one stage of a hypercube exchange, copying included (T_C)";
}

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
