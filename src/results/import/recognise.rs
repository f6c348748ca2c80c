//! What a file is, by its first bytes. Used where a result is expected and something else is given.

use super::runs::find_reader;
use apexmap_base::error::{Error, Result};
use apexmap_base::regular_file;
use flate2::read::GzDecoder;
use std::fs::File;
use std::io::Read;
use std::path::Path;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultFile {
    Parquet,
    /// A compressed tar file, as `apexmap archive` writes it.
    Archive,
    /// An HTML page; that of a report holds its result.
    Page,
}

const HEAD_BYTES: u64 = 1 << 16;
/// A tar file has this word at this place.
const TAR: (usize, &[u8]) = (257, b"ustar");
const GZIP: &[u8] = b"\x1f\x8b";

/// First bytes of files that are no text.
const BINARIES: [(&[u8], &str); 25] = [
    (b"PARE", "an encrypted Parquet file"),
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file"),
    (b"SQLite format 3\0", "an SQLite database"),
    (b"PK\x03\x04", "a zip archive"),
    (b"PK\x05\x06", "an empty zip archive"),
    (b"\x89PNG", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"%PDF-", "a PDF document"),
    (b"%!PS", "a PostScript document"),
    (b"\x7fELF", "a program or library (ELF)"),
    (b"#!", "a script"),
    (b"\x28\xb5\x2f\xfd", "a file compressed with zstd"),
    (b"\xfd7zXZ\0", "a file compressed with xz"),
    (b"BZh", "a file compressed with bzip2"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"CDF\x01", "a netCDF file"),
    (b"ARROW1", "an Arrow file (Feather)"),
    (b"FEA1", "a Feather file"),
    (b"Obj\x01", "an Avro file"),
    (b"\x93NUMPY", "a NumPy array"),
    (b"\x80\x04", "a Python pickle"),
    (b"\x80\x05", "a Python pickle"),
    (b"<?xml", "an XML file"),
    (b"%YAML", "a YAML file"),
];

/// Texts with all of these words, the most specific first: what they are, and the next step if it is special.
const TEXTS: [(&[&str], &str, &str); 10] = [
    (&["\"event\":\"hello\""], "a journal of apexmap", "name the result folder with the folder journals that holds it"),
    (&["\"driver_host\"", "\"schema\""], "the manifest of a result", "name the result folder that holds it"),
    (&["\"benchmarks\"", "\"context\""], "JSON of Google Benchmark", ""),
    (&["\"results\"", "\"command\"", "\"mean\""], "JSON of hyperfine", ""),
    (&["\"confidence_interval\"", "\"point_estimate\""], "JSON of Criterion", ""),
    (&["[[code]]"], "a file of codes", "apexmap codes results/quickstart --codes FILE"),
    (&["[axes]"], "a sweep", "run it: apexmap run FILE"),
    (&["[numbers"], "a machine card", "show it: apexmap card FILE; `compare` takes cards whose name ends in .toml"),
    (&["kernel,", "ranks,", "status,"], "CSV that apexmap exported", "name the result that it was exported from"),
    (&["jube"], "a table of JUBE", ""),
];

pub fn result_file(path: &Path) -> Result<ResultFile> {
    let wrong = |error| Error::file("read", path, error);
    let mut file = regular_file::open(path).map_err(wrong)?;
    let head = read_head(&mut file).map_err(wrong)?;
    if head.starts_with(b"PAR1") {
        return Ok(ResultFile::Parquet);
    }
    let unpacked = head.starts_with(GZIP).then(|| read_head(&mut GzDecoder::new(&head[..])).unwrap_or_default());
    if unpacked.as_deref().is_some_and(is_tar) {
        return Ok(ResultFile::Archive);
    }
    if is_page(&head) {
        return Ok(ResultFile::Page);
    }
    Err(foreign_error(path, &head))
}

/// Returns the error for a file that begins with these bytes and is no result.
pub fn foreign_error(path: &Path, head: &[u8]) -> Error {
    let (description, help) = describe(head);
    let help = match help.as_str() {
        "" => "name a result: a folder that `apexmap run` wrote, its samples.parquet, its report.html or an archive of it; \
               `apexmap import` reads the outputs of HPCC, OSU, IMB, STREAM, BabelStream and Intel MLC"
            .to_owned(),
        template => template.replace("FILE", &path.display().to_string()),
    };
    Error::input(format!("{} is {description}, not a result of apexmap", path.display()), help)
}

/// Reads the first bytes. Damaged data end them.
fn read_head(file: &mut impl Read) -> std::io::Result<Vec<u8>> {
    let mut head = Vec::new();
    match file.take(HEAD_BYTES).read_to_end(&mut head) {
        Err(error) if head.is_empty() => Err(error),
        _ => Ok(head),
    }
}

