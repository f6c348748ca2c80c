//! `apexmap run --part`: a job measures its part of a sweep until its time is nearly over.

use super::files::{JobFiles, PartFile};
use super::part::stop_margin;
use crate::cluster::Cluster;
use apexmap_base::error::{Error, ErrorKind, Result};
use apexmap_base::interrupt::Interrupt;
use apexmap_base::terminal::note;
use apexmap_results::disk::Folder;
use apexmap_results::disk::lock::{self, Lock, Sharing};
use apexmap_results::table::columns::point_label;
use apexmap_run::campaign::{Conduct, Display, Request, each_node::EachNode, starter::Starter, trial, trust::Consent};
use std::cell::Cell;
use std::path::Path;
use std::time::{Duration, Instant};

/// Measures the missing points of a part, unless the plan has changed since the submission. Running out of time is a normal end.
pub fn run(request: &Request, path: &Path, display: Display) -> Result<()> {
    let begun_at = Instant::now();
    let file = PartFile::read(path)?;
    let folder = Folder { path: request.out.clone().unwrap_or_default() };
    let each_node = file.part.node().map(|node| EachNode::new([&*node])).transpose()?;
    let request = Request { is_job: true, consent: Consent::Given, each_node, ..request.clone() };
    let mut campaign = Cluster::default().planner(&request).with_machine(file.machine.clone()).plan()?;
    let planned = folder.planned_keys()?.unwrap_or_default();
    if let Some(entry) = campaign.plan.entries.iter().find(|entry| !planned.contains(&entry.key)) {
        let point = point_label(&entry.point, |_| true);
        return Err(Error::environment(
            format!("the plan has changed since this job was submitted: {point} is new"),
            "the program, the worker or the sweep has changed; submit the sweep again",
        ));
    }
    campaign.plan.entries.retain(|entry| file.part.contains(&entry.point));
    let starter = Starter::find(&campaign)?;
    let _shared_lock = folder.share()?;
    let part_lock = JobFiles::new(&folder).part_lock(&file.part.name);
    let _part_lock = Lock::acquire(&part_lock, Sharing::Exclusive)?.ok_or_else(|| {
        let holders = lock::describe_holders(&part_lock);
        let message = format!("another job measures {} of {}{holders}", file.part.name, folder.path.display());
        Error::environment(message, "submit the job again after it")
    })?;
    let interrupt = Interrupt::catch();
    let time = Duration::from_secs_f64((file.seconds - stop_margin(file.seconds)).max(0.0));
    let out_of_time = Cell::new(false);
    let interrupted = || {
        interrupt.check()?;
        if begun_at.elapsed() < time {
            return Ok(());
        }
        out_of_time.set(true);
        // As on SIGTERM, the driver ends its launch and keeps all samples.
        Err(Error::new(ErrorKind::Interrupted(15), "the job's time limit is near", ""))
    };
    let measured = trial::run_before_sweep(&campaign, &folder, &starter, display, &interrupted).and_then(|()| {
        let conduct = Conduct { retry_failed: file.retry_failed, ..Conduct::default() };
        let mut watcher = display(&campaign.plan);
        starter.measure(&campaign, &folder, conduct, watcher.as_mut(), &interrupted).map(drop)
    });
    if measured.is_err() && out_of_time.get() {
        note(
            "the job stops, because its time limit is near; a further job of the same script measures the remaining points",
        );
        return Ok(());
    }
    measured
}
