//! The kernels, which make the measurements. A kernel is one file and one line in [`ALL`]. It draws its inputs, runs between two
//! barriers and returns times and counts. Every run verifies its results.

pub mod apex_map;
pub mod calibrate;
pub mod command;
mod embedded;
mod facts;
pub mod gpu;
mod kernel;
pub mod keys;
pub mod message_rate;
pub mod node_binding;
mod parameter;
mod prelude;
pub mod random_access;
mod refusal;
pub mod shared;

pub use embedded::run_embedded;
pub use facts::{Bounded, Computations, Divided, Division, Pattern, Traffic, Windows};
pub use kernel::Kernel;
pub(crate) use node_binding::run_on_nodes;
pub use parameter::{Domain, Key, Parameter};
use parameter::{integers, key, parameter};
pub use refusal::Refusal;

pub use crate::comm::Rings;
pub use crate::parameters;
use crate::refusal;
use apexmap_base::error::{Error, Result};
use apexmap_base::point::{NODE, Point, Value};
use apexmap_base::sample::{Sample, Status};
use apexmap_base::units::Unit;
use std::collections::BTreeMap;

/// All kernels of the program. Help, validation, plans, reports and tests derive from this list.
pub static ALL: &[&Kernel] = &[
    &apex_map::sequential::KERNEL,
    &apex_map::two_sided::KERNEL,
    &apex_map::one_sided::KERNEL,
    &apex_map::chains::KERNEL,
    &apex_map::neighbours::KERNEL,
    &random_access::sequential::KERNEL,
    &random_access::sequential::STAR,
    &random_access::base::KERNEL,
    &random_access::alltoallv::KERNEL,
    &random_access::exchange::KERNEL,
    &random_access::hypercube::KERNEL,
    &random_access::routed::KERNEL,
    &random_access::roles::KERNEL,
    &random_access::one_sided::KERNEL,
    &random_access::shared::KERNEL,
    &random_access::nodes::KERNEL,
    &message_rate::ping_pong::KERNEL,
    &message_rate::patterns::STREAMING,
    &message_rate::patterns::BIDIRECTIONAL,
    &message_rate::patterns::CYCLIC,
    &message_rate::patterns::INDIRECT,
    &message_rate::patterns::BLOCK_CYCLIC,
    &message_rate::patterns::RANDOM,
    &calibrate::memory::chase::KERNEL,
    &calibrate::memory::read::KERNEL,
    &calibrate::memory::residence::KERNEL,
    &calibrate::memory::sparse::KERNEL,
    &calibrate::memory::blocks::KERNEL,
    &calibrate::memory::stream::KERNEL,
    &calibrate::memory::stride::KERNEL,
    &calibrate::memory::core_to_core::KERNEL,
    &calibrate::memory::mix::KERNEL,
    &calibrate::memory::loaded::KERNEL,
    &calibrate::memory::update_parts::LOOP,
    &calibrate::memory::update_parts::GENERATE,
    &calibrate::memory::draw::KERNEL,
    &calibrate::memory::update_parts::OWNER,
    &calibrate::memory::update_parts::DIVIDE,
    &calibrate::memory::update_parts::UPDATE,
    &calibrate::network::pair::SEND,
    &calibrate::network::pair::RECEIVE,
    &calibrate::network::mailbox::KERNEL,
    &calibrate::network::get::KERNEL,
    &calibrate::network::request::KERNEL,
    &calibrate::network::poll::KERNEL,
    &calibrate::network::copy::KERNEL,
    &calibrate::network::barrier::KERNEL,
    &calibrate::network::bisection::KERNEL,
    &command::KERNEL,
    &gpu::apex_map::KERNEL,
    &gpu::random_access::KERNEL,
    &gpu::stream::KERNEL,
    &gpu::chase::KERNEL,
    &gpu::transfer::KERNEL,
    &gpu::launch::KERNEL,
];
// [`Kernel::DEFAULT`] has no description. A kernel that leaves a part of it out does not compile.
const _: () = {
    let mut number = 0;
    while number < ALL.len() {
        let kernel = ALL[number];
        assert!(!kernel.id.is_empty() && !kernel.summary.is_empty() && !kernel.method.is_empty());
        assert!(!kernel.source.title.is_empty() && !kernel.place.is_empty());
        number += 1;
    }
};

