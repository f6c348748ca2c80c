//! Comma-separated values as in RFC 4180, but with LF as line ends: a header, then one line per sample.
//!
//! [`describe`] makes a separate file about the columns in the vocabulary of "CSV on the Web",
//! <https://www.w3.org/TR/tabular-metadata/>, because few readers support comments. Empty words and missing values are both
//! empty cells. Reals are read back to the last bit. Words that look like formulas get an apostrophe.

use crate::table::column::{Column, Kind};
use crate::table::columns;
use apexmap_base::parallel::map_in_order;
use csv::{ByteRecord, IntoInnerError, Writer, WriterBuilder};
use serde_json::json;
use std::borrow::Cow;
use std::io::{Result, Write};
use std::path::{Path, PathBuf};

/// Rows that a thread writes at a time.
const ROWS: usize = 4096;

fn writer<W: Write>(out: W) -> Writer<W> {
    // Quote words with #: a reader could take them for comments.
    WriterBuilder::new().comment(Some(b'#')).from_writer(out)
}

const APOSTROPHES: &str = "Words that begin with =, +, -, @, an apostrophe, a tab or a carriage return are prefixed with an \
                               apostrophe, so that spreadsheets do not take them for formulas. Numbers are unchanged.";

/// Prefixes a word with an [apostrophe](APOSTROPHES) if it needs one.
fn escape_word(word: &str) -> Cow<'_, str> {
    match word.starts_with(['=', '+', '-', '@', '\'', '\t', '\r']) {
        true => Cow::Owned(format!("'{word}")),
        false => Cow::Borrowed(word),
    }
}

pub fn write(columns: &[(&str, &Column)], rows: &[usize], out: &mut dyn Write) -> Result<()> {
    let mut head = writer(&mut *out);
    head.write_record(columns.iter().map(|(name, _)| escape_word(name).into_owned()))?;
    head.flush()?;
    drop(head);
    map_in_order(rows.chunks(ROWS), || |rows: &[usize]| lines(columns, rows), |lines| out.write_all(&lines?))?;
    out.flush()
}

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
                (Kind::Words, Some(_)) => cell.extend_from_slice(escape_word(column.word(row)).as_bytes()),
            }
            record.push_field(&cell);
        }
        csv.write_byte_record(&record)?;
    }
    csv.into_inner().map_err(IntoInnerError::into_error)
}

pub fn metadata_path(csv: &Path) -> PathBuf {
    let mut name = csv.as_os_str().to_owned();
    name.push("-metadata.json");
    name.into()
}

pub fn describe(chosen: &[(&str, &Column)], csv: &Path, title: &str) -> String {
    let text = json!({
        "@context": "http://www.w3.org/ns/csvw",
        "url": csv.file_name().map(|name| name.to_string_lossy()),
        "dc:title": title,
        "dc:description": APOSTROPHES,
        "tableSchema": { "columns": chosen.iter().map(describe_column).collect::<Vec<_>>() },
    });
    format!("{text:#}\n")
}

fn describe_column(&(name, column): &(&str, &Column)) -> serde_json::Value {
    let described = columns::describe(name);
    let datatype = match column.kind() {
        Kind::Numbers => "double",
        Kind::Whole => "nonNegativeInteger",
        Kind::Words => "string",
    };
    let mut about = json!({ "titles": name, "dc:description": described.label, "datatype": datatype });
    if !described.unit.symbol().is_empty() {
        about["schema:unitText"] = described.unit.symbol().into();
    }
    about
}

/// Formats rows of text cells. The first row is the header. Cells that can be read as numbers are written as numbers.
pub fn text(rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut csv = writer(Vec::new());
    // A negative number begins with a minus sign and is no formula.
    let cell = |cell: String| if cell.parse::<f64>().is_ok() { cell } else { escape_word(&cell).into_owned() };
    rows.into_iter().for_each(|row| csv.write_record(row.into_iter().map(cell)).expect("rows of one length"));
    let bytes = csv.into_inner().expect("memory takes all");
    String::from_utf8(bytes).expect("made of text")
}
