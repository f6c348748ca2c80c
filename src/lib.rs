//! apexmap draws the map of a machine's memory and network.
//!
//! ```text
//! sweep (TOML) -> plan (points, grouped into launches) -> launcher (argv) -> worker ranks run kernels
//!   -> journal (one JSON line per sample) -> store (Parquet + manifest) -> figures -> report
//! ```
//!
//! # The map: a module imports only from its own floor and those below
//!
//! ```text
//! 10 cli            the command line of both wings
//!
//!    explore/       the exploring wing (feature `explore`)
//! 10   facade       what programs that use the crate see of it
//! 9    commands     its commands, one file each
//! 8    report       one HTML file about a result: summary, regimes, pictures, fits
//!      compare      machines against each other: points matched, ratios, regressions
//!      validate     the models against the papers' tables
//! 7    sweep        specification, expansion, plan, execution, driver
//!      launch       launchers: a job to a command line; one file per launcher
//!      batch        batch systems: a job as a script, and what their answers mean; one template per system
//!      submit       a sweep as jobs of a batch system: divided, submitted, followed, submitted again
//!      exported     launches carried out by hand elsewhere: job files and scripts out, outputs in
//!      plot         samples to figures
//!      figure       surfaces, contours, heat maps, curves, from plain data
//!      model_fit    a model against a store: observations, what the host reports, a sentence
//!      query        medians of any columns, by groups
//!      export       samples for other programs: CSV, JSON lines, Extra-P
//!      html         HTML pages: their style, their figures; a page's template extends `page.html`
//!      calibrate    the sweep that measures a machine card's numbers, and the card
//! 6    store        result folders: journals, Parquet, manifest; tables, the registry of their columns, derived rates;
//!                   samples: a table and some of its rows, what varies in them, groups, cells, grids
//! 5    bounds       what a calibrated machine allows at most, at a point, and which limit binds; one file per family
//! 4    machine      machine cards: the numbers of a machine, measured or published
//!      models       analytic models: a machine's numbers to a rate; one file per model, one line in `models::ALL`
//!      published    the papers' tables
//!      fit          a model's parameters from measurements, with intervals and goodness of fit
//! 1    condition    `L * ranks <= M`
//!      trade        the L needed to hold a bandwidth as alpha grows
//! 0    toml_file    a TOML file being read
//!      new_file     files that are written whole or not at all
//!      regular_file files of a result that are read: no pipe is waited for
//!      in_order     work on all processors, its results in order
//!
//!    measure/       the measuring wing: all that a compute node needs
//! 5    worker       what runs on the ranks: the schedule of a job, one line per sample
//! 4    kernels      what is measured; one file per kernel, one line in `kernels::ALL`
//! 2    comm         what kernels ask of a transport, in parts; `threads`, `mpi`, and a rank's memory (`arena`)
//!      observer     what disturbs a run: what the system counts while its clock runs, the core clock, canaries
//! 1    numerics     mixing, power law, statistics: no input, no output
//!      crew         the threads that help a rank while no clock runs
//! 0    affinity     which processors a thread may use
//!      prefetch     hints to fetch words before they are used
//!      progress     how far a run is, while no clock runs
//!      hardware     the hardware as the system tells of it, limits of control groups, placement of ranks
//!
//! 0  error units source point provenance disturbance sample nearest terminal text_table crash: the vocabulary of both wings
//! ```
//!
//! The measuring wing builds with nothing but Rust, and MPI if asked; the exploring wing runs on a laptop without MPI.
//! They meet in the vocabulary and in the store.
//!
//! # To begin with
//!
//! Programs that use the crate see [`kernels`], [`sweeps`], [`results`], [`models`], [`fits`] and [`figures`], each with an
//! example that runs; `examples/` has whole programs. All else is for this repository: `cargo doc --document-private-items`
//! shows it.
//!
//! # To add
//!
//! * a kernel: a file in `kernels/` that implements `measure::kernels::Kernel`, and its line in
//!   `measure::kernels::ALL`. Help, sweeps, plans, stores, figures and the report's tables take it from there.
//! * a launcher: a file in `explore/launch/`, and its line in `explore::launch::registry::ALL`. Sweeps, their schema, help and errors
//!   take it from there.
//! * a batch system: a template in `explore/batch/templates/`, and its line in `explore::batch::ALL`; users may name a template of
//!   their own.
//! * a transport: a folder in `comm/` that implements `measure::comm::Comm` and its parts, and its line and its arm in
//!   `comm/transport.rs`.
//! * a ready sweep: a file in `sweeps/`, and its name in `explore::sweep::ready::ALL`.
//! * a model: a file in `models/` that implements `explore::models::Model`, and its line in
//!   `explore::models::ALL`; new numbers in `machine/catalogue.rs`. Predictions, fits, validation and help take it from
//!   there.
//! * a figure: a file in `figure/` that implements `Drawable`, a variant of `figure::Figure` and its line in
//!   `Figure::drawable`; for `apexmap plot` also its name in `plot::FigureKind`.
//! * a command: a file in `explore/commands/`, and its line in `commands!` there.

#![warn(clippy::disallowed_methods, missing_docs)]

mod cli;
/// For this repository's tests.
#[doc(hidden)]
pub mod commands;
mod facade;

pub use apexmap_base::error::{Error, ErrorKind, Place, Result};
pub use apexmap_base::point::{Point, Value};
#[doc(hidden)]
pub use cli::command;
pub use cli::main;
pub use facade::*;

/// Kernels: what is measured.
///
/// [`find`](kernels::find) a kernel, [`complete`](kernels::complete) a [`Point`] of it, and [run it here](kernels::run_here); its
/// [`work`](kernels::Kernel::work) turns the time into rates.
///
/// One run, on the threads of this process:
///
/// ```
/// use apexmap::{Point, kernels};
///
/// let point = Point::new("apex_map.two_sided", 2).with("M", 1u64 << 16).with("L", 8u64).with("alpha", 0.1);
/// // The other parameters get their defaults, and all are checked.
/// let point = kernels::complete(point.with("I", 64u64).with("N", 2u64)).expect("a point that can be run");
/// let outcome = kernels::run_here(&point, 0)?;
/// let work = kernels::find(&point.kernel)?.work(&point);
/// println!("{} bytes per second", work.bytes / outcome.seconds);
/// # Ok::<(), apexmap::Error>(())
/// ```
pub mod kernels {
    pub use apexmap_measure::kernels::{
        ALL, About, Domain, Kernel, Outcome, Output, Parameter, Ranks, Rings, Work, complete, find, run_here,
    };
}
