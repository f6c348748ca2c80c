//! The end of a run: figures, report and verdict.

use super::progress::Progress;
use super::report;
use apexmap_base::error::{Error, ErrorKind, Result};
use apexmap_base::terminal::{note, print, print_in_red};
use apexmap_base::units::plural;
use apexmap_results::disk::Folder;
use apexmap_results::samples::Samples;
use apexmap_results::samples::health::Health;
use apexmap_results::table::quietness::Quietness;
use apexmap_run::campaign::{Campaign, Conduct, Measured};
use apexmap_run::sweep::driver::Watcher;
use apexmap_run::sweep::plan::Plan;
use apexmap_study::nodes;
use std::path::Path;

/// Returns the progress display of a run on this terminal. A map also shows the samples that the result in this folder has.
pub fn display(plan: &Plan, folder: Option<&Path>) -> Box<dyn Watcher> {
    Box::new(Progress::new(plan, folder))
}

/// What the end of a run shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// The summary, and the place of the report that is written.
    Report,
    /// Only the warning about a disturbed machine, if any.
    Banner,
    Nothing,
}

/// Ends a run without missing points. Keeps a report that the result already has.
pub fn nothing_to_do(campaign: &Campaign, measured: Measured, conduct: Conduct, with_report: bool) -> Result<()> {
    let points = plural(campaign.plan.entries.len(), "point");
    print(&format!("all {points} are measured; nothing to do\n"))?;
    let report = Folder { path: campaign.folder.clone() }.report();
    let has_report = report.is_file();
    if has_report {
        print(&format!("report: {}\n", report.display()))?;
    }
    conclude(campaign, measured, conduct, if with_report && !has_report { Shown::Report } else { Shown::Nothing })
}

/// Writes the report of an interrupted run, if it has samples. A report that cannot be written is only a note.
pub fn draw_interrupted(campaign: &Campaign) {
    let folder = Folder { path: campaign.folder.clone() };
    let samples = folder.table().map(Samples::from);
    let drawn =
        samples.and_then(|samples| if samples.is_empty() { Ok(()) } else { report::make_quickly(&folder, &samples) });
    if let Err(error) = drawn {
        note(&format!("note: no report: {error}"));
    }
}

/// Draws figures and writes the report, or shows less, then returns the verdict.
pub fn conclude(campaign: &Campaign, measured: Measured, conduct: Conduct, shown: Shown) -> Result<()> {
    let folder = Folder { path: campaign.folder.clone() };
    let samples = Samples::from(measured.table);
    let health = Health::from_samples(&samples.current());
    match (shown, health.banner()) {
        (Shown::Report, _) if !samples.is_empty() => report::make(&folder, &samples, &[])?,
        (Shown::Banner, Some(banner)) => print_in_red(&banner.to_string())?,
        _ => {}
    }
    if conduct.ends_if_noisy && health.verdict() == Quietness::Disturbed {
        let next = "free the machine, and measure again with --replace or into another folder";
        return Err(Error::new(ErrorKind::Regression, format!("the machine was {}", health.sentence()), next));
    }
    if conduct.fails_if_slow_node {
        let check = nodes::compare(&samples.current())?;
        if !check.slow_nodes().is_empty() {
            let next = format!("`apexmap query {} --each-node` compares them; {}", folder.path.display(), check.rule());
            return Err(Error::new(ErrorKind::Regression, check.sentence(), next));
        }
        if !check.is_decided() {
            return Err(Error::measurement(check.sentence(), "measure more nodes of a type"));
        }
    }
    campaign.verdict(&folder, &measured.progress, conduct.accepts_few_samples)
}
