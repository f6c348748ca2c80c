//! Validates the page headers of a Parquet file before polars reads it. Polars trusts these headers: a page with a negative
//! number of values, for example, makes it request more memory than the machine has, which ends the program.
//!
//! Page headers are structs of Thrift's compact protocol:
//! <https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift>.

use std::fs::File;
use std::io::{BufReader, Error, ErrorKind, Read, Result, Seek, SeekFrom};
use std::ops::Range;

/// Contiguous values of a column.
pub struct Chunk {
    /// Byte range in the file.
    pub bytes: Range<u64>,
    pub values: i64,
}

/// Maximum rows per byte in a file of samples.
const ROWS_PER_BYTE: u64 = 8;
/// Maximum depth of nested structs. Headers have three levels.
const MAX_DEPTH: u32 = 8;

/// Checks that the file can hold `rows` rows, and that the pages of each chunk hold its values and lie within it.
pub fn check(file: &File, rows: usize, chunks: impl Iterator<Item = Chunk>) -> Result<()> {
    let length = file.metadata()?.len();
    if rows as u64 > length.saturating_mul(ROWS_PER_BYTE) {
        return Err(invalid_data(format!("its header claims {rows} rows, but the file has only {length} bytes")));
    }
    let mut pages = Pages { file: BufReader::with_capacity(1 << 12, file), chunk_end: length };
    for chunk in chunks {
        if chunk.bytes.start > chunk.bytes.end || chunk.bytes.end > length {
            return Err(invalid_data(format!(
                "a column ends at byte {}, after the end of the file ({length})",
                chunk.bytes.end
            )));
        }
        pages.chunk_end = chunk.bytes.end;
        pages.file.seek(SeekFrom::Start(chunk.bytes.start))?;
        let mut values = 0i64;
        while values < chunk.values {
            values += i64::from(pages.skip_page()?);
        }
        if values != chunk.values {
            return Err(invalid_data(format!("the pages of a column of {} values hold {values}", chunk.values)));
        }
    }
    Ok(())
}

fn invalid_data(message: String) -> Error {
    Error::new(ErrorKind::InvalidData, message)
}

/// A file positioned at one of its pages.
struct Pages<'a> {
    file: BufReader<&'a File>,
    /// End of the chunk, in bytes of the file.
    chunk_end: u64,
}

// Types of the compact protocol.
const STOP: u8 = 0;
const LIST: u8 = 9;
const SET: u8 = 10;
const MAP: u8 = 11;
const STRUCT: u8 = 12;

impl Pages<'_> {
    /// Moves to the end of a page and returns the number of its column values.
    fn skip_page(&mut self) -> Result<i32> {
        let (mut bytes, mut values, mut entries) = (None, 0, 0);
        self.for_each_field(|pages, field, kind| {
            match field {
                3 => bytes = Some(pages.read_integer()?),
                // Header of a data page (5), a dictionary page (7) or a data page of version 2 (8). Its first field is the
                // number of values.
                5 | 7 | 8 if kind == STRUCT => pages.for_each_field(|pages, inner, kind| match inner {
                    1 if field == 7 => pages.read_integer().map(|number| entries = number),
                    1 => pages.read_integer().map(|number| values = number),
                    _ => pages.skip_value(kind, MAX_DEPTH),
                })?,
                _ => pages.skip_value(kind, MAX_DEPTH)?,
            }
            Ok(())
        })?;
        let bytes = bytes.ok_or_else(|| invalid_data("a page has no size".into()))?;
        if bytes < 0 || values < 0 || entries < 0 {
            return Err(invalid_data(format!("a page of {bytes} bytes holds {} values", values.min(entries))));
        }
        self.skip_bytes(bytes as u64)?;
        Ok(values)
    }

    /// Calls `take` at the value of each field of a struct, with the field's number and type.
    fn for_each_field(&mut self, mut take: impl FnMut(&mut Self, i64, u8) -> Result<()>) -> Result<()> {
        let mut field = 0;
        loop {
            let head = self.read_byte()?;
            if head & 0x0f == STOP {
                return Ok(());
            }
            field = if head >> 4 == 0 { self.read_signed()? } else { field + i64::from(head >> 4) };
            take(self, field, head & 0x0f)?;
        }
    }

    /// Skips a value.
    fn skip_value(&mut self, kind: u8, depth_left: u32) -> Result<()> {
        let inner_depth =
            depth_left.checked_sub(1).ok_or_else(|| invalid_data("a page's header is nested too deep".into()))?;
        match kind {
            1 | 2 => Ok(()),
            3 => self.skip_bytes(1),
            4..=6 => self.read_unsigned().map(drop),
            7 => self.skip_bytes(8),
            8 => {
                let bytes = self.read_unsigned()?;
                self.skip_bytes(bytes)
            }
            LIST | SET => {
                let head = self.read_byte()?;
                let entries = if head >> 4 == 15 { self.read_unsigned()? } else { u64::from(head >> 4) };
                (0..entries).try_for_each(|_| self.skip_entry(head & 0x0f, inner_depth))
            }
            MAP => {
                let entries = self.read_unsigned()?;
                let kinds = if entries == 0 { 0 } else { self.read_byte()? };
                (0..entries).try_for_each(|_| {
                    self.skip_entry(kinds >> 4, inner_depth)?;
                    self.skip_entry(kinds & 0x0f, inner_depth)
                })
            }
            STRUCT => self.for_each_field(|pages, _, kind| pages.skip_value(kind, inner_depth)),
            other => Err(invalid_data(format!("a page's header has a field of type {other}"))),
        }
    }

    /// Skips an entry of a list. Booleans take one byte there.
    fn skip_entry(&mut self, kind: u8, depth_left: u32) -> Result<()> {
        if matches!(kind, 1 | 2) { self.skip_bytes(1) } else { self.skip_value(kind, depth_left) }
    }

    /// Skips bytes within the chunk.
    fn skip_bytes(&mut self, bytes: u64) -> Result<()> {
        let offset = self.file.stream_position()?;
        if offset.checked_add(bytes).is_none_or(|next| next > self.chunk_end) {
            return Err(invalid_data(format!("a page of {bytes} bytes at byte {offset} is longer than its column")));
        }
        self.file.seek_relative(bytes as i64)
    }

    fn read_byte(&mut self) -> Result<u8> {
        let mut byte = [0];
        self.file.read_exact(&mut byte)?;
        Ok(byte[0])
    }

    /// Reads a variable-length unsigned integer.
    fn read_unsigned(&mut self) -> Result<u64> {
        let mut number = 0;
        for place in 0..10 {
            let byte = self.read_byte()?;
            number |= u64::from(byte & 0x7f) << (7 * place);
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(invalid_data("a number has more than ten bytes".into()))
    }

    /// Reads a variable-length signed integer in zigzag encoding.
    fn read_signed(&mut self) -> Result<i64> {
        let number = self.read_unsigned()?;
        Ok((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    fn read_integer(&mut self) -> Result<i32> {
        let number = self.read_signed()?;
        i32::try_from(number).map_err(|_| invalid_data(format!("a page's header holds the invalid number {number}")))
    }
}
