//! `apexmap try`: the largest launch of a sweep for a few seconds, before hours are spent on it.

use super::conclude::display;
use super::sweep_arguments::SweepArguments;
use apexmap_base::error::{Error, Result};
use apexmap_base::terminal::print;
use apexmap_pages::report::placement;
use apexmap_run::campaign::interrupt::Interrupt;
use apexmap_run::campaign::starter::Starter;
use apexmap_run::campaign::{Campaign, trial};

#[derive(clap::Args)]
#[command(after_help = "Example: apexmap try my.toml --worker target/release/apexmap-worker

It starts the sweep's launcher with as many ranks as its largest launch has, and says where they are, what a barrier takes and what
messages do between the first half of the ranks and the second (of an even number of ranks). It opens no window of remote memory
unless a kernel of the sweep does. Run it where the sweep will run, such as in an allocation. Nothing
of it is kept if all went well. apexmap run does the same first where a sweep has several nodes.")]
pub struct Arguments {
    #[command(flatten)]
    sweep: SweepArguments,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let campaign = Campaign::plan(&arguments.sweep.request())?;
    if let Some(other) = campaign.other_sweep()? {
        return Err(Error::input(
            format!("{} holds the result of another sweep, {other}", campaign.folder.display()),
            "name another folder with --out, or begin anew with apexmap run --replace, which keeps that result",
        ));
    }
    let Some(size) = trial::largest(&campaign) else { return print("the sweep has no point\n") };
    let starter = Starter::check(&campaign)?;
    let interrupt = Interrupt::catch();
    let shown = trial::carry_out(&campaign, size, &starter, &display, &|| interrupt.check())?;
    print(&trial::describe(&shown.launch, &shown.samples))?;
    let warnings = placement::warnings(&shown.manifest, &shown.samples);
    warnings.iter().try_for_each(|text| print(&format!("warning: {text}\n")))
}
