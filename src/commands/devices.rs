//! `apexmap devices`: lists the GPUs and other devices that kernels of the family gpu run on.

use super::pretty;
use apexmap_base::error::Result;
use apexmap_base::terminal::{note, print, print_data};
use apexmap_base::text_table::{Align, TextTable};
use apexmap_base::units::{Unit, bytes, quantity};
use apexmap_measure::kernels::gpu::platforms::list_with_faults_apart;

#[derive(clap::Args)]
#[command(after_help = "Examples:
  apexmap devices                     number, memory and driver of each device
  apexmap devices --json")]
pub struct Arguments {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let (list, faults) = list_with_faults_apart()?;
    faults.iter().for_each(|fault| note(&format!("note: {fault}")));
    if arguments.json {
        return print_data(&pretty(&list)?);
    }
    let mut table = TextTable::new([Align::Right, Align::Left, Align::Left, Align::Right, Align::Right, Align::Right]);
    table.add_row(["device", "kind", "name", "memory", "largest allocation", "units"]);
    let mut text = String::new();
    for device in &list {
        let number = device.number.to_string();
        let [memory, allocation] = [device.memory_bytes, device.allocation_bytes].map(|size| bytes(size as f64));
        table.add_row([&number, &device.kind, &device.name, &memory, &allocation, &device.compute_units.to_string()]);
        let clock = device.clock_hertz.map_or("unknown".to_owned(), |hertz| quantity(hertz, Unit::Hertz));
        let has = |has: bool| if has { "yes" } else { "no" };
        text += &format!(
            "\ndevice {number}: {}, driver {}; clock {clock}; 64-bit atomics: {}; 64-bit floating point: {}\n",
            device.platform,
            device.driver,
            has(device.has_atomics),
            has(device.has_doubles)
        );
    }
    print(&(table.to_string() + &text))
}
