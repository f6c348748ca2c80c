use super::numbers::Numbers;
use super::paths::is_of_one_node;
use super::{poll_seconds, ranks_per_node, slowdown};
use apexmap_base::error::{Error, Result};
use apexmap_base::point::{Point, Value};
use apexmap_base::units::WORD_BYTES;
use apexmap_measure::comm::Computation;
use apexmap_measure::comm::simulated::ComputationCosts;
use apexmap_measure::kernels::keys::{Access, N_WORDS, PAGES, Pages};
use apexmap_measure::kernels::{self, Computations, Divided, Kernel};
use apexmap_theory::machine::catalogue::{
    CORES, DIVIDE_SECONDS, DRAW_SECONDS, GENERATE_SECONDS, LOCAL_SECONDS, LOOK_SECONDS, NODE_UPDATES_PER_SECOND,
    UPDATE_ROLE_SECONDS, UPDATE_SECONDS,
};
use apexmap_theory::machine::{Card, NumberName, Word};
use apexmap_theory::models::apex_map::{BlockSeconds, missing_memory_numbers, own_block_seconds, read_seconds};
use apexmap_theory::models::card_number;

/// In a card's provenance: the table of the measurement of `local_seconds` and `update_seconds`, and those of all cores together.
const TABLE: &str = "single_table_bytes";
const ALL_TABLES: &str = "star_table_bytes";

/// In picoseconds per unit. Computations that the point's kernel does not have cost nothing.
pub fn computation_costs(card: &Card, point: &Point) -> Result<ComputationCosts> {
    let mut numbers = Numbers::new(card);
    let costs = find_costs(&mut numbers, point)?;
    numbers.finish()?;
    Ok(costs)
}

/// Without the costs of missing numbers.
pub fn find_costs(numbers: &mut Numbers, point: &Point) -> Result<ComputationCosts> {
    let mut costs = ComputationCosts::default();
    let slow = slowdown(numbers.card, ranks_per_node(numbers.card).min(point.ranks));
    // Whole femtoseconds, because the last bits of powers differ between machines.
    let mut set = |computation: Computation, seconds: f64| {
        let factor = if computation == Computation::Memory { 1.0 } else { slow };
        costs[computation as usize] = (factor * seconds * 1e15).round() / 1e3;
    };
    let kernel = kernels::find(&point.kernel)?;
    let no_simulation = || Error::input(format!("{} cannot be simulated", kernel.id), "use a kernel of messages");
    match kernel.simulation.ok_or_else(no_simulation)? {
        Computations::None => {}
        Computations::Updates { divided, by_roles } => {
            let (generate, mut update) = generate_and_update(numbers, point);
            if by_roles {
                // A core that only updates spends this time in addition (Blue Gene/P paper, Section 5.2).
                update += numbers.find(&[UPDATE_ROLE_SECONDS]).unwrap_or(0.0);
            }
            set(Computation::Generate, generate);
            set(Computation::Update, update);
            set(Computation::Look, numbers.find(&[LOOK_SECONDS]).unwrap_or(0.0));
            // Measured with a table for each core.
            let all_cores = numbers.find_qualified(NODE_UPDATES_PER_SECOND, "star");
            let cores = numbers.find(&[CORES]).unwrap_or(1.0);
            let shared = all_cores.map_or(0.0, |rate| table_factor(numbers.card, point, (ALL_TABLES, cores)) / rate);
            set(Computation::Memory, if point.ranks > 1 { shared } else { 0.0 });
            // One rank owns all words.
            if point.ranks > 1 {
                let divide = match divided {
                    Divided::BetweenPartners => None,
                    Divided::AmongAll => numbers.find_qualified(DIVIDE_SECONDS, "many"),
                };
                let divide = divide.or_else(|| numbers.find(&[DIVIDE_SECONDS]));
                set(Computation::Divide, divide.unwrap_or_else(|| numbers.miss(DIVIDE_SECONDS)));
            }
        }
        Computations::Blocks => {
            // Addresses are drawn outside the timed part.
            set(Computation::Draw, numbers.find(&[DRAW_SECONDS]).unwrap_or(0.0));
            let (seconds, shared) = read(numbers, kernel, point)?;
            set(Computation::Read, seconds);
            set(Computation::Memory, shared);
        }
    }
    Ok(costs)
}

