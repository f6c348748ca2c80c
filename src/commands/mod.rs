//! The commands: one file each, and one line each in `commands!`.

mod ab;
mod ab_command;
mod ab_result;
mod ab_sides;
mod ab_sweep;
mod archive;
mod calibrate;
mod cancel;
mod card;
mod codes;
mod columns;
mod compare;
mod compare_folder;
mod conclude;
mod devices;
pub mod diagnostics;
mod export;
mod export_network;
mod fit;
mod fit_formula;
mod format;
mod import;
mod job;
mod live;
mod locate;
mod models;
mod opened;
mod own_model;
mod plan;
mod plot;
mod predict;
mod progress;
mod query;
mod report;
mod run;
mod run_command;
mod selection;
mod shell_words;
mod show;
mod show_card;
mod site;
mod snippet;
mod status;
mod status_nodes;
mod status_state;
mod submit_options;
mod sweeps;
mod try_launch;
mod validate;

use apexmap_base::error::Result;
use apexmap_run::sweep::ready;
use std::path::Path;

/// Defines the parser and the dispatch of the commands. Each command is a module with `Arguments` and `run(&Arguments)`.
macro_rules! commands {
    ($($(#[$about:meta])* $name:ident => $module:ident,)*) => {
        /// The commands, in the order of `apexmap --help`.
        #[expect(clippy::large_enum_variant, reason = "a process has one")]
        #[derive(clap::Subcommand)]
        pub enum Command {
            $($(#[$about])* $name($module::Arguments),)*
        }

        pub fn run(command: &Command) -> Result<()> {
            match command {
                $(Command::$name(arguments) => $module::run(arguments),)*
            }
        }
    };
}

commands! {
    /// Run a sweep or resume it, then draw its figures and write its report
    Run => run,
    /// List the ready sweeps by the question they answer; print or write them
    Sweeps => sweeps,
    /// Show the points of a sweep, and which are already done
    Plan => plan,
    /// Launch a sweep's ranks for a few seconds; show their placement and first network numbers
    Try => try_launch,
    /// Show what a result contains, and which points failed and why
    Status => status,
    /// Draw the maps of a result in the terminal, also while another process measures it
    Show => show,
    /// Cancel the batch jobs of a result
    Cancel => cancel,
    /// Show the settings of the site file and their origins; test them
    Site => site,
    /// Export a sweep's launches to a machine that runs only the worker, and import its outputs
    Job => job,
    /// Draw a surface, contours, a heat map or curves from a result
    Plot => plot,
    /// Show medians with 95 % intervals of any columns, by groups of samples
    Query => query,
    /// Pack a result into one file with checksums
    Archive => archive,
    /// Make a result from the output of HPCC, OSU, STREAM, Intel MLC or Extra-P
    Import => import,
    /// Write samples as CSV, JSON lines or the input of Extra-P
    Export => export,
    /// Redraw a result's figures and rewrite its report
    Report => report,
    /// Compare results or published machines: ratios by point, regions where each is faster, regressions
    Compare => compare,
    /// Compare two commands in alternating runs: the ratio of their speeds, with its interval
    Ab => ab,
    /// Measure basic latencies and bandwidths, and write a machine card
    Calibrate => calibrate,
    /// List the GPUs and other devices that kernels of the family gpu run on
    Devices => devices,
    /// Show a machine card: the classic numbers (STREAM, GUPS, latencies, cache sizes, TLB reach), or all
    Card => show_card,
    /// List known codes with their places on the map; with a result, their rates on this machine
    Codes => codes,
    /// Show how each line of a program walks through memory, and its place on the map
    Locate => locate,
    /// List the models and the published machines; show a model with its variables, parameters and source
    Models => models,
    /// Predict rates from a model and a machine card
    Predict => predict,
    /// Fit a model's parameters to a result, with intervals and residuals
    Fit => fit,
    /// Recompute the papers' model values, fit the models to the papers' measurements, and report discrepancies
    Validate => validate,
}

/// Returns whether `apexmap run WORD` would run a sweep. Used for advice if the word is given as a command.
pub fn is_sweep(word: &str) -> bool {
    Path::new(word).is_file() || ready::find_by_name(Path::new(word)).is_some()
}
