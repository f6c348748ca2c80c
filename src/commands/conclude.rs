//! The end of a run: figures, report and verdict.

use super::progress::Progress;
use super::report;
use apexmap_base::error::{Error, ErrorKind, Result};
use apexmap_results::disk::Folder;
use apexmap_results::samples::Samples;
use apexmap_results::samples::health::Health;
use apexmap_results::table::quietness::Quietness;
use apexmap_run::campaign::{Campaign, Conduct, Measured};
use apexmap_run::sweep::driver::Watcher;
use apexmap_run::sweep::plan::Plan;

/// Returns the progress display of a run on this terminal.
pub fn display(plan: &Plan) -> Box<dyn Watcher> {
    Box::new(Progress::new(plan))
}

/// Draws figures and writes the report if requested, then returns the verdict.
pub fn conclude(campaign: &Campaign, measured: Measured, conduct: Conduct, with_report: bool) -> Result<()> {
    let folder = Folder { path: campaign.folder.clone() };
    let samples = Samples::from(measured.table);
    if with_report && !samples.is_empty() {
        report::make(&folder, &samples)?;
    }
    let health = Health::from_samples(&samples.current());
    if conduct.ends_if_noisy && health.verdict() == Quietness::Disturbed {
        let next = "free the machine, and measure again with --replace or into another folder";
        return Err(Error::new(ErrorKind::Regression, format!("the machine was {}", health.sentence()), next));
    }
    campaign.verdict(&folder, &measured.progress)
}