/// Returns the family of a kernel: `apex_map` for `apex_map.sequential`.
pub fn family(id: &str) -> &str {
    id.split('.').next().unwrap_or(id)
}

/// Returns the kernel with an id such as `apex_map.two_sided`.
pub fn find(id: &str) -> Result<&'static Kernel> {
    ALL.iter().copied().find(|kernel| kernel.id == id).ok_or_else(|| {
        let ids: Vec<_> = ALL.iter().map(|kernel| kernel.id).collect();
        Error::input(format!("there is no kernel \"{id}\""), format!("use one of {}", ids.join(", ")))
    })
}

/// Returns the number of a good sample that repetitions narrow: its time, or of a command the value that figures show.
pub fn repeated_value(sample: &Sample) -> Option<f64> {
    let seconds = sample.seconds.filter(|_| sample.status == Status::Ok)?;
    let column = find(&sample.point.kernel).ok().and_then(|kernel| (kernel.repeated_output)(&sample.point));
    let printed = column.and_then(|column| sample.outputs.get(&column)?.as_f64());
    Some(printed.unwrap_or(seconds))
}

/// Parameters that points of every kernel may have: the distribution of a launch's ranks over nodes (both parameters or neither),
/// and the NUMA nodes of memory and ranks.
pub const LAUNCH_PARAMETERS: [Parameter; 4] = [
    parameter("nodes", "number of nodes; with ranks_per_node it sets the number of ranks", COUNT_DOMAIN),
    parameter(
        "ranks_per_node",
        "ranks per node; \"cores\", \"hardware threads\" and \"node\" refer to the machine that reads the sweep",
        COUNT_DOMAIN,
    ),
    MEMORY_NODE.parameter,
    CORE_NODE.parameter,
];
pub const MEMORY_NODE: Key<u64> = key(
    "memory_node",
    "NUMA node for the memory of all ranks; as an axis, \"all\" means every one with memory; if omitted, the system chooses",
    NUMA_NODE_DOMAIN,
);
pub const CORE_NODE: Key<u64> = key(
    "core_node",
    "NUMA node whose cores run the ranks, which must be threads of one process; as an axis, \"all\" means every one with \
     cores; if omitted, the launch decides",
    NUMA_NODE_DOMAIN,
);
const NUMA_NODE_DOMAIN: Domain = integers(0..=1023, 0);
const COUNT_DOMAIN: Domain = integers(1..=1 << 24, 1);

/// A value that a kernel reports in addition to its time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Output {
    /// Column in stores, with the unit in its name.
    pub column: &'static str,
    /// The base unit of its values.
    pub unit: Unit,
    /// Its meaning in a few words, for help and reports.
    pub meaning: &'static str,
}

const fn output(column: &'static str, unit: Unit, meaning: &'static str) -> Output {
    Output { column, unit, meaning }
}

/// The work of one run of a point, over all ranks. All rates are computed from it.
#[derive(Clone, Copy, Debug, PartialEq)]
#[must_use]
pub struct Work {
    /// Number of accesses, updates or messages.
    pub operations: f64,
    /// The name of one operation: `access`.
    pub operation: &'static str,
    /// Bytes that these operations moved, over all ranks.
    pub bytes: f64,
    /// The definition of the counted bytes, in a few words.
    pub byte_definition: &'static str,
}

impl Work {
    fn new(operations: f64, operation: &'static str, bytes: f64, byte_definition: &'static str) -> Self {
        Self { operations, operation, bytes: operations * bytes, byte_definition }
    }
}

/// The number of ranks that a kernel runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ranks {
    /// One rank only.
    One,
    /// One rank or more. [`Kernel::check`] may require an even number or a power of two.
    Any,
}

