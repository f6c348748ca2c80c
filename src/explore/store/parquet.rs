//! Tables to Parquet and back.

use super::build::WordsBuilder;
use super::derive::BOUND_BY;
use super::table::{Column, Table};
use crate::error::{Error, Result};
use crate::explore::bounds;
use polars::prelude::*;
use std::fs::File;
use std::path::Path;

fn fault(doing: &str, path: &Path, cause: impl std::fmt::Display) -> Error {
    Error::file(doing, path, cause)
}

/// Writes the table; `path` is where the file will be, for errors.
pub fn write(file: &mut File, path: &Path, table: &Table) -> Result<()> {
    let columns = table.names().iter().map(|name| series(name, table.column(name).expect("named column"))).collect();
    let mut frame = DataFrame::new(table.rows, columns).map_err(|e| fault("write", path, e))?;
    let writer = ParquetWriter::new(file).with_compression(ParquetCompression::Snappy);
    writer.finish(&mut frame).map(|_| ()).map_err(|e| fault("write", path, e))
}

fn series(name: &str, column: &Column) -> polars::prelude::Column {
    let name = PlSmallStr::from_str(name);
    match column {
        Column::Numbers(values) => {
            let values: Float64Chunked = values.iter().map(|v| (!v.is_nan()).then_some(*v)).collect();
            values.with_name(name).into_series().into()
        }
        Column::Whole(values) => {
            let values: UInt64Chunked = values.iter().copied().collect();
            values.with_name(name).into_series().into()
        }
        Column::Words { codes, dictionary } => {
            let words = codes.iter().map(|code| code.map(|code| dictionary[code as usize].as_str()));
            let words: StringChunked = words.collect();
            words.with_name(name).into_series().into()
        }
    }
}

/// Reads a Parquet file of samples; columns of other kinds than numbers, booleans and strings are left out.
pub fn read(path: &Path) -> Result<Table> {
    let file = File::open(path).map_err(|e| fault("read", path, e))?;
    let frame = ParquetReader::new(file).finish().map_err(|e| {
        Error::environment(
            format!("cannot read {} as Parquet: {e}", path.display()),
            "name a result folder or its samples.parquet; if that file is damaged, delete it: commands then read \
             the journals next to it, and `apexmap run` rebuilds it",
        )
    })?;
    let mut table = Table::default();
    for column in frame.columns() {
        let name = column.name().as_str();
        let kind = column.dtype().clone();
        if kind == DataType::String {
            let words = column.str().map_err(|e| fault("read", path, e))?;
            table.insert(name, encode(words, if name == BOUND_BY { bounds::present_name } else { |word| word }));
        } else if kind.is_unsigned_integer() {
            let whole = column.cast(&DataType::UInt64).map_err(|e| fault("read", path, e))?;
            table.insert(name, Column::Whole(whole.u64().map_err(|e| fault("read", path, e))?.iter().collect()));
        } else if kind.is_primitive_numeric() || kind == DataType::Boolean {
            let numbers = column.cast(&DataType::Float64).map_err(|e| fault("read", path, e))?;
            let numbers = numbers.f64().map_err(|e| fault("read", path, e))?;
            table.insert(name, Column::Numbers(numbers.iter().map(|v| v.unwrap_or(f64::NAN)).collect()));
        }
    }
    Ok(table)
}

fn encode(words: &StringChunked, rename: fn(&str) -> &str) -> Column {
    let mut column = WordsBuilder::default();
    words.iter().for_each(|word| column.push(word.map(rename)));
    column.finish()
}
