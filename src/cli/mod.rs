//! The command line: one file a command.
//!
//! Exit codes: 0 done; 2 wrong flag, sweep or parameters; 3 something the machine lacks; 4 points failed or are missing;
//! 5 a comparison found what `--fail-if` names; 70 a fault of this program.

#[cfg(feature = "explore")]
mod calibrate;
#[cfg(feature = "explore")]
mod card;
#[cfg(feature = "explore")]
mod compare;
#[cfg(feature = "explore")]
pub mod complain;
#[cfg(feature = "explore")]
mod completions;
#[cfg(feature = "explore")]
mod export;
#[cfg(feature = "explore")]
mod fit;
mod kernels;
#[cfg(feature = "explore")]
mod man;
#[cfg(feature = "explore")]
mod plan;
#[cfg(feature = "explore")]
mod plot;
#[cfg(feature = "explore")]
mod predict;
#[cfg(feature = "explore")]
mod progress;
#[cfg(feature = "explore")]
mod query;
#[cfg(feature = "explore")]
mod report;
#[cfg(feature = "explore")]
mod run;
#[cfg(feature = "explore")]
mod samples;
#[cfg(feature = "explore")]
mod setup;
#[cfg(feature = "explore")]
mod status;
#[cfg(feature = "explore")]
mod validate;
mod worker;

use crate::error::{Error, Result};
#[cfg(feature = "explore")]
use crate::nearest::nearest;
#[cfg(feature = "explore")]
use clap::CommandFactory;
use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Maps the memory and network of a machine: sweeps of verified kernels, locality surfaces, reports.
#[derive(Parser)]
#[command(name = "apexmap", version, about, after_help = AFTER_HELP)]
#[cfg_attr(feature = "explore", command(args_conflicts_with_subcommands = true))]
#[cfg_attr(not(feature = "explore"), command(subcommand_required = true, arg_required_else_help = true))]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[cfg(feature = "explore")]
    #[command(flatten)]
    run: run::Arguments,
}

const AFTER_HELP: &str = "Without a command, apexmap runs.

Examples:
  apexmap                                  measure and report this machine's locality surface (about a minute)
  apexmap plan sweeps/memory-sizes.toml    what a sweep would run, and what of it is done
  apexmap run sweeps/memory-sizes.toml     run it, or continue it
  apexmap plot results/quickstart contour --where 'P == 1'
  apexmap predict random_access.hypercube --machine red-storm --ranks 1..131072
  apexmap kernels                          what can be measured, with parameters and sources

Exit codes: 0 done; 2 wrong flag, sweep or parameters; 3 something the machine lacks; 4 points failed or are missing; \
5 `compare --fail-if` found something; 70 a fault of apexmap.";

#[derive(Subcommand)]
enum Command {
    /// Run a sweep (the default), or continue it; then draw its figures and write its report
    #[cfg(feature = "explore")]
    Run(run::Arguments),
    /// Show what a sweep would run, and what of it a result already holds
    #[cfg(feature = "explore")]
    Plan(plan::Arguments),
    /// Show what a result holds, what failed and why
    #[cfg(feature = "explore")]
    Status(status::Arguments),
    /// Draw a surface, contours, a heat map or curves from a result
    #[cfg(feature = "explore")]
    Plot(plot::Arguments),
    /// Medians with 95 % intervals of any columns, by groups of samples
    #[cfg(feature = "explore")]
    Query(query::Arguments),
    /// Write samples as CSV, JSON lines or the input of Extra-P
    #[cfg(feature = "explore")]
    Export(export::Arguments),
    /// Draw a result's figures and write its report anew
    #[cfg(feature = "explore")]
    Report(report::Arguments),
    /// Compare results, or published machines: ratios point by point, who wins where, regressions
    #[cfg(feature = "explore")]
    Compare(compare::Arguments),
    /// Measure what models take as given, and write a machine card
    #[cfg(feature = "explore")]
    Calibrate(calibrate::Arguments),
    /// List the kernels with their parameters, outputs and sources
    Kernels(kernels::Arguments),
    /// List the models with their variables, numbers and sources, and the published machines
    #[cfg(feature = "explore")]
    Models(predict::ModelsArguments),
    /// Predict rates from a model and a machine card
    #[cfg(feature = "explore")]
    Predict(predict::Arguments),
    /// Fit a model's numbers to a result, with intervals and residuals
    #[cfg(feature = "explore")]
    Fit(fit::Arguments),
    /// Recompute the papers' model values, fit the models to the papers' measurements, and say what disagrees
    #[cfg(feature = "explore")]
    Validate(validate::Arguments),
    /// Print a completion script for a shell
    #[cfg(feature = "explore")]
    Completions(completions::Arguments),
    /// Print a manual page, or write those of all commands
    #[cfg(feature = "explore")]
    Man(man::Arguments),
    /// Run one job on the ranks of this process or launch (what launchers start; not for people)
    #[command(hide = true)]
    Worker(worker::Arguments),
}

