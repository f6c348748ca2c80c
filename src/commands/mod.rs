//! The commands: one file each, and one line each in `commands!`, by their purpose.

mod ab;
mod ab_progress;
mod archive;
mod calibrate;
mod card;
mod codes;
mod compare;
mod compare_folder;
mod conclude;
mod devices;
pub mod diagnostics;
mod export;
mod fit;
mod fit_formula;
mod import;
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
mod show;
mod site;
mod status;
mod sweeps;
mod try_numbers;
mod validate;

use apexmap_base::error::{Error, Result};
use apexmap_measure::cli::kernels;
use apexmap_run::sweep::ready;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde::Serialize;
use std::path::Path;

/// Each command is a module with `Arguments` and `run(&Arguments)`. Defines parser, dispatch and groups.
macro_rules! commands {
    ($($group:literal:
        first { $($(#[$about:meta])* $name:ident => $module:ident,)* }
        more { $($(#[$more_about:meta])* $more_name:ident => $more_module:ident,)* }
    )*) => {
        /// The commands.
        #[expect(clippy::large_enum_variant, reason = "a process has one")]
        #[derive(clap::Subcommand)]
        pub enum Command {
            $($($(#[$about])* $name($module::Arguments),)* $($(#[$more_about])* $more_name($more_module::Arguments),)*)*
        }

        pub fn run(command: &Command) -> Result<()> {
            match command {
                $($(Command::$name(arguments) => $module::run(arguments),)*
                $(Command::$more_name(arguments) => $more_module::run(arguments),)*)*
            }
        }

        /// The groups of commands in the order of `apexmap --help`: the commands that `apexmap` describes, too, and the others.
        pub const GROUPS: &[(&str, &[&str], &[&str])] =
            &[$(($group, &[$(stringify!($name)),*], &[$(stringify!($more_name)),*])),*];
    };
}

commands! {
    "Measure":
    first {
        /// Run a sweep or resume it, then draw its figures and write its report
        Run => run,
        /// List the ready sweeps by the question they answer; print or write them
        Sweeps => sweeps,
        /// Show latencies, bandwidths, GUPS and STREAM triad of this machine in ten seconds
        Try => try_numbers,
        /// Measure all basic latencies and bandwidths, and write a machine card
        Calibrate => calibrate,
    }
    more {
        /// Show the points of a sweep, and which are already done
        Plan => plan,
        /// List the kernels; show one with its parameters, outputs and source
        Kernels => kernels,
        /// List the GPUs and other devices that kernels of the family gpu run on
        Devices => devices,
    }
    "Look":
    first {
        /// Draw the maps of a result in the terminal, also while another process measures it
        Show => show,
        /// Show what a result contains, and which points failed and why
        Status => status,
        /// Show medians with 95 % intervals of any columns, by groups of samples
        Query => query,
        /// Redraw a result's figures and rewrite its report
        Report => report,
    }
    more {
        /// Draw a surface, contours, a heat map or curves from a result
        Plot => plot,
        /// Show a machine card: the classic numbers (STREAM, GUPS, latencies, cache sizes, TLB reach), or all
        Card => card,
        /// Write samples as CSV or JSON lines
        Export => export,
        /// Make a result from the output of HPCC, OSU, IMB, STREAM, BabelStream or Intel MLC
        Import => import,
        /// Pack a result into one file with checksums
        Archive => archive,
    }
    "Compare and explain":
    first {
        /// Compare results or published machines: ratios by point, regions where each is faster, regressions
        Compare => compare,
    }
    more {
        /// Compare commands in alternating runs: the ratio of their speeds, with its interval
        Ab => ab,
        /// List known codes with their places on the map; with a result, their rates on this machine
        Codes => codes,
        /// Show how each line of a program walks through memory, and its place on the map
        Locate => locate,
    }
    "Papers and models":
    first {
        /// Predict rates from a model and a machine card
        Predict => predict,
    }
    more {
        /// List the models and the published machines; show a model with its variables, parameters and source
        Models => models,
        /// Fit a model's parameters to a result, with intervals and residuals
        Fit => fit,
        /// Recompute the papers' model values, fit the models to the papers' measurements, and report discrepancies
        Validate => validate,
    }
    "Clusters":
    first {}
    more {
        /// Show the settings of the site file and their origins; test them
        Site => site,
    }
}

/// Whether `apexmap run WORD` would run a sweep, for advice if the word is given as a command.
pub fn is_sweep(word: &str) -> bool {
    Path::new(word).is_file() || ready::find_by_name(Path::new(word)).is_some()
}

/// Output formats of models and their fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    Table,
    Json,
    Toml,
}

fn pretty(value: &impl Serialize) -> Result<String> {
    let text = serde_json::to_string_pretty(value);
    Ok(text.map_err(|e| Error::internal(format!("cannot write JSON: {e}")))? + "\n")
}

fn toml(value: &impl Serialize) -> Result<String> {
    toml::to_string_pretty(value).map_err(|e| Error::internal(format!("cannot write TOML: {e}")))
}

/// The parser of a flag with one of these words.
fn parser<T, const N: usize>(words: [(&'static str, T); N]) -> impl TypedValueParser<Value = T>
where
    T: Copy + Send + Sync + 'static,
{
    let value = move |name: String| words.into_iter().find(|(word, _)| *word == name).expect("clap checks the word").1;
    PossibleValuesParser::new(words.map(|(word, _)| word)).map(value)
}
