//! `apexmap-worker`: the program that launchers start on each rank of a cluster. It does not contain the driver.

use apexmap_base::{crash, terminal};
use apexmap_measure::cli::{kernels, worker};
use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Measures on the ranks of a launch. `apexmap run --worker` starts it
#[derive(Parser)]
#[command(name = "apexmap-worker", version, about, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// List the kernels; show one with its parameters, outputs and source
    Kernels(kernels::Arguments),
    /// Internal: started by launchers on each rank
    Worker(worker::Arguments),
}

fn main() -> ExitCode {
    ExitCode::from(crash::guard(run))
}

fn run() -> u8 {
    let result = match Cli::parse().command {
        Command::Kernels(arguments) => kernels::run(&arguments),
        Command::Worker(arguments) => worker::run(&arguments),
    };
    let Err(error) = result else { return 0 };
    terminal::note(&format!("error: {error}"));
    error.exit_code()
}
