//! The user's consent before programs run that a file of somebody else may name: one function decides for sweeps and site files.

use super::SiteSettings;
use crate::sweep::Sweep;
use apexmap_base::error::{Error, ErrorKind, Result};
use apexmap_base::shell::quote_words;
use apexmap_base::terminal::{can_answer, note};
use apexmap_measure::kernels::command::{Specification, specification};
use nix::unistd::geteuid;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Whether programs may start that files name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Consent {
    /// The user is asked about files that may come from somebody else.
    #[default]
    Asked,
    /// `--trust`; and the job of a sweep that the user has submitted.
    Given,
    /// Nothing starts that a file names.
    Refused,
}

impl Consent {
    pub fn from_flag(trust: bool) -> Self {
        if trust { Self::Given } else { Self::Asked }
    }
}

/// Entries of a result. Their contents do not matter, because the sender of a result writes them.
const MARKS: [&str; 3] = ["journals", "manifest.json", "archive.json"];

/// Why a file may come from somebody else. Names of user and host in a result prove nothing.
pub fn doubt(file: &Path) -> Option<&'static str> {
    let metadata = fs::metadata(file).ok()?;
    // Root can change every program of this user.
    if ![geteuid().as_raw(), 0].contains(&metadata.uid()) {
        return Some("belongs to another user");
    }
    if metadata.is_file() && metadata.mode() & 0o002 != 0 {
        return Some("can be written by every user");
    }
    // The folder of a link, and that of its file.
    let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let places = [parent.canonicalize(), file.canonicalize()];
    let is_result = |folder: &Path| MARKS.iter().any(|mark| folder.join(mark).symlink_metadata().is_ok());
    let in_result = places.iter().flatten().any(|place| place.ancestors().any(is_result));
    in_result.then_some("lies in a result, which anybody may have sent")
}

/// A file, and the programs and their settings that it names.
type Named = (PathBuf, BTreeSet<String>);

fn named_by_sweep(sweep: &Sweep) -> BTreeSet<String> {
    let launch = &sweep.launch;
    let mut lines: BTreeSet<String> =
        sweep.points.iter().filter_map(|point| specification(point).ok()).flat_map(lines_of_command).collect();
    lines.extend(launch.worker.iter().map(|worker| format!("worker: {}", quote_words([worker]))));
    lines.extend((!launch.command.is_empty()).then(|| format!("launcher: {}", quote_words(&launch.command))));
    if let Some(submit) = launch.submit.as_ref().map(|submit| submit.get_ref()) {
        lines.extend(submit.system.iter().filter(|system| is_path(system)).map(|path| format!("template: {path}")));
        lines.extend(submit.modules.iter().map(|module| format!("module: {module}")));
        lines.extend(submit.directives.iter().map(|directive| format!("directive: {directive}")));
        lines.extend(submit.environment.iter().map(|(name, value)| format!("environment: {name}={value}")));
    }
    lines
}

fn lines_of_command(command: Specification) -> Vec<String> {
    let lists = [("set-up", command.setup), ("command", command.command), ("cleanup", command.cleanup)];
    let lists = lists.into_iter().filter(|(_, list)| !list.is_empty());
    let lines = lists.map(|(kind, list)| format!("{kind}: {}", quote_words(list)));
    let variables = command.env.iter().map(|(name, value)| format!("environment: {name}={value}"));
    lines.chain(variables).chain(command.cwd.map(|folder| format!("folder: {folder}"))).collect()
}

/// Whether the name of a batch system may be the path of a template. Names of built-in ones have neither slashes nor dots.
pub fn is_path(system: &str) -> bool {
    system.contains(['/', '.']) || Path::new(system).is_file()
}

fn named_by_site(site: &SiteSettings) -> Vec<Named> {
    let starts = |key: &str| {
        let parts = key.split('.').collect::<Vec<_>>();
        ["workers", "environment"].iter().any(|part| parts.contains(part))
            || ["system", "modules", "directives"].contains(parts.last().unwrap_or(&""))
    };
    let settings = site.origins.iter().filter(|setting| starts(&setting.key));
    settings.map(|setting| (setting.file.clone(), [format!("{} = {}", setting.key, setting.value)].into())).collect()
}

/// Asks once for each line before programs start that a sweep or a site file of somebody else may name.
pub fn ask(sweep: &Sweep, site: &SiteSettings, consent: Consent) -> Result<()> {
    let named = [(sweep.path.clone(), named_by_sweep(sweep))].into_iter().chain(named_by_site(site));
    match consent {
        Consent::Asked => named.into_iter().try_for_each(|(file, lines)| ask_about(&file, lines)),
        Consent::Given | Consent::Refused => Ok(()),
    }
}

/// Asks about the settings of site files alone, as [`ask`] does.
pub fn ask_about_site(site: &SiteSettings) -> Result<()> {
    named_by_site(site).into_iter().try_for_each(|(file, lines)| ask_about(&file, lines))
}

fn ask_about(file: &Path, mut lines: BTreeSet<String>) -> Result<()> {
    /// Both variants of a sweep, and the plan of its jobs, name the same programs.
    static AGREED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let mut agreed = AGREED.lock().unwrap_or_else(PoisonError::into_inner);
    lines.retain(|line| !agreed.contains(line));
    let Some(doubt) = doubt(file).filter(|_| !lines.is_empty()) else { return Ok(()) };
    note(&format!("{} {doubt}. It starts:", file.display()));
    lines.iter().for_each(|line| note(&format!("  {line}")));
    let refuse = |message: &str| {
        let help = "read the file; `run --trust` starts its programs without a question (also try and ab); \
                    or copy a site file to your own";
        Err(Error::new(ErrorKind::Input, message, help))
    };
    if !can_answer() {
        return refuse("programs that such a file names start only after a question, and no terminal can answer it");
    }
    note("start them on this machine? [y/N]");
    let mut answer = String::new();
    let _ = std::io::stdin().read_line(&mut answer);
    if !answer.trim().eq_ignore_ascii_case("y") {
        return refuse("nothing was started");
    }
    agreed.extend(lines);
    Ok(())
}
