//! Types and helpers that all crates share: errors, units, points, samples, provenance, conditions, files and the terminal.

pub mod condition;
pub mod crash;
pub mod disturbance;
pub mod error;
pub mod fatal_signal;
pub mod guarded;
pub mod interrupt;
pub mod name_lookup;
pub mod new_file;
pub mod other_output;
pub mod parallel;
pub mod place;
pub mod point;
pub mod process;
pub mod programs;
pub mod provenance;
pub mod regular_file;
pub mod reservation;
pub mod sample;
pub mod shell;
pub mod source;
pub mod terminal;
pub mod text_table;
pub mod toml_file;
pub mod units;
pub mod words;
