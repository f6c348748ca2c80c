//! apexmap draws the map of a machine's memory and network.
//!
//! ```text
//! sweep (TOML) -> plan (points, grouped into launches) -> launcher (argv) -> worker ranks run kernels
//!   -> journal (one JSON line a sample) -> store (Parquet + manifest) -> figures -> report
//! ```
//!
//! # The map: a module imports only from its own floor and those below
//!
//! ```text
//! 8  cli         the command line, one file a command
//! 7  report      one HTML file about a result: groups, summary, trade, regimes, pictures
//!    compare     machines against each other: points matched, ratios, regressions
//!    validate    the models against the papers' tables
//! 6  sweep       specification, expansion, plan, execution, driver
//!    launch      launchers: a job to a command line; one file a launcher
//!    figure      surfaces, contours, heat maps, curves; `select` takes their data from a store
//!    explain     a model against a store: observations, what the host tells, a sentence
//!    query       medians of any columns, by groups
//!    export      samples for other programs: CSV, JSON lines, Extra-P
//!    document    HTML pages: their look, their figures; a page's template extends `page.html`
//!    calibrate   the sweep that measures a machine card's numbers, and the card
//! 5  store       result folders: journals, Parquet, manifest, tables, cells, derived rates
//! 4  worker      what runs on the ranks: the schedule of a job, a line a sample
//!    bounds      what a calibrated machine allows at most, at a point, and which limit binds; one file a family
//! 3  kernels     what is measured; one file a kernel, one line in `kernels::ALL`
//!    machine     machine cards: the numbers of a machine, measured or published
//!    models      analytic models: a machine's numbers to a rate; one file a model, one line in `models::ALL`
//!    published   the papers' tables
//!    fit         a model's numbers from measurements, with intervals and what they are worth
//! 2  comm        what kernels ask of a transport; `threads`, `mpi`, and a rank's memory (`arena`)
//! 1  numerics    mixing, power law, statistics: no input, no output
//!    condition   `L * ranks <= M`
//! 0  error units source point provenance sample; nearest: "did you mean"; page: a TOML file being read
//! ```
//!
//! Measuring (floors 0 to 4 and `apexmap worker`) builds with nothing but Rust, and MPI if asked; exploring (the rest,
//! feature `explore`) runs on a laptop without MPI. They meet in the vocabulary of floor 0 and in the store.
//!
//! # To begin with
//!
//! [`sweep::parse`] reads a sweep, [`kernels`] runs a point, [`store::Folder`] opens a result, [`query::groups`] sums it up,
//! [`fit::fit`] fits one of [`models::ALL`], [`figure::svg`] draws: each of these modules shows an example that runs.
//! `examples/surface.rs` goes from a result folder to a picture.
//!
//! # To add
//!
//! * a kernel: a file in `kernels/` that implements [`kernels::Kernel`], and its line in [`kernels::ALL`]. Help,
//!   sweeps, plans, stores, figures and the report's tables take it from there.
//! * a launcher: a file in `launch/`, its line in `launch::ALL`, and its name in `sweep::Launcher`.
//! * a model: a file in `models/` that implements [`models::Model`], and its line in [`models::ALL`]; new numbers in
//!   `machine/catalogue.rs`. Predictions, fits, validation and help take it from there.
//! * a figure: a file in `figure/`, a variant of `figure::Figure`, its name in `figure::select::Kind`.
//! * a command: a file in `cli/` and its variant in `cli::Command`.

#[cfg(feature = "explore")]
pub mod bounds;
#[cfg(feature = "explore")]
pub mod calibrate;
pub mod cli;
pub mod comm;
#[cfg(feature = "explore")]
pub mod compare;
#[cfg(feature = "explore")]
pub mod condition;
#[cfg(feature = "explore")]
pub mod document;
pub mod error;
#[cfg(feature = "explore")]
pub mod explain;
#[cfg(feature = "explore")]
pub mod export;
#[cfg(feature = "explore")]
pub mod figure;
#[cfg(feature = "explore")]
pub mod fit;
pub mod kernels;
#[cfg(feature = "explore")]
pub mod launch;
#[cfg(feature = "explore")]
pub mod machine;
#[cfg(feature = "explore")]
pub mod models;
#[cfg(feature = "explore")]
pub mod nearest;
pub mod numerics;
#[cfg(feature = "explore")]
pub mod page;
pub mod point;
pub mod provenance;
#[cfg(feature = "explore")]
pub mod published;
#[cfg(feature = "explore")]
pub mod query;
#[cfg(feature = "explore")]
pub mod report;
pub mod sample;
pub mod source;
#[cfg(feature = "explore")]
pub mod store;
#[cfg(feature = "explore")]
pub mod sweep;
pub mod units;
#[cfg(feature = "explore")]
pub mod validate;
pub mod worker;