fn is_tar(head: &[u8]) -> bool {
    head.get(TAR.0..).is_some_and(|rest| rest.starts_with(TAR.1))
}

fn is_page(head: &[u8]) -> bool {
    let start = head.trim_ascii_start().get(..14).unwrap_or_default().to_ascii_lowercase();
    start.starts_with(b"<!doctype html") || start.starts_with(b"<html")
}

/// Describes a file that is no result, and gives the next step if it is special.
pub fn describe(head: &[u8]) -> (String, String) {
    let plain = |description: &str| (description.to_owned(), String::new());
    if head.is_empty() {
        return plain("empty");
    }
    if head.starts_with(GZIP) {
        let mut inner = Vec::new();
        // What can be unpacked is described; the cut end of the head is an error.
        let _ = GzDecoder::new(head).take(HEAD_BYTES).read_to_end(&mut inner);
        let (contents, _) = describe(&inner);
        return plain(&format!(
            "a gzip file that holds {}",
            if inner.is_empty() { "nothing readable" } else { &contents }
        ));
    }
    if is_tar(head) {
        return ("a tar file without compression".into(), "unpack it, and name the result folder in it".into());
    }
    if is_page(head) {
        return (
            "an HTML page without a result".into(),
            "name a report of apexmap; pages of comparisons hold no result".into(),
        );
    }
    if let Some((_, description)) = BINARIES.iter().find(|(start, _)| head.starts_with(start)) {
        return plain(description);
    }
    if let Some(text) = from_utf16(head) {
        return describe_text(&text);
    }
    // An error without a length is a character that the end of the head cuts off.
    if head.contains(&0) || std::str::from_utf8(head).is_err_and(|error| error.error_len().is_some()) {
        return plain("a file of an unknown binary format");
    }
    describe_text(&String::from_utf8_lossy(head))
}

fn describe_text(text: &str) -> (String, String) {
    if let Some(reader) = find_reader(text) {
        return (format!("output of {}", reader.name), "convert it: apexmap import FILE".into());
    }
    let has_all = |words: &&[&str]| words.iter().all(|word| text.contains(word));
    if let Some((_, description, help)) = TEXTS.iter().find(|(words, ..)| has_all(words)) {
        return (description.to_string(), help.to_string());
    }
    let description = match text.trim_start().chars().next() {
        Some('{' | '[') if text.contains('"') => "a JSON file",
        _ if is_table(text) => "a CSV table, such as one of JUBE",
        _ => "a text file",
    };
    (description.to_owned(), String::new())
}

/// Returns whether the first lines have the same number of separators.
fn is_table(text: &str) -> bool {
    let mut lines = text.lines().take(4).map(|line| [',', ';', '|'].map(|separator| line.matches(separator).count()));
    let Some(first) = lines.next() else { return false };
    first.iter().any(|count| *count > 0) && lines.all(|line| line == first)
}

/// Decodes UTF-16, as PowerShell writes it; a mark of the byte order may be absent.
fn from_utf16(bytes: &[u8]) -> Option<String> {
    let decode = |bytes: &[u8], word: fn([u8; 2]) -> u16| {
        let words: Vec<u16> = bytes.as_chunks::<2>().0.iter().map(|pair| word(*pair)).collect();
        String::from_utf16(&words).ok().filter(|text| !text.contains(is_binary))
    };
    match bytes {
        [0xff, 0xfe, text @ ..] | text @ [1..=255, 0, 1..=255, 0, ..] => decode(text, u16::from_le_bytes),
        [0xfe, 0xff, text @ ..] | text @ [0, 1..=255, 0, 1..=255, ..] => decode(text, u16::from_be_bytes),
        _ => None,
    }
}

fn is_binary(c: char) -> bool {
    c.is_control() && !c.is_whitespace() && c != '\u{1b}'
}

/// Reads a text that a user names, up to a limit.
pub(super) fn read_text(path: &Path, most: u64) -> Result<String> {
    let wrong = |error| Error::file("read", path, error);
    let file: File = regular_file::open(path).map_err(wrong)?;
    let mut bytes = Vec::new();
    // One byte more shows that the file is too large.
    let read = file.take(most + 1).read_to_end(&mut bytes).map_err(wrong)?;
    let head = &bytes[..bytes.len().min(HEAD_BYTES as usize)];
    let wide = from_utf16(&bytes);
    let is_text = wide.is_some() || !head.contains(&0) && !head.starts_with(b"PAR1");
    match read as u64 > most {
        _ if !is_text => Err(foreign_error(path, head)),
        true => Err(Error::input(
            format!("{} is larger than {most} bytes", path.display()),
            "name the output of the benchmark alone",
        )),
        false => {
            let text = wide.unwrap_or_else(|| String::from_utf8_lossy(&bytes).into_owned());
            Ok(text.trim_start_matches('\u{feff}').to_owned())
        }
    }
}
