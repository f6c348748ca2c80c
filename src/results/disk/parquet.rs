//! Tables to Parquet and back, a part at a time: no more than the table itself is in memory.

use crate::disk::parquet_pages::{self, Chunk};
use crate::table::Table;
use crate::table::frame::{column, frame};
use apexmap_base::error::{Error, Result};
use apexmap_base::in_order::in_order;
use apexmap_base::regular_file;
use polars::prelude::*;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::os::fd::AsRawFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// Rows that are written at a time.
const GROUP: usize = 1 << 16;

fn fault(doing: &str, path: &Path, cause: impl std::fmt::Display) -> Error {
    Error::file(doing, path, cause)
}

/// Writes the table; `path` is where the file will be, for errors.
pub fn write(file: &mut File, path: &Path, table: &Table) -> Result<()> {
    write_groups(file, table).map_err(|e| fault("write", path, e))
}

fn write_groups(file: &mut File, table: &Table) -> PolarsResult<()> {
    let first = frame(table, 0..table.rows.min(GROUP))?;
    // Polars writes thousands of pieces of a few bytes.
    let mut out = BufWriter::new(file);
    let writer = ParquetWriter::new(&mut out).with_compression(ParquetCompression::Snappy);
    let mut writer = writer.batched(first.schema())?;
    writer.write_batch(&first)?;
    drop(first);
    for start in (GROUP..table.rows).step_by(GROUP) {
        writer.write_batch(&frame(table, start..table.rows.min(start + GROUP))?)?;
    }
    writer.finish()?;
    drop(writer);
    Ok(out.flush()?)
}

/// Reads a Parquet file of samples; columns of other kinds than numbers, booleans and strings are left out.
///
/// # Errors
/// If it cannot be read, or is damaged.
pub fn read(path: &Path) -> Result<Table> {
    read_some(path, &|_| true)
}

/// As [`read`], but only the columns of some names.
pub(super) fn read_some(path: &Path, wanted: &dyn Fn(&str) -> bool) -> Result<Table> {
    let file = regular_file::open(path).map_err(|e| fault("read", path, e))?;
    // Polars panics over some damaged files.
    let read = catch_unwind(AssertUnwindSafe(|| read_columns(file, wanted)));
    read.unwrap_or_else(|_| Err("it is damaged".into())).map_err(|cause| {
        Error::input(
            format!("cannot read {} as Parquet: {cause}", path.display()),
            "name a result folder or its samples.parquet; if that file is damaged, delete it: commands then read \
             the journals next to it, and `apexmap run` rebuilds it",
        )
    })
}

/// Column by column, the metadata once.
fn read_columns(file: File, wanted: &dyn Fn(&str) -> bool) -> std::result::Result<Table, String> {
    let text = |e: PolarsError| e.to_string();
    let mut whole = ParquetReader::new(file.try_clone().map_err(|e| e.to_string())?);
    let metadata = whole.get_metadata().map_err(text)?.clone();
    let rows = metadata.row_groups.iter().fold(0, |sum: usize, group| sum.saturating_add(group.num_rows()));
    let columns = metadata.row_groups.iter().flat_map(|group| group.parquet_columns());
    let chunks = columns.map(|column| Chunk { bytes: column.byte_range(), values: column.num_values() });
    parquet_pages::check(&file, rows.max(metadata.num_rows), chunks).map_err(|e| format!("it is damaged: {e}"))?;
    let names: Vec<String> = whole.schema().map_err(text)?.iter_names().map(ToString::to_string).collect();
    let read = |at: usize| {
        // Whoever shares an open file shares its position, too.
        let own = format!("/proc/self/fd/{}", file.as_raw_fd());
        let own = regular_file::open(Path::new(&own)).map_err(|e| e.to_string())?;
        let mut reader = ParquetReader::new(own);
        reader.set_metadata(metadata.clone());
        let frame = reader.with_projection(Some(vec![at])).finish().map_err(text)?;
        let Some(read) = frame.columns().first() else { return Ok(None) };
        if read.len() != metadata.num_rows {
            return Err(format!("the column {} has {} rows instead of {}", names[at], read.len(), metadata.num_rows));
        }
        Ok(column(&names[at], read).map_err(text)?.map(|column| (at, column)))
    };
    let mut table = Table::default();
    in_order(
        (0..names.len()).filter(|at| wanted(&names[*at])),
        || read,
        |column| column.map(|found| found.into_iter().for_each(|(at, column)| table.insert(&names[at], column))),
    )?;
    Ok(table)
}
