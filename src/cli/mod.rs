//! The command line of both wings.
//!
//! Exit codes: 0 done; 2 wrong flag, sweep or parameters; 3 missing prerequisite; 4 points failed or incomplete;
//! 5 `compare --fail-if` found something; 70 internal error.

mod kernels;
mod worker;

use crate::error::{Error, Result};
#[cfg(feature = "explore")]
use crate::explore::commands as explore;
use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Measures how fast a machine delivers data, from the best case of locality to the worst
#[derive(Parser)]
#[command(name = "apexmap", version, about, after_help = AFTER_HELP, subcommand_required = true, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const AFTER_HELP: &str = "Examples:
  apexmap run                              map this machine (20 s to 2 min), then write a report
  apexmap plan sweeps/memory-sizes.toml    what a sweep would run, and what is already done
  apexmap run sweeps/memory-sizes.toml     run a sweep, or resume it
  apexmap plot results/quickstart contour --where 'P == 1'
  apexmap predict random_access.hypercube --machine red-storm --ranks 1..131072
  apexmap kernels                          what can be measured

Exit codes: 0 done; 2 wrong flag, sweep or parameters; 3 missing prerequisite; 4 points failed or incomplete; \
5 `compare --fail-if` found something; 70 internal error.";

#[derive(Subcommand)]
enum Command {
    #[cfg(feature = "explore")]
    #[command(flatten)]
    Explore(explore::Command),
    /// List the kernels, or show one with its parameters, outputs and source
    Kernels(kernels::Arguments),
    /// Internal: started by launchers on each rank
    #[command(hide = true)]
    Worker(worker::Arguments),
}

pub fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            show(&error);
            ExitCode::from(error.exit_code())
        }
    }
}

fn run() -> Result<()> {
    match Cli::parse().command {
        #[cfg(feature = "explore")]
        Command::Explore(command) => explore::run(&command, <Cli as clap::CommandFactory>::command()),
        Command::Kernels(arguments) => kernels::run(&arguments),
        Command::Worker(arguments) => worker::run(&arguments),
    }
}

#[cfg(feature = "explore")]
fn show(error: &Error) {
    explore::diagnostics::show(error);
}

#[cfg(not(feature = "explore"))]
fn show(error: &Error) {
    eprintln!("error: {error}");
}

/// The whole command line, for whoever checks a command without running it.
pub fn command() -> clap::Command {
    <Cli as clap::CommandFactory>::command()
}
