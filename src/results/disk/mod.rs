//! Results on disk: journals as written, and one Parquet file and a manifest made from them.

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
