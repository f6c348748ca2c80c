//! `apexmap site`: shows the settings of the site file and their origins, and tests them.

use apexmap_base::error::{Error, ErrorKind, Result};
use apexmap_base::interrupt::Interrupt;
use apexmap_base::terminal::print;
use apexmap_base::text_table::{Align, TextTable};
use apexmap_base::units::plural;
use apexmap_cluster::site::{Site, candidates};
use apexmap_cluster::site_check::{self, Outcome};
use std::fmt::Write;
use std::path::PathBuf;

#[derive(clap::Args)]
#[command(after_help = "Examples:
  apexmap site             the settings in force, with file and line
  apexmap site --check     start the workers, and look at the file system

docs/clusters.md lists the keys. Flags come before the sweep, and the sweep before the site file.")]
pub struct Arguments {
    /// Test the settings: ask each worker for its MPI, start it on two ranks, and check the file system of results
    #[arg(long)]
    check: bool,
    /// Folder of results to check
    #[arg(long, value_name = "FOLDER", requires = "check", default_value = ".")]
    out: PathBuf,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let site = Site::load()?;
    print(&describe(&site))?;
    if arguments.check { check(&site, &arguments.out) } else { Ok(()) }
}

fn describe(site: &Site) -> String {
    let mut text = String::new();
    for (path, kind) in candidates() {
        let state = if path.exists() { "" } else { ": does not exist" };
        let _ = writeln!(text, "site file {kind}: {}{state}", path.display());
    }
    let mut table = TextTable::new([Align::Left; 3]).with_indent(2);
    for setting in &site.settings {
        let origin = format!("{}:{}", setting.file.display(), setting.line);
        table.add_row([setting.key.clone(), setting.value.clone(), origin]);
    }
    if site.settings.is_empty() {
        text.push_str("no setting is in force\n");
    } else {
        let _ = write!(text, "settings in force:\n{table}");
    }
    text
}

fn check(site: &Site, out: &std::path::Path) -> Result<()> {
    let interrupt = Interrupt::catch();
    let mut failed = 0;
    site_check::check(site, out, &|| interrupt.check(), &mut |test| {
        let (word, text) = match &test.outcome {
            Outcome::Passed(text) => ("ok", text),
            Outcome::Open(text) => ("open", text),
            Outcome::Failed(text) => ("FAILED", text),
        };
        failed += usize::from(word == "FAILED");
        print(&format!("{word:<7}{}: {text}\n", test.subject))
    })?;
    if failed == 0 {
        return Ok(());
    }
    let message = format!("{} failed", plural(failed, "test"));
    Err(Error::new(
        ErrorKind::Setup,
        message,
        "correct the site file at the lines above, or the programs that it names",
    ))
}
