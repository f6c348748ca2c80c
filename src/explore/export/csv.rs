//! Comma-separated values as RFC 4180 has them, but for line ends, which are LF: a head, and a line a sample.
//!
//! No comments, as many readers know none: `metadata` describes the columns in a file beside it. What has no value is
//! empty; an empty word is `""`. Reals have a point or an exponent and come back to the last bit.

use crate::explore::store::table::Column;
use std::io::{Result, Write};

/// Writes these rows of the columns.
pub fn write(columns: &[(&str, &Column)], rows: &[usize], out: &mut dyn Write) -> Result<()> {
    let head: Vec<String> = columns.iter().map(|(name, _)| field(name)).collect();
    writeln!(out, "{}", head.join(","))?;
    // Each word is quoted once, not once a row.
    let words: Vec<Vec<String>> = columns
        .iter()
        .map(|(_, column)| match column {
            Column::Words { dictionary, .. } => dictionary.iter().map(|word| field(word)).collect(),
            _ => Vec::new(),
        })
        .collect();
    for &row in rows {
        for (at, (_, column)) in columns.iter().enumerate() {
            if at > 0 {
                out.write_all(b",")?;
            }
            match column {
                Column::Numbers(values) if values[row].is_nan() => {}
                Column::Numbers(values) => write!(out, "{:?}", values[row])?,
                Column::Whole(values) => values[row].map_or(Ok(()), |value| write!(out, "{value}"))?,
                Column::Words { codes, .. } => {
                    codes[row].map_or(Ok(()), |code| out.write_all(words[at][code as usize].as_bytes()))?;
                }
            }
        }
        out.write_all(b"\n")?;
    }
    Ok(())
}

/// A word as a field: in quotes where it must be, so that it is one field, and where a reader might take it for no value
/// or a comment.
pub fn field(word: &str) -> String {
    let special = |c: char| matches!(c, ',' | '"' | '\n' | '\r');
    if word.is_empty() || word.starts_with(['#', ' ']) || word.ends_with(' ') || word.contains(special) {
        format!("\"{}\"", word.replace('"', "\"\""))
    } else {
        word.to_owned()
    }
}
