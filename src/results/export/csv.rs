//! Comma-separated values as RFC 4180 has them, but for line ends, which are LF: a head, and a line a sample.
//!
//! No comments, as many readers know none: `metadata` describes the columns in a file beside it. Both an empty word and no
//! value are an empty cell: few readers could tell them apart. Reals have a point or an exponent and come back to the last
//! bit. Words that a spreadsheet would take for formulas have an apostrophe before them.

use crate::table::column::{Column, Kind};
use apexmap_base::in_order::in_order;
use csv::{ByteRecord, IntoInnerError, Writer, WriterBuilder};
use std::borrow::Cow;
use std::io::{Result, Write};

/// Rows that a thread writes at a time.
const ROWS: usize = 4096;

fn writer<W: Write>(out: W) -> Writer<W> {
    // Words with # are quoted, lest a reader take them for a comment.
    WriterBuilder::new().comment(Some(b'#')).from_writer(out)
}

/// How words are written, for those who read them.
pub const APOSTROPHES: &str = "Before words that begin with =, +, -, @, an apostrophe, a tab or a carriage return stands an \
                               apostrophe, lest a spreadsheet take them for formulas. Numbers are written as they are.";

/// A word with an [apostrophe](APOSTROPHES) if it needs one.
fn word(word: &str) -> Cow<'_, str> {
    match word.starts_with(['=', '+', '-', '@', '\'', '\t', '\r']) {
        true => Cow::Owned(format!("'{word}")),
        false => Cow::Borrowed(word),
    }
}

/// Writes these rows of the columns.
pub fn write(columns: &[(&str, &Column)], rows: &[usize], out: &mut dyn Write) -> Result<()> {
    let mut head = writer(&mut *out);
    head.write_record(columns.iter().map(|(name, _)| word(name).into_owned()))?;
    head.flush()?;
    drop(head);
    in_order(rows.chunks(ROWS), || |rows: &[usize]| lines(columns, rows), |lines| out.write_all(&lines?))?;
    out.flush()
}

/// The lines of some rows.
fn lines(columns: &[(&str, &Column)], rows: &[usize]) -> Result<Vec<u8>> {
    let mut csv = writer(Vec::new());
    let (mut record, mut cell) = (ByteRecord::new(), Vec::new());
    for &row in rows {
        record.clear();
        for (_, column) in columns {
            cell.clear();
            match (column.kind(), column.bits(row)) {
                (_, None) => {}
                (Kind::Numbers, Some(bits)) => write!(cell, "{:?}", f64::from_bits(bits))?,
                (Kind::Whole, Some(number)) => write!(cell, "{number}")?,
                (Kind::Words, Some(_)) => cell.extend_from_slice(word(column.word(row)).as_bytes()),
            }
            record.push_field(&cell);
        }
        csv.write_byte_record(&record)?;
    }
    csv.into_inner().map_err(IntoInnerError::into_error)
}

/// Rows of cells as text; the head is the first. What reads as a number is one.
///
/// # Panics
/// If a row has more or fewer cells than the head.
pub fn text(rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut csv = writer(Vec::new());
    let cell = |cell: String| if cell.parse::<f64>().is_ok() { cell } else { word(&cell).into_owned() };
    rows.into_iter().for_each(|row| csv.write_record(row.into_iter().map(cell)).expect("rows of one length"));
    let bytes = csv.into_inner().expect("memory takes all");
    String::from_utf8(bytes).expect("made of text")
}
