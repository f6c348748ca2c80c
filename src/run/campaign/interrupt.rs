//! The end of an interrupted sweep: the error shows what is kept and how to resume.

use crate::sweep::plan::{Plan, Progress};
use apexmap_base::error::Error;
use apexmap_base::interrupt::signal_name;
use apexmap_base::shell::{command_to_resume, command_words};
use apexmap_base::units::plural;
use apexmap_results::disk::Folder;

/// Adds to the error of an interrupted sweep what is kept and how to resume. Other errors stay unchanged.
pub fn explain(error: Error, plan: &Plan, folder: &Folder) -> Error {
    let Some(name) = signal_name(error.kind) else { return error };
    let kept_samples = folder.outcomes().map_or_else(
        |_| "all samples are kept".to_owned(),
        |records| {
            let progress = Progress::new(plan, &records);
            let (points, samples) = (plan.entries.len(), plural(progress.samples(), "sample"));
            let done_points = progress.counts()[0];
            format!("{samples} kept, {done_points} of {} done", plural(points, "point"))
        },
    );
    Error::new(
        error.kind,
        format!("interrupted by {name}: {kept_samples} in {}", folder.path.display()),
        format!("resume with: {}", command_to_resume(&command_words())),
    )
}
