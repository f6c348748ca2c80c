//! `apexmap sweeps`: lists, prints and writes the ready sweeps.

use apexmap_base::error::{Error, Result};
use apexmap_base::terminal::{print, print_data, terminal_width};
use apexmap_base::text_table::{Align, TextTable};
use apexmap_base::{new_file, regular_file};
use apexmap_run::sweep::ready::{self, ReadySweep};
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
#[command(after_help = "Examples:
  apexmap sweeps                                  list the ready sweeps to begin with
  apexmap sweeps bandwidth                        list those about a word
  apexmap sweeps --all                            list all
  apexmap sweeps memory-sizes                     print one
  apexmap sweeps memory-sizes > my.toml           change it, then: apexmap run my.toml
  apexmap sweeps --write sweeps                   write all into the folder sweeps
  apexmap sweeps --write . quickstart protocol    write two into this folder")]
pub struct Arguments {
    /// Ready sweeps to print or write [default: list the first, or write all]
    #[arg(value_name = "NAME")]
    names: Vec<PathBuf>,
    /// Write the sweeps as TOML files into this folder; a file that differs is never overwritten
    #[arg(long, value_name = "FOLDER")]
    write: Option<PathBuf>,
    /// List all ready sweeps, those of the papers' experiments last
    #[arg(long, conflicts_with_all = ["names", "write"])]
    all: bool,
}

const FIRST: [&str; 12] = [
    "quickstart",
    "memory-sizes",
    "memory-mountain",
    "memory-writes",
    "codes",
    "stream",
    "core-to-core",
    "apex-map-ranks",
    "message-rate-sizes",
    "random-access-hpcc",
    "random-access-ranks",
    "gpu",
];

fn is_of_paper(sweep: &ReadySweep) -> bool {
    let is_first = FIRST.contains(&sweep.name);
    !is_first && ["paper-", "random-access-", "protocol"].iter().any(|start| sweep.name.starts_with(start))
}

pub fn run(arguments: &Arguments) -> Result<()> {
    if let ([word], None) = (arguments.names.as_slice(), &arguments.write)
        && ready::find_by_name(word).is_none()
        && let sweeps @ [_, ..] = ready::search(&word.to_string_lossy()).as_slice()
    {
        return print(&format!("{}{ADVICE}", list(sweeps.iter().copied())));
    }
    if arguments.all {
        return print(&list_all());
    }
    let chosen: Vec<&ReadySweep> = arguments.names.iter().map(|name| ready::find(name)).collect::<Result<_>>()?;
    match &arguments.write {
        Some(folder) if chosen.is_empty() => write(&ready::READY_SWEEPS.iter().collect::<Vec<_>>(), folder),
        Some(folder) => write(&chosen, folder),
        None if chosen.is_empty() => print(&list_first()),
        None => print_data(&chosen.iter().map(|sweep| sweep.text).collect::<Vec<_>>().join("\n")),
    }
}

const ADVICE: &str = "\nRun a sweep: apexmap run NAME; show its size: apexmap plan NAME; print it: apexmap sweeps NAME\n\
    Sweeps that need mpi run on a cluster; to run them elsewhere, change [launch] in a copy of the file.\n";

fn list<'a>(sweeps: impl IntoIterator<Item = &'a ReadySweep>) -> String {
    let mut table = TextTable::new([Align::Left; 3]).with_width(terminal_width());
    table.add_row(["sweep", "needs", "question"]);
    for sweep in sweeps {
        table.add_row([sweep.name.to_owned(), sweep.needs(), sweep.question()]);
    }
    table.to_string()
}

fn list_first() -> String {
    let more = ready::READY_SWEEPS.len() - FIRST.len();
    let first = ready::READY_SWEEPS.iter().filter(|sweep| FIRST.contains(&sweep.name));
    format!("{}\n{more} more: apexmap sweeps --all, or those about a word: apexmap sweeps latency{ADVICE}", list(first))
}

fn list_all() -> String {
    let (of_papers, others): (Vec<_>, Vec<_>) = ready::READY_SWEEPS.iter().partition(|sweep| is_of_paper(sweep));
    format!("{}\nExperiments of the papers\n\n{}{ADVICE}", list(others), list(of_papers))
}

/// None if a file would be overwritten.
fn write(sweeps: &[&ReadySweep], folder: &Path) -> Result<()> {
    let file = |sweep: &ReadySweep| folder.join(sweep.name).with_extension("toml");
    for (sweep, file) in sweeps.iter().map(|sweep| (sweep, file(sweep))) {
        if file.exists()
            && regular_file::read(&file).map_err(|e| Error::file("read", &file, e))? != sweep.text.as_bytes()
        {
            let message = format!("{} exists and differs from the ready sweep; nothing was written", file.display());
            return Err(Error::input(message, "move the file, or choose another folder"));
        }
    }
    std::fs::create_dir_all(folder).map_err(|e| Error::file("create", folder, e))?;
    let mut text = String::new();
    for (sweep, file) in sweeps.iter().map(|sweep| (sweep, file(sweep))) {
        new_file::write_user_file_contents(&file, sweep.text)?;
        text.push_str(&format!("{}\n", file.display()));
    }
    print(&text)
}
