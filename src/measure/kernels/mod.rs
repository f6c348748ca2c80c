//! The kernels: the measurements. A kernel is one file and one line in [`ALL`].
//!
//! A kernel draws its inputs, runs between two barriers and returns times and counts; rates are computed in one place
//! (`table::derive`) from its [`Work`]. It verifies its results in every run.

pub mod apex_map;
pub mod calibrate;
mod here;
pub mod message_rate;
pub mod on_node;
mod parameter;
pub mod random_access;
pub mod shared;

pub use here::run_here;
pub(crate) use on_node::run;
use parameter::{Choices, parameter};
pub use parameter::{Domain, Parameter};

pub use crate::comm::Rings;
use crate::comm::World;
use apexmap_base::error::{Error, Result};
use apexmap_base::point::{Point, Value};
use apexmap_base::source::Source;
use apexmap_base::units::{Unit, plural};
use std::collections::BTreeMap;

/// Every kernel of the program; help, validation, plans, reports and tests derive from this list.
pub const ALL: &[&dyn Kernel] = &[
    &apex_map::SEQUENTIAL,
    &apex_map::TWO_SIDED,
    &apex_map::ONE_SIDED,
    &apex_map::CHAINS,
    &apex_map::NEIGHBOURS,
    &random_access::sequential::KERNEL,
    &random_access::star::KERNEL,
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
    &message_rate::streaming::KERNEL,
    &message_rate::bidirectional::KERNEL,
    &message_rate::cyclic::KERNEL,
    &message_rate::indirect::KERNEL,
    &message_rate::block_cyclic::KERNEL,
    &message_rate::random::KERNEL,
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
    &calibrate::memory::update_loop::KERNEL,
    &calibrate::memory::generate::KERNEL,
    &calibrate::memory::draw::KERNEL,
    &calibrate::memory::owner::KERNEL,
    &calibrate::memory::update::KERNEL,
    &calibrate::network::send::KERNEL,
    &calibrate::network::receive::KERNEL,
    &calibrate::network::mailbox::KERNEL,
    &calibrate::network::get::KERNEL,
    &calibrate::network::request::KERNEL,
    &calibrate::network::poll::KERNEL,
    &calibrate::network::copy::KERNEL,
    &calibrate::network::barrier::KERNEL,
    &calibrate::network::bisection::Bisection,
];

/// `apex_map` of `apex_map.sequential`.
pub fn family(id: &str) -> &str {
    id.split('.').next().unwrap_or(id)
}

/// The kernel with this id, such as `apex_map.two_sided`.
///
/// # Errors
/// If there is none: the error lists all.
pub fn find(id: &str) -> Result<&'static dyn Kernel> {
    ALL.iter().copied().find(|kernel| kernel.id() == id).ok_or_else(|| {
        let known: Vec<_> = ALL.iter().map(|kernel| kernel.id()).collect();
        Error::input(format!("there is no kernel \"{id}\""), format!("use one of {}", known.join(", ")))
    })
}

/// Parameters that points of every kernel may have: how a launch spreads its ranks over nodes, both or none; and on which
/// NUMA nodes memory and ranks are.
pub const OF_LAUNCHES: [Parameter; 4] = [
    parameter("nodes", "nodes", "number of nodes; with ranks_per_node it sets the number of ranks", A_COUNT),
    parameter(
        "ranks_per_node",
        "ranks_per_node",
        "ranks on each node; \"cores\", \"hardware threads\" and \"node\" mean those of the machine that reads the sweep",
        A_COUNT,
    ),
    parameter(
        MEMORY_NODE,
        MEMORY_NODE,
        "NUMA node on which the memory of all ranks is; where the system puts it, if left out",
        A_NUMA_NODE,
    ),
    parameter(
        CORE_NODE,
        CORE_NODE,
        "NUMA node on whose cores the ranks run, which are threads of one process; where the launch put them, if left out",
        A_NUMA_NODE,
    ),
];
const MEMORY_NODE: &str = "memory_node";
const CORE_NODE: &str = "core_node";
const A_NUMA_NODE: Domain = Domain::Integer { least: 0, most: 1023, default: 0 };
const A_COUNT: Domain = Domain::Integer { least: 1, most: 1 << 24, default: 1 };

