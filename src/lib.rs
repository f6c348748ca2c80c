//! apexmap draws the map of a machine's memory and network.
//!
//! ```text
//! sweep (TOML) -> plan (points, grouped into launches) -> launcher (argv) -> worker ranks run kernels
//!   -> journal (one JSON line per sample) -> store (Parquet + manifest) -> figures -> report
//! ```
//!
//! # The map: nine crates, each imports from those below it
//!
//! ```text
//! src/commands   the commands, one file each: arguments and output; src/cli parses them, src/facade.rs is for programs
//! src/pages      html: style and parts of pages; report: a result; compare: machines; validation: models and papers
//! src/study      calibrate: the numbers of a machine card; model_fit: a model against samples; validate: models against papers
//! src/run        sweep: specification, plan, driver; launch: launchers; batch: batch systems; submit: jobs, followed;
//!                manual: launches elsewhere; campaign: a sweep planned, tried, launched, followed, concluded
//! src/draw       figure: surfaces, contours, curves from plain data; plot: samples to figures
//! src/results    disk: journals, Parquet, manifest; table: columns; samples: groups, cells, cubes; query; export
//! src/theory     machine: cards; models; fit; bounds; published: the papers' tables; statistics
//! src/measure    hardware, observer, comm: transports; kernels, with kernels/shared what several families run; worker. It builds
//!                `apexmap-worker` too
//! src/base       errors, units, points, samples, provenance, conditions, files, terminal
//! ```
//!
//! A compute node builds `src/measure` with nothing but Rust, and MPI if asked. The driver runs on a laptop without MPI.
//! `tests/architecture.rs` has the order within each crate.
//!
//! # To begin with
//!
//! Programs that use the crate see [`kernels`], [`sweeps`], [`results`], [`models`], [`fits`] and [`figures`], each with an
//! example that runs; `examples/` has whole programs. The members of the workspace are for this repository and promise no
//! stability: `cargo doc --workspace --document-private-items` shows them.
//!
//! # To add
//!
//! * a kernel: a file in `src/measure/kernels/` that implements `Kernel`, and its line in `kernels::ALL`. Help, sweeps, plans,
//!   results, figures and the report's tables take it from there.
//! * a launcher: a template in `src/run/launch/templates/`, and its line in `launch::registry`; code, as in `openmpi.rs`, where a
//!   template does not suffice. Sweeps, their schema, help and errors take it from there.
//! * a batch system: a template in `src/run/batch/templates/`, and its line in `batch::ALL`; users may name a template of their own.
//! * a transport: a folder in `src/measure/comm/` that implements `Comm` and its parts, and its line and its arm in
//!   `comm/transport.rs`.
//! * a ready sweep: a file in `sweeps/`, and its name in `sweep::ready::ALL`.
//! * a model: a file in `src/theory/models/` that implements `Model`, and its line in `models::ALL`; new numbers in
//!   `machine/catalogue.rs`. Predictions, fits, validation and help take it from there.
//! * a figure: a file in `src/draw/figure/` that implements `Drawable`, a variant of `figure::Figure` and its line in
//!   `Figure::drawable`; for `apexmap plot` also its name in `plot::FigureKind`.
//! * a command: a file in `src/commands/`, and its line in `commands!` there.

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
