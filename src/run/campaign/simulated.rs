//! The machine of a campaign whose ranks are simulated.

use super::Request;
use crate::drive::{plan::Plan, simulation::Simulation};
use crate::sweep::ready::{READY_SWEEPS, ReadySweep};
use crate::sweep::{self, Machine, Sweep, ready};
use apexmap_base::error::{Error, Result};
use apexmap_base::point::Point;
use apexmap_measure::kernels::{self, Kernel};
use apexmap_results::disk::manifest::SimulatedMachine;
use apexmap_simulate::{envelope, share_node};
use apexmap_theory::machine::{Card, catalogue};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// For this machine, or the one that the request or the sweep simulates, which is returned too.
pub fn open_sweep(request: &Request, path: &Path, machine: Machine) -> Result<(Sweep, Machine, Option<Simulation>)> {
    let card_path = match &request.simulate {
        Some(card_path) => card_path.clone(),
        None => {
            let sweep = ready::open(path, machine.clone())?;
            let Some(card_path) = &sweep.launch.simulate else { return Ok((sweep, machine, None)) };
            PathBuf::from(card_path)
        }
    };
    let card = match card_path.to_str() {
        Some(name) => Card::find(name)?,
        None => Card::read(&card_path)?,
    };
    let ranks_per_node = request.ranks_per_node.map(|ranks| ranks as usize);
    let machine = node_size(&card);
    // Values such as "cores" follow the machine, so the sweep is read again for that of the card.
    let sweep = ready::open(path, machine.clone())?;
    let resampled = card.resample(sweep.launch.resamples, sweep.seed);
    let simulation = Simulation { card: Arc::new(card), ranks_per_node, mapping: sweep.launch.mapping, resampled };
    Ok((sweep, machine, Some(simulation)))
}

/// The size of a node of a card. Numbers that it does not have are 1 core, and unknown sizes.
fn node_size(card: &Card) -> Machine {
    let number = |entry: &catalogue::Entry| card.get(entry.name).unwrap_or(0.0);
    let cores = number(catalogue::CORES).max(1.0) as usize;
    let last_cache = [catalogue::L3_BYTES, catalogue::L2_BYTES, catalogue::L1_BYTES].map(number);
    Machine {
        last_cache: last_cache.into_iter().find(|bytes| *bytes > 0.0).unwrap_or(0.0) as u64,
        is_simulated: true,
        ..Machine::with_cores(cores, number(catalogue::MEMORY_BYTES) as u64)
    }
}

/// For an error about kernels that cannot be simulated.
pub fn name_other_sweeps(error: Error, simulation: Option<&Simulation>, sweep: &Sweep, machine: &Machine) -> Error {
    let sends = |point: &Point| kernels::find(&point.kernel).is_ok_and(Kernel::is_simulatable);
    let Some(simulation) = simulation.filter(|_| !sweep.points.iter().all(sends)) else { return error };
    let runs = |sweep: &&ReadySweep| {
        let sweep = sweep::parse(sweep.text, Path::new(sweep.name), machine.clone());
        sweep.is_ok_and(|sweep| simulation.check(&sweep.points).is_ok())
    };
    let names: Vec<&str> = READY_SWEEPS.iter().filter(runs).map(|sweep| sweep.name).collect();
    let help = format!("{} can run {}", simulation.card.name, names.join(", "));
    if names.is_empty() { error } else { Error { help, ..error } }
}

pub fn record(plan: &Plan) -> Option<SimulatedMachine> {
    let simulation = plan.context.simulation.as_ref()?;
    let mut assumptions: Vec<String> = plan.by_size().keys().flat_map(|size| simulation.assumptions(*size)).collect();
    assumptions.sort();
    assumptions.dedup();
    let (mut untested, mut untested_points) = (BTreeMap::<String, usize>::new(), 0);
    let mut on_shared_nodes = BTreeMap::<String, usize>::new();
    for entry in &plan.entries {
        let machine = simulation.machine(entry.point.launch_size()).ok();
        if machine.as_ref().is_some_and(|machine| share_node(&entry.point, machine)) {
            *on_shared_nodes.entry(kernels::family(&entry.point.kernel).to_owned()).or_default() += 1;
        }
        let untested_here = machine.map(|machine| envelope(&entry.point, &machine)).unwrap_or_default();
        let reasons = untested_here.into_iter().map(str::to_owned).chain(simulation.extrapolation(&entry.point));
        let reasons: Vec<String> = reasons.collect();
        untested_points += usize::from(!reasons.is_empty());
        reasons.into_iter().for_each(|reason| *untested.entry(reason).or_default() += 1);
    }
    Some(SimulatedMachine { card: simulation.card.to_toml(), assumptions, untested, untested_points, on_shared_nodes })
}

/// The default result folder: `results/protocol-red-storm`.
pub fn default_folder(sweep: &str, simulation: &Simulation) -> PathBuf {
    let name = simulation.card.name.to_lowercase();
    let words: Vec<&str> =
        name.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    Path::new("results").join(format!("{sweep}-{}", words.join("-")))
}
