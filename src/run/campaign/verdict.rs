//! The verdict about a run: points that failed or have too few samples, and how much longer the sweep would take.

use super::Campaign;
use super::plan_time::{PlanTime, describe_seconds};
use crate::sweep::plan::Progress;
use crate::sweep::ready;
use apexmap_base::error::{Error, Result};
use apexmap_base::terminal::note;
use apexmap_base::units::plural;
use apexmap_results::disk::Folder;
use std::path::Path;

impl Campaign {
    /// Returns whether this is the unchanged quickstart.
    fn is_quickstart(&self) -> bool {
        ready::find_by_name(Path::new(ready::QUICKSTART)).is_some_and(|quickstart| quickstart.text == self.sweep.text)
    }

    /// Returns an error if points failed, or have too few samples. Too few samples are only a warning for the quickstart, and
    /// if `accepts_few_samples`.
    pub fn verdict(&self, folder: &Folder, progress: &Progress, accepts_few_samples: bool) -> Result<()> {
        let [_, partial, missing, failed] = progress.counts();
        let (mut problems, mut advice) = (Vec::new(), Vec::new());
        if failed > 0 {
            problems.push(format!("{} failed", plural(failed, "point")));
            let status = format!("`apexmap status {}`", folder.path.display());
            advice.push(format!(
                "{status} lists the failures with their reasons; --retry-failed measures these points again"
            ));
        }
        if partial + missing > 0 {
            let points = plural(self.plan.entries.len(), "point");
            let verb = if partial + missing == 1 { "has" } else { "have" };
            let (too_few, longer) = (
                format!("{} of {points} {verb} too few samples", partial + missing),
                self.missing_time(folder, progress)?,
            );
            if accepts_few_samples || self.is_quickstart() {
                note(&format!("warning: {too_few}; {longer}"));
            } else {
                problems.push(format!("{too_few}; {longer}"));
                advice.push("rerun the same command to resume, or raise `budget` in the sweep".to_owned());
            }
        }
        if problems.is_empty() { Ok(()) } else { Err(Error::measurement(problems.join(", "), advice.join("; "))) }
    }

    /// Says how much longer the sweep would take, from the spread of its samples: `about 140 s more: run it again`.
    fn missing_time(&self, folder: &Folder, progress: &Progress) -> Result<String> {
        let seconds = PlanTime::new(&self.plan, &folder.outcomes()?, progress, None, false).seconds_left();
        let runs = self.plan.repeat.budget_seconds.map_or(1.0, |budget| (seconds / budget).ceil().max(1.0));
        let times = if runs > 1.0 { format!(" {runs} times") } else { String::new() };
        Ok(format!("{} more: run it again{times}", describe_seconds(seconds)))
    }
}
