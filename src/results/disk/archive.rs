//! Archives of results: one compressed tar file with all files of a result, their SHA-256 checksums and the versions of programs.

use crate::disk::Folder;
use apexmap_base::error::{Error, Result};
use apexmap_base::{new_file, regular_file};
use apexmap_measure::provenance;
use apexmap_measure::worker::unix_seconds;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::time::UNIX_EPOCH;
use tar::{Builder, EntryType, Header};

pub const CHECKSUMS: &str = "SHA256SUMS";
const ORIGIN: &str = "archive.json";
/// Parts of a result that are made from the others, and are not read from an archive.
const DERIVED: [&str; 2] = ["figures", "report.html"];
/// Limits of an archive when it is unpacked: without them, a small archive could fill the memory or the disk.
const MAX_UNPACKED: u64 = 1 << 30;
const MAX_HEADER: u64 = 64 << 10;
const MAX_MEMBERS: u32 = 100_000;
const MAX_DEPTH: usize = 16;

pub struct Archived {
    /// The folder in the archive that holds all files.
    pub name: String,
    pub files: usize,
    /// Total size of the files, in bytes.
    pub bytes: u64,
}

/// Packs a result into a new file. Locks and unfinished files are left out.
pub fn write(result: &Folder, target: &Path) -> Result<Archived> {
    // `exists` would overlook a link that leads nowhere.
    if target.symlink_metadata().is_ok() {
        let message = format!("{} exists already", target.display());
        return Err(Error::input(message, "name another file with --out, or remove it"));
    }
    // Every driver makes the lock file. Without it no program writes, and the result may be read only.
    let _lock = result.path.join(".lock").is_file().then(|| result.lock()).transpose()?;
    let root = fs::canonicalize(&result.path).map_err(|e| Error::file("find", &result.path, e))?;
    let name = root.file_name().map_or("result".to_owned(), |name| name.to_string_lossy().into_owned());
    let mut files = Vec::new();
    list_files(&root, &root, &mut files)?;
    files.sort();
    let mut archived = Archived { name: name.clone(), files: 0, bytes: 0 };
    new_file::write_user_file(target, |file| {
        let write_error = |error: io::Error| Error::file("write", target, error);
        let mut archive = Builder::new(GzEncoder::new(file, Compression::default()));
        let mut checksums = String::new();
        for path in &files {
            let relative = path.strip_prefix(&root).unwrap_or(path);
            let line = checksum_name(relative)?;
            let (hash, bytes) = append_file(&mut archive, path, &Path::new(&name).join(relative))?;
            checksums.push_str(&line.replacen("HASH", &hash, 1));
            archived.files += 1;
            archived.bytes += bytes;
        }
        let origin = describe_origin()?;
        checksums.push_str(&format!("{}  {ORIGIN}\n", to_hex(Sha256::digest(&origin).as_ref())));
        for (file_name, text) in [(ORIGIN, &origin), (CHECKSUMS, &checksums)] {
            let mut header = header(text.len() as u64, unix_seconds() as u64);
            let place = Path::new(&name).join(file_name);
            archive.append_data(&mut header, place, text.as_bytes()).map_err(write_error)?;
        }
        let encoder = archive.into_inner().map_err(write_error)?;
        encoder.finish().map_err(write_error)?.flush().map_err(write_error)
    })?;
    Ok(archived)
}

/// Returns a line with `HASH` for the checksum. As in `sha256sum`, a backslash marks an escaped name.
fn checksum_name(file: &Path) -> Result<String> {
    let name = file.to_str().ok_or_else(|| {
        Error::input(format!("the name of {} is not UTF-8", file.display()), "rename or remove this file of the result")
    })?;
    let escaped = name.replace('\\', "\\\\").replace('\n', "\\n").replace('\r', "\\r");
    let mark = if escaped == name { "" } else { "\\" };
    Ok(format!("{mark}HASH  {escaped}\n"))
}

/// Unpacks the files of a result from an archive into an empty folder, without its figures and its report.
pub fn unpack(archive: &Path, folder: &Path) -> Result<()> {
    let file = regular_file::open(archive).map_err(|e| Error::file("read", archive, e))?;
    let damaged = |cause: &dyn std::fmt::Display| {
        let message = format!("{} cannot be unpacked: {cause}", archive.display());
        let help = "copy it again, or pack its result folder again with `apexmap archive`; if it is larger than apexmap unpacks, \
                    unpack it with tar and name the result folder";
        Error::input(message, help)
    };
    unpack_tar(GzDecoder::new(file), folder, &damaged)?;
    Folder::open(folder).map(drop).map_err(|_| damaged(&"it holds no result of apexmap"))
}

