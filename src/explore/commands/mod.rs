//! The commands of the exploring wing: one file each, and its line in [`Command`].

mod calibrate;
mod card;
mod compare;
mod completions;
pub mod diagnostics;
mod export;
mod fit;
mod man;
mod plan;
mod plot;
mod predict;
mod progress;
mod query;
mod report;
mod run;
mod samples;
mod setup;
mod status;
mod validate;

use crate::error::Result;

/// The commands, in the order of `apexmap --help`.
#[derive(clap::Subcommand)]
pub enum Command {
    /// Run a sweep, or resume it; then draw its figures and write its report
    Run(run::Arguments),
    /// Show what a sweep would run and what is already done
    Plan(plan::Arguments),
    /// Show what a result holds, what failed and why
    Status(status::Arguments),
    /// Draw a surface, contours, a heat map or curves from a result
    Plot(plot::Arguments),
    /// Show medians with 95 % intervals of any columns, by groups of samples
    Query(query::Arguments),
    /// Write samples as CSV, JSON lines or the input of Extra-P
    Export(export::Arguments),
    /// Redraw a result's figures and rewrite its report
    Report(report::Arguments),
    /// Compare results, or published machines: ratios point by point, fastest regions, regressions
    Compare(compare::Arguments),
    /// Measure basic latencies and bandwidths, and write a machine card
    Calibrate(calibrate::Arguments),
    /// List the models with their variables, parameters and sources, and the published machines
    Models(predict::ModelsArguments),
    /// Predict rates from a model and a machine card
    Predict(predict::Arguments),
    /// Fit a model's parameters to a result, with intervals and residuals
    Fit(fit::Arguments),
    /// Recompute the papers' model values, fit the models to the papers' measurements, and report discrepancies
    Validate(validate::Arguments),
    /// Print a completion script for a shell
    Completions(completions::Arguments),
    /// Print a manual page, or write those of all commands
    Man(man::Arguments),
}

/// Runs a command; `program` describes the whole command line, for manual pages and completions.
///
/// # Errors
/// Whatever the command refuses.
pub fn run(command: &Command, program: clap::Command) -> Result<()> {
    match command {
        Command::Run(arguments) => run::run(arguments),
        Command::Plan(arguments) => plan::run(arguments),
        Command::Status(arguments) => status::run(arguments),
        Command::Plot(arguments) => plot::run(arguments),
        Command::Query(arguments) => query::run(arguments),
        Command::Export(arguments) => export::run(arguments),
        Command::Report(arguments) => report::run(arguments),
        Command::Compare(arguments) => compare::run(arguments),
        Command::Calibrate(arguments) => calibrate::run(arguments),
        Command::Models(arguments) => predict::list(arguments),
        Command::Predict(arguments) => predict::run(arguments),
        Command::Fit(arguments) => fit::run(arguments),
        Command::Validate(arguments) => validate::run(arguments),
        Command::Completions(arguments) => completions::run(arguments, program),
        Command::Man(arguments) => man::run(arguments, program),
    }
}

/// `1 rank`, `2 ranks`.
fn ranks(ranks: usize) -> String {
    if ranks == 1 { "1 rank".into() } else { format!("{ranks} ranks") }
}
