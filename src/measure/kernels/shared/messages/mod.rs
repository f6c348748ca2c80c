//! Messages in rounds (Underwood, Levenhagen and Brightwell, Section 5). Every message carries its sender, receiver, number and
//! round. Its last item is checked after each round, and its whole content after the run. Puts are checked only after the run. The
//! time of stamps and checks is measured separately, before the clock starts, on lines in a cache. If a network writes to memory,
//! the check of such a line takes longer, and this additional time remains in the results.

pub mod content;
pub mod measure;
mod one_sided;
pub mod route;
mod two_sided;

use crate::kernels::prelude::*;
use crate::kernels::shared::parameters::seed_key;
use crate::provenance;
use route::{Route, Stream};

pub const MESSAGE_BYTES: Key<u64> =
    key("message_bytes", "message size: bytes of content, a multiple of 4", integers(ITEM_BYTES..=1 << 30, 8))
        .in_column("message_bytes", Unit::Bytes);
pub const WINDOW: Key<u64> = key(
    "window",
    "window: messages per destination before the sender waits for all of them; with 1, single messages are timed",
    integers(1..=1 << 20, 64),
);
pub const MESSAGES: Key<u64> = key(
    "messages",
    "messages per sender and destination in one run, a multiple of the window",
    integers(1..=1 << 32, 1024),
);
pub const OPERATION: Key<Operation> =
    choice_key("operation", "operation: send (two-sided, received and acknowledged) or put (one-sided)");
choice! { pub enum Operation { Send = "send", Put = "put" } }
pub const BUFFERS: Key<Buffers> = choice_key(
    "buffers",
    "buffers: distinct (one buffer per message of a window) or one (one buffer shared by all messages, as in the OSU micro-benchmarks)",
);
choice! { pub enum Buffers { Distinct = "distinct", One = "one" } }
pub const CACHES: Key<Caches> = choice_key(
    "caches",
    "caches: warm or cold; with cold, every rank reads cache_bytes of other memory before each round, untimed",
);
choice! { pub enum Caches { Warm = "warm", Cold = "cold" } }
pub const CACHE_BYTES: Key<u64> = key(
    "cache_bytes",
    "memory read to evict the caches, in bytes, if caches = cold; 0 means the size of the largest cache \
        the system reports",
    integers(0..=1 << 40, 0),
)
.in_column("cache_bytes", Unit::Bytes);
pub const SENDERS: Key<u64> = key(
    "senders",
    "senders: ranks per node; each rank of the first node sends to its counterparts on the other nodes",
    integers(1..=1 << 16, 1),
)
.in_column("senders_per_node", Unit::None);
pub(crate) const SEED: Key<u64> = seed_key("seed of the random destinations");

/// An `int` of the paper.
const ITEM_BYTES: u64 = 4;
/// Each message begins on its own cache line. Some architectures have longer lines.
const LINE_ITEMS: usize = if cfg!(target_arch = "aarch64") {
    64
} else if cfg!(target_arch = "powerpc64") {
    32
} else {
    16
};

pub const OUTPUTS: &[Output] = &[
    output("message_seconds_min", Unit::Seconds, "mean time per message in rank 0's fastest round"),
    output("message_seconds_p05", Unit::Seconds, "mean time per message in a round, 5th percentile of rank 0's rounds"),
    output("message_seconds_p50", Unit::Seconds, "mean time per message in a round, median of rank 0's rounds"),
    output(
        "message_seconds_p95",
        Unit::Seconds,
        "mean time per message in a round, 95th percentile of rank 0's rounds",
    ),
    output(
        "message_seconds_p99",
        Unit::Seconds,
        "mean time per message in a round, 99th percentile of rank 0's rounds",
    ),
    output("message_seconds_max", Unit::Seconds, "mean time per message in rank 0's slowest round"),
    output(
        "stamping_seconds",
        Unit::Seconds,
        "time of rank 0's stamps and checks per message, measured alone and subtracted from all times",
    ),
    output("rounds", Unit::None, "number of rounds in one run"),
    output("sending_ranks", Unit::None, "number of ranks that send"),
    output("warm_up_rounds", Unit::None, "number of rounds before the clock started"),
    output("steady", Unit::None, "1 if the rounds were no longer getting faster when the clock started"),
    output(
        "invalidated_bytes",
        Unit::Bytes,
        "bytes that each rank read before each round to evict the caches; \
        absent if caches were warm",
    ),
    output("wrong_messages", Unit::None, "number of messages with wrong content"),
];

