//! Outputs of other benchmark programs as results. Each reader is one file, and one line in [`READERS`].
//!
//! The `samples.parquet` of an imported result holds one row per value, and a copy of each file is next to it. Kernels,
//! parameters and units are apexmap's where it has the quantity; other kernels are named after the program, as in
//! `osu.allreduce`. A parameter that the file does not give stays absent.

mod hpcc;
mod mlc;
mod osu;
pub mod recognise;
mod stream;
mod values;
mod write;

pub use write::write;

use values::Values;

/// A reader of the text output of a program.
pub struct Reader {
    /// The program, as users know it: `HPCC (HPC Challenge)`.
    pub name: &'static str,
    /// Text that its outputs have, and texts of other programs do not.
    marks: &'static [&'static str],
    /// Reads a whole output. The error says what is wrong, in words that follow the name of the file.
    read: fn(&str) -> Result<Values, String>,
}

pub const READERS: [Reader; 4] = [
    Reader {
        name: "HPCC (HPC Challenge)",
        marks: &["HPC Challenge Benchmark", "Begin of Summary section."],
        read: hpcc::read,
    },
    Reader { name: "OSU Micro-Benchmarks", marks: &["# OSU "], read: osu::read },
    Reader { name: "STREAM", marks: &["STREAM version", "Best Rate MB/s", "Rate (MB/s)"], read: stream::read },
    Reader {
        name: "Intel Memory Latency Checker",
        marks: &["Memory Latency Checker", "Measuring idle latencies"],
        read: mlc::read,
    },
];

impl Reader {
    pub fn find(text: &str) -> Option<&'static Reader> {
        READERS.iter().find(|reader| reader.marks.iter().any(|mark| text.contains(mark)))
    }
}
