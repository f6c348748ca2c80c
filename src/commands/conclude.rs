//! The end of a run: figures, report and verdict.

use super::{progress::Progress, report};
use apexmap_base::error::{Error, ErrorKind, Result};
use apexmap_base::terminal::{note, print};
use apexmap_base::units::plural;
use apexmap_results::disk::Folder;
use apexmap_results::samples::{Samples, health::Health};
use apexmap_results::table::quietness::Quietness;
use apexmap_run::campaign::{Campaign, Conduct, Measured};
use apexmap_run::drive::driver::Watcher;
use apexmap_run::drive::plan::{Plan, Progress as PlanProgress};
use apexmap_study::nodes;
use std::path::Path;

/// The progress of a run on this terminal. A map also shows the samples that the result in this folder has.
pub fn display(plan: &Plan, folder: Option<&Path>) -> Box<dyn Watcher> {
    Box::new(Progress::new(plan, folder))
}

/// The same for a command of several runs, with the name of this one.
pub fn display_stage(plan: &Plan, folder: &Path, stage: Option<&'static str>) -> Box<dyn Watcher> {
    let mut progress = Progress::new(plan, Some(folder));
    progress.stage = stage;
    Box::new(progress)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// The numbers, then the place of the report that is written, with fits of models if they are wanted.
    Report {
        fits: bool,
    },
    /// Only the numbers.
    Numbers,
    Nothing,
}

/// Keeps a report that the result already has, unless fits are to be added to it.
pub fn nothing_to_do(campaign: &Campaign, measured: Measured, conduct: Conduct, shown: Shown) -> Result<()> {
    let points = plural(campaign.plan.entries.len(), "point");
    let samples = Samples::from(measured.table);
    let health = Health::from_samples(&samples.current());
    print(&format!("all {points} are measured; nothing to do\n"))?;
    if let Some(advice) = health.repeat_advice(campaign.plan.blocks) {
        let samples = plural(health.sample_count(), "sample");
        print(&format!("{} of {samples} are disturbed; {advice}\n", health.disturbed_count()))?;
    }
    let report = Folder { path: campaign.folder.clone() }.report();
    let has_report = report.is_file();
    if has_report {
        print(&format!("report: {}\n", report.display()))?;
    }
    let shown = match shown {
        Shown::Report { fits } if fits || !has_report => shown,
        _ => Shown::Nothing,
    };
    finish(campaign, (&samples, &measured.progress), conduct, shown)
}

/// A report that cannot be written is only a note.
pub fn draw_interrupted(campaign: &Campaign) {
    let folder = Folder { path: campaign.folder.clone() };
    let samples = folder.table().map(Samples::from);
    let drawn = samples
        .and_then(|samples| if samples.is_empty() { Ok(()) } else { report::make(&folder, &samples, false, &[]) });
    if let Err(error) = drawn {
        note(&format!("note: no report: {error}"));
    }
}

/// Prints the numbers, then draws figures and writes the report, or shows less; then returns the verdict.
pub fn conclude(campaign: &Campaign, measured: Measured, conduct: Conduct, shown: Shown) -> Result<()> {
    finish(campaign, (&Samples::from(measured.table), &measured.progress), conduct, shown)
}

fn finish(
    campaign: &Campaign,
    (samples, progress): (&Samples, &PlanProgress),
    conduct: Conduct,
    shown: Shown,
) -> Result<()> {
    let folder = Folder { path: campaign.folder.clone() };
    let health = Health::from_samples(&samples.current());
    match shown {
        Shown::Report { fits } if !samples.is_empty() => report::make(&folder, samples, fits, &[])?,
        Shown::Numbers if !samples.is_empty() => report::print_numbers(&folder, samples)?,
        _ => {}
    }
    let [_, partial, missing, _] = progress.counts();
    let is_complete = partial + missing == 0;
    if let Some(advice) = health.repeat_advice(campaign.plan.blocks).filter(|_| is_complete && shown != Shown::Nothing)
    {
        note(&format!("note: {advice}"));
    }
    if conduct.ends_if_noisy && health.verdict() == Quietness::Disturbed {
        let next = "free the machine, and run the same command with --replace";
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
    campaign.verdict(&folder, progress, conduct.accepts_few_samples)
}
