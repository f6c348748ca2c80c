//! apexmap measures how fast a machine's memory and network deliver data, and draws the result as a map over locality.
//!
//! ```text
//! sweep (TOML) -> plan (points, grouped into launches) -> launcher (argv) -> worker ranks run kernels
//!   -> journal (one JSON line per sample) -> result (Parquet + manifest) -> figures -> report
//! ```
//!
//! # Structure: twelve crates, each imports only from those below it
//!
//! ```text
//! src/commands   the commands, one file each: arguments and output; src/cli parses them, src/facade.rs is the public interface
//! src/pages      html: style and parts of pages; explorer: the panel of all cells, with its script; report: a result;
//!                compare: machines; validation: models and papers
//! src/study      calibrate: the numbers of a machine card; model_fit: fits of models to samples; validate: models against papers;
//!                answers: answers to the questions of sweeps; nodes: nodes of a cluster against each other;
//!                paired: commands, or two variants of a sweep, in turn; verdict: of programs
//! src/cluster    batch: batch systems; site: site files; jobs: a campaign as scripts of jobs, each submitted once
//! src/run        sweep: reads sweep files and expands points; launch: launchers; drive: plans launches, starts and watches them;
//!                campaign: a sweep from plan to result on this machine
//! src/draw       figure: surfaces, contours, curves from plain data; plot: figures of samples
//! src/results    disk: journals, Parquet, manifest; table: columns; samples: groups, cells, cubes; query; export;
//!                import: outputs of other programs
//! src/locate     programs on the map: site; tracer: the valgrind tool; text_trace; reuse: LRU distances; walk: kinds; runs, sets, place;
//!                verdict: what takes the time, from costs; change: gains
//! src/simulate   a card as a simulated machine
//! src/theory     machine: cards; models; codes: places of codes on the map; fit; bounds; paper_tables; statistics
//! src/measure    hardware, observer, comm: transports; kernels, with code that families share in kernels/shared; worker; builds
//!                `apexmap-worker` too
//! src/base       errors, units, points, samples, provenance, conditions, reservations, files, terminal, processes and their ends
//! ```
//!
//! Compute nodes build only `src/measure`, which needs Rust, and MPI if requested. The driver runs on a laptop without MPI.
//! `tests/architecture.rs` defines the order within each crate.
//!
//! # First steps
//!
//! Programs that use this crate need [`kernels`], [`sweeps`], [`results`], [`models`], [`fits`] and [`figures`]. Each has an
//! example that runs; `examples/` has whole programs. The members of the workspace are internal and promise no stability. To read
//! their documentation, run
//! `cargo doc --workspace --document-private-items`.
//!
//! # How to add ...
//!
//! * a kernel: a file in `src/measure/kernels/` with a static `Kernel`, its module, and its line in `kernels::ALL`. Help, sweeps, plans,
//!   bounds, simulations, results, figures and the report's tables then include it.
//! * a launcher: a template in `src/run/launch/templates/`, and its line in `launch::registry`; if a template is not enough, code
//!   as in `openmpi.rs`. Sweeps, their schema, help and errors then include it.
//! * a batch system: a template in `src/cluster/batch/templates/`, and its line in `batch::TEMPLATES`; users may also name their own
//!   template.
//! * a transport: a folder in `src/measure/comm/` that implements `Comm` and its parts, and its line and its arm in
//!   `comm/transport.rs`.
//! * a ready sweep: a file in `sweeps/` with its question and answer, and its name in `sweep::ready::READY_SWEEPS`.
//! * a model: a file in `src/theory/models/` that implements `Model`, and its line in `models::ALL`; new numbers in
//!   `machine/catalogue.rs`. Predictions, fits, validation and help then include it.
//! * a figure: a file in `src/draw/figure/` that implements `Drawable`, a variant of `figure::Figure` and its line in
//!   `Figure::drawable`; for `apexmap plot` also its name in `plot::FigureKind`.
//! * a program whose output is imported: a file in `src/results/import/`, and its line in `import::READERS`.
//! * a command: a file in `src/commands/`, and its line in `commands!` there.

#![warn(clippy::disallowed_methods, missing_docs)]

mod cli;
/// The commands; public only for this repository's tests.
#[doc(hidden)]
pub mod commands;
mod facade;

pub use apexmap_base::error::{Error, ErrorKind, Location, Result};
pub use apexmap_base::point::{Point, Value};
pub use cli::main;
#[doc(hidden)]
pub use cli::program as command;
pub use facade::*;

/// Kernels: ways to exercise the machine, each verified and timed.
///
/// [`find`](kernels::find) a kernel, [`complete`](kernels::complete) a [`Point`] of it, and
/// [run it in this process](kernels::run_embedded). Its [`work`](kernels::Kernel::work) converts the time into rates.
///
/// One run on threads of this process:
///
/// ```
/// use apexmap::{Point, kernels};
///
/// let point = Point::new("apex_map.two_sided", 2)
///     .with_parameter("M", 1u64 << 16)
///     .with_parameter("L", 8u64)
///     .with_parameter("alpha", 0.1)
///     .with_parameter("I", 64u64)
///     .with_parameter("N", 2u64);
/// // `complete` adds the defaults of the other parameters and checks them all.
/// let point = kernels::complete(point).expect("a point that can be run");
/// let outcome = kernels::run_embedded(&point, 0)?;
/// let work = kernels::find(&point.kernel)?.work(&point);
/// println!("{} bytes per second", work.bytes / outcome.seconds);
/// # Ok::<(), apexmap::Error>(())
/// ```
pub mod kernels {
    pub use apexmap_measure::kernels::{
        ALL, Computations, Divided, Division, Domain, Kernel, Outcome, Output, Parameter, Pattern, Ranks, Refusal,
        Rings, Traffic, Windows, Work, complete, find, run_embedded,
    };
}