pub fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&error);
            ExitCode::from(error.exit_code())
        }
    }
}

fn run() -> Result<()> {
    #[cfg(feature = "explore")]
    refuse_misspelt_command()?;
    let cli = Cli::parse();
    match &cli.command {
        #[cfg(feature = "explore")]
        None => run::run(&cli.run),
        #[cfg(not(feature = "explore"))]
        None => Err(Error::input("no command was given", "see `apexmap --help`")),
        Some(command) => dispatch(command),
    }
}

/// `apexmap qurey RESULT`: what is no command is else taken for a sweep, of which the parser then complains.
#[cfg(feature = "explore")]
fn refuse_misspelt_command() -> Result<()> {
    let Some(first) = std::env::args_os().nth(1).and_then(|first| first.into_string().ok()) else { return Ok(()) };
    let program = Cli::command();
    let known: Vec<&str> = program.get_subcommands().map(clap::Command::get_name).chain(["help"]).collect();
    if first.starts_with('-') || known.contains(&first.as_str()) || std::path::Path::new(&first).exists() {
        return Ok(());
    }
    match nearest(&first, known.into_iter().filter(|name| *name != "worker")) {
        Some(name) => Err(Error::input(
            format!("there is no command \"{first}\", nor a sweep of this name"),
            format!("did you mean apexmap {name}? `apexmap --help` lists the commands"),
        )),
        None => Ok(()),
    }
}

fn dispatch(command: &Command) -> Result<()> {
    match command {
        #[cfg(feature = "explore")]
        Command::Run(arguments) => run::run(arguments),
        #[cfg(feature = "explore")]
        Command::Plan(arguments) => plan::run(arguments),
        #[cfg(feature = "explore")]
        Command::Status(arguments) => status::run(arguments),
        #[cfg(feature = "explore")]
        Command::Plot(arguments) => plot::run(arguments),
        #[cfg(feature = "explore")]
        Command::Query(arguments) => query::run(arguments),
        #[cfg(feature = "explore")]
        Command::Export(arguments) => export::run(arguments),
        #[cfg(feature = "explore")]
        Command::Report(arguments) => report::run(arguments),
        #[cfg(feature = "explore")]
        Command::Compare(arguments) => compare::run(arguments),
        #[cfg(feature = "explore")]
        Command::Calibrate(arguments) => calibrate::run(arguments),
        Command::Kernels(arguments) => kernels::run(arguments),
        #[cfg(feature = "explore")]
        Command::Models(arguments) => predict::list(arguments),
        #[cfg(feature = "explore")]
        Command::Predict(arguments) => predict::run(arguments),
        #[cfg(feature = "explore")]
        Command::Fit(arguments) => fit::run(arguments),
        #[cfg(feature = "explore")]
        Command::Validate(arguments) => validate::run(arguments),
        #[cfg(feature = "explore")]
        Command::Completions(arguments) => completions::run(arguments),
        #[cfg(feature = "explore")]
        Command::Man(arguments) => man::run(arguments),
        Command::Worker(arguments) => worker::run(arguments),
    }
}

#[cfg(feature = "explore")]
fn complain(error: &Error) {
    use std::io::IsTerminal;
    let width = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok()).unwrap_or(100);
    eprint!("{}", complain::render(error, std::io::stderr().is_terminal(), width));
}

#[cfg(not(feature = "explore"))]
fn complain(error: &Error) {
    eprintln!("error: {error}");
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

/// `1 rank`, `2 ranks`.
#[cfg(feature = "explore")]
fn ranks(ranks: usize) -> String {
    if ranks == 1 { "1 rank".into() } else { format!("{ranks} ranks") }
}
