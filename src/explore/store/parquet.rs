//! Journals to Parquet and Parquet to tables.

use super::derive;
use super::folder::Folder;
use super::journal::Record;
use super::table::{Column, Table};
use crate::error::{Error, Result};
use crate::measure::kernels;
use crate::point::Value;
use crate::sample::{Launch, Sample};
use polars::prelude::*;
use std::path::Path;

/// One row a sample of these journals, whether good or not.
///
/// `stale` marks samples whose key is not among `current`: measured by another build, on another machine or for a plan
/// that has changed.
pub fn tabulate(records: &[Record], current: impl Fn(&str) -> bool) -> Table {
    let mut table = Table::default();
    for record in records {
        for sample in &record.samples {
            table.begin_row();
            add_sample(&mut table, sample, current(&sample.key));
            if let Some(launch) = &record.launch {
                add_launch(&mut table, launch);
            }
            let hertz = record.launch.as_ref().and_then(|launch| launch.host.cycle_hertz);
            for (derived, rate) in derive::COLUMNS.iter().zip(derive::rates(sample, hertz)) {
                if let Some(rate) = rate {
                    table.set(derived.column, &Value::Real(rate));
                }
            }
        }
    }
    table
}

fn add_sample(table: &mut Table, sample: &Sample, current: bool) {
    let text = |text: &str| Value::from(text);
    table.set("key", &text(&sample.key));
    table.set("kernel", &text(&sample.point.kernel));
    table.set("ranks", &Value::Integer(sample.point.ranks as u64));
    let parameters = kernels::find(&sample.point.kernel).map(|kernel| kernel.parameters()).unwrap_or(&[]);
    for (name, value) in &sample.point.params {
        let column = parameters.iter().find(|p| p.name == name).map_or(name.as_str(), |p| p.column);
        table.set(column, value);
    }
    table.set("status", &text(sample.status.name()));
    if !sample.message.is_empty() {
        table.set("message", &text(&sample.message));
    }
    table.set("stale", &Value::Integer(u64::from(!current)));
    table.set("block", &Value::Integer(u64::from(sample.block)));
    table.set("repetition", &Value::Integer(u64::from(sample.repetition)));
    table.set("unix_seconds", &Value::Real(sample.unix_seconds));
    if let Some(load) = sample.load {
        table.set("load", &Value::Real(load));
    }
    if let Some(seconds) = sample.seconds {
        table.set("seconds", &Value::Real(seconds));
    }
    for (name, value) in &sample.outputs {
        table.set(name, value);
    }
}

fn add_launch(table: &mut Table, launch: &Launch) {
    for (column, value) in [
        ("launch", &launch.launch),
        ("transport", &launch.transport),
        ("library", &launch.library),
        ("launcher", &launch.launcher),
        ("host", &launch.host.name),
        ("cpu_model", &launch.host.cpu_model),
        ("build", &launch.build),
    ] {
        table.set(column, &Value::from(value.as_str()));
    }
    table.set("oversubscribed", &Value::Integer(u64::from(launch.oversubscribed)));
}

fn fault(doing: &str, path: &Path, cause: impl std::fmt::Display) -> Error {
    Error::file(doing, path, cause)
}

/// Writes the table as the folder's `samples.parquet`.
pub fn write(folder: &Folder, table: &Table) -> Result<()> {
    let path = folder.samples();
    let columns = table.names().iter().map(|name| series(name, table.column(name).expect("named column"))).collect();
    let mut frame = DataFrame::new(table.rows, columns).map_err(|e| fault("write", &path, e))?;
    folder.replace(&path, |file| {
        let writer = ParquetWriter::new(file).with_compression(ParquetCompression::Snappy);
        writer.finish(&mut frame).map(|_| ()).map_err(|e| fault("write", &path, e))
    })
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
    let file = std::fs::File::open(path).map_err(|e| fault("read", path, e))?;
    let frame = ParquetReader::new(file).finish().map_err(|e| {
        Error::environment(
            format!("cannot read {} as Parquet: {e}", path.display()),
            "name a result folder or the samples.parquet of one; if that is damaged, remove it: the next command reads \
             the journals beside it, and `apexmap run` writes it anew",
        )
    })?;
    let mut table = Table::default();
    for column in frame.columns() {
        let name = column.name().as_str();
        let kind = column.dtype().clone();
        if kind == DataType::String {
            let words = column.str().map_err(|e| fault("read", path, e))?;
            table.insert(name, encode(words));
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

fn encode(words: &StringChunked) -> Column {
    let mut known = std::collections::HashMap::new();
    let mut dictionary: Vec<String> = Vec::new();
    let mut code = |word: &str| {
        *known.entry(word.to_owned()).or_insert_with(|| {
            dictionary.push(word.to_owned());
            dictionary.len() as u32 - 1
        })
    };
    let codes = words.iter().map(|word| word.map(&mut code)).collect();
    Column::Words { codes, dictionary }
}
