//! Conversion between samples and DataFrames of polars.

use crate::samples::Samples;
use crate::table::Table;
use crate::table::column::{Column, Kind};
use apexmap_base::error::{Error, Result};
use polars::prelude::*;

impl Samples {
    /// Converts to a DataFrame: real numbers to f64, whole numbers to u64, words to strings, missing values to nulls.
    pub fn to_frame(&self) -> Result<DataFrame> {
        frame(self.table(), self.rows().iter().copied())
            .map_err(|e| Error::internal(format!("polars rejects the columns of these samples: {e}")))
    }

    /// Converts all rows of a DataFrame: strings to words, unsigned integers to whole numbers, other numbers and booleans to
    /// real numbers, nulls and NaN to missing values.
    pub fn from_frame(frame: &DataFrame) -> Result<Self> {
        let mut table = Table::default();
        for read in frame.columns() {
            let name = read.name().as_str();
            let column = column(read).ok().flatten().ok_or_else(|| {
                Error::input(
                    format!("the column \"{name}\" of the DataFrame holds {}, which samples cannot hold", read.dtype()),
                    "cast it to numbers or strings, or drop it",
                )
            })?;
            table.insert(name, column);
        }
        table.rows = frame.height();
        Ok(Self::from(table))
    }
}

/// Converts some rows of a table: real numbers to f64, whole numbers to u64, words to strings, missing values to nulls.
fn frame(table: &Table, rows: impl ExactSizeIterator<Item = usize> + Clone) -> PolarsResult<DataFrame> {
    let columns = table.names().iter().filter_map(|name| Some(series(name, table.column(name)?, rows.clone())));
    DataFrame::new(rows.len(), columns.collect())
}

fn series(name: &str, column: &Column, rows: impl Iterator<Item = usize>) -> polars::prelude::Column {
    let name = PlSmallStr::from_str(name);
    match column.kind() {
        Kind::Numbers => {
            let values: Float64Chunked = rows.map(|row| column.bits(row).map(f64::from_bits)).collect();
            values.with_name(name).into_series().into()
        }
        Kind::Whole => {
            let values: UInt64Chunked = rows.map(|row| column.bits(row)).collect();
            values.with_name(name).into_series().into()
        }
        Kind::Words => {
            let word = |row: usize| column.bits(row).map(|_| column.word(row));
            let words: StringChunked = rows.map(word).collect();
            words.with_name(name).into_series().into()
        }
    }
}

/// Converts a column of a DataFrame; `None` unless it holds numbers, booleans or strings.
fn column(read: &polars::prelude::Column) -> PolarsResult<Option<Column>> {
    let kind = read.dtype().clone();
    if kind == DataType::String {
        return Ok(Some(Column::from_words(read.str()?.iter())));
    }
    if kind.is_unsigned_integer() {
        let whole = read.cast(&DataType::UInt64)?;
        let arrays = whole.u64()?.downcast_iter();
        return Ok(Some(Column::from_whole(arrays.flat_map(|array| array.iter().map(|value| value.copied())))));
    }
    if kind.is_primitive_numeric() || kind == DataType::Boolean {
        let numbers = read.cast(&DataType::Float64)?;
        let arrays = numbers.f64()?.downcast_iter();
        return Ok(Some(Column::from_numbers(
            arrays.flat_map(|array| array.iter().map(|value| value.copied().unwrap_or(f64::NAN))),
        )));
    }
    Ok(None)
}
