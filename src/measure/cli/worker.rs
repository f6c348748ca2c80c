//! `apexmap worker`: the program that a launcher starts on each rank.

use crate::comm::TransportKind;
use crate::hardware::PlacementOrder;
use crate::kernels::command;
use crate::worker;
use apexmap_base::error::{Error, Result};
use apexmap_base::fatal_signal;
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Arguments {
    /// Describe this build as JSON, and do nothing else
    #[arg(long)]
    info: bool,
    /// The job, written by `apexmap run`
    #[arg(long, required_unless_present = "info")]
    job: Option<PathBuf>,
    /// The transport of messages: threads or mpi
    #[arg(long, required_unless_present = "info", value_parser = transport)]
    transport: Option<TransportKind>,
    /// Number of ranks expected; any other number is refused
    #[arg(long, required_unless_present = "info")]
    ranks: Option<usize>,
    /// Words that start each program of a command on the ranks of the launch, as a JSON list
    #[arg(long, value_parser = words)]
    start_with: Option<Words>,
    /// Order for placing ranks on the hardware threads: spread, compact or smt [default: spread for threads, else the launcher's]
    #[arg(long, value_parser = place)]
    place: Option<PlacementOrder>,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    if arguments.info {
        let info = serde_json::to_string(&worker::info()).map_err(|e| Error::internal(e.to_string()))?;
        return apexmap_base::terminal::print_data(&format!("{info}\n"));
    }
    let (Some(job), Some(transport), Some(ranks)) = (&arguments.job, arguments.transport, arguments.ranks) else {
        return Err(Error::input("a worker needs --job, --transport and --ranks", "start it with `apexmap run`"));
    };
    if let Some(Words(words)) = &arguments.start_with {
        command::start_with(words.clone());
    }
    fatal_signal::catch();
    worker::work(job, transport, ranks, arguments.place)
}

/// Clap would take a list as several values.
#[derive(Clone)]
struct Words(Vec<String>);

fn words(text: &str) -> Result<Words, String> {
    serde_json::from_str(text).map(Words).map_err(|error| format!("it is not a JSON list of words: {error}"))
}

fn transport(name: &str) -> Result<TransportKind, String> {
    TransportKind::from_name(name).ok_or_else(|| {
        let names: Vec<_> = TransportKind::ALL.iter().map(|kind| kind.name()).collect();
        format!("there is no such transport; use {}", names.join(" or "))
    })
}

fn place(name: &str) -> Result<PlacementOrder, String> {
    PlacementOrder::from_name(name).ok_or_else(|| {
        format!("there is no such placement; use {}", PlacementOrder::ALL.map(PlacementOrder::name).join(", "))
    })
}
