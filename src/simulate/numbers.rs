use apexmap_base::distinct::push_new;
use apexmap_base::error::{Error, Result};
use apexmap_base::point::{Point, Value};
use apexmap_theory::machine::{Card, Domain, Entry, catalogue};
use std::cell::RefCell;

pub struct Numbers<'a> {
    pub card: &'a Card,
    /// For the numbers that were found.
    domains: RefCell<Vec<&'a Domain>>,
    missing: Vec<&'static str>,
    assumptions: Vec<String>,
}

impl<'a> Numbers<'a> {
    pub fn new(card: &'a Card) -> Self {
        Self { card, domains: RefCell::default(), missing: Vec::new(), assumptions: Vec::new() }
    }

    fn get(&self, name: &str) -> Option<f64> {
        let value = self.card.get(name)?;
        let mut domains = self.domains.borrow_mut();
        let new = self.card.domain(name).filter(|domain| !domains.contains(domain));
        domains.extend(new);
        Some(value)
    }

    /// The variables in which a point is outside of the domains of the numbers that were found: `P = 1 to 16`. A simulation has a
    /// term for each variable.
    pub fn extrapolations(&self, point: &Point) -> Vec<String> {
        let value = |name: &str| match name {
            "P" => Some(point.ranks as f64),
            _ => point.params.get(name).and_then(Value::as_f64),
        };
        let domains = self.domains.borrow();
        let extents = domains.iter().flat_map(|domain| domain.extents());
        let outside = extents.filter(|(name, extent)| value(name).is_some_and(|value| !extent.contains(value)));
        let mut names: Vec<String> = outside.map(|(name, extent)| format!("{name} = {extent}")).collect();
        names.sort();
        names.dedup();
        names
    }

    /// The first of these numbers that the card has.
    pub fn find(&self, entries: &[&Entry]) -> Option<f64> {
        entries.iter().find_map(|entry| self.get(entry.name))
    }

    /// A qualifier: `--node`.
    pub fn find_qualified(&self, entry: &Entry, qualifier: &str) -> Option<f64> {
        self.get(&format!("{}--{qualifier}", entry.name))
    }

    /// Records that the card does not have a number. Returns a value that no result uses.
    pub fn miss(&mut self, entry: &Entry) -> f64 {
        self.miss_name(entry.name);
        0.0
    }

    pub fn miss_name(&mut self, name: &'static str) {
        push_new(&mut self.missing, name);
    }

    pub fn missing(&self) -> &[&'static str] {
        &self.missing
    }

    /// Records what takes the place of a number that the card does not have.
    pub fn assume(&mut self, sentence: impl Into<String>) {
        push_new(&mut self.assumptions, sentence.into());
    }

    pub fn finish(self) -> Result<Vec<String>> {
        if self.missing.is_empty() { Ok(self.assumptions) } else { Err(missing_error(self.card, &self.missing)) }
    }
}

/// Names these numbers, and how to get each.
pub fn missing_error(card: &Card, names: &[&str]) -> Error {
    let mut commands: Vec<(&str, Vec<&str>)> = Vec::new();
    for name in names {
        let command = measured_by(name);
        match commands.iter_mut().find(|(other, _)| *other == command) {
            Some((_, of_command)) => of_command.push(name),
            None => commands.push((command, vec![name])),
        }
    }
    let each = commands.iter().map(|(command, names)| format!("{}: {command}", names.join(", ")));
    Error::input(
        format!("the card of {} has no {}, which a simulation needs", card.name, names.join(", ")),
        format!("{}; or add [numbers.NAME] to the card", each.collect::<Vec<_>>().join("; ")),
    )
}

fn measured_by(name: &str) -> &'static str {
    const FROM_LOG_GP: [&Entry; 5] = [
        catalogue::WIRE_LATENCY_SECONDS,
        catalogue::NETWORK_GAP_SECONDS,
        catalogue::NETWORK_OVERHEAD_SECONDS,
        catalogue::NETWORK_SEND_OVERHEAD_SECONDS,
        catalogue::NETWORK_RECEIVE_OVERHEAD_SECONDS,
    ];
    const FROM_EAGER_LIMIT: [&Entry; 3] =
        [catalogue::EAGER_BYTES, catalogue::EAGER_SECONDS_PER_BYTE, catalogue::RENDEZVOUS_SECONDS];
    const BETWEEN_NODES: [&Entry; 3] = [
        catalogue::NETWORK_LATENCY_SECONDS,
        catalogue::NETWORK_BANDWIDTH_BYTES_PER_SECOND,
        catalogue::MESSAGE_RATE_PER_SECOND,
    ];
    let is_one_of = |entries: &[&Entry]| entries.iter().any(|entry| entry.name == name);
    if is_one_of(&FROM_LOG_GP) {
        "`apexmap run log-gp`, then `apexmap fit results/log-gp --model point_to_point.log_gp`; without the cores' time of a \
         message, only kernels that wait for each message are simulated"
    } else if is_one_of(&FROM_EAGER_LIMIT) {
        "`apexmap run eager-limit`, then `apexmap fit results/eager-limit --model point_to_point.switch`"
    } else if is_one_of(&BETWEEN_NODES) {
        "`apexmap calibrate` with a launcher and --ranks-per-node 1"
    } else if name.starts_with("link_") || name.starts_with("router_") || name.starts_with("io_") {
        "no sweep measures it; the maker of the network states it"
    } else {
        "`apexmap calibrate`"
    }
}
