//! JSON lines: an object a sample, all of the same keys, `null` where there is no value.

use crate::explore::store::table::Column;
use std::io::{Result, Write};

/// Writes these rows of the columns. JSON has no infinity: it is written as `null`, too.
pub fn write(columns: &[(&str, &Column)], rows: &[usize], out: &mut dyn Write) -> Result<()> {
    let quoted = |word: &str| serde_json::Value::from(word).to_string();
    let keys: Vec<String> = columns.iter().map(|(name, _)| quoted(name)).collect();
    let words: Vec<Vec<String>> = columns
        .iter()
        .map(|(_, column)| match column {
            Column::Words { dictionary, .. } => dictionary.iter().map(|word| quoted(word)).collect(),
            _ => Vec::new(),
        })
        .collect();
    for &row in rows {
        for (at, (_, column)) in columns.iter().enumerate() {
            let before = if at == 0 { '{' } else { ',' };
            write!(out, "{before}{}:", keys[at])?;
            match column {
                Column::Numbers(values) if values[row].is_finite() => write!(out, "{:?}", values[row])?,
                Column::Whole(values) if values[row].is_some() => write!(out, "{}", values[row].unwrap_or_default())?,
                Column::Words { codes, .. } if codes[row].is_some() => {
                    out.write_all(words[at][codes[row].unwrap_or_default() as usize].as_bytes())?;
                }
                _ => out.write_all(b"null")?,
            }
        }
        out.write_all(b"}\n")?;
    }
    Ok(())
}
