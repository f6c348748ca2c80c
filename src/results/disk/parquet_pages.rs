//! Validates the page headers of a Parquet file, which polars trusts: a page with a negative number of values, for example,
//! makes it request more memory than the machine has, which ends the program.

use polars_parquet_format::PageHeader;
use polars_parquet_format::thrift::protocol::TCompactInputProtocol;
use std::fs::File;
use std::io::{BufReader, Error, ErrorKind, Result, Seek, SeekFrom};
use std::ops::Range;

/// Contiguous values of a column.
pub struct Chunk {
    pub bytes: Range<u64>,
    pub values: i64,
}

/// Maximum rows per byte in a file of samples.
const ROWS_PER_BYTE: u64 = 8;

/// Checks that the file can hold `rows` rows, and that the pages of each chunk hold its values and lie within it.
pub fn check(file: &File, rows: usize, chunks: impl Iterator<Item = Chunk>) -> Result<()> {
    let length = file.metadata()?.len();
    if rows as u64 > length.saturating_mul(ROWS_PER_BYTE) {
        return Err(invalid_data(format!("its header claims {rows} rows, but the file has only {length} bytes")));
    }
    let mut file = BufReader::with_capacity(1 << 12, file);
    for Chunk { bytes, values } in chunks {
        if bytes.start > bytes.end || bytes.end > length {
            let end = bytes.end;
            return Err(invalid_data(format!("a column ends at byte {end}, after the end of the file ({length})")));
        }
        file.seek(SeekFrom::Start(bytes.start))?;
        let mut held = 0i64;
        while held < values {
            held += i64::from(skip_page(&mut file, bytes.end)?);
        }
        if held != values {
            return Err(invalid_data(format!("the pages of a column of {values} values hold {held}")));
        }
    }
    Ok(())
}

fn invalid_data(message: String) -> Error {
    Error::new(ErrorKind::InvalidData, message)
}

/// Moves to the end of a page of a chunk that ends at this byte of the file, and returns the number of the page's column values.
fn skip_page(file: &mut BufReader<&File>, chunk_end: u64) -> Result<i32> {
    // A header that claims more bytes than the chunk has is refused before memory is requested for it.
    let most = chunk_end.saturating_sub(file.stream_position()?) as usize;
    let header = PageHeader::read_from_in_protocol(&mut TCompactInputProtocol::new(&mut *file, most))
        .map_err(|error| invalid_data(format!("the header of a page: {error}")))?;
    let bytes = header.compressed_page_size;
    let values = header.data_page_header.map(|data| data.num_values);
    let values = values.or(header.data_page_header_v2.map(|data| data.num_values)).unwrap_or(0);
    let entries = header.dictionary_page_header.map_or(0, |dictionary| dictionary.num_values);
    if bytes < 0 || values < 0 || entries < 0 {
        return Err(invalid_data(format!("a page of {bytes} bytes holds {} values", values.min(entries))));
    }
    let offset = file.stream_position()?;
    if offset + bytes as u64 > chunk_end {
        return Err(invalid_data(format!("a page of {bytes} bytes at byte {offset} is longer than its column")));
    }
    file.seek_relative(i64::from(bytes))?;
    Ok(values)
}
