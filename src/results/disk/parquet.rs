//! Reads and writes tables as Parquet, part by part, so that memory holds little more than the table.

use crate::disk::parquet_pages::{self, Chunk};
use crate::table::Table;
use crate::table::column::{Column, Kind};
use apexmap_base::error::{Error, Result};
use apexmap_base::parallel::map_in_order;
use apexmap_base::regular_file;
use polars_arrow::array::{Array, ArrayRef, BooleanArray, MutablePlString, PrimitiveArray, Utf8ViewArray};
use polars_arrow::datatypes::{ArrowDataType, ArrowSchema, Field};
use polars_arrow::record_batch::RecordBatch;
use polars_arrow::types::NativeType;
use polars_error::PolarsResult;
use polars_parquet::parquet::compression::Compression;
use polars_parquet::read::{
    BasicDecompressor, ColumnChunkMetadata, FileMetadata, PageReader, column_iter_to_arrays, infer_schema,
    read_metadata,
};
use polars_parquet::write::{
    CompressionOptions, FileWriter, RowGroupIterator, StatisticsOptions, Version, WriteOptions, get_dtype_encoding,
};
use std::fs::File;
use std::io::{BufWriter, Cursor, Write};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

const ROWS_PER_GROUP: usize = 1 << 16;

/// Writes the table. `path` is the final path of the file, for errors.
pub fn write(file: &mut File, path: &Path, table: &Table) -> Result<()> {
    write_groups(file, table).map_err(|e| Error::file("write", path, e))
}

fn write_groups(file: &mut File, table: &Table) -> PolarsResult<()> {
    let schema = Arc::new(schema(table));
    let options = WriteOptions {
        statistics: StatisticsOptions::default(),
        version: Version::V1,
        // Further codecs would lengthen the build, and every reader has this one.
        compression: CompressionOptions::Snappy,
        data_page_size: None,
    };
    // Buffered, because the codec writes thousands of pieces of a few bytes.
    let mut writer = FileWriter::try_new(BufWriter::new(file), schema.as_ref().clone(), options)?;
    for start in (0..table.rows).step_by(ROWS_PER_GROUP) {
        let rows = start..table.rows.min(start + ROWS_PER_GROUP);
        let columns = table.names().iter().filter_map(|name| table.column(name));
        let arrays = columns.map(|column| to_array(column, rows.clone())).collect();
        let batch = RecordBatch::try_new(rows.len(), schema.clone(), arrays)?;
        let encodings = schema.iter_values().map(|field| get_dtype_encoding(&field.dtype)).collect();
        for group in RowGroupIterator::try_new(std::iter::once(Ok(batch)), &schema, options, encodings)? {
            writer.write(rows.len() as u64, group?)?;
        }
    }
    writer.end(None)?;
    Ok(writer.into_inner().flush()?)
}

fn schema(table: &Table) -> ArrowSchema {
    let field = |name: &String| {
        let kind = match table.column(name)?.kind() {
            Kind::Numbers => ArrowDataType::Float64,
            Kind::Whole => ArrowDataType::UInt64,
            Kind::Words => ArrowDataType::Utf8View,
        };
        Some((name.as_str().into(), Field::new(name.as_str().into(), kind, true)))
    };
    table.names().iter().filter_map(field).collect()
}

fn to_array(column: &Column, rows: Range<usize>) -> ArrayRef {
    match column.kind() {
        Kind::Numbers => rows.map(|row| column.bits(row).map(f64::from_bits)).collect::<PrimitiveArray<f64>>().boxed(),
        Kind::Whole => rows.map(|row| column.bits(row)).collect::<PrimitiveArray<u64>>().boxed(),
        Kind::Words => {
            let word = |row: usize| column.bits(row).map(|_| column.word(row));
            rows.map(word).collect::<MutablePlString>().freeze().boxed()
        }
    }
}

/// Skips columns of other types than numbers, booleans and strings.
pub fn read(path: &Path) -> Result<Table> {
    read_some(path, &|_| true)
}

/// Reads a file as [`read`] does, but only the columns with `wanted` names.
pub(super) fn read_some(path: &Path, wanted: &dyn Fn(&str) -> bool) -> Result<Table> {
    let file = regular_file::open(path).map_err(|e| Error::file("read", path, e))?;
    // Polars panics on some damaged files.
    let read = catch_unwind(AssertUnwindSafe(|| read_columns(file, wanted)));
    read.unwrap_or_else(|_| Err("it is damaged".into())).map_err(|cause| {
        let has_journals = path.with_file_name("journals").is_dir();
        let help = match cause.strip_prefix(COMPRESSED) {
            Some(_) => "write it with Snappy, such as write_parquet(FILE, compression=\"snappy\") of polars",
            None if has_journals => {
                "if it is damaged, delete it: commands then read the journals next to it, and `apexmap run` rebuilds it"
            }
            None => "name a result: a folder that `apexmap run` wrote, its samples.parquet, its report.html or an archive of it",
        };
        Error::input(format!("cannot read {} as Parquet: {cause}", path.display()), help)
    })
}

/// The beginning of the problem of a file with another codec.
const COMPRESSED: &str = "it is compressed with ";

