//! `apexmap run --part`: what a batch job runs, the launches of its part of a sweep, until its time is nearly over.

use super::interrupt::Interrupt;
use super::launching::{self, Conduct};
use super::progress::Progress;
use super::setup::{Setup, SweepArguments};
use super::trial;
use apexmap_base::error::{Error, ErrorKind, Result};
use apexmap_base::terminal::note;
use apexmap_measure::provenance;
use apexmap_measure::worker::unix_seconds;
use apexmap_results::disk::Folder;
use apexmap_run::batch;
use apexmap_run::submit::parts::stop_early;
use apexmap_run::submit::record::Own;
use apexmap_run::submit::{Jobs, PartFile};
use std::cell::Cell;
use std::path::Path;
use std::time::{Duration, Instant};

/// Time between two tries to get the part to itself: an earlier job of the chain may still be ending.
const AGAIN: Duration = Duration::from_secs(1);

/// Measures what is missing of a part. A job that ran out of time ended as it should.
pub fn run(arguments: &SweepArguments, path: &Path) -> Result<()> {
    let begun = Instant::now();
    let part = Jobs::read_part(path)?;
    let folder = Folder { path: arguments.out.clone().unwrap_or_default() };
    let jobs = Jobs::of(&folder);
    let id = batch::VARIABLES.iter().find_map(|name| std::env::var(name).ok());
    let started = Own::Started { id, host: provenance::host_name(), unix_seconds: unix_seconds() };
    jobs.append_own(&part.job, &started)?;
    let out_of_time = Cell::new(false);
    let result = measure(arguments, &part, &folder, begun, &out_of_time);
    let (result, message, help) = match result {
        Err(_) if out_of_time.get() => (Ok(()), "its time was over".to_owned(), String::new()),
        Err(error) => (Err(error.clone()), error.what, error.next),
        Ok(()) => (Ok(()), String::new(), String::new()),
    };
    let code = result.as_ref().map_or_else(Error::exit_code, |()| 0);
    jobs.append_own(&part.job, &Own::Ended { code, message: message.clone(), help })?;
    if !message.is_empty() && code == 0 {
        note(&format!("{message}; what is left is for the next job"));
    }
    result
}

fn measure(
    arguments: &SweepArguments,
    part: &PartFile,
    folder: &Folder,
    begun: Instant,
    out_of_time: &Cell<bool>,
) -> Result<()> {
    let mut setup = Setup::on(arguments, part.machine)?;
    let planned = folder.planned_keys()?.unwrap_or_default();
    if let Some(entry) = setup.plan.entries.iter().find(|entry| !planned.contains(&entry.key)) {
        return Err(Error::environment(
            format!("the plan of this job is not that which was submitted: {} is new", entry.point.label()),
            "the program, the worker or the sweep changed since: submit again",
        ));
    }
    setup.plan.entries.retain(|entry| part.part.sizes.contains(&entry.point.launch_size()));
    let (launcher, program) = launching::launcher(&setup)?;
    let interrupt = Interrupt::catch();
    let time = Duration::from_secs_f64((part.seconds - stop_early(part.seconds)).max(0.0));
    let interrupted = || {
        interrupt.check()?;
        if begun.elapsed() < time {
            return Ok(());
        }
        out_of_time.set(true);
        Err(Error::new(ErrorKind::Interrupted(15), "the job's time is over", ""))
    };
    let _shared = folder.share()?;
    let jobs = Jobs::of(folder);
    let _alone = loop {
        match jobs.lock_part(&part.part.name)? {
            Some(lock) => break lock,
            None => {
                interrupted()?;
                std::thread::sleep(AGAIN);
            }
        }
    };
    trial::before_all(&setup, folder, (launcher.as_ref(), &program), &interrupted)?;
    let conduct = Conduct { retry_failed: part.retry_failed, ..Conduct::default() };
    let mut watcher = Progress::new(&setup.plan);
    launching::measure(&setup, folder, launcher.as_ref(), &program, conduct, &mut watcher, &interrupted)
}
