//! Opens what a user names: a result's folder, `samples.parquet`, archive or report, or the printed rates of a published machine.

use apexmap_base::error::{Error, Result};
use apexmap_base::guarded::TemporaryFolder;
use apexmap_base::terminal::note;
use apexmap_base::units::plural;
use apexmap_pages::compare::{machine::Machine, published_machines};
use apexmap_pages::report::embedded::Embedded;
use apexmap_results::disk::{Folder, archive, parquet};
use apexmap_results::import::recognise::{ResultFile, result_file};
use apexmap_results::samples::Samples;
use apexmap_results::table::Table;
use std::path::{Path, PathBuf};

pub struct Opened {
    named: PathBuf,
    /// `None` for samples without their folder.
    folder: Option<Folder>,
    /// The folder into which an archive or a report was unpacked.
    unpacked: Option<TemporaryFolder>,
    pub published: Option<Machine>,
    /// Version of the program that made the report that was opened.
    pub page_version: Option<String>,
}

impl Opened {
    /// Archives and reports are unpacked into a temporary folder.
    pub fn open(named: &Path) -> Result<Self> {
        let mut opened =
            Self { named: named.to_owned(), folder: None, unpacked: None, published: None, page_version: None };
        if !named.exists() {
            opened.published = published_machines::find_printed(&named.to_string_lossy())?;
        }
        if opened.published.is_some() {
            return Ok(opened);
        }
        if !named.is_file() {
            opened.folder = Some(Folder::open(named)?);
            return Ok(opened);
        }
        let kind = result_file(named)?;
        if kind == ResultFile::Parquet {
            opened.folder = folder_of_samples(named);
            return Ok(opened);
        }
        let place = TemporaryFolder::create("result")?;
        if kind == ResultFile::Page {
            let embedded = Embedded::from_page(named)?;
            embedded.unpack(named, &place.path)?;
            opened.page_version = Some(embedded.program);
        } else {
            archive::unpack(named, &place.path)?;
        }
        opened.folder = Some(Folder { path: place.path.clone() });
        opened.unpacked = Some(place);
        Ok(opened)
    }

    /// A copy of a result folder in a temporary folder, into which a page can be drawn. Others are copies already.
    pub fn into_copy(self) -> Result<Self> {
        let Some(folder) = self.folder.as_ref().filter(|_| self.unpacked.is_none()) else { return Ok(self) };
        let place = TemporaryFolder::create("copy")?;
        let (packed, copy) = (place.path.join("result.tar.gz"), place.path.join("result"));
        archive::write(folder, &packed)?;
        std::fs::create_dir(&copy).map_err(|e| Error::file("create", &copy, e))?;
        archive::unpack(&packed, &copy)?;
        Ok(Self { folder: Some(Folder { path: copy }), unpacked: Some(place), ..self })
    }

    /// With manifest and card.
    pub fn folder(&self) -> Result<&Folder> {
        self.folder.as_ref().ok_or_else(|| {
            Error::input(
                format!("{} has no manifest.json in its folder, which is needed here", self.named.display()),
                "name the result folder, its report.html or an archive of it; `query`, `plot`, `export` and `compare` need only samples",
            )
        })
    }

    /// `None` for samples without their folder.
    pub fn known_folder(&self) -> Option<&Folder> {
        self.folder.as_ref()
    }

    /// Whether the result is an archive or a report, so that nothing can be written into it.
    pub fn is_unpacked(&self) -> bool {
        self.unpacked.is_some()
    }

    /// Prints notes on standard error about samples that are lost or were not checked.
    pub fn samples(&self) -> Result<Samples> {
        if let Some(machine) = &self.published {
            return Ok(machine.samples.clone());
        }
        match &self.folder {
            Some(folder) => read_folder(folder).map_err(|error| self.name_error(error)),
            None => {
                let table = parquet::read(&self.named)?;
                table.check_samples(&self.named.display().to_string())?;
                Ok(note_missing_checksum(table, &self.named).into())
            }
        }
    }

    /// Names the archive or the report in an error about a file that was unpacked from it.
    pub fn name_error(&self, error: Error) -> Error {
        let Some(place) = &self.unpacked else { return error };
        let (named, place) = (self.named.display().to_string(), place.path.display().to_string());
        let message = error.message.replace(&format!("{place}/"), &format!("{named}: ")).replace(&place, &named);
        let help = "name a complete report or archive, or its result folder";
        Error { help: help.into(), message, location: None, ..error }
    }
}

/// If the file is the samples of a result, because the manifest is needed to check them.
fn folder_of_samples(file: &Path) -> Option<Folder> {
    let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty());
    let folder = Folder { path: parent.unwrap_or(Path::new(".")).to_owned() };
    let of_folder = file.file_name() == folder.samples().file_name() && folder.manifest().is_file();
    of_folder.then_some(folder)
}

pub fn read(result: &Path) -> Result<Samples> {
    Opened::open(result)?.samples()
}

/// Also marks invalid times as failed.
fn note_missing_checksum(mut table: Table, file: &Path) -> Table {
    let file = file.display();
    note(&format!(
        "note: {file} has no checksum, because no manifest.json for it is in its folder: changed values cannot be detected"
    ));
    let untimed = table.fail_untimed();
    if untimed > 0 {
        let runs = plural(untimed, "run");
        note(&format!("note: {runs} of {file} succeeded without a valid time; they count as failed"));
    }
    table
}

/// Prints notes about lost samples on standard error.
pub fn read_folder(folder: &Folder) -> Result<Samples> {
    let loaded = folder.load()?;
    if let Some(why) = &loaded.fallback {
        note(&format!("note: {why}; its journals are read instead; `apexmap run` writes the file again"));
    }
    for damage in &loaded.damages {
        note(&format!("note: {}", damage.sentence()));
    }
    let table = if loaded.unchecked { note_missing_checksum(loaded.table, &folder.samples()) } else { loaded.table };
    Ok(table.into())
}