macro_rules! kernel {
    ($pattern:expr, $refuse:expr) => {
        Kernel {
            outputs: OUTPUTS,
            pattern: Some($pattern),
            windows: Windows::If(OPERATION.parameter.name, "put"),
            simulation: Some(Computations::None),
            family_check: |_, point| check(point),
            refuse: $refuse,
            work: |point| work($pattern, point),
            arena_words,
            buffer_bytes: |point| buffer_bytes($pattern, point),
            total_memory: |_, point| total_memory($pattern, point),
            rings: |point| rings($pattern, point),
            ..Kernel::DEFAULT
        }
    };
}

pub(crate) const PING_PONG: Kernel = kernel!(Pattern::PingPong, require_even_ranks);
pub(crate) const ONE_WAY: Kernel = kernel!(Pattern::OneWay, require_even_ranks);
pub(crate) const BOTH_WAYS: Kernel = kernel!(Pattern::BothWays, require_even_ranks);
pub(crate) const ONE_TO_MANY: Kernel = kernel!(Pattern::OneToMany, |_| Ok(()));
pub(crate) const RANDOM: Kernel = kernel!(Pattern::Random, |_| Ok(()));

fn fan_out(pattern: Pattern, point: &Point) -> (u64, u64) {
    let ranks = point.ranks as u64;
    match pattern {
        Pattern::PingPong | Pattern::BothWays | Pattern::Random => (ranks, 1),
        Pattern::OneWay => (ranks / 2, 1),
        Pattern::OneToMany => (SENDERS.of(point), remote_nodes(point)),
    }
}

/// The paper's `numNids`; 0 for a damaged point with too few ranks.
pub(crate) fn remote_nodes(point: &Point) -> u64 {
    (point.ranks as u64 / SENDERS.of(point)).saturating_sub(1)
}

fn check(point: &Point) -> Result<(), Refusal> {
    let (bytes, window, messages) = (MESSAGE_BYTES.of(point), WINDOW.of(point), MESSAGES.of(point));
    if bytes % ITEM_BYTES != 0 {
        let (below, above) = (bytes / ITEM_BYTES * ITEM_BYTES, bytes.next_multiple_of(ITEM_BYTES));
        return Err(refusal!(
            ["message_bytes"],
            "message_bytes = {bytes} is not a multiple of 4; use {below} or {above}"
        ));
    }
    if messages % window != 0 {
        let above = messages.next_multiple_of(window);
        return Err(refusal!(
            ["messages", "window"],
            "messages = {messages} is not a multiple of window = {window}; use {above}"
        ));
    }
    if messages / window > 1 << 24 {
        let rounds = messages / window;
        return Err(refusal!(
            ["messages", "window"],
            "{rounds} rounds are more than 2^24; use fewer messages or a longer window"
        ));
    }
    Ok(())
}

fn work(pattern: Pattern, point: &Point) -> Work {
    let (senders, destinations) = fan_out(pattern, point);
    let operations = senders as f64 * destinations as f64 * MESSAGES.of(point) as f64;
    Work::new(
        operations,
        "message",
        MESSAGE_BYTES.of(point) as f64,
        "content of the messages, each counted once, message_bytes per message",
    )
}

/// For a rank that sends and receives. With random destinations a rank may receive more than its share.
fn buffer_bytes(pattern: Pattern, point: &Point) -> u64 {
    let sent = WINDOW.of(point).saturating_mul(fan_out(pattern, point).1);
    let buffers = if has_one_buffer(point) { 2 } else { sent.saturating_add(kept(point)) };
    buffers.saturating_mul(stride_bytes(point))
}