/// Something a kernel reports besides its seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Output {
    /// Column in stores, with its unit.
    pub column: &'static str,
    /// The base unit of its values.
    pub unit: Unit,
    /// What it is, in a few words for help and reports.
    pub meaning: &'static str,
}

const fn output(column: &'static str, unit: Unit, meaning: &'static str) -> Output {
    Output { column, unit, meaning }
}

/// What one run of a point amounts to, over all ranks: the only input of every rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Work {
    /// Accesses, updates or messages.
    pub operations: f64,
    /// What one operation is called: `access`.
    pub operation: &'static str,
    /// Bytes that these operations moved, over all ranks.
    pub bytes: f64,
    /// Which bytes count, in a few words.
    pub byte_definition: &'static str,
}

/// How many ranks a kernel runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ranks {
    /// One rank only.
    One,
    /// One rank or more; [`Kernel::check`] may ask for an even number or a power of two.
    Any,
}

/// What a run gave, on rank 0 (other ranks return it too, but nobody reads theirs).
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Time of the slowest rank, in seconds.
    pub seconds: f64,
    /// What [`About::outputs`] lists, by column.
    pub outputs: BTreeMap<&'static str, Value>,
    /// `Err` says what the verification found wrong.
    pub verdict: std::result::Result<(), String>,
}

/// What a kernel is, for help, validation, stores and reports.
#[derive(Debug)]
pub struct About {
    /// `family.variant`, unique.
    pub id: &'static str,
    /// What it measures, in one line.
    pub summary: &'static str,
    /// The paper or definition that it follows.
    pub source: &'static Source,
    /// Table, figure or section of the source.
    pub place: &'static str,
    /// What a point of it sets; what it does not set gets its default.
    pub parameters: &'static [Parameter],
    /// What a run reports besides its time.
    pub outputs: &'static [Output],
    /// How many ranks it runs on.
    pub ranks: Ranks,
    /// The column that figures and summaries show by default.
    pub headline: &'static str,
    /// What one sample is, what is on the clock and what is checked: a paragraph of the report.
    pub method: &'static str,
}

/// A probe: what is run and timed at a point.
pub trait Kernel: Sync {
    /// The description that help, validation, results and reports take.
    fn about(&self) -> &'static About;
    /// Checks a combination of parameters; each of them is within its domain.
    ///
    /// # Errors
    /// The reason why it cannot be run, and what would be accepted.
    fn check(&self, point: &Point) -> std::result::Result<(), String>;
    /// Operations and bytes of one run, over all ranks, if it does all that the point asks.
    ///
    /// # Panics
    /// If the point is not complete; see [`complete`].
    fn work(&self, point: &Point) -> Work;
    /// Work of a run that gave these outputs, if it may do less than the point asks.
    fn done(&self, point: &Point, outputs: &BTreeMap<String, Value>) -> Work {
        let _ = outputs;
        self.work(point)
    }
    /// Total bytes of memory per rank.
    ///
    /// # Panics
    /// If the point is not complete.
    fn memory(&self, point: &Point) -> u64;
    /// Bytes of memory of all ranks together, where some need less than others.
    ///
    /// # Panics
    /// If the point is not complete.
    fn memory_of_all(&self, point: &Point) -> u64 {
        self.memory(point).saturating_mul(point.ranks as u64)
    }
    /// Words (8 bytes) of it from the arena: allocated and filled once per launch, for the largest point.
    ///
    /// # Panics
    /// If the point is not complete.
    fn arena_words(&self, point: &Point) -> u64;
    /// Rings through which its messages travel where ranks are threads, besides [`Kernel::memory`]; a plan of memory counts them.
    ///
    /// # Panics
    /// If the point is not complete.
    fn rings(&self, point: &Point) -> Vec<Rings> {
        let _ = point;
        Vec::new()
    }
    /// Whether its operations take memory in order, so that their bytes alone tell, very roughly, how long they take.
    fn in_order(&self) -> bool {
        false
    }
    /// Runs the point once. Collective over the world's ranks; `stream` numbers the run, so each draws other values.
    /// [`run_here`] makes a world of threads.
    ///
    /// # Errors
    /// If memory or the transport fails. A wrong result is no error but a [verdict](Outcome::verdict).
    ///
    /// # Panics
    /// If the point is not complete.
    fn run(&self, point: &Point, stream: u64, world: &mut World) -> Result<Outcome>;

