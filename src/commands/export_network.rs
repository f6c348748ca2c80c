//! `apexmap calibrate --export`: writes the network of a card for other simulators.

use apexmap_base::error::{Error, Result};
use apexmap_base::new_file;
use apexmap_simulate as simulation;
use apexmap_simulate::goal::{Pattern, schedule};
use apexmap_simulate::simgrid::platform;
use apexmap_theory::machine::Card;
use std::fs;
use std::path::{Path, PathBuf};

/// A simulator for which networks are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Simulator {
    /// SimGrid: a platform with the options for SMPI, simgrid.xml
    Simgrid,
    /// LogGOPSim: schedules of three patterns of messages in GOAL, with its options
    Goal,
}

/// Nodes that are written if the user gives no number, for a card that says how its nodes are connected. Other cards have one.
const DEFAULT_NODES: usize = 64;
/// Bytes of the messages of schedules.
const MESSAGE_BYTES: usize = 4096;

/// Writes the network of a card into a folder. Returns the files.
///
/// # Errors
/// If the card does not have a number that messages need, its network cannot be expressed, or a file cannot be written.
pub fn export(card: &Card, simulator: Simulator, nodes: Option<usize>, folder: &Path) -> Result<Vec<PathBuf>> {
    let nodes = nodes.unwrap_or(if card.network.is_some() { DEFAULT_NODES } else { 1 });
    let machine = simulation::machine(card, nodes, simulation::ranks_per_node(card))?;
    fs::create_dir_all(folder).map_err(|e| Error::file("create", folder, e))?;
    let texts = match simulator {
        Simulator::Simgrid => vec![("simgrid.xml".to_owned(), platform(&machine, nodes)?)],
        Simulator::Goal => {
            let ranks = nodes * machine.ranks_per_node;
            let text = |(pattern, name)| (format!("{name}.goal"), schedule(&machine, pattern, ranks, MESSAGE_BYTES));
            Pattern::ALL.map(text).to_vec()
        }
    };
    let write = |(name, text): (String, String)| {
        let path = folder.join(name);
        new_file::replace_contents(&path, text).map(|()| path)
    };
    texts.into_iter().map(write).collect()
}
