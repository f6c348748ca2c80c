//! `apexmap report`: draws a result's figures and writes its report anew.

use super::card::CardArguments;
use super::print;
use crate::error::Result;
use crate::report::{self, summary};
use crate::store::manifest::Manifest;
use crate::store::{Folder, Table};
use std::path::PathBuf;

#[derive(clap::Args)]
#[command(after_help = "Examples:
  apexmap report results/quickstart
  apexmap report results/quickstart --card results/calibrate/card.toml")]
pub struct Arguments {
    /// The result folder
    #[arg(default_value = "results/quickstart")]
    result: PathBuf,
    #[command(flatten)]
    card: CardArguments,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let folder = Folder::open(&arguments.result)?;
    if arguments.card.card.is_some() {
        let _lock = folder.lock()?;
        let manifest = Manifest::read(&folder)?;
        let hosts: Vec<_> = manifest.launches.iter().map(|end| &end.launch.host).collect();
        arguments.card.place(&folder, &manifest.machine, &hosts)?;
        folder.compact()?;
    }
    print(&make(&folder, &folder.table()?)?)
}

/// Makes the report; returns the summary for the terminal.
pub fn make(folder: &Folder, table: &Table) -> Result<String> {
    let made = report::make(folder, table)?;
    Ok(format!("{}report: {}\n", summary::text(&made.rows), folder.report().display()))
}
