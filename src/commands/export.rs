//! `apexmap export`: writes samples in the formats of other programs.

use super::opened::read;
use super::selection::{Selection, names};
use apexmap_base::error::{Error, Result};
use apexmap_base::new_file;
use apexmap_base::terminal::{note, write_data};
use apexmap_base::units::plural;
use apexmap_results::export::{csv, write_json_lines};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// One line per sample; with --out also FILE-metadata.json, which describes each column (CSVW)
    Csv,
    /// One JSON object per sample
    Jsonl,
}

#[derive(clap::Args)]
#[command(after_help = "Examples:
  apexmap export results/quickstart --format csv --out quickstart.csv
  apexmap export results/quickstart --format jsonl --where 'P == 1 && status == \"ok\"' | jq .seconds

Both formats contain successful and failed samples (column status); missing values are null in JSON lines \
and empty in CSV, as empty words are. Columns have the names of samples.parquet and base units: seconds, bytes, words of 8 bytes.")]
pub struct Arguments {
    /// A result: folder, archive, report.html or Parquet file of samples
    result: PathBuf,
    /// Output format
    #[arg(long, value_enum, default_value = "csv")]
    format: Format,
    #[command(flatten)]
    selection: Selection,
    /// Columns to write, comma-separated [default: all]
    #[arg(long, value_name = "COLUMNS")]
    select: Option<String>,
    /// Include samples of other builds, machines and plans (column stale)
    #[arg(long)]
    stale: bool,
    /// File to write [default: standard output]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    export_samples(arguments).map_err(|error| arguments.selection.complete(error, &arguments.result))
}

fn export_samples(arguments: &Arguments) -> Result<()> {
    let all_samples = read(&arguments.result)?;
    let condition = arguments.selection.condition(&all_samples)?;
    let condition = condition.map(|text| all_samples.condition(&text)).transpose()?;
    let samples = if arguments.stale { all_samples.clone() } else { all_samples.current() };
    let samples = condition.as_ref().map_or_else(|| samples.clone(), |condition| samples.filter(condition));
    if samples.is_empty() {
        return Err(all_samples.current().no_match_error(condition.as_ref()));
    }
    let selected = match &arguments.select {
        Some(list) => names("--select", list, &samples)?,
        None => samples.table().names().iter().map(String::as_str).collect(),
    };
    let chosen: Vec<_> = selected.iter().filter_map(|name| Some((*name, samples.column(name)?))).collect();
    let out = arguments.out.as_deref();
    if arguments.format == Format::Jsonl {
        return write_output(out, |out| write_json_lines(&chosen, samples.rows(), out));
    }
    write_output(out, |out| csv::write(&chosen, samples.rows(), out))?;
    let Some(out) = out else { return Ok(()) };
    let metadata_file = csv::metadata_path(out);
    let text = csv::describe(&chosen, out, &format!("Samples of {}", arguments.result.display()));
    write_output(Some(&metadata_file), |out| out.write_all(text.as_bytes()))?;
    let samples = plural(samples.len(), "sample");
    note(&format!("{}: {samples}; {}: column descriptions", out.display(), metadata_file.display()));
    Ok(())
}

/// To a file or to standard output. A closed pipe ends the output without an error.
fn write_output(out: Option<&Path>, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    let Some(path) = out else { return write_data(write) };
    new_file::write_user_file(path, |file| {
        let mut out = BufWriter::new(file);
        // Without the flush, an error of the last write would be lost.
        write(&mut out).and_then(|()| out.flush()).map_err(|e| Error::file("write", path, e))
    })
}
