//! The result inside a report, from which `apexmap report PAGE.html` draws the page again: its files, compressed, as JSON.
//!
//! Pages come from others, so reading trusts nothing: sizes are limited, names are known ones, and the readers of the files check them
//! as those of any result. The checksum in the manifest covers the samples.

use apexmap_base::error::{Error, Result};
use apexmap_base::sample::SCHEMA_VERSION;
use apexmap_base::units;
use apexmap_base::{new_file, regular_file};
use apexmap_results::disk::Folder;
use apexmap_results::disk::manifest::Manifest;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::read::{GzDecoder, GzEncoder};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

const FORMAT: u32 = 1;
/// The first two are always present.
const FILES: [&str; 6] = ["manifest.json", "samples.parquet", "machine.toml", "card.toml", "trial.json", "codes.toml"];
/// Texts from files cannot contain it, because they are escaped.
const START: &str = "<script type=\"application/json\" id=\"result\">";
const END: &str = "</script>";
/// Bytes of all files in a page, compressed.
const MAX_EMBEDDED: u64 = 3 << 20;
/// Bytes of a page that is read.
const MAX_PAGE: u64 = 64 << 20;
/// Bytes of a file from a page: a few packed bytes can unpack to any number.
const MAX_FILE: u64 = 256 << 20;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Embedded {
    format: u32,
    pub program: String,
    schema: u32,
    /// Names, and contents: gzip, base64.
    files: BTreeMap<String, String>,
}

impl Embedded {
    /// Or the reason why a page cannot hold the files.
    pub fn from_folder(folder: &Folder, manifest: &Manifest) -> Result<Result<Self, String>> {
        let is_current = match &manifest.compaction {
            Some(compaction) => folder.samples().is_file() && compaction.is_current(folder)?,
            None => folder.samples().is_file() && folder.journal_files()?.is_empty(),
        };
        if !is_current {
            return Ok(Err(
                "samples.parquet does not hold the samples of this page; `apexmap run` writes it again".into()
            ));
        }
        let (mut files, mut total) = (BTreeMap::new(), 0);
        for name in FILES {
            let path = folder.path.join(name);
            if !path.is_file() {
                continue;
            }
            let failed = |error| Error::file("read", &path, error);
            let encoder = GzEncoder::new(regular_file::open(&path).map_err(failed)?, Compression::best());
            let mut packed = Vec::new();
            // One byte more shows that the files are too large.
            total += encoder.take(MAX_EMBEDDED + 1 - total).read_to_end(&mut packed).map_err(failed)? as u64;
            if total > MAX_EMBEDDED {
                let most = units::bytes(MAX_EMBEDDED as f64);
                return Ok(Err(format!("the result has more than the {most} that a page holds")));
            }
            files.insert(name.to_owned(), STANDARD.encode(packed));
        }
        Ok(Ok(Self { format: FORMAT, program: env!("CARGO_PKG_VERSION").into(), schema: SCHEMA_VERSION, files }))
    }

    pub fn from_page(path: &Path) -> Result<Self> {
        let file = regular_file::open(path).map_err(|e| Error::file("read", path, e))?;
        let mut text = String::new();
        let read = file.take(MAX_PAGE + 1).read_to_string(&mut text);
        let is_long = read.map_err(|e| Error::file("read", path, e))? as u64 > MAX_PAGE;
        let refuse = |problem: &str| refusal(path, problem);
        if is_long {
            return Err(refuse(&format!("is larger than {}", units::bytes(MAX_PAGE as f64))));
        }
        let mut parts = text.split(START).skip(1);
        let data = match (parts.next(), parts.next()) {
            (Some(rest), None) => rest.split(END).next().unwrap_or_default(),
            (None, _) => return Err(refuse("holds no result")),
            _ => return Err(refuse("holds several results")),
        };
        // Read before the rest: a newer format may have fields that this version refuses.
        let version_of = |name: &str| {
            let value = serde_json::from_str::<serde_json::Value>(data).ok()?;
            value.get(name)?.as_u64()
        };
        for (name, newest) in [("format", FORMAT), ("schema", SCHEMA_VERSION)] {
            if version_of(name).is_some_and(|version| version > u64::from(newest)) {
                return Err(Error::input(
                    format!("{} comes from a newer version of apexmap", path.display()),
                    "draw it with that version; the head of the page names it",
                ));
            }
        }
        let embedded: Self =
            serde_json::from_str(data).map_err(|e| refuse(&format!("is damaged: its data cannot be read: {e}")))?;
        if let Some(unknown) = embedded.files.keys().find(|name| !FILES.contains(&name.as_str())) {
            return Err(refuse(&format!("is damaged: it holds an unknown file {unknown:?}")));
        }
        match FILES[..2].iter().find(|name| !embedded.files.contains_key(**name)) {
            Some(missing) => Err(refuse(&format!("is damaged: it holds no {missing}"))),
            None => Ok(embedded),
        }
    }

    /// Into an empty folder.
    pub fn unpack(&self, page: &Path, folder: &Path) -> Result<()> {
        for (name, text) in &self.files {
            let damaged = |cause: &dyn std::fmt::Display| refusal(page, &format!("is damaged: {name}: {cause}"));
            let packed = STANDARD.decode(text).map_err(|e| damaged(&e))?;
            let mut bytes = Vec::new();
            let read = GzDecoder::new(packed.as_slice()).take(MAX_FILE + 1).read_to_end(&mut bytes);
            if read.map_err(|e| damaged(&e))? as u64 > MAX_FILE {
                return Err(damaged(&format!("it is larger than {}", units::bytes(MAX_FILE as f64))));
            }
            new_file::replace_contents(&folder.join(name), &bytes)?;
        }
        Ok(())
    }
}

fn refusal(page: &Path, problem: &str) -> Error {
    Error::input(
        format!("{} {problem}", page.display()),
        "name a complete report of apexmap, or draw it from its result folder: apexmap report RESULT",
    )
}
