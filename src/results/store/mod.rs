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

pub mod autocorrelation;
pub mod bound_columns;
pub mod build;
pub mod cells;
mod choose;
pub mod column;
pub mod columns;
pub mod compaction;
pub mod correction;
pub mod derive;
pub mod design;
pub mod distance;
pub mod disturbance_columns;
pub mod estimate;
pub mod folder;
pub mod groups;
pub mod health;
pub mod journal;
mod lines;
mod load;
pub mod manifest;
pub mod one_sided;
mod packed;
pub mod parquet;
mod parquet_pages;
pub mod pivot;
pub mod quietness;
pub mod reader;
pub mod record;
pub mod samples;
pub mod table;
pub mod tabulate;
pub mod trial;

pub use build::TableBuilder;
pub use folder::Folder;
pub use samples::Samples;
pub use table::Table;