fn read_columns(mut file: File, wanted: &dyn Fn(&str) -> bool) -> Result<Table, String> {
    let metadata = read_metadata(&mut file).map_err(|e| e.to_string())?;
    let rows = metadata.row_groups.iter().fold(0, |sum: usize, group| sum.saturating_add(group.num_rows()));
    let columns = metadata.row_groups.iter().flat_map(|group| group.parquet_columns());
    let mut codecs = columns.clone().map(ColumnChunkMetadata::compression);
    if let Some(other) = codecs.find(|codec| ![Compression::Uncompressed, Compression::Snappy].contains(codec)) {
        let codec = format!("{other:?}").to_lowercase();
        return Err(format!("{COMPRESSED}{codec}, and apexmap reads only Snappy"));
    }
    let chunks = columns.map(|column| Chunk { bytes: column.byte_range(), values: column.num_values() });
    parquet_pages::check(&file, rows.max(metadata.num_rows), chunks).map_err(|e| format!("it is damaged: {e}"))?;
    let schema = infer_schema(&metadata).map_err(|e| e.to_string())?;
    let fields: Vec<&Field> = schema.iter_values().collect();
    let read = |index: usize| {
        let field = fields[index];
        let arrays = read_arrays(&file, &metadata, field)?;
        let rows: usize = arrays.iter().map(|array| array.len()).sum();
        if rows != metadata.num_rows {
            return Err(format!("the column {} has {rows} rows instead of {}", field.name, metadata.num_rows));
        }
        Ok(column(&field.dtype, &arrays).map(|column| (index, column)))
    };
    let mut table = Table::default();
    map_in_order(
        (0..fields.len()).filter(|&index| wanted(&fields[index].name)),
        || read,
        |column| {
            column.map(|entry| entry.into_iter().for_each(|(index, column)| table.insert(&fields[index].name, column)))
        },
    )?;
    Ok(table)
}

fn read_arrays(file: &File, metadata: &FileMetadata, field: &Field) -> Result<Vec<Box<dyn Array>>, String> {
    let mut all_arrays = Vec::new();
    for group in &metadata.row_groups {
        let is_own = |column: &&ColumnChunkMetadata| column.descriptor().path_in_schema[0] == field.name;
        let (mut pages, mut types) = (Vec::new(), Vec::new());
        for chunk in group.parquet_columns().iter().filter(is_own) {
            let range = chunk.byte_range();
            let mut bytes = vec![0; (range.end - range.start) as usize];
            file.read_exact_at(&mut bytes, range.start).map_err(|e| e.to_string())?;
            let reader = PageReader::new(Cursor::new(bytes.into()), chunk, Vec::new(), usize::MAX);
            pages.push(BasicDecompressor::new(reader, Vec::new()));
            types.push(&chunk.descriptor().descriptor.primitive_type);
        }
        let (arrays, _) = column_iter_to_arrays(pages, types, field.clone(), None).map_err(|e| e.to_string())?;
        all_arrays.extend(arrays);
    }
    Ok(all_arrays)
}

/// Converts arrays of this type to a column; `None` for types other than numbers, booleans and strings.
fn column(dtype: &ArrowDataType, arrays: &[Box<dyn Array>]) -> Option<Column> {
    use ArrowDataType as Type;
    Some(match dtype {
        Type::Utf8View => Column::from_words(downcast_arrays::<Utf8ViewArray>(arrays).flat_map(|array| array.iter())),
        Type::UInt8 => whole_column::<u8>(arrays),
        Type::UInt16 => whole_column::<u16>(arrays),
        Type::UInt32 => whole_column::<u32>(arrays),
        Type::UInt64 => whole_column::<u64>(arrays),
        Type::Int8 => number_column(arrays, |value: i8| value.into()),
        Type::Int16 => number_column(arrays, |value: i16| value.into()),
        Type::Int32 => number_column(arrays, |value: i32| value.into()),
        Type::Int64 => number_column(arrays, |value: i64| value as f64),
        Type::Float32 => number_column(arrays, |value: f32| value.into()),
        Type::Float64 => number_column(arrays, |value: f64| value),
        Type::Boolean => {
            let values = downcast_arrays::<BooleanArray>(arrays).flat_map(|array| array.iter());
            Column::from_numbers(values.map(|value| value.map_or(f64::NAN, f64::from)))
        }
        _ => return None,
    })
}

fn downcast_arrays<A: 'static>(arrays: &[Box<dyn Array>]) -> impl Iterator<Item = &A> {
    arrays.iter().filter_map(|array| array.as_any().downcast_ref())
}

fn whole_column<T: NativeType + Into<u64>>(arrays: &[Box<dyn Array>]) -> Column {
    let values = downcast_arrays::<PrimitiveArray<T>>(arrays).flat_map(|array| array.iter());
    Column::from_whole(values.map(|value| value.map(|&value| value.into())))
}

fn number_column<T: NativeType>(arrays: &[Box<dyn Array>], number: impl Fn(T) -> f64) -> Column {
    let values = downcast_arrays::<PrimitiveArray<T>>(arrays).flat_map(|array| array.iter());
    Column::from_numbers(values.map(|value| value.map_or(f64::NAN, |&value| number(value))))
}