/// The seconds of a value and of an update. A card with their sum and one of them has the other; one with only their sum has it as
/// the time of an update.
fn generate_and_update(numbers: &mut Numbers, point: &Point) -> (f64, f64) {
    let card = numbers.card;
    let generate = numbers.find(&[GENERATE_SECONDS]);
    let on_base_pages = PAGES.get(point) == Some(Pages::Base);
    let base = NumberName::new(UPDATE_SECONDS).with_qualifier([Word::BasePages]).to_string();
    let update = on_base_pages.then(|| card.get(&base)).flatten().or_else(|| numbers.find(&[UPDATE_SECONDS]));
    let local = card_number(card, LOCAL_SECONDS.name);
    let factor = table_factor(card, point, (TABLE, 1.0));
    match (generate, update, local) {
        (Some(generate), Some(update), _) => (generate, update * factor),
        (None, Some(update), Some(local)) => ((local - update).max(0.0), update * factor),
        (generate, None, Some(local)) => {
            let generate = generate.unwrap_or(0.0);
            (generate, (local - generate).max(0.0) * factor)
        }
        _ => {
            numbers.miss(LOCAL_SECONDS);
            (0.0, 0.0)
        }
    }
}

/// The time of a random read in a rank's part of the table over that in the measured table of each of `cores` cores, by the model of memory;
/// 1 without its numbers. Ranks of a node share its last cache.
fn table_factor(card: &Card, point: &Point, (table, cores): (&str, f64)) -> f64 {
    let measured =
        card.provenance.get(table).and_then(|bytes| bytes.as_integer()).map_or(f64::NAN, |bytes| bytes as f64);
    let words = N_WORDS.get(point).map_or(f64::NAN, |words| words as f64);
    let sharers = ranks_per_node(card).min(point.ranks) as f64;
    let part = words * WORD_BYTES as f64 / point.ranks as f64;
    let factor = read_seconds(card, part, sharers) / read_seconds(card, measured / cores, cores);
    if factor.is_finite() { factor } else { 1.0 }
}

/// The mean seconds of a block, and those of the node's memory in them. In one-sided kernels, ranks read only for themselves.
fn read(numbers: &mut Numbers, kernel: &Kernel, point: &Point) -> Result<(f64, f64)> {
    let ranks_per_node = numbers.card.network.as_ref().and_then(|shape| shape.ranks_per_node);
    let given = |name: &str| match name {
        "P" => Some(point.ranks as f64),
        "ranks_per_node" => ranks_per_node.map(|ranks| ranks.min(point.ranks) as f64),
        "page_bytes" => {
            (PAGES.get(point) == Some(Pages::Base)).then_some(numbers.card.granularity().base_page_bytes as f64)
        }
        // The model of memory covers only reads. Any other value than 0 makes it refuse the point.
        "access" => Some(f64::from(u8::from(Access::of(point) != Access::Read))),
        _ => point.params.get(name).and_then(Value::as_f64),
    };
    let poll = poll_seconds(numbers).filter(|_| point.ranks > 1);
    let BlockSeconds { own, others, remote_share, shared } =
        own_block_seconds(numbers.card, &given, poll.unwrap_or(0.0))?;
    if !own.is_finite() || !others.is_finite() {
        missing_memory_numbers(numbers.card).into_iter().for_each(|name| numbers.miss_name(name));
        return Ok((0.0, 0.0));
    }
    if !kernel.windows.carry_operations(point) {
        return Ok(((1.0 - remote_share) * own + remote_share * others, shared));
    }
    // Cores of one node read the memory of others themselves. Interfaces read it without the cores.
    let is_read_by_cores = is_of_one_node(numbers.card) && remote_share < 1.0;
    Ok((if is_read_by_cores { own + remote_share / (1.0 - remote_share) * others } else { own }, shared))
}
