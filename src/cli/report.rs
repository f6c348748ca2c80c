//! `apexmap report`: draws a result's figures and writes its report anew.

use super::print;
use crate::error::Result;
use crate::report::{self, summary};
use crate::store::{Folder, Table};
use std::path::PathBuf;

#[derive(clap::Args)]
#[command(after_help = "Example: apexmap report results/quickstart")]
pub struct Arguments {
    /// The result folder
    #[arg(default_value = "results/quickstart")]
    result: PathBuf,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let folder = Folder::open(&arguments.result)?;
    print(&make(&folder, &folder.table()?)?)
}

/// Makes the report; returns the summary for the terminal.
pub fn make(folder: &Folder, table: &Table) -> Result<String> {
    let made = report::make(folder, table)?;
    Ok(format!("{}report: {}\n", summary::text(&made.rows), folder.report().display()))
}
