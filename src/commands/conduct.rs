//! A sweep carried out: what is missing is measured; figures, report and verdict follow.

use super::card::CardArguments;
use super::interrupt::{self, Interrupt};
use super::launching::{self, Conduct, describe, manifest, verdict};
use super::progress::Progress;
use super::report;
use super::setup::Setup;
use super::trial;
use apexmap_base::error::{Error, ErrorKind, Result};
use apexmap_base::terminal::note;
use apexmap_base::units::plural;
use apexmap_measure::provenance;
use apexmap_results::disk::Folder;
use apexmap_results::samples::Samples;
use apexmap_results::samples::health::Health;
use apexmap_results::table::Table;
use apexmap_results::table::quietness::Quietness;
use apexmap_run::sweep::plan::Progress as Done;

/// Measures what is missing, then draws figures and writes the report if asked.
pub fn carry_out(setup: &Setup, card: &CardArguments, conduct: Conduct) -> Result<()> {
    let (launcher, program) = launching::ready(setup)?;
    let card = card.find(&setup.plan.context.machine, &[&provenance::host()])?;
    let folder = Folder::create(&setup.folder)?;
    let _lock = folder.lock()?;
    folder.remove_abandoned();
    if let Some(card) = card {
        folder.replace_card(&card)?;
    }
    describe(setup, &folder)?;

    let (name, points) = (&setup.sweep.name, plural(setup.plan.entries.len(), "point"));
    note(&format!("{name}: {points} -> {} (Ctrl-C is safe: the same command resumes)", folder.path.display()));
    setup.crowd().into_iter().for_each(|text| note(&format!("note: {text}")));
    setup.worker_info.build.cautions().into_iter().for_each(|text| note(&format!("note: {text}")));
    if setup.plan.context.launcher.waits_in_queue() {
        note(
            "note: there is no allocation here: each launch waits in the queue, as a job of its own; --submit makes jobs that \
             take all launches of a number of nodes",
        );
    }
    let interrupt = Interrupt::catch();
    let interrupted = || interrupt.check();
    trial::before_all(setup, &folder, (launcher.as_ref(), &program), &interrupted)?;
    let mut watcher = Progress::new(&setup.plan);
    let driven = launching::measure(setup, &folder, launcher.as_ref(), &program, conduct, &mut watcher, &interrupted);
    drop(watcher);
    // Samples are compacted even if the driver failed, but its error is the one to report.
    let compacted = compact(setup, &folder);
    driven.and_then(|()| interrupt.check()).map_err(|error| interrupt::explain(error, &setup.plan, &folder))?;
    drop(interrupt);
    conclude(setup, &folder, conduct, compacted?)
}

/// Figures, report and verdict of what jobs have measured.
pub fn finish(setup: &Setup, folder: &Folder, conduct: Conduct) -> Result<()> {
    conclude(setup, folder, conduct, compact(setup, folder)?)
}

fn conclude(setup: &Setup, folder: &Folder, conduct: Conduct, (table, done): (Table, Done)) -> Result<()> {
    let samples = Samples::from(table);
    if conduct.report && !samples.is_empty() {
        report::make(folder, &samples)?;
    }
    let health = Health::of(&samples.current());
    if conduct.ends_if_noisy && health.verdict() == Quietness::Disturbed {
        let next = "free the machine, and measure anew with --replace or into another folder";
        return Err(Error::new(ErrorKind::Regression, format!("the machine was {}", health.sentence()), next));
    }
    verdict(setup, folder, &done)
}

/// Tells the manifest what the journals hold, and makes the table of it; also what is done then.
fn compact(setup: &Setup, folder: &Folder) -> Result<(Table, Done)> {
    let records = folder.outcomes()?;
    manifest(setup).with_records(&records).write(folder)?;
    let done = Done::new(&setup.plan, &records);
    drop(records);
    Ok((folder.compact()?, done))
}
