//! `apexmap archive`: packs a result into one file for a ticket, a paper or another machine.

use apexmap_base::error::{Error, Result};
use apexmap_base::terminal::print;
use apexmap_base::units::{self, plural};
use apexmap_results::disk::{Folder, archive};
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
#[command(after_help = "Example: apexmap archive results/quickstart

Packs journals, samples, jobs with their scripts and output, machine card, figures and report, and the versions of the programs. \
SHA256SUMS in the archive has the checksums of all files: `sha256sum --check SHA256SUMS` tests them.")]
pub struct Arguments {
    /// The result folder
    result: PathBuf,
    /// The new file [default: NAME.tar.gz, NAME being the folder's]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let folder = Folder::open(&arguments.result)?;
    let name = arguments.result.file_name().unwrap_or("result".as_ref());
    let default = || Path::new(&format!("{}.tar.gz", name.to_string_lossy())).to_owned();
    let target = arguments.out.clone().unwrap_or_else(default);
    if ![".tar.gz", ".tgz"].iter().any(|ending| target.to_string_lossy().ends_with(ending)) {
        let named = target.with_extension("").display().to_string();
        let message = format!("{} does not end in .tar.gz: an archive is a compressed tar file", target.display());
        return Err(Error::input(message, format!("write --out {}.tar.gz", named.trim_end_matches(".tar"))));
    }
    let archived = archive::write(&folder, &target)?;
    let (files, bytes) = (plural(archived.files, "file"), units::bytes(archived.bytes as f64));
    print(&format!("packed {files} ({bytes}) of {} into {}\n", archived.name, target.display()))
}
