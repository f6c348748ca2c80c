//! Simulated machines from cards. A number that the card does not have is an error, which names all such numbers and the commands
//! that measure them. Some numbers can be derived from others; [`assumptions`] lists them.

// The methods listed in clippy.toml are disallowed here: files of a result are opened with `regular_file` or `new_file`.
#![warn(clippy::disallowed_methods)]

mod computation;
mod envelope;
mod interface;
mod numbers;
mod paths;
mod places;

pub use computation::computation_costs;
pub use envelope::{envelope, share_node};
pub use numbers::missing_error;

use apexmap_base::error::{Error, Result};
use apexmap_base::point::Point;
use apexmap_measure::comm::simulated::{Machine, Time, picoseconds};
use apexmap_measure::kernels;
use apexmap_theory::machine::{Card, Entry, KERNEL, catalogue};
use apexmap_theory::models::card_number;
use numbers::Numbers;

/// If neither the sweep nor the user sets them: the number in `[network]`, all cores of the node on which the card was measured, or
/// 1.
pub fn ranks_per_node(card: &Card) -> usize {
    let given = card.network.as_ref().and_then(|shape| shape.ranks_per_node);
    let cores = card.get(catalogue::CORES.name).filter(|_| paths::is_of_one_node(card));
    given.or(cores.map(|cores| cores as usize)).unwrap_or(1)
}

pub fn machine(card: &Card, nodes: usize, ranks_per_node: usize) -> Result<Machine> {
    build(card, nodes, ranks_per_node).map(|(machine, _)| machine)
}

/// The numbers of [`machine`] that the card does not have, with their values or sources, in one sentence each.
pub fn assumptions(card: &Card, nodes: usize, ranks_per_node: usize) -> Result<Vec<String>> {
    build(card, nodes, ranks_per_node).map(|(_, assumptions)| assumptions)
}

/// The names of the numbers that a simulation of this point needs and the card does not have; none if another reason prevents the
/// simulation. [`missing_error`] makes an error of them.
pub fn missing_numbers(card: &Card, nodes: usize, ranks_per_node: usize, point: &Point) -> Vec<&'static str> {
    let mut numbers = Numbers::new(card);
    // Other reasons are errors of the machine and of the costs.
    let _ = find_machine(&mut numbers, nodes, ranks_per_node);
    let _ = computation::find_costs(&mut numbers, point);
    if !waits_for_each_message(point) {
        paths::require_overheads(&mut numbers, nodes, ranks_per_node);
    }
    numbers.missing().to_vec()
}

/// The values of variables from which the simulation extrapolates, because the numbers of the card were measured or printed for
/// these: `P = 1 to 16`.
pub fn extrapolations(card: &Card, nodes: usize, ranks_per_node: usize, point: &Point) -> Vec<String> {
    let mut numbers = Numbers::new(card);
    // Missing numbers are errors of the machine and of the costs.
    let _ = find_machine(&mut numbers, nodes, ranks_per_node);
    let _ = computation::find_costs(&mut numbers, point);
    numbers.extrapolations(point)
}

/// The time of a core while this many cores of its node compute, over that of a core alone: the clock falls evenly from one to
/// all. 1 without the clocks.
pub fn slowdown(card: &Card, ranks_on_node: usize) -> f64 {
    let (clock, cores) = (catalogue::CORE_CLOCK_HZ.name, catalogue::CORES.name);
    let numbers = [clock, &format!("{clock}--many"), cores].map(|name| card.get(name).filter(|value| *value > 0.0));
    let [Some(alone), Some(many), Some(cores)] = numbers else { return 1.0 };
    let share = (ranks_on_node.saturating_sub(1) as f64 / (cores - 1.0).max(1.0)).min(1.0);
    1.0 / (1.0 - share * (1.0 - many / alone).max(0.0))
}

/// For a poll that finds nothing. Two-sided Apex-Map polls for requests and for replies with every access.
fn poll_seconds(numbers: &Numbers) -> Option<f64> {
    let polls = numbers.find(&[catalogue::REQUEST_POLL_SECONDS]).map(|both| both / 2.0);
    polls.or_else(|| numbers.find(&[catalogue::OPERATION_SECONDS]))
}

