//! Machines of different size: which of their points play the same role, on one core or on all cores.
//!
//! A server of 64 cores and one of 32 have no rank count in common that means the same on both but 1. Their points are
//! therefore matched by the role of the rank count, and sizes that the sweep made for the machine (M beyond its caches, a table
//! of half its memory) are left to the machines. Ratios on all cores are given of the whole machines and per core.

use super::machine::{Machine, Origin};
use apexmap_base::error::{Error, Result};
use apexmap_base::point::Value;
use apexmap_base::units::Unit;
use apexmap_measure::kernels::{Domain, Kernel};
use apexmap_results::samples::Samples;
use apexmap_results::table::columns;
use std::collections::BTreeSet;

/// How rank counts are matched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum MatchRanks {
    /// By role where ranks are threads and the machines have different numbers of cores, by number otherwise
    #[default]
    Auto,
    /// One core with one core, all cores with all cores, other rank counts by number
    Role,
    /// By number
    Number,
}

pub const ONE_CORE: &str = "one core";
pub const ALL_CORES: &str = "all cores";

/// The cores of each machine, where rank counts are matched by role.
#[derive(Clone, Debug, PartialEq)]
pub struct Roles {
    /// By machine, in their order.
    pub cores: Vec<u64>,
}

impl Roles {
    /// `None` where rank counts are matched by number.
    ///
    /// # Errors
    /// If roles are asked for and a machine does not say how many cores it has.
    pub fn of(machines: &[Machine], how: MatchRanks) -> Result<Option<Self>> {
        let cores: Vec<Option<u64>> = machines.iter().map(cores).collect();
        let unknown = cores.iter().position(Option::is_none);
        match (how, unknown) {
            (MatchRanks::Number, _) | (MatchRanks::Auto, Some(_)) => return Ok(None),
            (MatchRanks::Role, Some(at)) => {
                return Err(Error::input(
                    format!("{} does not say how many cores it has", machines[at].given),
                    "match by number: --match-ranks number",
                ));
            }
            _ => {}
        }
        let cores: Vec<u64> = cores.into_iter().flatten().collect();
        // Processes may be on several nodes, of which each has its cores.
        let threads = machines.iter().all(|machine| machine.samples.words("transport") == ["threads"]);
        let differ = threads && cores.windows(2).any(|pair| pair[0] != pair[1]);
        Ok((differ || how == MatchRanks::Role).then_some(Self { cores }))
    }

    /// The role of a rank count on a machine; the number where it has none.
    pub fn role(&self, machine: usize, ranks: &Value) -> Value {
        match ranks.as_f64() {
            Some(1.0) => ONE_CORE.into(),
            Some(number) if number == self.cores[machine] as f64 => ALL_CORES.into(),
            _ => ranks.clone(),
        }
    }

    /// The sizes that the machines have each of their own: parameters that a sweep makes for the machine, of which every machine has
    /// one value a rank, and not all the same.
    pub fn own_sizes(samples: &[Samples], kernels: &[&'static dyn Kernel], columns: &[String]) -> Vec<&'static str> {
        let parameters = kernels.iter().flat_map(|kernel| kernel.parameters());
        let made = parameters.filter(|p| matches!(p.domain, Domain::Global { .. } | Domain::Size { .. }));
        let differs = |column: &str| {
            let values: Vec<BTreeSet<u64>> =
                samples.iter().filter(|of| !of.is_empty()).map(|of| values_per_rank(of, column)).collect();
            values.iter().all(|values| values.len() == 1) && values.windows(2).any(|pair| pair[0] != pair[1])
        };
        let mut found: Vec<&'static str> = Vec::new();
        for parameter in made.filter(|p| columns.iter().any(|column| column == p.column) && differs(p.column)) {
            if !found.contains(&parameter.column) {
                found.push(parameter.column);
            }
        }
        found
    }
}

/// The different values of a parameter divided by the ranks.
fn values_per_rank(samples: &Samples, column: &str) -> BTreeSet<u64> {
    let table = samples.table();
    let one = |&row: &usize| (table.number(column, row) / table.number("ranks", row)).to_bits();
    samples.rows().iter().map(one).collect()
}

/// Cores that ranks could have on a machine: of the host that measured.
fn cores(machine: &Machine) -> Option<u64> {
    if machine.origin == Origin::Published {
        return None;
    }
    let processors = &machine.host()?.processors;
    processors.cores.or(processors.hardware_threads).map(u64::from)
}

/// Whether a headline is a rate of all ranks together, `Some(false)` of each rank; `None` if it is no such rate.
pub fn is_total(headline: &str) -> Option<bool> {
    if headline.ends_with("_per_rank") {
        return Some(false);
    }
    let unit = columns::describe(headline).unit;
    matches!(unit, Unit::BytesPerSecond | Unit::PerSecond | Unit::UpdatesPerSecond).then_some(true)
}
