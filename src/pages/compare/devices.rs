//! Comparisons of processors with devices: points match by alpha and L, and rates are totals.

use super::machine::Machine;
use super::points::{PointData, Points};
use apexmap_base::units::{Unit, amount};
use apexmap_measure::kernels::{self, Kernel};
use apexmap_results::samples::plain_names::DEVICE_FAMILY;
use apexmap_results::table::columns::{ALPHA, BLOCK};
use apexmap_theory::machine::catalogue;

/// `apex_map` for `gpu.apex_map`, which repeats its experiment.
pub fn experiment(kernel: &Kernel) -> Option<&'static str> {
    (kernels::family(kernel.id) == DEVICE_FAMILY).then(|| kernel.id.split('.').next_back()).flatten()
}

/// None if all machines are devices.
pub fn find(machines: &[Machine]) -> Vec<usize> {
    let devices: Vec<usize> = (0..machines.len()).filter(|&index| machines[index].samples.is_on_device()).collect();
    if devices.len() == machines.len() { Vec::new() } else { devices }
}

/// Adds each device whose card has transfers once more, with a transfer of each word each time that it is read.
pub fn add_with_transfers(machines: &mut Vec<Machine>) {
    let devices = find(machines);
    let runs_apex_map = |machine: &Machine| machine.words("kernel").iter().any(|id| kernels::family(id) == "apex_map");
    if !machines.iter().any(runs_apex_map) {
        return;
    }
    for device in devices {
        let machine = &machines[device];
        let samples = machine.samples.with_kernel("gpu.apex_map");
        if let (Some(rate), false) = (to_device(machine), samples.is_empty()) {
            let name = format!("{} with transfers", machine.name);
            // Models and cards have no transfers.
            machines.push(Machine { name, samples, card: None, transfer: Some(rate), ..machine.clone() });
        }
    }
}

pub fn describe(machine: &Machine) -> String {
    let name = &machine.name;
    match (machine.transfer, to_device(machine)) {
        (Some(rate), _) => {
            let rate = amount(rate, Unit::BytesPerSecond);
            format!("{name} moves each word there, at {rate}, each time that it is read")
        }
        (None, Some(_)) => format!("{name} is one device, without transfers to it"),
        (None, None) => format!("{name} is one device, without transfers to it, whose rate was not measured"),
    }
}

fn to_device(machine: &Machine) -> Option<f64> {
    machine.card.as_ref()?.get(catalogue::TO_DEVICE_BYTES_PER_SECOND.name)
}

pub fn shared_columns(columns: &[String]) -> Vec<String> {
    columns.iter().filter(|column| [ALPHA, BLOCK].contains(&column.as_str())).cloned().collect()
}

pub fn total(headline: &'static str) -> &'static str {
    if headline == "bytes_per_second_per_rank" { "bytes_per_second" } else { headline }
}

pub fn add(points: &mut Points, class: &str, device: usize, shared: &[(String, Option<f64>)], mut data: PointData) {
    // Transport, measuring code and kernel of a device differ from those of a processor by their nature.
    data.facts.transports.clear();
    data.facts.builds.clear();
    data.facts.kernels.clear();
    data.facts.oversubscribed = None;
    data.ranks = 1.0;
    for point in points.points.iter_mut().filter(|point| point.class == class) {
        if shared.iter().all(|(column, value)| point.number(column) == *value) {
            point.by_machine[device] = Some(data.clone());
        }
    }
}
