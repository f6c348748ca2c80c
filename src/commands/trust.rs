//! The user's consent before the command of a result runs that may come from somebody else.

use apexmap_base::error::{Error, ErrorKind, Result};
use apexmap_base::shell::quote_words;
use apexmap_base::terminal::{can_answer, note};
use apexmap_measure::kernels::command::{Specification, specification};
use apexmap_results::disk::Folder;
use apexmap_results::disk::manifest::Manifest;
use apexmap_run::sweep::Sweep;
use std::collections::BTreeSet;
use std::path::Path;

/// Asks before a sweep that lies in a result runs its commands. A sweep file of the user's own lies elsewhere. The names of user and host
/// in a result prove nothing, because its sender wrote them.
///
/// # Errors
/// If the user says no, or cannot answer.
pub fn ask(sweep: &Sweep) -> Result<()> {
    let folder = sweep.path.parent().filter(|_| sweep.path.is_file()).unwrap_or(Path::new(""));
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let programs = |command: Specification| {
        let lists = [command.setup, command.command, command.cleanup].into_iter().filter(|list| !list.is_empty());
        lists.map(quote_words).collect::<Vec<_>>()
    };
    let commands: BTreeSet<String> =
        sweep.points.iter().filter_map(|point| specification(point).ok()).flat_map(programs).collect();
    if commands.is_empty() || Manifest::read(&Folder { path: folder.to_owned() }).is_err() {
        return Ok(());
    }
    note(&format!("{} lies in a result, which anybody may have sent. It runs:", sweep.path.display()));
    commands.iter().for_each(|command| note(&format!("  {command}")));
    let refuse = |message: &str| {
        let help = "read the file; --trust runs its command without a question";
        Err(Error::new(ErrorKind::Input, message, help))
    };
    if !can_answer() {
        return refuse("the command of a result runs only after a question, and no terminal can answer it");
    }
    note("run it on this machine? [y/N]");
    let mut answer = String::new();
    let _ = std::io::stdin().read_line(&mut answer);
    if answer.trim().eq_ignore_ascii_case("y") { Ok(()) } else { refuse("the command was not run") }
}
