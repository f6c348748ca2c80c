//! Outputs of other benchmark programs as results. Each reader is one line in [`READERS`]; those of similar
//! tables share a file.
//!
//! A file is a list of runs (`runs.rs`), each with its own header and read alone. The `samples.parquet` of an imported result holds
//! one row per value, and a copy of each file is next to it. Kernels, parameters and units are apexmap's where it has the quantity;
//! other kernels are named after the program, as in `osu.allreduce`. Whatever a header names is a parameter, so that runs which
//! differ in it stay apart. A parameter that the file does not give stays absent.

mod hpcc;
mod mlc;
mod osu;
pub mod recognise;
mod runs;
mod stream;
mod values;
mod write;

pub use write::write;

use values::Values;

/// A reader of the text output of a program.
pub struct Reader {
    /// The program, as users know it: `HPCC (HPC Challenge)`.
    pub name: &'static str,
    /// Texts in the first line of each of its runs, in lower case, which outputs of other programs do not have.
    heads: &'static [&'static str],
    /// Texts in the heading of a table, in lower case, for outputs without their first line.
    tables: &'static [&'static str],
    /// Whether a run has one such table, so that the next one is of another run.
    has_one_table: bool,
    /// Reads one run. The error says what is wrong, in words that follow the name of the run.
    read: fn(&str) -> Result<Values, String>,
}

pub const READERS: [Reader; 6] = [
    Reader {
        name: "HPCC (HPC Challenge)",
        heads: &["hpc challenge benchmark version"],
        tables: &["begin of summary section."],
        has_one_table: true,
        read: hpcc::read,
    },
    Reader { name: "OSU Micro-Benchmarks", heads: &["# osu "], tables: &[], has_one_table: true, read: osu::read_osu },
    Reader {
        name: "Intel MPI Benchmarks",
        heads: &["intel(r) mpi benchmark", "intel (r) mpi benchmark"],
        tables: &["# benchmarking "],
        has_one_table: false,
        read: osu::read_imb,
    },
    Reader {
        name: "BabelStream",
        heads: &["babelstream\n", "gpu-stream\n"],
        tables: &["function    mbytes/sec", "function    mibytes/sec", "function,num_times"],
        has_one_table: true,
        read: stream::read_babelstream,
    },
    Reader {
        name: "STREAM",
        heads: &["stream version", "stream benchmark implementation"],
        tables: &["best rate mb/s", "rate (mb/s)"],
        has_one_table: true,
        read: stream::read_stream,
    },
    Reader {
        name: "Intel Memory Latency Checker",
        heads: &["memory latency checker"],
        tables: &["measuring idle latencies"],
        has_one_table: true,
        read: mlc::read,
    },
];