/// Whether no rank of a point sends or takes a message while another one is on its way to it or from it. The whole latency of each
/// message then counts, however the card divides it among cores and network. The time of all other points depends on the cores'
/// time of a message.
pub fn waits_for_each_message(point: &Point) -> bool {
    point.ranks == 1 || kernels::find(&point.kernel).is_ok_and(|kernel| (kernel.waits_for_each_message)(point))
}

fn build(card: &Card, nodes: usize, ranks_per_node: usize) -> Result<(Machine, Vec<String>)> {
    let mut numbers = Numbers::new(card);
    let machine = find_machine(&mut numbers, nodes, ranks_per_node)?;
    Ok((machine, numbers.finish()?))
}

/// The time of two ranks, or the part of a barrier that takes the same time on any number of ranks.
fn barrier_stage(numbers: &Numbers, ranks: usize) -> Option<Time> {
    let stages = f64::from(ranks.next_power_of_two().trailing_zeros().max(1));
    let of_many = numbers.find_qualified(catalogue::BARRIER_SECONDS, "many").map(|whole| whole / stages);
    of_many.or_else(|| numbers.find(&[catalogue::BARRIER_SECONDS])).map(picoseconds)
}

/// Without the costs of missing numbers.
fn find_machine(numbers: &mut Numbers, nodes: usize, ranks_per_node: usize) -> Result<Machine> {
    let card = numbers.card;
    if let Some(cores) = card.get(catalogue::CORES.name).filter(|cores| *cores < ranks_per_node as f64) {
        return Err(Error::input(
            format!("{} has {cores} cores per node, and {ranks_per_node} ranks per node are requested", card.name),
            "request fewer ranks per node",
        ));
    }
    let topology = places::topology(card, nodes)?;
    let hop = interface::hop(numbers, &topology, nodes);
    let first_hops = if nodes > 1 { topology.links(0, 1) as Time * hop } else { 0 };
    let paths = paths::paths(numbers, nodes, ranks_per_node, (hop, first_hops));
    let link = interface::link(numbers, &topology, hop);
    let interface = interface::interface(numbers, &paths.network.message);
    let poll = poll_seconds(numbers);
    if poll.is_none() {
        numbers.assume("a poll that finds nothing takes no time");
    }
    let barrier_stage = barrier_stage(numbers, nodes * ranks_per_node);
    if barrier_stage.is_none() {
        numbers.assume("a stage of a barrier takes the time of a message without data");
    }
    let packets = catalogue::RECEIVE_PACKETS.name;
    let domain = card.domain(packets).and_then(|domain| domain.extent(KERNEL));
    let limited = kernels::ALL.iter().filter(|kernel| domain.is_some_and(|domain| domain.has_word(kernel.id)));
    let places = |name: &str| card.get(name).map_or(0, |packets| packets.max(1.0) as usize);
    let is_of_threads = paths::is_of_one_node(card);
    let sender = |entry: &Entry| card_number(card, entry.name).filter(|_| is_of_threads).map_or(0, picoseconds);
    Ok(Machine {
        name: card.name.clone(),
        ranks_per_node,
        topology,
        network: paths.network,
        node: paths.node,
        interface,
        link,
        poll: picoseconds(poll.unwrap_or(0.0)),
        sender_poll: sender(catalogue::SENDER_POLL_SECONDS),
        sender_line: sender(catalogue::SENDER_LINE_SECONDS),
        barrier_stage,
        // A request alone and among others differ by two messages, the request and its reply.
        sender_change: sender(catalogue::REQUEST_ALONE_SECONDS).saturating_sub(sender(catalogue::REQUEST_SECONDS)) / 2,
        receive_packets: places(packets),
        node_packets: places(&format!("{packets}--node")),
        limited_kernels: limited.map(|kernel| kernel.id.to_owned()).collect(),
    })
}
