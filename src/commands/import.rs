//! `apexmap import`: makes a result from the outputs of other benchmark programs.

use apexmap_base::error::Result;
use apexmap_base::terminal::print;
use apexmap_base::units::plural;
use apexmap_results::import;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
#[command(after_help = "Examples:
  apexmap import hpccoutf.txt
  apexmap import run1/stream.txt run2/stream.txt run3/stream.txt --out results/vendor --machine vendor --cores 64
  apexmap compare results/vendor results/stream

Reads HPCC's hpccoutf.txt, the tables of the OSU Micro-Benchmarks, of the Intel MPI Benchmarks, of STREAM and BabelStream, and the \
output of Intel's Memory Latency Checker. A file may hold several runs, also with the labels of `srun -l`; each counts as one launch. `query`, `plot`, `fit`, `export`, `report` and `compare` take the result, and say \
everywhere that it is imported. It can be neither resumed nor measured into. docs/appendix/results.md lists the quantities.")]
pub struct Arguments {
    /// Text outputs of the programs
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The new result folder [default: results/NAME, NAME being that of the first file]
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Name of the machine [default: the host that the file names, or the name of the first file]
    #[arg(long, value_name = "NAME")]
    machine: Option<String>,
    /// Number of cores of the machine, so that `compare` knows which points use all of them
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    cores: Option<u32>,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let name = arguments.files[0].file_stem().unwrap_or("imported".as_ref());
    let out = arguments.out.clone().unwrap_or_else(|| Path::new("results").join(name));
    let manifest = import::write(&arguments.files, &out, arguments.machine.as_deref(), arguments.cores)?;
    let label = manifest.imported.as_ref().map(|import| import.label()).unwrap_or_default();
    let values = plural(manifest.samples.values().sum(), "row");
    let notes = manifest.imported.iter().flat_map(|import| &import.notes).map(|note| format!("note: {note}\n"));
    let (points, runs, out) =
        (plural(manifest.points, "point"), plural(manifest.blocks as usize, "run"), out.display());
    print(&format!(
        "{label}: {values} of {points} in {runs} for {}\n{}result: {out}\n",
        manifest.machine,
        notes.collect::<String>()
    ))
}