/// Unpacks a tar file to its end. `damaged` makes the error from its cause.
pub fn unpack_tar(tar: impl Read, folder: &Path, damaged: &dyn Fn(&dyn std::fmt::Display) -> Error) -> Result<()> {
    let mut packed = tar::Archive::new(Limited { inner: tar, left: MAX_UNPACKED });
    let (mut long_name, mut members) = (None, 0);
    // Raw members: otherwise the reader of tar files takes a name of any length into memory.
    for entry in packed.entries().map_err(|e| damaged(&e))?.raw(true) {
        let mut entry = entry.map_err(|e| damaged(&e))?;
        members += 1;
        if members > MAX_MEMBERS {
            return Err(damaged(&"it has more than 100,000 members"));
        }
        let kind = entry.header().entry_type();
        if [EntryType::GNULongName, EntryType::GNULongLink, EntryType::XHeader, EntryType::XGlobalHeader]
            .contains(&kind)
        {
            let text = read_extension(&mut entry).map_err(|e| damaged(&e))?;
            long_name = match kind {
                EntryType::GNULongName => Some(text.split(|byte| *byte == 0).next().unwrap_or_default().to_vec()),
                EntryType::XHeader => pax_name(&text).map_err(|e| damaged(&e))?.or(long_name),
                _ => long_name,
            };
            continue;
        }
        let path = match long_name.take() {
            Some(name) => PathBuf::from(OsStr::from_bytes(&name)),
            None => entry.path().map_err(|e| damaged(&e))?.into_owned(),
        };
        if !path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir)) {
            return Err(damaged(&format!("{} leads out of its folder", path.display())));
        }
        if path.components().count() > MAX_DEPTH {
            return Err(damaged(&format!("a file is in more than {MAX_DEPTH} folders")));
        }
        let names = path.components().filter(|part| *part != Component::CurDir);
        let inner: PathBuf = names.skip(1).collect();
        let is_derived = DERIVED.iter().any(|name| inner.starts_with(name));
        // Links are skipped, because they may lead out of the folder.
        if kind != EntryType::Regular || inner.as_os_str().is_empty() || is_derived {
            continue;
        }
        let target = folder.join(&inner);
        let parent = target.parent().unwrap_or(folder);
        fs::create_dir_all(parent).map_err(|e| Error::file("create", parent, e))?;
        let mut copy = new_file::create(&target)?;
        io::copy(&mut entry, &mut copy).map_err(|e| damaged(&e))?;
    }
    // The checksum of the compressed data is at their end.
    io::copy(&mut packed.into_inner(), &mut io::sink()).map(drop).map_err(|e| damaged(&e))
}

fn read_extension(entry: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    match entry.take(MAX_HEADER + 1).read_to_end(&mut text)? as u64 {
        0..=MAX_HEADER => Ok(text),
        _ => Err(io::Error::other("a member has a name or a header of more than 64 KiB")),
    }
}

/// Returns the name of the next member. SOURCE: IEEE Std 1003.1-2017, pax, "pax Extended Header".
fn pax_name(text: &[u8]) -> io::Result<Option<Vec<u8>>> {
    let mut name = None;
    for record in tar::PaxExtensions::new(text) {
        let record = record?;
        match record.key_bytes() {
            b"path" => name = Some(record.value_bytes().to_vec()),
            // The header of a smaller member has its size.
            b"size" => return Err(io::Error::other("a member is larger than 8 GiB")),
            _ => {}
        }
    }
    Ok(name)
}

/// Reads data up to a limit, which is an error.
struct Limited<R> {
    inner: R,
    left: u64,
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        let too_large = || io::Error::other("it unpacks to more than 1 GiB");
        self.left = self.left.checked_sub(count as u64).ok_or_else(too_large)?;
        Ok(count)
    }
}

fn list_files(root: &Path, folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let entries = fs::read_dir(folder).map_err(|e| Error::file("list", folder, e))?;
    for entry in entries {
        let entry = entry.map_err(|e| Error::file("list", folder, e))?;
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        // Locks and files that a killed writer left.
        if name.starts_with('.') && name != ".made" {
            continue;
        }
        let kind = entry.file_type().map_err(|e| Error::file("read", &path, e))?;
        // An archive that was unpacked gets new ones.
        if folder == root && [ORIGIN, CHECKSUMS].contains(&name.as_str()) {
            continue;
        }
        if kind.is_dir() {
            list_files(root, &path, files)?;
            continue;
        }
        if kind.is_symlink() {
            check_link(root, &path)?;
        }
        files.push(path);
    }
    Ok(())
}

fn check_link(root: &Path, path: &Path) -> Result<()> {
    let target = fs::canonicalize(path).map_err(|e| Error::file("follow the link", path, e))?;
    if target.starts_with(root) && target.is_file() {
        return Ok(());
    }
    let message = format!("{} is a link to {}, which is not a file of this result", path.display(), target.display());
    Err(Error::input(message, "replace the link by the file, or remove it"))
}

fn append_file(archive: &mut Builder<impl Write>, path: &Path, place: &Path) -> Result<(String, u64)> {
    let read_error = |error: io::Error| Error::file("read", path, error);
    let file = regular_file::open(path).map_err(read_error)?;
    let metadata = file.metadata().map_err(read_error)?;
    let age = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let mut header = header(metadata.len(), age.map_or(0, |age| age.as_secs()));
    let mut reader = HashingReader { file, left: metadata.len(), hash: Sha256::new() };
    archive.append_data(&mut header, place, &mut reader).map_err(|e| Error::file("pack", path, e))?;
    match reader.left {
        0 => Ok((to_hex(reader.hash.finalize().as_ref()), metadata.len())),
        _ => Err(Error::file("pack", path, "it became shorter meanwhile")),
    }
}

fn header(bytes: u64, modified_at: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_size(bytes);
    header.set_mode(0o644);
    header.set_mtime(modified_at);
    header
}

/// Reads the bytes that a file had when it was opened, and hashes them.
struct HashingReader {
    file: File,
    left: u64,
    hash: Sha256,
}

impl Read for HashingReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let wanted = buffer.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        let count = self.file.read(&mut buffer[..wanted])?;
        self.left -= count as u64;
        self.hash.update(&buffer[..count]);
        Ok(count)
    }
}

fn describe_origin() -> Result<String> {
    let origin = serde_json::json!({
        "program": provenance::build(),
        "host": provenance::host(),
        "unix_seconds": unix_seconds(),
    });
    serde_json::to_string_pretty(&origin).map_err(|e| Error::internal(e.to_string()))
}

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
