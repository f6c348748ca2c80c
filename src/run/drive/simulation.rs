//! The machine of simulated ranks, and the costs of their computations.

use apexmap_base::error::{Error, Result};
use apexmap_base::point::{LaunchSize, Point};
use apexmap_measure::comm::simulated::{ComputationCosts, Machine, Mapping};
use apexmap_measure::kernels;
use apexmap_measure::kernels::keys::{CACHES, Caches};
use apexmap_simulate as simulation;
use apexmap_theory::machine::catalogue::RECEIVE_PACKETS;
use apexmap_theory::machine::{Card, PUBLISHED};
use std::sync::Arc;

/// The card of the machine whose ranks are simulated.
#[derive(Clone, Debug, PartialEq)]
pub struct Simulation {
    pub card: Arc<Card>,
    /// Ranks on each node, if neither the point nor the card decides.
    pub ranks_per_node: Option<usize>,
    /// Cards with numbers drawn from the intervals of the card; none if it has no intervals.
    pub resampled: Vec<Card>,
    pub mapping: Mapping,
}

impl Simulation {
    pub fn machine(&self, size: LaunchSize) -> Result<Machine> {
        self.machine_of(&self.card, size)
    }

    fn machine_of(&self, card: &Card, size: LaunchSize) -> Result<Machine> {
        let (nodes, ranks_per_node) = self.places(size);
        let slow = simulation::slowdown(card, ranks_per_node.min(size.ranks));
        let mut machine = simulation::machine(card, nodes, ranks_per_node)?.with_slower_cores(slow);
        machine.link.mapping = self.mapping;
        machine.check(size.ranks).map_err(|reason| {
            Error::input(
                format!("{} cannot be simulated: {reason}", card.name),
                "write mapping = \"row-major\", or choose another number of nodes",
            )
        })?;
        Ok(machine)
    }

    pub fn resampled_machines(&self, size: LaunchSize) -> Vec<Machine> {
        let machines = self.resampled.iter().map(|card| self.machine_of(card, size));
        // The card itself has the same numbers, so that its machine shows every fault.
        machines.filter_map(Result::ok).collect()
    }

    pub fn resampled_costs(&self, point: &Point) -> Result<Vec<ComputationCosts>> {
        self.resampled.iter().map(|card| simulation::computation_costs(card, point)).collect()
    }

    /// Sentences about the substitutes of numbers that the card does not have.
    pub fn assumptions(&self, size: LaunchSize) -> Vec<String> {
        let (nodes, ranks_per_node) = self.places(size);
        let mut assumptions = simulation::assumptions(&self.card, nodes, ranks_per_node).unwrap_or_default();
        if self.mapping != Mapping::default() {
            assumptions.push(format!("the nodes are mapped onto the network in the order {}", self.mapping.name()));
        }
        assumptions
    }

    /// The range that the simulation of a point extrapolates from, if the numbers of the card do not hold there.
    pub fn extrapolation(&self, point: &Point) -> Option<String> {
        let (nodes, ranks_per_node) = self.places(point.launch_size());
        let from = simulation::extrapolations(&self.card, nodes, ranks_per_node, point);
        (!from.is_empty()).then(|| format!("extrapolated from {}, for which the card has its numbers", from.join(", ")))
    }

    fn places(&self, size: LaunchSize) -> (usize, usize) {
        let given = size.ranks_per_node.or(self.ranks_per_node);
        let ranks_per_node = given.unwrap_or_else(|| simulation::ranks_per_node(&self.card)).max(1);
        (size.ranks.div_ceil(ranks_per_node), ranks_per_node)
    }

    /// The costs of the computations of a point, in picoseconds.
    pub fn costs(&self, point: &Point) -> Result<ComputationCosts> {
        if !kernels::find(&point.kernel)?.is_simulatable() {
            return Err(Error::input(
                format!("{} measures this machine's own memory and cores, so it cannot be simulated", point.kernel),
                "choose kernels whose ranks send messages; `apexmap kernels` lists all",
            ));
        }
        if CACHES.get(point) == Some(Caches::Cold) {
            return Err(Error::input(
                format!(
                    "{} with caches = \"cold\" cannot be simulated, because messages cost the same as with warm caches",
                    point.kernel
                ),
                "leave caches out",
            ));
        }
        self.require_room(point)?;
        simulation::computation_costs(&self.card, point)
    }