/// The outcome of a run. Only rank 0's value is used; other ranks return one too.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Time of the slowest rank, in seconds.
    pub seconds: f64,
    /// The values of [`Kernel::outputs`], by column.
    pub outputs: BTreeMap<&'static str, Value>,
    /// The verdict of the verification; `Err` describes the wrong results.
    pub verdict: Result<(), String>,
}

fn suggest_multi_rank_kernels(kernel: &Kernel) -> String {
    let is_candidate = |other: &&&Kernel| family(other.id) == family(kernel.id) && other.ranks == Ranks::Any;
    let ids: Vec<&str> = ALL.iter().filter(is_candidate).map(|other| other.id).collect();
    if ids.is_empty() { String::new() } else { format!("; for several ranks use {}", ids.join(" or ")) }
}

fn find_for(point: &Point) -> Result<&'static Kernel, Refusal> {
    find(&point.kernel).map_err(|error| refusal!(["kernel"], "{}", error.message))
}

/// Completes a point with its kernel's defaults and checks names, domains, ranks and combinations.
///
pub fn complete(point: Point) -> Result<Point, Refusal> {
    let kernel = find_for(&point)?;
    let parameters = kernel.parameters;
    let is_known = |name: &str| {
        kernel.has_own_parameters || name == NODE || parameters.iter().chain(&LAUNCH_PARAMETERS).any(|p| p.name == name)
    };
    if let Some(name) = point.params.keys().find(|name| !is_known(name)) {
        let names: Vec<_> = parameters.iter().map(|p| p.name).collect();
        return Err(refusal!([kernel.id], "{} has no parameter {name}; it has {}", kernel.id, names.join(", ")));
    }
    let point = fill_defaults(point)?;
    kernel.check(&point)?;
    if MEMORY_NODE.get(&point).is_some() && kernel.arena_words(&point) == 0 {
        return Err(refusal!(
            [kernel.id, MEMORY_NODE.parameter.name],
            "{} has no memory that memory_node could place; leave it out",
            kernel.id
        ));
    }
    Ok(point)
}

/// Completes a point like [`complete`] that was already measured, perhaps elsewhere and by an earlier version. Parameters that
/// the kernel does not know remain. Combinations are not checked, because they may depend on the machine.
///
pub fn fill_defaults(mut point: Point) -> Result<Point, Refusal> {
    let kernel = find_for(&point)?;
    for parameter in kernel.parameters {
        if let Some(value) = point.params.get(parameter.name).cloned().or_else(|| parameter.default_value()) {
            point.params.insert(parameter.name.to_owned(), parameter.convert(&value)?);
        }
    }
    let size = point.launch_size();
    if let (Some(nodes), Some(per_node)) = (size.nodes, size.ranks_per_node)
        && nodes.checked_mul(per_node) != Some(point.ranks)
    {
        return Err(refusal!(
            ["ranks", "nodes", "ranks_per_node"],
            "ranks = {} is not nodes = {nodes} times ranks_per_node = {per_node}",
            point.ranks
        ));
    }
    if point.ranks == 0 {
        return Err(refusal!(["ranks"], "at least one rank is needed"));
    }
    if kernel.ranks == Ranks::One && point.ranks != 1 {
        return Err(refusal!(
            [kernel.id, "ranks"],
            "{} runs on one rank, not on {}{}",
            kernel.id,
            point.ranks,
            suggest_multi_rank_kernels(kernel)
        ));
    }
    choose_defaults(&mut point);
    Ok(point)
}

pub fn choose_defaults(point: &mut Point) {
    let parameters = find(&point.kernel).map_or(&[][..], |kernel| kernel.parameters);
    for parameter in parameters {
        if let (Domain::Chosen { choose, .. }, false) = (parameter.domain, point.params.contains_key(parameter.name)) {
            let value = choose(point);
            point.params.insert(parameter.name.to_owned(), value.into());
        }
    }
}
