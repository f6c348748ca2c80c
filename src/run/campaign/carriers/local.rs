//! Carries out a campaign in this allocation or on this machine.

use crate::campaign::interrupt::{self, Interrupt};
use crate::campaign::starter::Starter;
use crate::campaign::{Campaign, Conduct, Display, Measured, site_record, trial};
use apexmap_base::error::Result;
use apexmap_base::terminal::note;
use apexmap_base::units::plural;
use apexmap_results::disk::Folder;
use apexmap_theory::machine::Card;

/// Measures the missing points. Stores the card in the result, if there is one.
///
/// # Errors
/// If no launch can start, a launch fails for a reason that is not a point's, or on a signal. The samples so far are kept.
pub fn carry_out(campaign: &Campaign, card: Option<&Card>, conduct: Conduct, display: Display) -> Result<Measured> {
    let starter = Starter::check(campaign)?;
    let folder = Folder::create(&campaign.folder)?;
    let _lock = folder.lock()?;
    folder.remove_abandoned();
    if let Some(card) = card {
        folder.replace_card(card)?;
    }
    campaign.write_plan(&folder)?;
    site_record::write(campaign, &folder, None)?;
    announce(campaign, &folder);
    let interrupt = Interrupt::catch();
    let interrupted = || interrupt.check();
    trial::run_before_sweep(campaign, &folder, &starter, display, &interrupted)?;
    let mut watcher = display(&campaign.plan);
    let result = starter.measure(campaign, &folder, conduct, watcher.as_mut(), &interrupted);
    drop(watcher);
    // Samples are compacted even if the driver failed, but the driver's error is reported first.
    let measured = campaign.compact(&folder);
    result.and_then(|()| interrupt.check()).map_err(|error| interrupt::explain(error, &campaign.plan, &folder))?;
    measured
}

fn announce(campaign: &Campaign, folder: &Folder) {
    let (name, points) = (&campaign.sweep.name, plural(campaign.plan.entries.len(), "point"));
    note(&format!("{name}: {points} -> {} (Ctrl-C is safe: rerun the same command to resume)", folder.path.display()));
    campaign.oversubscription_warning().into_iter().for_each(|text| note(&format!("note: {text}")));
    campaign.worker_info.build.cautions().into_iter().for_each(|text| note(&format!("note: {text}")));
    if campaign.plan.context.launcher.waits_in_queue() {
        note(
            "note: this process has no allocation, so each launch waits in the queue as a separate job; --submit makes one job \
             for all launches of a number of nodes",
        );
    }
}
