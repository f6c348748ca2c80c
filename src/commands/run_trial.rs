//! `apexmap run --trial`: runs the largest launch of a sweep for a few seconds, to test it before a long run.

use super::conclude::display;
use apexmap_base::error::{Error, Result};
use apexmap_base::interrupt::Interrupt;
use apexmap_base::terminal::print;
use apexmap_cluster::cluster::Cluster;
use apexmap_pages::report::placement;
use apexmap_run::campaign::{Request, starter::Starter, trial, trust::Consent};

pub fn run(request: &Request, consent: Consent) -> Result<()> {
    let request = Request { consent, ..request.clone() };
    let campaign = Cluster::load()?.planner(&request).plan()?;
    if let Some(other) = campaign.other_sweep()? {
        return Err(Error::input(
            format!("{} holds the result of another sweep, {other}", campaign.folder.display()),
            "name another folder with --out, or use apexmap run --replace, which keeps that result",
        ));
    }
    let Some(size) = trial::largest_launch(&campaign) else { return print("the sweep has no point\n") };
    let starter = Starter::check(&campaign)?;
    let interrupt = Interrupt::catch();
    let trial = trial::carry_out(&campaign, size, &starter, &|plan| display(plan, None), &|| interrupt.check())?;
    print(&trial::describe(&trial.launch, &trial.samples))?;
    let warnings = placement::warnings(&trial.manifest, &trial.samples);
    warnings.iter().try_for_each(|text| print(&format!("warning: {text}\n")))
}
