//! Results on disk: journals as they were written, and one Parquet file with a manifest made from them.
//!
//! A result folder holds
//!
//! ```text
//! sweep.toml        the sweep as given
//! points.jsonl      the sweep as expanded: one point a line, with its key
//! manifest.json     what was run, where, by what, when
//! journals/NNNN.jsonl  one a launch: the worker's lines as they came
//! machine.toml      the card of the machine, if one was given: what bounds are made of
//! samples.parquet   one row a sample, made from the journals; any Parquet reader opens it
//! ```
//!
//! ```no_run
//! use apexmap::explore::store::Folder;
//! use std::path::Path;
//!
//! let table = Folder::open(Path::new("results/quickstart"))?.table()?;
//! for row in (0..table.rows).filter(|&row| table.word("status", row) == "ok") {
//!     println!("alpha = {}: {} B/s", table.number("alpha", row), table.number("bytes_per_second", row));
//! }
//! # Ok::<(), apexmap::error::Error>(())
//! ```

pub mod bound_columns;
pub mod cells;
pub mod columns;
pub mod derive;
pub mod folder;
pub mod journal;
pub mod manifest;
pub mod parquet;
pub mod table;

pub use folder::Folder;
pub use table::Table;