    /// As [`About::id`].
    fn id(&self) -> &'static str {
        self.about().id
    }
    /// As [`About::parameters`].
    fn parameters(&self) -> &'static [Parameter] {
        self.about().parameters
    }
    /// As [`About::outputs`].
    fn outputs(&self) -> &'static [Output] {
        self.about().outputs
    }
}

/// For kernels without messages.
fn no_rings(_: &Point) -> Vec<Rings> {
    Vec::new()
}

/// For kernels whose first half of ranks works with the second.
fn in_pairs(point: &Point) -> std::result::Result<(), String> {
    if !point.ranks.is_multiple_of(2) {
        return Err(format!("{} cannot be paired; use an even number", plural(point.ranks, "rank")));
    }
    Ok(())
}

/// The kernels of the same family that run on several ranks, as advice.
fn for_several_ranks(kernel: &dyn Kernel) -> String {
    let alike = |other: &&&dyn Kernel| family(other.id()) == family(kernel.id()) && other.about().ranks == Ranks::Any;
    let ids: Vec<&str> = ALL.iter().filter(alike).map(|other| other.id()).collect();
    if ids.is_empty() { String::new() } else { format!("; for several ranks use {}", ids.join(" or ")) }
}

/// Completes a point with its kernel's defaults and checks it whole: names, domains, ranks, combinations.
///
/// # Errors
/// What is wrong with the point, in one sentence.
pub fn complete(point: Point) -> std::result::Result<Point, String> {
    let kernel = find(&point.kernel).map_err(|e| e.what)?;
    let parameters = kernel.parameters();
    let is_known = |name: &str| parameters.iter().chain(&OF_LAUNCHES).any(|p| p.name == name);
    if let Some(name) = point.params.keys().find(|name| !is_known(name)) {
        let known: Vec<_> = parameters.iter().map(|p| p.name).collect();
        return Err(format!("{} has no parameter {name}; it has {}", kernel.id(), known.join(", ")));
    }
    let point = fill(point)?;
    kernel.check(&point)?;
    if point.params.contains_key(MEMORY_NODE) && kernel.arena_words(&point) == 0 {
        return Err(format!("{} has no memory that could be on a memory_node; leave it out", kernel.id()));
    }
    Ok(point)
}

/// As [`complete`], of a point that was measured, maybe elsewhere and by an earlier version: parameters that its kernel does not
/// know stay, and combinations are not checked, which may depend on the machine.
///
/// # Errors
/// What is wrong with the point, in one sentence.
pub fn fill(mut point: Point) -> std::result::Result<Point, String> {
    let kernel = find(&point.kernel).map_err(|e| e.what)?;
    for parameter in kernel.parameters() {
        if let Some(value) = point.params.get(parameter.name).cloned().or_else(|| parameter.default_value()) {
            point.params.insert(parameter.name.to_owned(), parameter.accept(&value)?);
        }
    }
    let size = point.launch_size();
    if let (Some(nodes), Some(each)) = (size.nodes, size.ranks_per_node)
        && nodes.checked_mul(each) != Some(point.ranks)
    {
        return Err(format!("ranks = {} is not nodes = {nodes} times ranks_per_node = {each}", point.ranks));
    }
    if point.ranks == 0 {
        return Err("at least one rank is needed".into());
    }
    if kernel.about().ranks == Ranks::One && point.ranks != 1 {
        return Err(format!("{} runs on one rank, not on {}{}", kernel.id(), point.ranks, for_several_ranks(kernel)));
    }
    choose(&mut point);
    Ok(point)
}

/// Gives the parameters whose default follows the point their value, where the point has none and all others.
pub fn choose(point: &mut Point) {
    let parameters = find(&point.kernel).map_or(&[][..], |kernel| kernel.parameters());
    for parameter in parameters {
        if let (Domain::Chosen { choose, .. }, false) = (parameter.domain, point.params.contains_key(parameter.name)) {
            let value = choose(point);
            point.params.insert(parameter.name.to_owned(), value.into());
        }
    }
}
