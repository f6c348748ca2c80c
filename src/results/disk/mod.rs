//! Results on disk: journals as written, and one Parquet file and a manifest made from them.
//!
//! A result folder contains
//!
//! ```text
//! sweep.toml        the sweep as given
//! points.jsonl      the sweep as expanded: one point per line, with its key
//! manifest.json     what was run, where, when, and with which build
//! journals/NNNN.jsonl  one per launch: the worker's lines as received
//! machine.toml      the card of the machine, if one was given: used for bounds
//! samples.parquet   one row per sample, made from the journals; any Parquet reader opens it
//! ```

pub mod archive;
pub mod compaction;
pub mod folder;
pub mod journal;
mod lines;
pub mod load;
pub mod lock;
pub mod manifest;
pub mod one_sided;
pub mod parquet;
mod parquet_pages;
pub mod reader;
pub mod record;
pub mod tabulate;
pub mod trial;

pub use folder::Folder;
