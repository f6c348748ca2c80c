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

pub mod compaction;
pub mod folder;
pub mod journal;
mod lines;
mod load;
pub mod manifest;
pub mod one_sided;
pub mod parquet;
mod parquet_pages;
pub mod reader;
pub mod record;
pub mod tabulate;
pub mod trial;

pub use folder::Folder;
