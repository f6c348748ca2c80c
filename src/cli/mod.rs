//! The command line: one file a command.
//!
//! Exit codes: 0 done; 2 wrong flag, sweep or parameters; 3 something the machine lacks; 4 points failed or are missing;
//! 70 a fault of this program; 130 interrupted.

#[cfg(feature = "explore")]
pub mod complain;
mod kernels;
mod worker;

use crate::error::{Error, Result};
use clap::{Parser, Subcommand};
use std::process::ExitCode;

#[derive(Parser)]
#[command(name = "apexmap", version, about, after_help = EXIT_CODES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXIT_CODES: &str = "Exit codes: 0 done; 2 wrong flag, sweep or parameters; 3 something the machine lacks; \
4 points failed or are missing; 70 a fault of apexmap; 130 interrupted.";

#[derive(Subcommand)]
enum Command {
    /// List the kernels with their parameters, outputs and sources
    Kernels(kernels::Arguments),
    /// Run one job on the ranks of this process or launch (what launchers start; not for people)
    #[command(hide = true)]
    Worker(worker::Arguments),
}

pub fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Kernels(arguments) => kernels::run(&arguments),
        Command::Worker(arguments) => worker::run(&arguments),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => complain(&error),
    }
}

fn complain(error: &Error) -> ExitCode {
    eprintln!("error: {error}");
    ExitCode::from(error.exit_code())
}

/// Prints, and takes a closed pipe (`apexmap kernels | head`) as the end of interest.
fn print(text: &str) -> Result<()> {
    use std::io::Write;
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Error::environment(format!("cannot write to standard output: {error}"), "check where it goes"))
        }
        _ => Ok(()),
    }
}