    /// Refuses kernels whose senders do not wait and need more places in a mailbox than the card gives it.
    fn require_room(&self, point: &Point) -> Result<()> {
        let machine = self.machine(point.launch_size())?.for_kernel(&point.kernel);
        let needed = (kernels::find(&point.kernel)?.places)(point);
        let others = [1, point.ranks.saturating_sub(1)].into_iter().filter(|to| (1..point.ranks).contains(to));
        let least = others.filter_map(|to| machine.room(0, to)).min_by_key(|(_, places)| *places);
        let Some((sharers, places)) = least.filter(|(_, places)| needed > *places as u64) else { return Ok(()) };
        let number = format!("{}{}", RECEIVE_PACKETS.name, if sharers > 0 { "--node" } else { "" });
        Err(Error::input(
            format!(
                "{} sends a rank up to B = {needed} replies that do not wait, and {} has room for {number} = {places}",
                point.kernel, self.card.name
            ),
            format!("write B = {places} in the sweep, or value = {needed} under [numbers.{number}] of the card"),
        ))
    }

    fn missing_numbers(&self, card: &Card, point: &Point) -> Vec<&'static str> {
        let (nodes, ranks_per_node) = self.places(point.launch_size());
        match kernels::find(&point.kernel) {
            Ok(kernel) if kernel.is_simulatable() => simulation::missing_numbers(card, nodes, ranks_per_node, point),
            _ => Vec::new(),
        }
    }

    fn other_machines(&self, points: &[&Point]) -> String {
        let has_all = |card: Card| points.iter().all(|point| self.missing_numbers(&card, point).is_empty());
        let names = PUBLISHED.iter().map(|(name, _)| *name);
        let able: Vec<&str> = names.filter(|name| Card::find(name).is_ok_and(has_all)).collect();
        let subject = if able.is_empty() {
            "no published machine has".into()
        } else {
            format!("--simulate {}: these have", able.join("|"))
        };
        format!(
            "{subject} all numbers of this sweep; docs/appendix/machines.md lists which machine can simulate which sweep"
        )
    }

    /// Checks that all points of these launches can be simulated. The error has each reason once.
    pub fn check<'a>(&self, points: impl IntoIterator<Item = &'a Point>) -> Result<()> {
        let points: Vec<&Point> = points.into_iter().collect();
        let (mut reasons, mut missing): (Vec<Error>, Vec<&str>) = (Vec::new(), Vec::new());
        for point in &points {
            let names = self.missing_numbers(&self.card, point);
            let new: Vec<&str> = names.iter().copied().filter(|name| !missing.contains(name)).collect();
            missing.extend(new);
            // Further faults would follow from the missing numbers.
            if !names.is_empty() {
                continue;
            }
            let faults = [self.machine(point.launch_size()).err(), self.costs(point).err()];
            for error in faults.into_iter().flatten() {
                if reasons.iter().all(|reason| reason.message != error.message) {
                    reasons.push(error);
                }
            }
        }
        if !missing.is_empty() {
            let error = simulation::missing_error(&self.card, &missing);
            reasons.push(if is_published(&self.card) {
                Error::input(error.message, self.other_machines(&points))
            } else {
                error
            });
        }
        let Some(first) = reasons.first() else { return Ok(()) };
        let messages: Vec<&str> = reasons.iter().map(|error| error.message.as_str()).collect();
        Err(Error::input(messages.join("; "), first.help.clone()))
    }
}

/// A card of a paper or of no real machine cannot be measured.
fn is_published(card: &Card) -> bool {
    PUBLISHED.iter().any(|(name, _)| Card::find(name).is_ok_and(|published| published.name == card.name))
}
