//! Samples for other programs: CSV with a description of its columns, JSON lines, the input of Extra-P.

pub mod csv;
pub mod extra_p;
pub mod jsonl;
pub mod metadata;
