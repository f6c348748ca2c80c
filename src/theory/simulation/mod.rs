//! Simulated machines from cards: the costs of messages and computations.

use crate::machine::Card;
use apexmap_base::error::{Error, Result};
use apexmap_base::point::Point;
use apexmap_measure::comm::simulated::{ComputationCosts, Machine};

/// Returns the ranks on each node, if neither the sweep nor the user sets them.
pub fn ranks_per_node(_card: &Card) -> usize {
    1
}

/// Returns the machine of a card with this number of nodes.
///
/// # Errors
/// If the card does not have a number that messages need.
pub fn machine(card: &Card, _nodes: usize, _ranks_per_node: usize) -> Result<Machine> {
    Err(Error::input(format!("{} cannot be simulated yet", card.name), "use a machine"))
}

/// Returns the costs of the computations of a point, in picoseconds.
///
/// # Errors
/// If the card does not have a number that the point needs.
pub fn computation_costs(card: &Card, _point: &Point) -> Result<ComputationCosts> {
    Err(Error::input(format!("{} cannot be simulated yet", card.name), "use a machine"))
}
