//! Carries out a campaign in this allocation or on this machine.

use crate::campaign::{Campaign, Conduct, Display, Measured, starter::Starter, trial};
use crate::drive::driver;
use crate::drive::plan::{Plan, Progress};
use apexmap_base::error::{Error, Result};
use apexmap_base::interrupt::{Interrupt, signal_name};
use apexmap_base::shell::{command_to_resume, command_words};
use apexmap_base::terminal::note;
use apexmap_base::units::plural;
use apexmap_results::disk::Folder;
use apexmap_theory::machine::Card;
use std::env;

/// Measures the missing points, and stores the card in the result. The samples so far are kept if a launch fails, or on a signal.
pub fn carry_out(campaign: &Campaign, card: Option<&Card>, conduct: Conduct, display: Display) -> Result<Measured> {
    let starter = Starter::check(campaign)?;
    let wanted = Campaign { plan: campaign.wanted_plan(), ..campaign.clone() };
    driver::check_budget(&wanted.plan, &Folder { path: campaign.folder.clone() }, conduct.retry_failed)?;
    let folder = Folder::create(&campaign.folder)?;
    let _lock = folder.lock()?;
    folder.remove_abandoned();
    if let Some(card) = card {
        folder.replace_card(card)?;
    }
    campaign.write_plan(&folder)?;
    campaign.write_site_record(&folder, &|table, name| table == "environment" && env::var_os(name).is_none())?;
    announce(campaign, &folder, conduct)?;
    let interrupt = Interrupt::catch();
    let interrupted = || interrupt.check();
    trial::run_before_sweep(campaign, &folder, &starter, display, &interrupted)?;
    let mut watcher = display(&campaign.plan);
    let result = starter.measure(&wanted, &folder, conduct, watcher.as_mut(), &interrupted);
    drop(watcher);
    // Samples are compacted even if the driver failed, but the driver's error is reported first.
    let measured = campaign.compact(&folder);
    if let Ok(Measured { progress, .. }) = &measured {
        let [done, .., failed] = progress.counts();
        let failed = if failed > 0 { format!(", {failed} failed") } else { String::new() };
        note(&format!("{done} of {} done{failed}", plural(campaign.plan.entries.len(), "point")));
    }
    // A signal may also come while samples are compacted.
    result.and_then(|_| interrupt.check()).map_err(|error| explain_interruption(error, &campaign.plan, &folder))?;
    measured
}

pub fn is_complete(campaign: &Campaign) -> Result<bool> {
    let folder = Folder { path: campaign.folder.clone() };
    let plan = Plan { continues_imprecise: campaign.replaced.budget_seconds.is_some(), ..campaign.plan.clone() };
    let [done, ..] = Progress::new(&plan, &folder.outcomes()?).counts();
    Ok(done > 0 && done == plan.entries.len())
}

/// The progress of the campaign in its result folder, which need not exist.
pub fn progress(campaign: &Campaign) -> Result<Progress> {
    let folder = Folder { path: campaign.folder.clone() };
    Ok(Progress::new(&campaign.plan, &folder.outcomes()?))
}

/// Takes the samples that the result has, without measuring.
pub fn keep(campaign: &Campaign) -> Result<Measured> {
    let folder = Folder::create(&campaign.folder)?;
    let _lock = folder.lock()?;
    folder.remove_abandoned();
    campaign.write_plan(&folder)?;
    campaign.compact(&folder)
}

fn announce(campaign: &Campaign, folder: &Folder, conduct: Conduct) -> Result<()> {
    let name = match conduct.stage {
        Some(stage) => format!("{}, {stage}", campaign.sweep.name),
        None => campaign.sweep.name.clone(),
    };
    let points = plural(campaign.plan.entries.len(), "point");
    let [done, ..] = progress(campaign)?.counts();
    let done = if done > 0 { format!(", {done} of them done") } else { String::new() };
    let path = folder.path.display();
    note(&format!("{name}: {points}{done} -> {path} (Ctrl-C is safe: rerun the same command to resume)"));
    campaign.oversubscription_warning().into_iter().for_each(|text| note(&format!("note: {text}")));
    if campaign.plan.context.simulation.is_none() {
        campaign.worker_info.build.cautions().into_iter().for_each(|text| note(&format!("note: {text}")));
    }
    if campaign.plan.context.launcher.waits_in_queue() {
        note(
            "note: this process has no allocation, so each launch waits in the queue as a separate job; --submit makes one job \
             for all launches of a number of nodes",
        );
    }
    Ok(())
}

fn explain_interruption(error: Error, plan: &Plan, folder: &Folder) -> Error {
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
