//! `apexmap worker`: what a launcher starts on each rank.

use crate::error::Result;
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Arguments {
    /// The job, written by `apexmap run`
    #[arg(long)]
    job: PathBuf,
    /// threads or mpi
    #[arg(long)]
    transport: String,
    /// Ranks expected in all; anything else is refused
    #[arg(long)]
    ranks: usize,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    crate::worker::work(&arguments.job, &arguments.transport, arguments.ranks)
}
