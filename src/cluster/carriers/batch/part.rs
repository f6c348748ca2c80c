//! `apexmap run --part`: a batch job measures its part of a sweep until its time is nearly over.

use crate::batch;
use crate::cluster::Cluster;
use crate::submit::parts::stop_margin;
use crate::submit::record::DriverLine;
use crate::submit::{Jobs, PartFile};
use apexmap_base::error::{Error, ErrorKind, Result};
use apexmap_base::interrupt::Interrupt;
use apexmap_base::terminal::note;
use apexmap_measure::provenance;
use apexmap_measure::worker::unix_seconds;
use apexmap_results::disk::Folder;
use apexmap_results::table::columns::point_label;
use apexmap_run::campaign::starter::Starter;
use apexmap_run::campaign::trust::Consent;
use apexmap_run::campaign::{Conduct, Display, Request, trial};
use std::cell::Cell;
use std::path::Path;
use std::time::{Duration, Instant};

/// Time between two attempts to lock the part. An earlier job of the chain may still be ending.
const LOCK_RETRY: Duration = Duration::from_secs(1);

/// Measures the missing points of a part. Running out of time is a normal end.
pub fn run(request: &Request, path: &Path, display: Display) -> Result<()> {
    let begun_at = Instant::now();
    let part = Jobs::read_part(path)?;
    let folder = Folder { path: request.out.clone().unwrap_or_default() };
    let jobs = Jobs::new(&folder);
    let id = batch::JOB_ID_VARIABLES.iter().find_map(|name| std::env::var(name).ok());
    let started_line = DriverLine::Started { id, host: provenance::host_name(), unix_seconds: unix_seconds() };
    jobs.append_driver_line(&part.job, &started_line)?;
    let out_of_time = Cell::new(false);
    let result = measure(request, &part, &folder, begun_at, &out_of_time, display);
    let (result, message, help) = match result {
        Err(_) if out_of_time.get() => (Ok(()), "its time limit was near".to_owned(), String::new()),
        Err(error) => (Err(error.clone()), error.message, error.help),
        Ok(()) => (Ok(()), String::new(), String::new()),
    };
    let code = result.as_ref().map_or_else(Error::exit_code, |()| 0);
    let ran_seconds = Some(begun_at.elapsed().as_secs_f64());
    jobs.append_driver_line(&part.job, &DriverLine::Ended { code, message: message.clone(), help, ran_seconds })?;
    if !message.is_empty() && code == 0 {
        note(&format!("the job stops: {message}; the next job measures the remaining points"));
    }
    result
}

fn measure(
    request: &Request,
    part: &PartFile,
    folder: &Folder,
    begun_at: Instant,
    out_of_time: &Cell<bool>,
    display: Display,
) -> Result<()> {
    let request = &Request { consent: Consent::Given, ..request.clone() };
    let mut campaign = Cluster::default().planner(request).with_machine(part.machine.clone()).plan()?;
    let planned = folder.planned_keys()?.unwrap_or_default();
    if let Some(entry) = campaign.plan.entries.iter().find(|entry| !planned.contains(&entry.key)) {
        return Err(Error::environment(
            format!(
                "the plan has changed since this job was submitted: {} is new",
                point_label(&entry.point, |_| true)
            ),
            "the program, the worker or the sweep has changed; submit the sweep again",
        ));
    }
    campaign.plan.entries.retain(|entry| part.part.contains(&entry.point));
    let starter = Starter::find(&campaign)?;
    let interrupt = Interrupt::catch();
    let time = Duration::from_secs_f64((part.seconds - stop_margin(part.seconds)).max(0.0));
    let interrupted = || {
        interrupt.check()?;
        if begun_at.elapsed() < time {
            return Ok(());
        }
        out_of_time.set(true);
        // As on SIGTERM, the driver ends its launch and keeps all samples.
        Err(Error::new(ErrorKind::Interrupted(15), "the job's time limit is near", ""))
    };
    let _shared_lock = folder.share()?;
    let jobs = Jobs::new(folder);
    let _part_lock = loop {
        match jobs.lock_part(&part.part.name)? {
            Some(lock) => break lock,
            None => {
                interrupted()?;
                std::thread::sleep(LOCK_RETRY);
            }
        }
    };
    trial::run_before_sweep(&campaign, folder, &starter, display, &interrupted)?;
    let conduct = Conduct { retry_failed: part.retry_failed, ..Conduct::default() };
    let mut watcher = display(&campaign.plan);
    starter.measure(&campaign, folder, conduct, watcher.as_mut(), &interrupted).map(drop)
}
