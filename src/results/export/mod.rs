//! Samples for other programs: CSV with a description of its columns, and JSON lines.

pub mod csv;

use crate::table::column::{Column, Kind};
use std::io::{Result, Write};

/// Writes rows as JSON lines, all with the same keys; `null` for missing values and for infinity, which JSON does not have.
pub fn write_json_lines(columns: &[(&str, &Column)], rows: &[usize], out: &mut dyn Write) -> Result<()> {
    let keys: Vec<String> = columns.iter().map(|(name, _)| to_json(name)).collect();
    // Each word is quoted once, not in each row.
    let words: Vec<Vec<String>> =
        columns.iter().map(|(_, column)| column.dictionary().iter().map(|word| to_json(word)).collect()).collect();
    for &row in rows {
        for (index, (_, column)) in columns.iter().enumerate() {
            let before = if index == 0 { '{' } else { ',' };
            write!(out, "{before}{}:", keys[index])?;
            match (column.kind(), column.bits(row)) {
                (Kind::Numbers, Some(bits)) if f64::from_bits(bits).is_finite() => {
                    write!(out, "{:?}", f64::from_bits(bits))?;
                }
                (Kind::Whole, Some(number)) => write!(out, "{number}")?,
                (Kind::Words, Some(code)) => out.write_all(words[index][code as usize].as_bytes())?,
                _ => out.write_all(b"null")?,
            }
        }
        out.write_all(b"}\n")?;
    }
    Ok(())
}

fn to_json(word: &str) -> String {
    serde_json::Value::from(word).to_string()
}
