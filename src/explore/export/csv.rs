//! Comma-separated values as RFC 4180 has them, but for line ends, which are LF: a head, and a line a sample.
//!
//! No comments, as many readers know none: `metadata` describes the columns in a file beside it. Both an empty word and no
//! value are an empty cell: few readers could tell them apart. Reals have a point or an exponent and come back to the last
//! bit.

use crate::explore::store::table::Column;
use csv::{ByteRecord, Writer, WriterBuilder};
use std::io::{Result, Write};

fn writer<W: Write>(out: W) -> Writer<W> {
    // Words with # are quoted, lest a reader take them for a comment.
    WriterBuilder::new().comment(Some(b'#')).from_writer(out)
}

/// Writes these rows of the columns.
pub fn write(columns: &[(&str, &Column)], rows: &[usize], out: &mut dyn Write) -> Result<()> {
    let mut csv = writer(out);
    csv.write_record(columns.iter().map(|(name, _)| name))?;
    let (mut record, mut cell) = (ByteRecord::new(), Vec::new());
    for &row in rows {
        record.clear();
        for (_, column) in columns {
            cell.clear();
            match column {
                Column::Numbers(values) if values[row].is_nan() => {}
                Column::Numbers(values) => write!(cell, "{:?}", values[row])?,
                Column::Whole(values) => values[row].map_or(Ok(()), |value| write!(cell, "{value}"))?,
                Column::Words { codes, dictionary } => {
                    let word = codes[row].map_or("", |code| &dictionary[code as usize]);
                    cell.extend_from_slice(word.as_bytes());
                }
            }
            record.push_field(&cell);
        }
        csv.write_byte_record(&record)?;
    }
    csv.flush()
}

/// Rows of cells as text; the head is the first.
///
/// # Panics
/// If a row has more or fewer cells than the head.
pub fn text(rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut csv = writer(Vec::new());
    rows.into_iter().for_each(|row| csv.write_record(row).expect("rows of one length"));
    let bytes = csv.into_inner().expect("memory takes all");
    String::from_utf8(bytes).expect("made of text")
}