/// Each message occupies memory at both ends. If few ranks send to all others, the total is less than P times the memory of a
/// sender.
fn total_memory(pattern: Pattern, point: &Point) -> u64 {
    let ((senders, receivers), ranks) = (fan_out(pattern, point), point.ranks as u64);
    let pairs = senders.saturating_mul(receivers);
    let places = if has_one_buffer(point) {
        2 * ranks
    } else {
        pairs.saturating_mul(WINDOW.of(point).saturating_add(kept(point)))
    };
    let arenas = arena_words(point).saturating_mul(WORD_BYTES).saturating_mul(ranks);
    places.saturating_mul(stride_bytes(point)).saturating_add(arenas)
}

fn stride_bytes(point: &Point) -> u64 {
    (Shape::new(point).stride as u64).saturating_mul(ITEM_BYTES)
}

/// Received messages per sender that have their own place.
fn kept(point: &Point) -> u64 {
    if is_put(point) { MESSAGES.of(point) } else { WINDOW.of(point) }
}

fn arena_words(point: &Point) -> u64 {
    invalidated_bytes(point).unwrap_or(0) / WORD_BYTES
}

fn rings(pattern: Pattern, point: &Point) -> Vec<Rings> {
    let (senders, receivers) = fan_out(pattern, point);
    if is_put(point) {
        return Vec::new();
    }
    // Random destinations may include all other ranks. Each receives a few messages at a time.
    if SEED.get(point).is_some() {
        let places = Rings::for_messages(0).places / 2;
        return vec![Rings::new(places, point.ranks as u64 - 1); 2];
    }
    let mean = senders.saturating_mul(receivers).div_ceil(point.ranks as u64);
    vec![Rings::for_messages(mean); 2]
}

pub(crate) fn is_put(point: &Point) -> bool {
    OPERATION.of(point) == Operation::Put
}

fn has_one_buffer(point: &Point) -> bool {
    BUFFERS.of(point) == Buffers::One
}

fn invalidated_bytes(point: &Point) -> Option<u64> {
    match (CACHES.of(point), CACHE_BYTES.of(point)) {
        (Caches::Warm, _) => None,
        (Caches::Cold, 0) => provenance::largest_cache_bytes(),
        (Caches::Cold, bytes) => Some(bytes),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Length of a message.
    pub items: usize,
    /// Distance between the starts of consecutive messages, in items.
    pub stride: usize,
    pub window: usize,
    pub rounds: usize,
    /// Whether one buffer holds all messages to a rank, or from a rank.
    pub one_buffer: bool,
}

impl Shape {
    pub fn new(point: &Point) -> Self {
        let items = (MESSAGE_BYTES.of(point) / ITEM_BYTES) as usize;
        let window = WINDOW.of(point) as usize;
        Self {
            items,
            stride: items.next_multiple_of(LINE_ITEMS),
            window,
            rounds: MESSAGES.of(point) as usize / window,
            one_buffer: has_one_buffer(point),
        }
    }
}

/// Runs a pattern with the point's operation. Ranks that do not send have no route. Collective.
pub(crate) fn run_route<C: PointToPoint + Rma, R: Route>(
    comm: &C,
    point: &Point,
    arena: &mut Arena,
    route: Option<&R>,
    acknowledged: bool,
) -> Result<Outcome> {
    if is_put(point) {
        one_sided::run(comm, point, arena, route)
    } else {
        two_sided::run(comm, point, arena, route, acknowledged)
    }
}

/// Runs windows in both directions between each rank of the first half and its partner. Collective.
pub fn run_both_directions<C: PointToPoint + Rma>(comm: &C, point: &Point, arena: &mut Arena) -> Result<Outcome> {
    let partner = (comm.rank() + comm.size() / 2) % comm.size();
    run_route(comm, point, arena, Some(&Stream { window: Shape::new(point).window, partner }), false)
}
