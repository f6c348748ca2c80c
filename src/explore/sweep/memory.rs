//! Memory: what the ranks of a point take, and sizes that follow the machine: shares of its memory, what lies beyond its caches.

use super::spec::{Machine, Scalar};
use crate::measure::comm::{TransportKind, UNEXPECTED_MESSAGES, threads};
use crate::measure::kernels::{self, Domain, Parameter};
use crate::point::{Point, Value};
use crate::units::WORD_BYTES;

/// Bytes that a rank of a point takes at most: what its kernel says, and on threads the rings to all other ranks.
pub fn per_rank(point: &Point, transport: TransportKind) -> u64 {
    let own = kernels::find(&point.kernel).map_or(0, |kernel| kernel.memory(point));
    let rings = if transport == TransportKind::Threads { rings(point) } else { 0 };
    own.saturating_add(rings)
}

/// Bytes of a rank's part of the rings of threads at most, by the parameters of all kernels that send messages.
fn rings(point: &Point) -> u64 {
    let number = |name| match point.params.get(name) {
        Some(Value::Integer(number)) => Some(*number),
        _ => None,
    };
    let puts = matches!(point.params.get("operation"), Some(Value::Text(operation)) if operation == "put");
    let places = match number("SMSG") {
        Some(handles) => handles.max(number("B").unwrap_or(0)),
        // Messages without handles, and mailboxes with fewer.
        None if !puts && ["messages", "rounds", "looks"].iter().any(|name| number(name).is_some()) => {
            UNEXPECTED_MESSAGES as u64
        }
        None => 0,
    };
    if places == 0 {
        return 0;
    }
    // Requests and replies, data and acknowledgements; or one for each dimension of a grid, and one more for what roles pass on.
    let stages = u64::from(point.ranks.max(1).ilog2()) + 1;
    let sets = number("dimensions").map_or(2, |dimensions| dimensions.max(3).min(stages) + 1);
    (point.ranks as u64).saturating_mul(sets).saturating_mul(threads::ring_bytes(places))
}

/// What a value is to be multiplied by, if anything.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Amount {
    InAll,
    PerRank,
    /// This share of a node's memory instead of the value.
    OfMemory(f64),
    /// So much for every rank, instead of the value, that its accesses leave all caches.
    BeyondCaches,
}

/// The value of a [`Domain::Global`] that stands for [`Amount::BeyondCaches`].
pub const BEYOND_CACHES: &str = "beyond caches";

/// The paper's size per rank (64 Mwords, Section 3.3), which is the least beyond caches.
const LEAST_WORDS: u64 = 64 << 20;
/// How many times the last cache memory is, so that little of it is cached.
const TIMES_CACHE: u64 = 4;
/// Part of a node's memory that its ranks take at most.
const MOST_OF_MEMORY: f64 = 0.25;

/// That of a parameter which a sweep does not name.
pub fn default_amount(parameter: &Parameter) -> Amount {
    match parameter.domain {
        Domain::Size { .. } => Amount::OfMemory(0.5),
        Domain::Global { .. } => Amount::BeyondCaches,
        _ => Amount::InAll,
    }
}

/// The machine, and how many ranks share the memory of a node.
#[derive(Clone, Copy)]
pub struct Sizes {
    pub machine: Machine,
    /// All if absent.
    pub ranks_per_node: Option<usize>,
}

impl Sizes {
    /// Words that a parameter gets for this amount; `None` if the amount is a plain number.
    pub fn words(&self, point: &Point, parameter: &Parameter, amount: Amount) -> Option<u64> {
        match amount {
            Amount::OfMemory(part) => Some(largest(point, parameter.name, self.bytes_per_rank(point, part))),
            Amount::BeyondCaches => {
                let most = match self.machine.memory {
                    0 => u64::MAX,
                    _ => power_below((self.bytes_per_rank(point, MOST_OF_MEMORY) / WORD_BYTES as f64) as u64),
                };
                Some(beyond_caches(&self.machine).min(most).saturating_mul(point.ranks as u64))
            }
            Amount::InAll | Amount::PerRank => None,
        }
    }

    fn bytes_per_rank(&self, point: &Point, part: f64) -> f64 {
        let per_node = point.launch_size().ranks_per_node.or(self.ranks_per_node);
        let neighbours = per_node.map_or(point.ranks, |most| most.min(point.ranks));
        part * self.machine.memory as f64 / neighbours.max(1) as f64
    }
}

/// Words of a rank's memory that lie beyond the caches of this machine: a power of two, 64 Mwords at least.
pub fn beyond_caches(machine: &Machine) -> u64 {
    LEAST_WORDS.max(TIMES_CACHE * machine.last_cache / WORD_BYTES).next_power_of_two()
}

/// The largest power of two that is not above this one; 1 at least.
fn power_below(words: u64) -> u64 {
    1 << words.max(1).ilog2()
}

/// The largest power of two of words for which a rank needs at most this many bytes for what the words count.
fn largest(point: &Point, name: &str, bytes: f64) -> u64 {
    let Ok(kernel) = kernels::find(&point.kernel) else { return 1 };
    let fits = |words: &u64| {
        let words = kernel.arena_words(&point.clone().with(name, *words));
        words as f64 * WORD_BYTES as f64 <= bytes
    };
    (0..60).rev().map(|bits| 1 << bits).find(fits).unwrap_or(1)
}

/// "1/2 of memory", "25 % of memory", "0.1 of memory".
pub fn share_of_memory(scalar: &Scalar) -> std::result::Result<Option<f64>, String> {
    let Scalar::Text(text) = scalar else { return Ok(None) };
    let Some(share) = text.trim_end().strip_suffix("of memory") else { return Ok(None) };
    let number = |text: &str| text.trim().parse::<f64>().ok();
    let value = match (share.split_once('/'), share.trim_end().strip_suffix('%')) {
        (Some((above, below)), _) => number(above).zip(number(below)).map(|(above, below)| above / below),
        (None, Some(percent)) => number(percent).map(|percent| percent / 100.0),
        (None, None) => number(share),
    };
    match value {
        Some(value) if value > 0.0 && value <= 1.0 => Ok(Some(value)),
        _ => Err(format!("\"{text}\" is not a fraction of memory; write \"1/2 of memory\" or \"25 % of memory\"")),
    }
}
